"""The defaults that lie beneath the tools of a file: the project's own, and those of the file."""

from collections.abc import Iterable, Mapping
from typing import Any

from toolrt.core.faults import Path, child
from toolrt.loading.layers import Layer
from toolrt.loading.reader import Document
from toolrt.manifest.longform import long_tool
from toolrt.manifest.tool import KIND_NAMES

Owner = tuple[str, Document | None, Path]
"""The name of a layer, the document that may hold it, and the path to it."""


class Beneath:
    """Defaults by the kinds of the tools that lie upon them: the same for all of one kind."""

    def __init__(self, owners: Iterable[Owner]) -> None:
        self._written = [
            (name, owner, prefix, written)
            for name, owner, prefix in owners
            if owner is not None and isinstance(written := child(owner.data, prefix[0]), dict)
        ]
        self._made: dict[tuple[str, ...], list[Layer]] = {}

    def layers(self, tool: Mapping[str, Any]) -> list[Layer]:
        """Those of a tool as it is written, lowest first."""
        kinds = tuple(name for name in KIND_NAMES if name in tool) if self._written else ()
        if kinds not in self._made:
            self._made[kinds] = [
                Layer(name, owner, prefix, long_tool(written, tool))
                for name, owner, prefix, written in self._written
            ]
        return self._made[kinds]
