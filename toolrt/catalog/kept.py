"""Tools of the generation before that may be used again, because nothing that they were made of
has changed.

A tool is made of its layers, of the project's own file, and of its target; what it needs beside
files (secrets, programs) is looked up again. One with an error or a reason not to be called, and
one whose schema stands in a file of its own, is always compiled anew.
"""

from collections.abc import Callable, Hashable
from dataclasses import dataclass, field

from toolrt.catalog.implementation import kind_name
from toolrt.catalog.schemas import schema_files
from toolrt.catalog.snapshot import ToolEntry
from toolrt.catalog.workshop import Workshop
from toolrt.core.faults import child
from toolrt.loading.findings import Finding
from toolrt.loading.loader import WrittenTool

Compile = Callable[[Workshop, WrittenTool], ToolEntry | None]


@dataclass(frozen=True, slots=True)
class _Kept:
    made_of: Hashable
    entry: ToolEntry | None
    findings: tuple[Finding, ...]


@dataclass
class KeptTools:
    """What tools came to, by the document and the name that they were written under."""

    _kept: dict[Hashable, _Kept] = field(default_factory=dict)

    def compiled(
        self, workshop: Workshop, written: WrittenTool, compile_: Compile
    ) -> ToolEntry | None:
        """What `compile_` gives for the tool, or gave before; its findings are reported."""
        key, made_of = (written.document, written.path), _made_of(workshop, written)
        kept = self._kept.get(key)
        if kept is None or kept.made_of != made_of or _lacks(kept.entry, workshop):
            kept = _fresh(workshop, written, compile_, made_of)
            self._keep(key, kept, written)
            return kept.entry
        workshop.files.findings += kept.findings
        return kept.entry

    def forget_others(self, workshop: Workshop) -> None:
        """Let go of tools that are written no more."""
        there = {(written.document, written.path) for written in workshop.files.tools}
        self._kept = {key: kept for key, kept in self._kept.items() if key in there}

    def _keep(self, key: Hashable, kept: _Kept, written: WrittenTool) -> None:
        is_lasting = kept.entry is None or kept.entry.blocked is None
        has_errors = any(each.is_error for each in kept.findings)
        if is_lasting and not has_errors and not schema_files(written.layered.merged):
            self._kept[key] = kept
        else:
            self._kept.pop(key, None)


def _fresh(workshop: Workshop, written: WrittenTool, compile_: Compile, made_of: Hashable) -> _Kept:
    before = len(workshop.files.findings)
    entry = compile_(workshop, written)
    return _Kept(made_of, entry, tuple(workshop.files.findings[before:]))


def _made_of(workshop: Workshop, written: WrittenTool) -> Hashable:
    """What the tool comes from; documents are the same only when they are the same object."""
    merged = written.layered.merged
    named = child(merged.get(kind_name(merged) or ""), "target")
    name = named if isinstance(named, str) else ""
    target = workshop.files.targets.get(name)
    return (
        workshop.imports,
        workshop.files.project_document,
        workshop.files.knows.vars,
        workshop.files.knows.defaults,
        workshop.files.is_broken_target(name),
        tuple((layer.name, layer.document, layer.prefix) for layer in written.layered.layers),
        tuple((one.below, one.layer.document, one.layer.prefix) for one in written.conditional),
        target and (target.document, target.path),
    )


def _lacks(entry: ToolEntry | None, workshop: Workshop) -> bool:
    """Whether a reference that had a value has none now."""
    return entry is not None and bool(workshop.references.unusable(entry.references))
