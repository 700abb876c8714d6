"""Who somebody is to this project: `identities` of toolrt.yaml.

With none written, the person at the terminal is trusted with everything. As soon as there is one,
whoever is not among them may do nothing.
"""

from collections.abc import Sequence
from dataclasses import replace

from toolrt.core.calls import Caller, Right
from toolrt.manifest.project import Identity

EVERYTHING: frozenset[Right] = frozenset({"call", "approve", "admin"})


def of_os_user(name: str, identities: Sequence[Identity]) -> Caller:
    """The caller that an account of this machine is."""
    if not identities:
        return Caller(name, may=EVERYTHING)
    known = next((each for each in identities if each.os_user == name), None)
    return Caller(name, may=frozenset()) if known is None else _caller(known)


def of_principal(
    principal: str, roles: tuple[str, ...] | None, identities: Sequence[Identity]
) -> Caller:
    """The caller of that name, with these roles, or with its own where `roles` is None."""
    known = next((each for each in identities if each.principal == principal), None)
    if known is None:
        return Caller(principal, roles or ())
    made = _caller(known)
    return made if roles is None else replace(made, roles=roles)


def _caller(identity: Identity) -> Caller:
    return Caller(
        identity.principal,
        tuple(identity.roles),
        identity.tenant,
        may=frozenset(identity.may),
    )
