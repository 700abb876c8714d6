"""Manifests to a snapshot: the second half of the journey from YAML to something callable.

Each tool is compiled by itself and reports all that is wrong with it; a snapshot is made only
when no file has an error.
"""

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property, partial

from toolrt.bindings.base import Services
from toolrt.catalog.builtins import add_builtins, compile_builtin
from toolrt.catalog.defaults import check_defaults
from toolrt.catalog.freshness import check_readers, watched
from toolrt.catalog.kept import KeptTools
from toolrt.catalog.links import check_links
from toolrt.catalog.meta_tools import check_told, told_of
from toolrt.catalog.notices import check_notify
from toolrt.catalog.offers import compile_offers
from toolrt.catalog.project import check_project
from toolrt.catalog.short_secrets import check_secrets
from toolrt.catalog.snapshot import Snapshot, ToolEntry
from toolrt.catalog.sources.expanding import expand_sources
from toolrt.catalog.steps import strengthened
from toolrt.catalog.targets import check_targets
from toolrt.catalog.tools import compile_tool
from toolrt.catalog.variants import varied
from toolrt.catalog.versions import settle_versions
from toolrt.catalog.workshop import Workshop
from toolrt.core.decisions import Rules
from toolrt.core.faults import Fault
from toolrt.core.names import without_dots
from toolrt.core.redaction import Redactor, blotted, without_credentials
from toolrt.expressions.references import References
from toolrt.loading.diagnostics import Diagnostic
from toolrt.loading.loader import LoadedFiles, WrittenTool
from toolrt.loading.settings import lay_settings
from toolrt.manifest.project import Approvals

CompileRules = Callable[[LoadedFiles, Mapping[str, ToolEntry], Collection[str]], Rules]
"""Makes the policy over the compiled tools; the last are the names of tools that have errors."""


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
        """Text of each file that something was found in, for excerpts; passwords in URLs are
        blotted out.
        """
        texts = self.files.sources
        found = sorted({each.file for each in self.diagnostics} & texts.keys())
        return {file: blotted(texts[file]) for file in found}


def compile_files(
    files: LoadedFiles,
    services: Services,
    references: References,
    compile_rules: CompileRules,
    *,
    generation: int = 1,
    imports: bool = True,
    kept: KeptTools | None = None,
) -> Compiled:
    """Compile what was loaded: tools, then the rules over them.

    `imports` false leaves Python callables alone. `kept` are tools that may be used again.
    """
    kept = kept or KeptTools()
    workshop = Workshop(files, services, references, imports=imports)
    add_builtins(files)
    _add_model(files)
    expand_sources(workshop)
    settle_versions(files)
    lay_settings(files)
    check_project(files)
    _check_embedder(workshop)
    check_defaults(files)
    check_targets(workshop)
    entries: dict[str, ToolEntry] = {}
    kept.begin(workshop)
    for written in _once_each(files):
        entry = kept.compiled(workshop, written, _compiled)
        if entry is not None:
            entries[entry.name] = entry
    kept.turn()
    entries = strengthened(files, entries)
    broken = {written.name for written in files.tools} - entries.keys()
    rules = compile_rules(files, entries, broken)
    check_notify(files, entries, rules)
    check_links(files, entries)
    check_readers(files, entries)
    check_secrets(files, entries, references)
    check_told(files, entries)
    offers = compile_offers(files, entries)
    if files.has_errors():
        return Compiled(None, files, references.redactor)
    tools = {name: entry.decided_by(rules.tools[name]) for name, entry in sorted(entries.items())}
    tools = watched(tools)
    project, digest = files.project, files.stock.fingerprint
    snapshot = Snapshot(
        generation,
        digest,
        rules,
        tools,
        project.vars,
        project.identities,
        project.approvals or Approvals(),
        *offers,
    )
    told = told_of(project, snapshot.listed)
    if told is not snapshot.listed:
        snapshot = replace(snapshot, told=frozenset(told))
    return Compiled(snapshot, files, references.redactor)


def _add_model(files: LoadedFiles) -> None:
    """Few projects have a model."""
    if files.project.agent is not None:
        from toolrt.catalog.asked_model import add_model  # noqa: PLC0415 - so few load it

        add_model(files)


def _check_embedder(workshop: Workshop) -> None:
    """Few projects have an embedder."""
    options = workshop.files.project.retrieval
    if options is not None and options.embedder is not None:
        from toolrt.catalog.embedder import check_embedder  # noqa: PLC0415 - so few load it

        check_embedder(workshop)


def _compiled(workshop: Workshop, written: WrittenTool) -> ToolEntry | None:
    """One tool, with its variants where operators' settings depend on the caller."""
    compile_ = compile_builtin if written.is_builtin else compile_tool
    entry = compile_(workshop, written)
    if entry is None or not written.conditional:
        return entry
    return varied(written, entry, partial(compile_, workshop))


def _once_each(files: LoadedFiles) -> list[WrittenTool]:
    """The tools, each name once; a second one of another file is reported with both places."""
    first: dict[str, WrittenTool] = {}
    kept: list[WrittenTool] = []
    for written in files.tools:
        known = first.setdefault(written.name, written)
        is_same_place = known.document.file == written.document.file and known.path == written.path
        if not is_same_place:
            _report_twin(files, written, known)
        kept.append(written)
    _report_meeting(files, first.values())
    return kept


def _report_meeting(files: LoadedFiles, tools: Iterable[WrittenTool]) -> None:
    """Two names that are one where no dot may be written: for MCP clients and vendors."""
    by_wire: dict[str, WrittenTool] = {}
    for written in tools:
        wire = without_dots(written.name)
        known = by_wire.setdefault(wire, written)
        if known is not written:
            message = f"`{written.name}` and `{known.name}` would both be `{wire}` for a model"
            fault = Fault("names-meet", message, (), "rename one of the two", on_key=True)
            files.report(written.document, written.path, fault)


def _report_twin(files: LoadedFiles, written: WrittenTool, known: WrittenTool) -> None:
    span = known.document.span(known.path, on_key=True)
    message = f"tool `{written.name}` is declared at {known.document.file}:{span.line} already"
    hint = "rename one, or give its file a namespace"
    fault = Fault("duplicate-tool", message, (), hint, on_key=True)
    files.report(written.document, written.path, fault)
