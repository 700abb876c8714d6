"""Who somebody is to this project: `identities` of toolrt.yaml.

With none written, the person at the terminal is trusted with everything. As soon as there is one,
whoever is not among them may do nothing.

A tenant is a wall: whoever has one sees and decides nothing beyond it, whatever they may. Whoever
may `admin` and has none looks over all walls.
"""

from collections.abc import Iterable, Sequence
from dataclasses import replace

from toolrt.core.calls import MAY_CALL, Caller, Reach, Right
from toolrt.core.errors import RefusedError
from toolrt.manifest.project import Identity

_NOBODY = (Caller().principal, None)
EVERYTHING: frozenset[Right] = frozenset({"call", "approve", "admin"})


def of_os_user(name: str, identities: Sequence[Identity]) -> Caller:
    """The caller that an account of this machine is."""
    if not identities:
        return Caller(name, may=EVERYTHING)
    known = next((each for each in identities if each.os_user == name), None)
    return Caller(name, may=frozenset()) if known is None else _caller(known)


def of_principal(written: str, identities: Sequence[Identity], by: Caller) -> list[Caller]:
    """Those whom `by` may mean with a name, or with `full_name`: one of each tenant.

    Whoever has a tenant finds nobody beyond it.
    """
    whose = walls_of(by)
    near = [each for each in identities if whose is None or whose.holds(None, each.tenant)]
    named = [each for each in near if each.principal == written]
    exact = [each for each in near if full_name(each) == written]
    ones = dict.fromkeys((each.principal, each.tenant) for each in exact or named)
    return [of_record(Caller(name, tenant=tenant), identities) for name, tenant in ones]


def full_name(of: Caller | Identity) -> str:
    """What names somebody among namesakes of several tenants; nothing follows the `@` of none."""
    return f"{of.principal}@{of.tenant or ''}"


def of_record(caller: Caller, identities: Sequence[Identity]) -> Caller:
    """The caller of a call that was made before, with the roles and rights that they have now."""
    if not identities:
        return caller
    own = (caller.principal, caller.tenant)
    known = [each for each in identities if (each.principal, each.tenant) == own]
    if not known and own == _NOBODY:  # who calls a server on this machine without a credential (X5)
        return replace(caller, roles=(), may=MAY_CALL)
    roles = dict.fromkeys(role for each in known for role in each.roles)
    may = frozenset(right for each in known for right in each.may)
    return replace(caller, roles=tuple(roles), may=may)


def reach_of(caller: Caller) -> Reach | None:
    """Whose calls and questions somebody may look at; None for everybody's."""
    if "admin" in caller.may and not caller.tenant:
        return None
    may_see_others = bool(caller.may & {"approve", "admin"})
    return Reach(caller.tenant, None if may_see_others else caller.principal)


def walls_of(caller: Caller) -> Reach | None:
    """What is there at all for somebody, whatever they may do about it; None for everything."""
    whose = reach_of(caller)
    return None if whose is None else replace(whose, principal=None)


def as_decider(by: Caller, tenant: str | None, identities: Sequence[Identity]) -> Caller:
    """Who decides about a question of that tenant, in those of their roles that will count.

    Raises RefusedError where their word would count for nothing.
    """
    roles = roles_now(identities, by.principal, tenant, by.roles)
    if roles is None:
        raise RefusedError(
            f"{by.principal} is not among those who may decide here",
            code="access-denied",
            hint="`identities` of toolrt.yaml says who may",
        )
    return replace(by, roles=roles)


def roles_now(
    identities: Sequence[Identity], principal: str, tenant: str | None, roles: Iterable[str]
) -> tuple[str, ...] | None:
    """Which of the roles somebody still has who said yes to a question of that tenant.

    None for who may not decide about it any more.
    """
    if not identities:
        return tuple(roles)
    known = [each for each in identities if each.principal == principal and _decides(each, tenant)]
    held = {role for each in known for role in each.roles}
    return tuple(role for role in roles if role in held) if known else None


def _decides(identity: Identity, tenant: str | None) -> bool:
    whose = reach_of(_caller(identity))
    return "approve" in identity.may and (whose is None or whose.holds(None, tenant))


def _caller(identity: Identity) -> Caller:
    return Caller(
        identity.principal,
        tuple(identity.roles),
        identity.tenant,
        may=frozenset(identity.may),
    )
