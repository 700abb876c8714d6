"""What authors say about using their tools, for the system prompt of a model (U25).

`instructions` of a tool, or in `defaults` of a file for all tools there; before them the
description of a toolset, where one is asked for. What several tools say alike is told once.
"""

from collections.abc import Iterable
from typing import Any, NamedTuple

from toolrt.catalog.snapshot import ToolEntry


class Instruction(NamedTuple):
    """A text, and the names of the tools it is about; none for all of them."""

    tools: tuple[str, ...]
    text: str

    def line(self) -> str:
        return f"{', '.join(self.tools)}: {self.text}" if self.tools else self.text

    def document(self) -> dict[str, Any]:
        """JSON-ready."""
        return {"tools": list(self.tools), "text": self.text}


def instructions(
    tools: Iterable[tuple[str, ToolEntry]], of_all: str | None = None
) -> list[Instruction]:
    """What is said of these tools, each with the name that it is known by, in their order; `of_all`
    is said first.
    """
    found: dict[str, list[str]] = {}
    for name, entry in tools:
        text = " ".join((entry.instructions or "").split())
        if text:
            found.setdefault(text, []).append(name)
    first = " ".join((of_all or "").split())
    alone = [Instruction((), first)] if first else []
    return [*alone, *(Instruction(tuple(names), text) for text, names in found.items())]


def written(said: Iterable[Instruction]) -> str:
    """All of it as text, a line each."""
    return "\n".join(each.line() for each in said)
