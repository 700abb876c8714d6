"""Whether others may do what only some may, by `identities`: part of the guard of reloads (L6).

A right is held by who brings a proof, as a principal, in a tenant: who had it otherwise before has
gained it all the same.
"""

import json
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from toolrt.catalog.snapshot import Snapshot
from toolrt.manifest.project import Identity
from toolrt.policy.loss import listed
from toolrt.reloading.consent import asks_of

_RIGHTS: Final = ("approve", "admin")

Proof = tuple[str, str]
"""The key of an identity that says by what somebody comes in, and its value."""
Form = tuple[str, tuple[str, ...], str | None]
"""Principal, roles and tenant: all that a rule sees of an identity."""


def more_rights(before: Snapshot, after: Snapshot, readers: Sequence[str]) -> Iterator[str]:
    """What identities may or are now, where somebody had written any.

    `readers` are those that look at who the caller is, such as `deny rule … reads`.
    """
    old, new = before.identities, after.identities
    if not old:
        return
    if not new:
        yield "without `identities` whoever is at the terminal could do everything"
        return
    changed = {*_let_in_otherwise(old, new), *_seen_otherwise(old, new)} if readers else set()
    if changed:
        yield from (
            f"{each} who the caller is, and {listed(changed)} of `identities` changes"
            for each in readers
        )
    asked = _asked_roles(before) | _asked_roles(after)
    yield from dict.fromkeys(_gained(old, new, asked))


def _let_in_otherwise(old: Iterable[Identity], new: Iterable[Identity]) -> Iterator[str]:
    """Whose proof leads to nobody or to another caller now; a token may be changed for another."""
    led = {_proof(each): _form(each) for each in new}
    by_token = {_form(each) for each in new if each.token_hash is not None}
    for each in old:
        lost = each.token_hash is None or _form(each) not in by_token
        if led.get(_proof(each), None if lost else _form(each)) != _form(each):
            yield each.principal


def _seen_otherwise(old: Iterable[Identity], new: Iterable[Identity]) -> Iterator[str]:
    """Who was known, and may now come in with other roles or in another tenant."""
    known, forms = {each.principal for each in old}, {_form(each) for each in old}
    yield from (
        each.principal for each in new if each.principal in known and _form(each) not in forms
    )


def _gained(old: Iterable[Identity], new: Iterable[Identity], asked: frozenset[str]) -> list[str]:
    """What somebody could who could not: by that proof, in that tenant or at all."""
    held = [(each, power) for each in old for power in _powers(each, asked)]
    by_name = {(each.principal, power) for each, power in held}
    by_tenant = {(each.principal, each.tenant, power) for each, power in held}
    by_proof = {(_proof(each), each.principal, each.tenant, power) for each, power in held}
    found: list[str] = []
    for each in new:
        who = each.principal
        for power in _powers(each, asked):
            if (_proof(each), who, each.tenant, power) in by_proof:
                continue
            how = ""
            if (who, each.tenant, power) in by_tenant:
                how = f" by another `{_proof(each)[0]}`"
            elif (who, power) in by_name:
                how = f" in tenant `{each.tenant}`" if each.tenant else " without a tenant"
            found.append(f"`{who}`{how} {power}")
    return sorted(found)


def _powers(identity: Identity, asked: frozenset[str]) -> Iterator[str]:
    """What makes a yes of somebody count, in words."""
    yield from (f"could `{right}`" for right in _RIGHTS if right in identity.may)
    roles = sorted({*identity.roles} & asked)
    yield from (f"would have the role `{role}`, which approvals ask for" for role in roles)


def _proof(identity: Identity) -> Proof:
    key = next(key for key in Identity.choices if getattr(identity, key) is not None)
    return key, json.dumps(getattr(identity, key), sort_keys=True, default=str)


def _form(identity: Identity) -> Form:
    return identity.principal, tuple(sorted({*identity.roles})), identity.tenant


def _asked_roles(snapshot: Snapshot) -> frozenset[str]:
    clauses = getattr(snapshot.rules, "clauses", {}).values()
    terms = [each.terms for each in clauses if each.decide == "ask" and each.terms is not None]
    terms += [each for tool in snapshot.tools.values() for each in asks_of(tool).values() if each]
    return frozenset(role for each in terms for group in each.groups for role in group.roles)
