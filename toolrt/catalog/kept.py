"""Tools of the generation before that may be used again, because nothing that they were made of
has changed.

A tool is made of its layers, of the project's own file, and of its target; what it needs beside
files (secrets, programs) is looked up again. One with an error or a reason not to be called, and
one whose schema stands in a file of its own, is always compiled anew.
"""

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass

from toolrt.catalog.implementation import kind_name
from toolrt.catalog.schemas import schema_files
from toolrt.catalog.snapshot import ToolEntry
from toolrt.catalog.workshop import Workshop
from toolrt.core.faults import Path, child
from toolrt.loading.findings import Finding
from toolrt.loading.layers import SOURCE, Conditional, Layer
from toolrt.loading.loader import WrittenTarget, WrittenTool
from toolrt.loading.reader import Document

Compile = Callable[[Workshop, WrittenTool], ToolEntry | None]
Place = tuple[Document, Path]


@dataclass(frozen=True, slots=True)
class _Kept:
    """What a tool came to, and what it was made of beside the project's own file: its layers, and
    the target or the server that it names.
    """

    name: str
    layers: Sequence[Layer]
    conditional: Sequence[Conditional]
    target_name: str
    target: WrittenTarget | None
    server: object
    entry: ToolEntry | None
    findings: Sequence[Finding]


class KeptTools:
    """What tools came to, by the document and the name that they were written under.

    `begin` and `turn` stand around each generation; what is written no more is forgotten.
    """

    def __init__(self) -> None:
        self._around: Hashable = None
        self._before: dict[Place, _Kept] = {}
        self._now: dict[Place, _Kept] = {}

    def begin(self, workshop: Workshop) -> None:
        """Another generation begins; where the project itself is another one, nothing is kept."""
        around = _around(workshop)
        if around != self._around:
            self._before = {}
        self._around, self._now = around, {}

    def turn(self) -> None:
        """All tools of the generation are there."""
        self._before, self._now = self._now, {}

    def compiled(
        self, workshop: Workshop, written: WrittenTool, compile_: Compile
    ) -> ToolEntry | None:
        """What `compile_` gives for the tool, or gave before; its findings are reported."""
        place = written.document, written.path
        kept = self._before.get(place)
        if kept is not None and _is_made_of_same(kept, workshop, written):
            self._now[place] = kept
            workshop.files.findings += kept.findings
            return kept.entry
        kept = _fresh(workshop, written, compile_)
        if _is_lasting(kept, workshop, written):
            self._now[place] = kept
        return kept.entry


def _around(workshop: Workshop) -> Hashable:
    """What every tool is made of."""
    knows = workshop.files.knows
    return workshop.imports, workshop.files.project_document, knows.vars, knows.defaults


def _fresh(workshop: Workshop, written: WrittenTool, compile_: Compile) -> _Kept:
    before = len(workshop.files.findings)
    entry = compile_(workshop, written)
    findings = tuple(workshop.files.findings[before:])
    name = _target_name(written)
    target = workshop.files.targets.get(name)
    server = _server_key(workshop, written)
    layers, conditional = written.layered.layers, written.conditional
    return _Kept(written.name, layers, conditional, name, target, server, entry, findings)


def _is_lasting(kept: _Kept, workshop: Workshop, written: WrittenTool) -> bool:
    """Whether it depends on nothing but files that can be read, as far as it has come."""
    if kept.entry is not None and kept.entry.blocked is not None:
        return False
    if kept.target_name and workshop.files.is_broken_target(kept.target_name):
        return False
    return not any(each.is_error for each in kept.findings) and not schema_files(
        written.layered.merged
    )


def _is_made_of_same(kept: _Kept, workshop: Workshop, written: WrittenTool) -> bool:
    """Whether nothing has changed; documents are the same only when they are the same object."""
    files, layers, conditional = workshop.files, written.layered.layers, written.conditional
    return (
        kept.name == written.name
        and written.blocked is None
        and len(kept.layers) == len(layers)
        and all(map(_is_same_layer, kept.layers, layers))
        and len(kept.conditional) == len(conditional)
        and all(map(_is_same_setting, kept.conditional, conditional))
        and kept.target is files.targets.get(kept.target_name)
        and kept.server == _server_key(workshop, written)
        and not (kept.target_name and files.is_broken_target(kept.target_name))
        and not _lacks(kept.entry, workshop)
    )


def _target_name(written: WrittenTool) -> str:
    merged = written.layered.merged
    named = child(merged.get(kind_name(merged) or ""), "target")
    return named if isinstance(named, str) else ""


def _server_key(workshop: Workshop, written: WrittenTool) -> object:
    """What the connection is known by that a tool of a server needs."""
    if not workshop.files.servers:
        return None
    name = child(written.layered.merged.get("mcp"), "server")
    server = workshop.files.servers.get(name) if isinstance(name, str) else None
    return None if server is None else (server.key, server.lacks)


def _is_same_layer(one: Layer, other: Layer) -> bool:
    if one is other:
        return True
    if (one.name, one.document, one.prefix) != (other.name, other.document, other.prefix):
        return False
    return one.name != SOURCE or one.data == other.data  # all else stands in the document


def _is_same_setting(one: Conditional, other: Conditional) -> bool:
    return one.below == other.below and _is_same_layer(one.layer, other.layer)


def _lacks(entry: ToolEntry | None, workshop: Workshop) -> bool:
    """Whether a reference that had a value has none now."""
    return bool(
        entry is not None and entry.references and workshop.references.unusable(entry.references)
    )
