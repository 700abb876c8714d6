"""What a test is, how it ended, and which rules the tests have seen at work."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Literal

from toolrt.catalog.snapshot import Snapshot, ToolEntry
from toolrt.loading.loader import LoadedFiles, WrittenPolicies
from toolrt.manifest.cases import RuleTest, ToolTest

Ending = Literal["passed", "failed", "skipped"]


@dataclass(frozen=True, slots=True)
class Case:
    """One test of a tool or of a rule; they are numbered from 1."""

    of: Literal["tool", "rule"]
    name: str
    number: int
    test: ToolTest | RuleTest
    place: Callable[[], str]

    @property
    def id(self) -> str:
        return f"{self.of} {self.name} #{self.number}"


@dataclass(frozen=True, slots=True)
class Report:
    """How a test ended; `why` says what was not as expected, or why it did not run."""

    case: Case
    ending: Ending
    why: tuple[str, ...] = ()
    time_s: float = 0.0

    def document(self) -> dict[str, Any]:
        """JSON-ready."""
        return {
            "id": self.case.id,
            "of": self.case.of,
            "name": self.case.name,
            "number": self.case.number,
            "outcome": self.ending,
            "why": list(self.why),
            "time_ms": round(self.time_s * 1000, 3),
            "place": self.case.place(),
        }


@dataclass(slots=True)
class Coverage:
    """The rules of the project, and those that have matched in a test."""

    rules: tuple[str, ...] = ()
    matched: set[str] = field(default_factory=set)

    @property
    def missed(self) -> list[str]:
        return [each for each in self.rules if each not in self.matched]

    @property
    def percent(self) -> float:
        """100 where there is no rule to match."""
        share = len(self.missed) / len(self.rules) if self.rules else 0.0
        return round(100 * (1 - share), 1)

    def reaches(self, percent: float) -> bool:
        """Whether so many of a hundred rules have matched."""
        return 100 * (len(self.rules) - len(self.missed)) >= percent * len(self.rules)

    def document(self) -> dict[str, Any]:
        """JSON-ready."""
        return {
            "rules": len(self.rules),
            "matched": len(self.rules) - len(self.missed),
            "missed": self.missed,
            "percent": self.percent,
        }


def cases_of(snapshot: Snapshot, files: LoadedFiles) -> list[Case]:
    """Every test: those of tools by name, then those of rules as the files have them."""
    return [*_of_tools(snapshot), *_of_rules(files)]


def rules_of(files: LoadedFiles) -> tuple[str, ...]:
    """The ids of all rules."""
    return tuple(sorted(rule.id for written in files.policies for rule in written.policies.rules))


def _of_tools(snapshot: Snapshot) -> Iterator[Case]:
    for name, entry in snapshot.tools.items():
        for at, test in enumerate(entry.manifest.tests):
            yield Case("tool", name, at + 1, test, partial(_place_in_tool, entry, at))


def _of_rules(files: LoadedFiles) -> Iterator[Case]:
    for written in files.policies:
        for number, rule in enumerate(written.policies.rules):
            for at, test in enumerate(rule.tests):
                place = partial(_place_in_rule, written, number, at)
                yield Case("rule", rule.id, at + 1, test, place)


def _place_in_tool(entry: ToolEntry, at: int) -> str:
    path = ("tests", at)
    file = entry.layered.origin(path).document.file
    return f"{file}:{entry.layered.span(path).line}"


def _place_in_rule(written: WrittenPolicies, number: int, at: int) -> str:
    span = written.document.span(("rules", number, "tests", at))
    return f"{written.document.file}:{span.line}"
