"""What the tools of one generation are called on the wire, and how each is called and shown.

Made once a generation and toolset; a call looks its tool up here and nowhere else.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from toolrt.catalog.snapshot import Snapshot, ToolEntry
from toolrt.core.calls import Caller, Invocation
from toolrt.core.clock import SystemClock
from toolrt.core.offered import IsOffered
from toolrt.dialects.mcp import tool_document
from toolrt.dialects.names import LONGEST_MCP, WireNames, wire_name
from toolrt.faces.mcp.eras import LATEST_HANDSHAKE, MODERN, Era
from toolrt.faces.mcp.fit import Fit
from toolrt.manifest.offers import Toolset
from toolrt.pipeline.stages.find import is_visible

_ALONE = ("http", "command", "shell")
"""Kinds whose calls never ask the client anything."""


@dataclass(frozen=True, slots=True)
class Shelved:
    """A tool as MCP clients call it.

    `may_wait` says that a call of it may have to ask somebody, and so may outlast its request;
    `is_instant`, that it waits for nothing at all. `fit` tells whether a value is what the output
    schema says, where clients know one. `is_wrapped` says that its values are no objects, and that
    clients of old get them in one. `mirrored` are the arguments that clients
    repeat in headers: where each is, by its header. `names` are those of all tools here. `reach`
    are the tools that may be named in the arguments, where these name any and not all may be.
    """

    wire: str
    entry: ToolEntry
    may_wait: bool
    fit: Fit | None
    is_wrapped: bool
    mirrored: Mapping[bytes, tuple[str, ...]]
    is_instant: bool
    names: WireNames
    reach: IsOffered | None = None


class Shelf:
    """The tools of one snapshot that one endpoint offers."""

    def __init__(self, snapshot: Snapshot, is_offered: IsOffered | None) -> None:
        self.snapshot = snapshot
        offered = [
            each
            for each in snapshot.listed.values()
            if each.hosted is None and (is_offered is None or is_offered(each.name, each.version))
        ]
        names = WireNames((each.name for each in offered), LONGEST_MCP)
        self.tools = {
            made.wire: made for made in (_shelved(each, names, is_offered) for each in offered)
        }
        self.has_mirrored = any(each.mirrored for each in self.tools.values())
        self.is_same_for_all = not any(_may_hide(each.entry) for each in self.tools.values())

    def of(self, name: str) -> Shelved | None:
        """The tool of that name, by its own or as it is on the wire."""
        return self.tools.get(name) or self.tools.get(wire_name(name, LONGEST_MCP))

    def seen_by(self, caller: Caller) -> list[Shelved]:
        """The tools that no rule hides from somebody, by name."""
        if self.is_same_for_all:
            return list(self.tools.values())
        looking = Invocation("", "", {}, caller, SystemClock(), 0.0, 0.0)
        return [each for each in self.tools.values() if is_visible(each.entry, looking)]

    def told_to(self, caller: Caller) -> list[Shelved]:
        """Those of them that lists hold: where there are too many, a few, by which the others are
        found.
        """
        told, seen = self.snapshot.told, self.seen_by(caller)
        if told is None:
            return seen
        return [each for each in seen if each.entry.name in told]


def offering(toolset: Toolset | None) -> IsOffered | None:
    """Which tools an endpoint offers: those of a toolset; None for all."""
    return None if toolset is None else toolset.offers


def document(shelved: Shelved, era: Era) -> dict[str, Any]:
    """A tool as lists show it."""
    revision = MODERN if era == "modern" else LATEST_HANDSHAKE
    return tool_document(shelved.entry, shelved.names, revision)


def _shelved(entry: ToolEntry, names: WireNames, is_offered: IsOffered | None) -> Shelved:
    schema = entry.output_schema
    mirrored = dict(_mirrored(entry.input_schema))
    return Shelved(
        names.wire(entry.name),
        entry,
        _may_wait(entry),
        None if entry.told_schema is None else Fit(entry.name, entry.told_schema),
        schema is not None and schema.get("type") != "object",
        mirrored,
        is_instant=entry.kind == "python" and not _may_wait(entry) and not mirrored,
        names=names,
        reach=is_offered if entry.kind == "built-in" else None,
    )


def _mirrored(
    schema: Mapping[str, Any], path: tuple[str, ...] = ()
) -> Iterator[tuple[bytes, tuple[str, ...]]]:
    """The headers of the parameters that have `x-mcp-header`, at whatever depth of objects."""
    properties = schema.get("properties")
    if not isinstance(properties, Mapping):
        return
    for name, below in properties.items():
        if not isinstance(below, Mapping):
            continue
        header = below.get("x-mcp-header")
        if isinstance(header, str) and header.isascii():
            yield f"mcp-param-{header.lower()}".encode(), (*path, name)
        yield from _mirrored(below, (*path, name))


def _may_wait(entry: ToolEntry) -> bool:
    decider = entry.decider
    if decider is not None and decider.may_ask:
        return True
    if entry.hooks is not None:
        return True
    return entry.kind not in _ALONE and not getattr(entry.binding, "never_waits", False)


def _may_hide(entry: ToolEntry) -> bool:
    return entry.variants is not None or (entry.decider is not None and entry.decider.may_hide)
