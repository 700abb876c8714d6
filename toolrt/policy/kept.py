"""Rules of the generation before that may be used again.

A rule is read once for each document, and compiled once for the parameters of the tools that it can
hit: where none of them has changed, its conditions need not be checked again.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from toolrt.core.faults import Fault
from toolrt.loading.reader import Document
from toolrt.manifest.policy import Rule
from toolrt.policy.clauses import Clause
from toolrt.policy.drafts import Draft, Read

Made = tuple[Clause, list[Fault]]


@dataclass(frozen=True, slots=True)
class Over:
    """What a rule is compiled over: the project's own file, and the parameters of each tool.

    `roots` are the tools themselves, where its conditions look at them.
    """

    project: Document | None
    knows_vars: bool
    arguments: Mapping[str, Mapping[str, Any] | None]
    roots: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)


@dataclass
class KeptClauses:
    """Rules by document and number, and the clauses made of them; see `turn`."""

    _drafts: dict[tuple[Document, int], Draft | None] = field(default_factory=dict)
    _asked: dict[tuple[Document, int], Draft | None] = field(default_factory=dict)
    _clauses: dict[int, tuple[Rule, Over, Made]] = field(default_factory=dict)
    _used: dict[int, tuple[Rule, Over, Made]] = field(default_factory=dict)

    def draft(self, document: Document, number: int, read: Read) -> Draft | None:
        """The rule at that place; read when nobody has."""
        key = (document, number)
        self._asked[key] = self._drafts[key] if key in self._drafts else read()
        return self._asked[key]

    def clause(self, rule: Rule, over: Over, make: Callable[[], Made]) -> Made:
        """The rule, compiled over those tools, and its faults; made when it was over others.

        The same rule is the same object: two that are equal may stand in different files.
        """
        kept = self._clauses.get(id(rule))
        made = kept[2] if kept is not None and kept[1] == over else make()
        self._used[id(rule)] = (rule, over, made)
        return made

    def turn(self) -> None:
        """Another generation begins; what the one before did not ask for is forgotten."""
        self._drafts, self._asked = self._asked, {}
        self._clauses, self._used = self._used, {}
