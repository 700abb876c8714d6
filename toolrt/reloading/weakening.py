"""What weakens rules although none has vanished: the guard of reloads for all that a rule's meaning
depends on outside of its own text (L6).

Whether a change is meant cannot be seen from here. So each that may let more through is looked at
twice, like a rule that is gone.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from toolrt.catalog.snapshot import Snapshot, ToolEntry
from toolrt.core.faults import MISSING, child
from toolrt.expressions.condition_text import ConditionText
from toolrt.expressions.conditions import Condition
from toolrt.policy.clauses import Clause
from toolrt.policy.facts import ToolFacts
from toolrt.policy.loss import listed
from toolrt.policy.policy import Policy
from toolrt.policy.risk import classes_of
from toolrt.reloading.consent import fewer_questions, less_consent, more_rights

_ALLOWED: Final = {"deny": {"deny"}, "ask": {"ask", "deny"}}
"""What a rule may decide in place of what it decided, without being a lost rule."""


@dataclass(frozen=True, slots=True)
class Kept:
    """A deny or ask rule that is still there, as it was and as it would be."""

    was: Clause
    now: Clause

    def reads(self, root: str) -> frozenset[str | None]:
        """The keys of `root` that it reads both times; None among them for any key."""
        return _both(*(_keys(each.conditions, root) for each in (self.was, self.now)))


def weakened(before: Snapshot, after: Snapshot) -> Iterator[str]:
    """Each way in which rules that are still there may hold for less than they did."""
    if not isinstance(before.rules, Policy) or not isinstance(after.rules, Policy):
        return
    rules = list(_kept(before.rules, after.rules))
    tools = same_tools(before, after)
    readers = _Readers(rules, tools)
    yield from _by_vars(before, after, readers)
    yield from more_rights(before, after, readers.of("caller"))
    yield from _by_tools(before.rules, after.rules, rules)
    has_new = not after.tools.keys() <= before.tools.keys()
    now_called = {was.name: now.name for was, now in tools}
    yield from _by_hits(before.rules, after.rules, rules, now_called, has_new=has_new)
    more = [each.now for each in rules if len(each.now.conditions) > len(each.was.conditions)]
    yield from told(more, "would hold under one more condition")
    yield from told(
        less_consent((each.was, each.now) for each in rules), "would need less of an approval"
    )
    yield from fewer_questions(tools)


def same_tools(before: Snapshot, after: Snapshot) -> list[tuple[ToolEntry, ToolEntry]]:
    """The tools that are there both times, those among them that only have another name."""
    old, new = before.tools, after.tools
    gone = [each for name, each in old.items() if name not in new]
    added = [each for name, each in new.items() if name not in old] if gone else []
    kept = [(old[name], new[name]) for name in new if name in old]
    renamed = [
        (was, now) for was in gone for now in added if was.layered.merged == now.layered.merged
    ]
    return [*kept, *renamed]


def told(rules: Iterable[Clause], what: str, several: str | None = None) -> Iterator[str]:
    """One sentence about the deny rules among these, one about those that ask."""
    found = list(rules)
    for verdict in ("deny", "ask"):
        names = {each.id for each in found if each.decide == verdict}
        if names:
            said = what if len(names) == 1 else several or what
            yield f"{listed(names, f'{verdict} rule')} {said}"


def _kept(before: Policy, after: Policy) -> Iterator[Kept]:
    for id_, was in before.clauses.items():
        now = after.clauses.get(id_)
        if now is None or was.decide == "allow" or "audit" in {was.mode, now.mode}:
            continue
        if now.decide in _ALLOWED[was.decide]:
            yield Kept(was, now)


@dataclass(frozen=True, slots=True)
class _Readers:
    """Who looks beyond a rule's own text: rules, and settings that say whether people are asked."""

    rules: list[Kept]
    tools: list[tuple[ToolEntry, ToolEntry]]

    def of(self, root: str, key: str | None = None) -> list[str]:
        """`deny rule … reads` of all that read `root`, or that key of it."""
        wanted = {None, key}
        rules = [each.now for each in self.rules if _is_read(each.reads(root), wanted)]
        names = [now.name for was, now in self.tools if _is_read(_asking(was, now, root), wanted)]
        settings = [f"the `hitl` that settings give {listed(names)} reads"] if names else []
        return [*told(rules, "reads", "read"), *settings]


