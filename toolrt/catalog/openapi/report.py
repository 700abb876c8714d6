"""What came of a document: its tools, the targets that they need, and what was not mapped."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

What = Literal["operation", "parameter", "body", "schema", "server", "security", "name", "other"]


@dataclass(frozen=True, slots=True)
class Unmapped:
    """Something that a document says and no tool does: `pointer` is a JSON pointer into it."""

    what: What
    pointer: str
    reason: str

    def document(self) -> dict[str, str]:
        return {"what": self.what, "pointer": self.pointer, "reason": self.reason}


@dataclass(frozen=True, slots=True)
class MappedTool:
    """One operation: tool keys in long form, and why it cannot be called, if so.

    `operation` is its method and path; `target` names the target of `Mapped.targets` that it uses.
    """

    name: str
    written: Mapping[str, Any]
    operation: str
    pointer: str
    blocked: str | None = None


@dataclass(frozen=True, slots=True)
class Mapped:
    """A whole document. `operations` counts all of it, those without a tool included."""

    title: str
    version: str
    operations: int
    tools: Sequence[MappedTool]
    targets: Mapping[str, Mapping[str, Any]]
    unmapped: Sequence[Unmapped]

    def summary(self) -> str:
        """What was not mapped, counted: `2 operations, 3 parameters`; empty when nothing was."""
        counts = Counter(each.what for each in self.unmapped)
        return ", ".join(_counted(number, what) for what, number in sorted(counts.items()))

    def document(self) -> dict[str, Any]:
        """JSON-ready: counts, and each thing that was not mapped with its place and reason."""
        return {
            "title": self.title,
            "openapi": self.version,
            "operations": self.operations,
            "tools": len(self.tools),
            "unmapped": [each.document() for each in self.unmapped],
        }


@dataclass(slots=True)
class Notes:
    """Collects what is not mapped, each place and reason once."""

    found: dict[Unmapped, None] = field(default_factory=dict)

    def add(self, what: What, steps: Iterable[str | int], reason: str) -> None:
        self.found[Unmapped(what, pointer(steps), reason)] = None


class NotMappedError(Exception):
    """An operation that no tool can stand for: what of it is why, where, and the reason."""

    def __init__(self, steps: Sequence[str | int], reason: str) -> None:
        super().__init__(reason)
        self.steps = steps
        self.reason = reason


def pointer(steps: Iterable[str | int]) -> str:
    """A JSON pointer (RFC 6901) to what `steps` lead to."""
    return "".join(f"/{str(step).replace('~', '~0').replace('/', '~1')}" for step in steps)


_PLURALS: Mapping[str, str] = {
    "body": "bodies",
    "security": "security schemes",
    "other": "other things",
}


def _counted(number: int, what: str) -> str:
    one = {"security": "security scheme", "other": "other thing"}.get(what, what)
    return f"{number:,} {one if number == 1 else _PLURALS.get(what, f'{what}s')}"
