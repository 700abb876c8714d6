"""Rules and deciders of the generation before that may be used again.

A rule is read once for each document, and compiled once for the parameters of the tools that it can
hit: where none of them has changed, its conditions need not be checked again. What decides about a
tool is made once for what policy knows of the tool, and for the rules that hit it.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field

from toolrt.core.faults import Fault
from toolrt.loading.reader import Document
from toolrt.policy.clauses import Clause
from toolrt.policy.drafts import Draft
from toolrt.policy.engine import ToolPolicy
from toolrt.policy.facts import ToolFacts


@dataclass(frozen=True, slots=True)
class Named:
    """The tools that a rule hits, sorted; `is_all` says that it can hit no other. `faults` are
    about the names that it has.
    """

    hit: list[str]
    is_all: bool
    faults: list[Fault]


@dataclass(frozen=True, slots=True)
class KeptRule:
    """A rule as it is written, which tools it hits, and what it was compiled to over these."""

    number: int
    draft: Draft
    named: Named
    clause: Clause
    own_faults: list[Fault]

    @property
    def faults(self) -> list[Fault]:
        return [*self.named.faults, *self.own_faults]


@dataclass(frozen=True, slots=True)
class _KeptFile:
    """The rules of a file by their numbers; `around` is what they were compiled over."""

    around: object
    rules: Mapping[int, KeptRule]


@dataclass(slots=True)
class _Generation:
    """What one generation came to, and over which tools; `knows_tools` says that they are all."""

    tools: Mapping[str, ToolFacts] = field(default_factory=dict)
    knows_tools: bool = True
    files: dict[Document, _KeptFile] = field(default_factory=dict)
    posture: object = None
    deciders: dict[str, tuple[list[Clause], ToolPolicy]] = field(default_factory=dict)


@dataclass(slots=True)
class _Changes:
    """The names of tools of which policy knows something else than before: anything at all, their
    parameters, what conditions see of them. `names` says that the tools have other names.
    """

    names: bool
    facts: set[str] = field(default_factory=set)
    arguments: set[str] = field(default_factory=set)
    roots: set[str] = field(default_factory=set)

    @property
    def are_seen(self) -> bool:
        """Whether rules may see any of it."""
        return self.names or bool(self.arguments or self.roots)

    @classmethod
    def between(cls, before: _Generation, after: _Generation) -> "_Changes":
        names = _names(before) != _names(after) or before.knows_tools is not after.knows_tools
        found = cls(names)
        for name, new in after.tools.items():
            old = before.tools.get(name)
            if old is not None and _is_same(old, new):
                continue
            found.facts.add(name)
            if old is None or not _are_same(old.arguments, new.arguments):
                found.arguments.add(name)
            if old is None or old.root != new.root:
                found.roots.add(name)
        return found


def _names(generation: _Generation) -> list[tuple[str, object]]:
    """The names that patterns of rules look at: versions are part of them."""
    return [(name, tool.root.get("version")) for name, tool in generation.tools.items()]


class KeptClauses:
    """What the generation before came to, by the file of each rule and the name of each tool.

    `begin` and `turn` stand around each generation; what it did not ask for is forgotten.
    """

    def __init__(self) -> None:
        self._before = _Generation()
        self._now = self._before
        self._changes = _Changes(names=True)
        self._are_deciders_kept = False

    def begin(self, tools: Mapping[str, ToolFacts], *, knows_tools: bool) -> None:
        """Another generation begins."""
        self._now = _Generation(tools, knows_tools)
        self._changes = _Changes.between(self._before, self._now)

    def turn(self) -> None:
        """It is made, and what it asked for is kept for the next one."""
        self._before = self._now

    @property
    def has_other_names(self) -> bool:
        """Whether the tools have other names than before."""
        return self._changes.names

    def rules(
        self, document: Document, around: object, make: Callable[[], Iterable[KeptRule]]
    ) -> Iterable[KeptRule]:
        """The rules of a file, compiled; made anew where anything that rules see has changed."""
        kept = self._file(document, around)
        if kept is None or self._changes.are_seen:
            kept = _KeptFile(around, {each.number: each for each in make()})
        self._now.files[document] = kept
        return kept.rules.values()

    def rule(self, document: Document, around: object, number: int) -> KeptRule | None:
        """A rule as it was, if what is `around` it is as it was."""
        kept = self._file(document, around)
        return None if kept is None else kept.rules.get(number)

    def _file(self, document: Document, around: object) -> _KeptFile | None:
        kept = self._before.files.get(document)
        return kept if kept is not None and kept.around == around else None

    def holds(self, kept: KeptRule, named: Named) -> bool:
        """Whether a rule that hits what is `named` now would be compiled to what it was."""
        was, changes = kept.named, self._changes
        if was is not named and (was.is_all is not named.is_all or was.hit != named.hit):
            return False
        if not changes.arguments.isdisjoint(named.hit):
            return False
        return not kept.draft.looks_at_tools or changes.roots.isdisjoint(named.hit)

    def standing(self, posture: object) -> None:
        """`posture` is all that tools are decided by beside what they are and the rules that hit
        them; where it is another one, what decided about them is not kept.
        """
        self._now.posture = posture
        self._are_deciders_kept = posture == self._before.posture

    def decider(
        self, tool: ToolFacts, clauses: list[Clause], hash_: str, make: Callable[[], ToolPolicy]
    ) -> ToolPolicy:
        """What decides about a tool; made anew where it is another, or a rule that hits it is.

        `hash_` is that of the policy files.
        """
        kept = None
        if self._are_deciders_kept and tool.name not in self._changes.facts:
            kept = self._before.deciders.get(tool.name)
        is_kept = kept is not None and kept[0] == clauses
        made = (kept[1] if kept is not None and is_kept else make()).under(hash_)
        self._now.deciders[tool.name] = clauses, made
        return made


def _is_same(old: ToolFacts, new: ToolFacts) -> bool:
    """Whether policy knows the same of a tool, in all its forms."""
    if old is new:
        return True
    return (
        old.arguments is new.arguments
        and old.vars is new.vars
        and old.hitl is new.hitl
        and old.limits is new.limits
        and old.root == new.root
        and old.effect == new.effect
        and old.sensitive == new.sensitive
        and old.kind == new.kind
        and old.is_foreign is new.is_foreign
        and old.hands_text_on is new.hands_text_on
        and old.is_exposed is new.is_exposed
        and old.has_steps is new.has_steps
        and len(old.variants) == len(new.variants)
        and all(map(_is_same, old.variants, new.variants))
    )


def _are_same(old: object, new: object) -> bool:
    """Whether two values of plain data are written alike: `true` is not 1 (P10)."""
    return old is new or repr(old) == repr(new)