def _is_read(keys: frozenset[str | None], wanted: set[str | None]) -> bool:
    return bool(keys) if wanted == {None} else not keys.isdisjoint(wanted)


def _by_vars(before: Snapshot, after: Snapshot, readers: _Readers) -> Iterator[str]:
    for name in sorted({*before.vars, *after.vars}):
        old, new = child(before.vars, name), child(after.vars, name)
        if old != new or isinstance(old, bool) != isinstance(new, bool):
            yield from (f"{each} `vars.{name}`, which changes" for each in readers.of("vars", name))


def _by_tools(before: Policy, after: Policy, rules: Iterable[Kept]) -> Iterator[str]:
    """Tools of which a rule looks at something that is no longer what it was."""
    changed: dict[str, list[Clause]] = {}
    for rule in rules:
        looks = [(root, rule.reads(root)) for root in ("tool", "risk")]
        if not any(keys for _, keys in looks):
            continue
        for name in {*before.hits[rule.was.id]} & {*after.hits[rule.now.id]}:
            sides = before.tools[name].tool, after.tools[name].tool
            for root, keys in looks:
                for what in _LOOKED_AT[root](*sides, keys):
                    changed.setdefault(f"{what} of `{name}`, which changes", []).append(rule.now)
    for what, clauses in sorted(changed.items()):
        yield from told(clauses, f"reads {what}", f"read {what}")


def _of_root(old: ToolFacts, new: ToolFacts, keys: frozenset[str | None]) -> Iterator[str]:
    for key in sorted({*old.root, *new.root} if None in keys else {str(key) for key in keys}):
        if old.root.get(key, MISSING) != new.root.get(key, MISSING):
            yield f"`tool.{key}`"


def _of_risk(old: ToolFacts, new: ToolFacts, keys: frozenset[str | None]) -> Iterator[str]:
    sides = [(classes_of(each), each.sensitive) for each in (old, new)]
    if keys and sides[0] != sides[1]:
        yield "the risk"


_LOOKED_AT: Final[
    Mapping[str, Callable[[ToolFacts, ToolFacts, frozenset[str | None]], Iterator[str]]]
] = {
    "tool": _of_root,
    "risk": _of_risk,
}


def _by_hits(
    before: Policy,
    after: Policy,
    rules: Iterable[Kept],
    now_called: Mapping[str, str],
    *,
    has_new: bool,
) -> Iterator[str]:
    """Tools that a rule no longer names, although they are there; `has_new` says that some are
    new, any of which may be one that is gone.
    """
    lost: dict[str, list[Clause]] = {}
    for rule in rules:
        was, now = before.hits[rule.was.id], after.hits[rule.now.id]
        if was == now:
            continue
        missed = [each for each in was if each in now_called and now_called[each] not in now]
        if missed:
            lost.setdefault(f"would no longer hold for {listed(missed)}", []).append(rule.now)
        elif was and not now and has_new:
            lost.setdefault("would hold for no tool any more", []).append(rule.now)
    for what, clauses in lost.items():
        yield from told(clauses, what)


def _asking(was: ToolEntry, now: ToolEntry, root: str) -> frozenset[str | None]:
    """The keys of `root` that settings with `hitl` read both times, for some callers of a tool."""
    return _both(*(_keys(_with_hitl(each), root) for each in (was, now)))


def _with_hitl(tool: ToolEntry) -> list[Condition]:
    written = tool.variants.written if tool.variants else ()
    return [condition for layer, condition in written if "hitl" in layer.data]


def _keys(conditions: Iterable[Condition], root: str) -> frozenset[str | None]:
    texts = (ConditionText(each.text) for each in conditions if root in each.roots)
    return frozenset(use.key for text in texts for use in text.uses() if use.root == root)


def _both(one: frozenset[str | None], other: frozenset[str | None]) -> frozenset[str | None]:
    """The keys in both; None stands for every key."""
    if None in one:
        return other
    return one if None in other else one & other
