"""What a source is asked for, and the table of where tools may come from.

An origin yields tools as a file could say them. How they are chosen, named and laid over stands in
`expanding`, and all that follows is what happens to any tool.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any, Protocol, cast

from toolrt.bindings.python_live import Live
from toolrt.catalog.workshop import Workshop
from toolrt.core.faults import Fault
from toolrt.loading.sources import WrittenSource

ORIGINS: Mapping[str, str] = {
    "mcp": "toolrt.catalog.sources.mcp",
    "openapi": "toolrt.catalog.sources.openapi",
    "python": "toolrt.catalog.sources.python",
}
"""Key of a source -> module with a `yielded`; imported when a source first uses it."""


@dataclass(frozen=True, slots=True)
class SourceTool:
    """A tool as its source has it: its own name there, and tool keys in long form, those of its
    kind among them. `blocked` says why it cannot be called for now. `place` is where it is defined,
    and `key` what it is in the program: no two tools of sources are the same.
    """

    name: str
    written: Mapping[str, Any]
    blocked: str | None = None
    place: str = ""
    key: object = None

    def keep(self, *others: object) -> None:
        """Let these live as long as what the tool calls, if that is given alive."""
        options = (each for each in self.written.values() if isinstance(each, dict))
        for option in (one for each in options for one in each.values()):
            if isinstance(option, Live):
                option.kept = others


@dataclass(frozen=True, slots=True)
class Yielded:
    """What a source has to give. Paths of faults begin at the source: `("python", "object")`.

    `more` are tools that are in only when `include` names them: they add to those that were chosen
    by whoever wrote the source's code. Where there are none, `include` says which of all are in.
    `unavailable` says why nobody knows for now what tools there are; `gone` are those that it once
    had, which those who wrote the project may still name.
    """

    tools: Sequence[SourceTool] = ()
    more: Sequence[SourceTool] | None = None
    faults: Sequence[Fault] = field(default=())
    unavailable: str | None = None
    gone: frozenset[str] = frozenset()


class Origin(Protocol):
    """A module of the table."""

    def yielded(self, source: WrittenSource, workshop: Workshop) -> Yielded:
        """The tools of a source, in order. No network; never raises for what the source is."""
        ...


def origin(name: str) -> Origin | None:
    """The module for a key of a source; None for one that does not work yet."""
    module = ORIGINS.get(name)
    return None if module is None else cast("Origin", import_module(module))
