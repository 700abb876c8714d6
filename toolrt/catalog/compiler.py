"""Manifests to a snapshot: the second half of the journey from YAML to something callable.

Each tool is compiled by itself and reports all that is wrong with it; a snapshot is made only
when no file has an error.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from hashlib import sha256

from toolrt.bindings.base import Services
from toolrt.catalog.defaults import check_defaults
from toolrt.catalog.project import check_project
from toolrt.catalog.snapshot import Snapshot, ToolEntry
from toolrt.catalog.targets import check_targets
from toolrt.catalog.tools import compile_tool
from toolrt.catalog.workshop import Workshop
from toolrt.core.faults import Fault
from toolrt.core.redaction import Redactor, blotted, without_credentials
from toolrt.expressions.references import References
from toolrt.loading.diagnostics import Diagnostic
from toolrt.loading.loader import LoadedFiles, WrittenTool


@dataclass(frozen=True)
class Compiled:
    """What compiling came to: a snapshot, unless a diagnostic is an error."""

    snapshot: Snapshot | None
    files: LoadedFiles
    redactor: Redactor

    @property
    def ok(self) -> bool:
        return self.snapshot is not None

    @cached_property
    def diagnostics(self) -> list[Diagnostic]:
        """Everything found in the files, in order of place; what a module that failed says of a
        secret or of a password in a URL is masked.
        """
        return [self._masked(each) for each in self.files.diagnostics()]

    def _masked(self, found: Diagnostic) -> Diagnostic:
        message, hint = (
            without_credentials(self.redactor.excerpt(text)) if text else text
            for text in (found.message, found.hint)
        )
        return replace(found, message=message or "", hint=hint)

    @property
    def sources(self) -> Mapping[str, str]:
        """Text of each file, for excerpts; passwords in URLs are blotted out."""
        return {file: blotted(text) for file, text in self.files.sources.items()}


def compile_files(
    files: LoadedFiles,
    services: Services,
    references: References,
    *,
    generation: int = 1,
    imports: bool = True,
) -> Compiled:
    """Compile what was loaded. `imports` false leaves Python callables alone."""
    workshop = Workshop(files, services, references, imports=imports)
    check_project(files)
    check_defaults(files)
    check_targets(workshop)
    entries: dict[str, ToolEntry] = {}
    for written in _once_each(files):
        entry = compile_tool(workshop, written)
        if entry is not None:
            entries[entry.name] = entry
    if files.has_errors():
        return Compiled(None, files, references.redactor)
    tools = dict(sorted(entries.items()))
    snapshot = Snapshot(generation, fingerprint(files), tools, files.project.vars)
    return Compiled(snapshot, files, references.redactor)


def fingerprint(files: LoadedFiles) -> str:
    """SHA-256 over each file's name and text, in order of names."""
    digest = sha256()
    for document in sorted(files.documents, key=lambda one: one.file):
        digest.update(f"{document.file}\0{document.text}\0".encode("utf-8", "surrogatepass"))
    return digest.hexdigest()


def _once_each(files: LoadedFiles) -> list[WrittenTool]:
    """The tools, each name once; a second one of another file is reported with both places."""
    first: dict[str, WrittenTool] = {}
    kept: list[WrittenTool] = []
    for written in files.tools:
        known = first.setdefault(written.name, written)
        if known is not written and known.document.file != written.document.file:
            _report_twin(files, written, known)
        kept.append(written)
    _report_meeting(files, first.values())
    return kept


def _report_meeting(files: LoadedFiles, tools: Iterable[WrittenTool]) -> None:
    """Two names that are one where no dot may be written: for MCP clients and vendors."""
    by_wire: dict[str, WrittenTool] = {}
    for written in tools:
        known = by_wire.setdefault(written.name.replace(".", "_"), written)
        if known is not written:
            wire = known.name.replace(".", "_")
            message = f"`{written.name}` and `{known.name}` would both be `{wire}` for a model"
            fault = Fault("names-meet", message, (), "rename one of the two", on_key=True)
            files.report(written.document, written.path, fault)


def _report_twin(files: LoadedFiles, written: WrittenTool, known: WrittenTool) -> None:
    span = known.document.span(known.path, on_key=True)
    message = f"tool `{written.name}` is declared at {known.document.file}:{span.line} already"
    hint = "rename one, or give its file a namespace"
    fault = Fault("duplicate-tool", message, (), hint, on_key=True)
    files.report(written.document, written.path, fault)
