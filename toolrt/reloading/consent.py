"""Whether people are asked less than they were: part of the guard of reloads (L6)."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Final

from toolrt.catalog.snapshot import ToolEntry
from toolrt.core.decisions import Group, Terms
from toolrt.policy.clauses import Clause
from toolrt.policy.engine import ToolPolicy
from toolrt.policy.loss import listed

_SILENT: Final = "{} would no longer ask a person by itself"
_EASIER: Final = "the approval of {} itself would need less"
_RUNS: Final = "{} would run, where a person does it now"
_LESS: Final = "a person would fill in less of {}"

Form = frozenset[str]
"""The conditions of the settings that apply to a caller, as written."""


def less_consent(rules: Iterable[tuple[Clause, Clause]]) -> Iterator[Clause]:
    """The rules that ask both times and want less of an approval now."""
    for was, now in rules:
        terms = was.terms or Terms(), now.terms or Terms()
        if now.decide == "ask" and terms[0] != terms[1] and is_weaker(*terms):
            yield now


def fewer_questions(tools: Iterable[tuple[ToolEntry, ToolEntry]]) -> Iterator[str]:
    """Tools that asked more of people by themselves, for some caller or for all."""
    told: dict[str, set[str]] = {_SILENT: set(), _EASIER: set(), _RUNS: set(), _LESS: set()}
    for was, now in tools:
        if _asks_as_before(was, now):
            continue
        changes = [(old, new) for old, new in _forms(was, now) if old is not None and old != new]
        lost = {each for old, new in changes for each in _lost(old, new)}
        for each in {_SILENT} if _SILENT in lost else lost:
            told[each].add(now.name)
    yield from (sentence.format(listed(names)) for sentence, names in told.items() if names)


def _asks_as_before(was: ToolEntry, now: ToolEntry) -> bool:
    """Whether nothing can have changed: a tool without variants that asks for the same terms."""
    old, new = was.decider, now.decider
    if not isinstance(old, ToolPolicy) or not isinstance(new, ToolPolicy):
        return False
    is_plain = was.variants is None and now.variants is None
    return is_plain and old.posture.own_terms is new.posture.own_terms


def _lost(before: Terms, after: Terms | None) -> Iterator[str]:
    """What people would be asked less, as one of the sentences."""
    if after is None:
        yield _SILENT
        return
    if is_weaker(before, after):
        yield _EASIER
    if before.mode == "external" and after.mode != "external":
        yield _RUNS
    if before.mode == "input" and (after.mode != "input" or _is_fewer(before, after)):
        yield _LESS


def _is_fewer(before: Terms, after: Terms) -> bool:
    """Whether a person fills in fewer fields; where none is named, it is all of them."""
    return bool(after.fields) and not (before.fields and {*before.fields} <= {*after.fields})


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


def _forms(was: ToolEntry, now: ToolEntry) -> Iterator[tuple[Terms | None, Terms | None]]:
    """What the tool asked and what it asks, for every sort of caller that settings tell apart."""
    old, new = asks_of(was), asks_of(now)
    if old == new:
        return
    conditions = frozenset().union(*old), frozenset().union(*new)
    for form in {*old, *new}:
        yield old[form & conditions[0]], new[form & conditions[1]]


def asks_of(tool: ToolEntry) -> Mapping[Form, Terms | None]:
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
