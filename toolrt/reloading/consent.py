"""Whether people are asked less than they were, or others could say yes: part of the guard of
reloads (L6).
"""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence

from toolrt.catalog.snapshot import Snapshot, ToolEntry
from toolrt.core.decisions import Group, Terms
from toolrt.manifest.project import Identity
from toolrt.policy.clauses import Clause
from toolrt.policy.engine import ToolPolicy
from toolrt.policy.loss import listed

_RIGHTS = ("approve", "admin")

Form = frozenset[str]
"""The conditions of the settings that apply to a caller, as written."""


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
    others = {_person(each) for each in new}
    changed = sorted({each.principal for each in old if _person(each) not in others})
    if changed:
        yield from (
            f"{each} who the caller is, and {listed(changed)} of `identities` changes"
            for each in readers
        )
    for right in _RIGHTS:
        gained = _having(new, right) - _having(old, right)
        yield from (f"`{name}` could `{right}`" for name in sorted(gained))
    yield from _more_roles(old, new, _asked_roles(after))


def less_consent(rules: Iterable[tuple[Clause, Clause]]) -> Iterator[Clause]:
    """The rules that ask both times and want less of an approval now."""
    for was, now in rules:
        terms = was.terms or Terms(), now.terms or Terms()
        if now.decide == "ask" and terms[0] != terms[1] and is_weaker(*terms):
            yield now


def fewer_questions(tools: Iterable[tuple[ToolEntry, ToolEntry]]) -> Iterator[str]:
    """Tools that asked a person by themselves and no longer do, for some caller or for all."""
    silent: list[str] = []
    easier: list[str] = []
    for was, now in tools:
        changes = [(old, new) for old, new in _forms(was, now) if old is not None and old != new]
        if any(new is None for _, new in changes):
            silent.append(now.name)
        elif any(new is not None and is_weaker(old, new) for old, new in changes):
            easier.append(now.name)
    if silent:
        yield f"{listed(silent)} would no longer ask a person by itself"
    if easier:
        yield f"the approval of {listed(easier)} itself would need less"


def is_weaker(before: Terms, after: Terms) -> bool:
    """Whether an approval could be given by fewer or by other people, or hold for more calls."""
    if _is_strict(before) and not _is_strict(after):
        return True
    if not set(after.scopes) <= set(before.scopes):
        return True
    return any(not any(_covers(now, was) for now in after.groups) for was in before.groups)


def _is_strict(terms: Terms) -> bool:
    return terms.exclude_requester or any(group.count > 1 for group in terms.groups)


def _covers(now: Group, was: Group) -> bool:
    """Whether a yes of the group `now` is always one that the group `was` would have counted."""
    if now.count < was.count:
        return False
    if not was.roles and not was.principals:
        return True
    is_open = not now.roles and not now.principals
    return not is_open and {*now.roles} <= {*was.roles} and {*now.principals} <= {*was.principals}


def _person(identity: Identity) -> tuple[str, ...]:
    """Who comes in by what; a token may be changed for another."""
    claim = json.dumps(identity.claim, default=str)
    proof = "token" if identity.token_hash is not None else f"{identity.os_user} {claim}"
    return (proof, identity.principal, *sorted(identity.roles), f"@{identity.tenant}")


def _having(identities: Iterable[Identity], right: str) -> set[str]:
    return {each.principal for each in identities if right in each.may}


def _more_roles(
    old: Iterable[Identity], new: Iterable[Identity], asked: frozenset[str]
) -> Iterator[str]:
    """Approvers in a role that some approval asks for, which they did not have."""
    before = {(each.principal, role) for each in old for role in each.roles}
    known = _having(old, "approve")
    for each in new:
        for role in sorted({*each.roles} & asked) if "approve" in each.may else ():
            if each.principal in known and (each.principal, role) not in before:
                yield f"`{each.principal}` could `approve` as `{role}`"


def _asked_roles(snapshot: Snapshot) -> frozenset[str]:
    clauses = getattr(snapshot.rules, "clauses", {}).values()
    terms = [each.terms for each in clauses if each.decide == "ask" and each.terms is not None]
    terms += [each for tool in snapshot.tools.values() for each in _terms(tool).values() if each]
    return frozenset(role for each in terms for group in each.groups for role in group.roles)


def _forms(was: ToolEntry, now: ToolEntry) -> Iterator[tuple[Terms | None, Terms | None]]:
    """What the tool asked and what it asks, for every sort of caller that settings tell apart."""
    old, new = _terms(was), _terms(now)
    if old == new:
        return
    conditions = frozenset().union(*old), frozenset().union(*new)
    for form in {*old, *new}:
        yield old[form & conditions[0]], new[form & conditions[1]]


def _terms(tool: ToolEntry) -> Mapping[Form, Terms | None]:
    """What the tool itself asks of people, by the settings that apply."""
    decider = tool.decider
    if not isinstance(decider, ToolPolicy):
        return {frozenset(): None}
    found: dict[Form, Terms | None] = {frozenset(): decider.posture.own_terms}
    if tool.variants is None:
        return found
    texts = [condition.text for _, condition in tool.variants.written]
    for pattern, variant in zip(tool.variants.entries, decider.variants, strict=True):
        applying = frozenset(text for text, applies in zip(texts, pattern, strict=True) if applies)
        found[applying] = variant.posture.own_terms
    return found
