"""What weakens rules although none has vanished: the guard of reloads for all that a rule's meaning
depends on outside of its own text (L6).

Whether a change is meant cannot be seen from here. So each that may let more through is looked at
twice, like a rule that is gone. Rules and tools that are the same objects both times are not
compared: only what has changed is looked at.
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
from toolrt.reloading.consent import asks_of, fewer_questions, less_consent
from toolrt.reloading.differences import is_same
from toolrt.reloading.exposure import more_exposed
from toolrt.reloading.people import more_rights
from toolrt.reloading.renames import Pair, same_tools
from toolrt.reloading.walls import lower_walls

_ALLOWED: Final = {"deny": {"deny"}, "ask": {"ask", "deny"}}
"""What a rule may decide in place of what it decided, without being a lost rule."""
_OTHER: Final = {"when": "unless", "unless": "when"}


@dataclass(frozen=True, slots=True)
class Kept:
    """A deny or ask rule that is still there, as it was and as it would be."""

    was: Clause
    now: Clause

    @property
    def is_same(self) -> bool:
        """Whether nothing of the rule itself has changed."""
        return self.was is self.now

    def reads(self, root: str) -> frozenset[str | None]:
        """The keys of `root` that it reads both times; None among them for any key."""
        keys = _keys(self.now.conditions, root)
        return keys if self.is_same or not keys else _both(_keys(self.was.conditions, root), keys)

    @property
    def looks_beyond(self) -> bool:
        """Whether it may look at what tools are."""
        return not all(each.roots.isdisjoint(_LOOKED_AT) for each in self.now.conditions)

    @property
    def has_more_conditions(self) -> bool:
        return len(self.now.conditions) > len(self.was.conditions)

    @property
    def has_other_conditions(self) -> bool:
        """Whether what stood under `when` stands under `unless`, or the other way round."""
        old, new = _sides(self.was), _sides(self.now)
        moved = (old.get(_OTHER[key]) == text for key, text in new.items())
        return not self.has_more_conditions and (not new.keys() <= old.keys() or any(moved))


def _sides(clause: Clause) -> dict[str, str]:
    sides = {"when": clause.when, "unless": clause.unless}
    return {key: each.text for key, each in sides.items() if each is not None}


@dataclass(frozen=True, slots=True)
class Both:
    """Two generations, as far as the rules that are in both are concerned, and the tools."""

    before: Policy
    after: Policy
    rules: list[Kept]
    tools: list[Pair]

    @property
    def changed(self) -> list[Kept]:
        """The rules that are not as they were."""
        return [each for each in self.rules if not each.is_same]

    @property
    def called(self) -> Mapping[str, list[str]]:
        """What each tool of before is called now; several may be the same one."""
        return _called(self.tools)


def weakened(before: Snapshot, after: Snapshot) -> Iterator[str]:
    """Each way in which rules that are still there may hold for less than they did."""
    both = _compared(before, after)
    if both is None:
        return
    readers = _Readers(both.rules, both.tools)
    yield from _by_vars(before, after, readers)
    yield from _by_people(before, after, readers)
    yield from _of_tools(both)
    yield from _by_hits(both, has_new=not after.tools.keys() <= before.tools.keys())
    changed = both.changed
    more = [each.now for each in changed if each.has_more_conditions]
    yield from told(more, "would hold under one more condition")
    others = [each.now for each in changed if each.has_other_conditions]
    yield from told(others, "would hold where its condition does not")
    yield from told(
        less_consent((each.was, each.now) for each in changed),
        "would need less of an approval",
    )
    yield from fewer_questions(both.tools)
    yield from lower_walls(both.tools)
    yield from more_exposed(both.tools)


def _compared(before: Snapshot, after: Snapshot) -> Both | None:
    """What is there both times; None where there are no rules to compare."""
    if not isinstance(before.rules, Policy) or not isinstance(after.rules, Policy):
        return None
    rules = list(_kept(before.rules, after.rules))
    return Both(before.rules, after.rules, rules, same_tools(before, after))


@dataclass(frozen=True, slots=True)
class Stakes:
    """Beside policy files, what losses are about: some constants, the identities, the tools."""

    vars: frozenset[str] = frozenset()
    people: bool = False
    tools: bool = False


def stakes(before: Snapshot, after: Snapshot) -> Stakes:
    """What `weakened` has found something in."""
    both = _compared(before, after)
    if both is None:
        return Stakes()
    readers = _Readers(both.rules, both.tools)
    by_tools = (fewer_questions, lower_walls, more_exposed)
    of_tools = (*_of_tools(both), *(told for find in by_tools for told in find(both.tools)))
    return Stakes(
        frozenset(name for name in changed_vars(before, after) if readers.of("vars", name)),
        any(_by_people(before, after, readers)),
        bool(of_tools),
    )


def changed_vars(before: Snapshot, after: Snapshot) -> Iterator[str]:
    """The constants that are not what they were."""
    for name in sorted({*before.vars, *after.vars}):
        if not is_same(child(before.vars, name), child(after.vars, name)):
            yield name


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
        if now is None or was.decide == "allow" or "audit" in (was.mode, now.mode):
            continue
        if now is was or now.decide in _ALLOWED[was.decide]:
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
    for name in changed_vars(before, after):
        yield from (f"{each} `vars.{name}`, which changes" for each in readers.of("vars", name))


def _by_people(before: Snapshot, after: Snapshot, readers: _Readers) -> Iterator[str]:
    people = [[each.model_dump() for each in one.identities] for one in (before, after)]
    if not is_same(*people):
        yield from more_rights(before, after, readers.of("caller"))


def _of_tools(both: Both) -> Iterator[str]:
    """What of the tools themselves, or of their names, may let more through."""
    yield from _by_tools(both)
    yield from _by_names(both)


def _by_tools(both: Both) -> Iterator[str]:
    """Tools of which a rule looks at something that is no longer what it was."""
    called = _called(pair for pair in both.tools if _is_other(*pair))
    changed: dict[str, list[Clause]] = {}
    for rule in both.rules if called else ():
        if not rule.looks_beyond:
            continue
        looks = [(look, keys) for root, look in _LOOKED_AT.items() if (keys := rule.reads(root))]
        hit = {*both.after.hits[rule.now.id]}
        for name in called.keys() & both.before.hits[rule.was.id]:
            for new in hit.intersection(called[name]):
                sides = both.before.tools[name].tool, both.after.tools[new].tool
                for look, keys in looks:
                    for what in look(*sides, keys):
                        changed.setdefault(what, []).append(rule.now)
    for what, clauses in sorted(changed.items()):
        yield from told(clauses, f"reads {what}", f"read {what}")


def _called(tools: Iterable[Pair]) -> Mapping[str, list[str]]:
    found: dict[str, list[str]] = {}
    for was, now in tools:
        found.setdefault(was.name, []).append(now.name)
    return found


def _is_other(was: ToolEntry, now: ToolEntry) -> bool:
    """Whether rules may see another tool: one that was kept has the layers that it had."""
    return was.layered is not now.layered or was.name != now.name


def _of_root(old: ToolFacts, new: ToolFacts, keys: frozenset[str | None]) -> Iterator[str]:
    for key in sorted({*old.root, *new.root} if None in keys else {str(key) for key in keys}):
        if old.root.get(key, MISSING) != new.root.get(key, MISSING):
            yield f"`tool.{key}` of `{old.name}`, which changes"


def _of_risk(old: ToolFacts, new: ToolFacts, keys: frozenset[str | None]) -> Iterator[str]:
    sides = [(classes_of(each), each.sensitive) for each in (old, new)]
    if keys and sides[0] != sides[1]:
        yield f"the risk of `{old.name}`, which changes"


def _of_history(old: ToolFacts, new: ToolFacts, _keys: frozenset[str | None]) -> Iterator[str]:
    """Calls are counted by the names of tools."""
    if old.name != new.name:
        yield f"the history of `{old.name}`, which begins anew as `{new.name}`"


_LOOKED_AT: Final[
    Mapping[str, Callable[[ToolFacts, ToolFacts, frozenset[str | None]], Iterator[str]]]
] = {
    "tool": _of_root,
    "risk": _of_risk,
    "history": _of_history,
}


def _by_names(both: Both) -> Iterator[str]:
    """Tools that no rule let through, and that some rule does under their other name."""
    renamed = [each for each in both.tools if each[0].name != each[1].name]
    if not renamed or both.before.default != "deny":
        return
    old, new = _openers(both.before), _openers(both.after)
    for was, now in renamed:
        known = [id_ for id_ in new.get(now.name, ()) if id_ in both.before.clauses]
        asks_itself = any(asks_of(was).values())
        if known and was.name not in old and not asks_itself:
            rules = listed(known, "rule")
            yield f"`{now.name}` would be let through by {rules}, and `{was.name}` is by none"


def _openers(policy: Policy) -> Mapping[str, list[str]]:
    """The rules that may let calls of a tool through, with or without a question."""
    found: dict[str, list[str]] = {}
    for id_, clause in policy.clauses.items():
        if clause.decide != "deny" and clause.mode == "enforce":
            for name in policy.hits[id_]:
                found.setdefault(name, []).append(id_)
    return found


def _by_hits(both: Both, *, has_new: bool) -> Iterator[str]:
    """Tools that a rule no longer names, although they are there; `has_new` says that some are
    new, any of which may be one that is gone.
    """
    called = both.called
    moved = {was.name for was, now in both.tools if was.name != now.name}
    lost: dict[str, list[Clause]] = {}
    for rule in both.rules:
        was, hit = both.before.hits[rule.was.id], both.after.hits[rule.now.id]
        if was == hit and moved.isdisjoint(was):
            continue
        now = {*hit}
        missed = [each for each in was if not now.issuperset(called.get(each, ()))]
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
    if not any(root in each.roots for each in conditions):
        return frozenset()
    texts = (ConditionText(each.text) for each in conditions if root in each.roots)
    return frozenset(use.key for text in texts for use in text.uses() if use.root == root)


def _both(one: frozenset[str | None], other: frozenset[str | None]) -> frozenset[str | None]:
    """The keys in both; None stands for every key."""
    if None in one:
        return other
    return one if None in other else one & other
