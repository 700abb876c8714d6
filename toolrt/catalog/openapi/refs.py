"""A document and its references: local JSON pointers, never a file or a host.

Nothing is copied: what is given out are the document's own nodes, to be read only.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import unquote

from toolrt.catalog.openapi.report import Notes
from toolrt.core.faults import MISSING, child

_MOST_HOPS = 20

Steps = tuple[str | int, ...]


@dataclass(frozen=True, slots=True)
class Node:
    """A mapping of the document, and the steps to where it really stands."""

    value: Mapping[str, Any]
    steps: Steps

    def get(self, key: str) -> Any:
        return self.value.get(key)

    def text(self, key: str) -> str:
        """The text under `key`, empty for anything else."""
        found = self.value.get(key)
        return found if isinstance(found, str) else ""

    def below(self, key: str) -> "Node":
        """The mapping under `key`, empty for anything else."""
        found = self.value.get(key)
        return Node(found if isinstance(found, dict) else {}, (*self.steps, key))

    def items(self, key: str) -> Sequence[Any]:
        """The list under `key`, empty for anything else."""
        found = self.value.get(key)
        return found if isinstance(found, list) else ()


class Document:
    """The data of a document, and what of it is not mapped."""

    def __init__(self, data: Mapping[str, Any]) -> None:
        self.root = Node(data, ())
        self.notes = Notes()
        self.version = self.root.text("openapi")
        self.is_3_0 = self.version.startswith("3.0")

    def node(self, value: Any, steps: Steps) -> Node | None:
        """The mapping at `steps`, references followed; None, and told, when there is none."""
        for _ in range(_MOST_HOPS):
            if not isinstance(value, dict):
                self.notes.add("other", steps, "it is no mapping")
                return None
            ref = value.get("$ref")
            if not isinstance(ref, str):
                return Node(value, steps)
            found = self.find(ref)
            if found is None:
                self.notes.add("other", steps, why_not(ref))
                return None
            value, steps = found
        self.notes.add("other", steps, "its references lead in a circle")
        return None

    def find(self, ref: str) -> tuple[Any, Steps] | None:
        """What a local reference leads to; None for any other, and for one that leads nowhere."""
        if not ref.startswith("#/"):
            return None
        value: Any = self.root.value
        steps: Steps = ()
        for part in ref[2:].split("/"):
            step: str | int = unquote(part).replace("~1", "/").replace("~0", "~")
            if isinstance(value, list) and str(step).isdecimal() and len(str(step)) < _MOST_HOPS:
                step = int(step)
            value = child(value, step)
            steps = (*steps, step)
            if value is MISSING:
                return None
        return value, steps


def why_not(ref: str) -> str:
    """Why a reference was not followed."""
    if ref.startswith("#"):
        return f"`{ref[:80]}` leads nowhere in this document"
    return f"`{ref[:80]}` is outside this document, and nothing is fetched"
