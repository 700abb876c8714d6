"""Finds a project's files, reads them all, and checks their shape.

First half of the journey from YAML to a snapshot: what comes out is every tool with its layers,
every target, and a diagnostic for each fault of each file. The catalogue does the rest.
"""

import os
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, TypeVar

from pydantic import BaseModel

from toolrt.core.faults import Fault
from toolrt.core.faults import Path as FaultPath
from toolrt.core.versions import said_by, version_in
from toolrt.loading.beneath import Beneath
from toolrt.loading.diagnostics import Diagnostic, in_order
from toolrt.loading.files import UnreadableError
from toolrt.loading.findings import Finding, InDocument, InLayers, worth_telling
from toolrt.loading.knowledge import Knowledge, names_below
from toolrt.loading.layers import Conditional, Layer, Layered, without
from toolrt.loading.offers import WrittenOffers
from toolrt.loading.problems import spelt
from toolrt.loading.reader import Document, unreadable
from toolrt.loading.sources import WrittenSource
from toolrt.loading.stock import Stock
from toolrt.loading.strays import of_folders, of_root
from toolrt.loading.subfolders import of_project
from toolrt.loading.validation import validated
from toolrt.manifest import planned
from toolrt.manifest.longform import long_tool
from toolrt.manifest.policy import PoliciesFile
from toolrt.manifest.project import ProjectFile
from toolrt.manifest.target import Target
from toolrt.manifest.tool import ToolsFile
from toolrt.schemas.phrases import visible

PROJECT_FILE = "toolrt.yaml"
_OF_TOOLS = ("namespace", "defaults", "tools", "sources")
_DEPTHS = (9, 3, 2)
"""How deep a fault in a target is cut out: as little as leaves a target, so that it is checked."""
_OF_A_SOURCE = 2

M = TypeVar("M", bound=BaseModel)


@dataclass(frozen=True, slots=True)
class WrittenTool:
    """A tool as its files have it: full name, and its layers from low to high.

    `conditional` are the settings that lie among them for some callers, lowest first. One that a
    source yields names it, why it cannot be called for now, and what it is in the program (`key`).
    """

    name: str
    namespace: str | None
    layered: Layered
    document: Document
    path: FaultPath
    conditional: list[Conditional] = field(default_factory=list)
    source: WrittenSource | None = None
    blocked: str | None = None
    key: object = None

    def copy(self) -> "WrittenTool":
        """The same tool, for settings to be laid over it."""
        layered = self.layered.copy()
        return WrittenTool(self.name, self.namespace, layered, self.document, self.path)

    def named(self, name: str) -> "WrittenTool":
        """The same tool under another name."""
        return replace(self, name=name)

    @property
    def version(self) -> str | None:
        """The version that it is written to be."""
        return version_in(str(self.path[-1])) or self.layered.text("version")

    @property
    def is_builtin(self) -> bool:
        """Whether it is a tool of toolrt itself, which the project file names."""
        return self.path[:1] == ("builtins",)


@dataclass(frozen=True, slots=True)
class WrittenTarget:
    """A target and where it stands."""

    name: str
    target: Target
    document: Document
    path: FaultPath


@dataclass(frozen=True, slots=True)
class WrittenPolicies:
    """A file of policies; `document` has the rules as written, those with faults included."""

    policies: PoliciesFile
    document: Document


@dataclass(slots=True)
class LoadedFiles:
    """All that the files of a project say, and all that is wrong with them."""

    stock: Stock
    project: ProjectFile = field(default_factory=ProjectFile)
    project_document: Document | None = None
    tools: list[WrittenTool] = field(default_factory=list)
    targets: dict[str, WrittenTarget] = field(default_factory=dict)
    policies: list[WrittenPolicies] = field(default_factory=list)
    offers: list[WrittenOffers] = field(default_factory=list)
    tool_sources: list[WrittenSource] = field(default_factory=list)
    servers: dict[str, Any] = field(default_factory=dict)
    broken_targets: set[str] = field(default_factory=set)
    knows: Knowledge = field(default_factory=Knowledge)
    project_defaults: FaultPath = ("defaults",)
    defaults: list[Layer] = field(default_factory=list)
    broken_defaults: set[tuple[str, str]] = field(default_factory=set)
    documents: list[Document] = field(default_factory=list)
    findings: list[Finding] = field(default_factory=list)

    @property
    def root(self) -> Path:
        """The folder of the project."""
        return self.stock.root

    @property
    def sources(self) -> Mapping[str, str]:
        """Text of each file, for excerpts."""
        return {document.file: document.text for document in self.documents}

    def report(self, document: Document, path: FaultPath, *faults: Fault) -> None:
        """Add faults whose paths begin at `path` of `document`."""
        place = InDocument(document, path)
        self.findings += [Finding(fault, place, path) for fault in faults]

    def report_layered(self, path: FaultPath, layered: Layered, faults: list[Fault]) -> None:
        """Add faults of the tool or the defaults at `path`, wherever layers wrote the values."""
        place = InLayers(layered)
        self.findings += [Finding(fault, place, path) for fault in faults]

    def is_broken_target(self, name: Any) -> bool:
        """Whether a target of that name may be declared, in something that has errors."""
        return name in self.broken_targets or not self.knows.targets

    def has_errors(self) -> bool:
        """Whether the project may not be used."""
        broken = (fault for document in self.documents for fault in document.faults)
        return any(one.is_error for one in self.findings) or any(
            one.severity == "error" for one in broken
        )

    def diagnostics(self) -> list[Diagnostic]:
        """Everything found, each once, in order of place."""
        found = [fault for document in self.documents for fault in document.faults]
        return in_order([*found, *worth_telling(self.findings, found)])


Load = Callable[[LoadedFiles, Document], None]


def load_files(stock: Stock) -> LoadedFiles:
    """Read every file of the project in `stock`. Never raises for what the files hold."""
    files = LoadedFiles(stock)
    _load_project(files)
    for document in _documents(files, "tools_dir"):
        _take(files, document, _load_tools)
    for document in _documents(files, "policies_dir", allow_merge=False):
        _take(files, document, _load_policies)
    for given in stock.given:
        files.documents.append(given.document)
        _take(files, given.document, _load_tools)
    unread = list(of_project(stock, files.project))
    files.knows.policies &= not any(each.is_error for each in unread)
    files.findings += [*unread, *of_folders(stock, files.project, files.documents)]
    return files


def _take(files: LoadedFiles, document: Document, load: Load) -> None:
    """What a document says, added to `files`; it is looked at once for each project file."""

    def loaded() -> LoadedFiles:
        part = LoadedFiles(Stock(files.root), files.project, files.project_document)
        part.project_defaults = files.project_defaults
        load(part, document)
        return part

    part = files.stock.library.made((load, document, files.project_document), loaded)
    files.findings += part.findings
    files.defaults += part.defaults
    files.policies += part.policies
    files.offers += part.offers
    files.tool_sources += part.tool_sources
    files.tools += [tool.copy() for tool in part.tools]
    files.broken_targets |= part.broken_targets
    files.knows.join(part.knows)
    for target in part.targets.values():
        _add_target(files, target)


def _documents(files: LoadedFiles, key: str, *, allow_merge: bool = True) -> Iterator[Document]:
    """The documents of the folder that is named under `key` of the project file."""
    folder = getattr(files.project, key)
    try:
        paths = files.stock.manifest_files(files.root / folder)
    except UnreadableError as error:
        _report_folder(files, key, folder, str(error))
        return
    for path in paths:
        if path == files.root / PROJECT_FILE:
            continue
        yield from _read(files, path, key, allow_merge=allow_merge)


def _report_folder(files: LoadedFiles, key: str, folder: str, why: str) -> None:
    """A folder that cannot be read, where it is named, or else at itself."""
    files.knows.forget(key)
    if files.project_document is None or key not in files.project.model_fields_set:
        files.documents.append(unreadable(folder, why))
        return
    message = f"the folder `{visible(folder)}` cannot be read: {why}"
    files.report(files.project_document, (), Fault("unreadable-file", message, (key,)))


def _read(
    files: LoadedFiles, path: Path, key: str | None = None, *, allow_merge: bool = True
) -> Iterator[Document]:
    """The document of a file, then one for each value that a duplicate key hid.

    `key` of the project file names its folder; the project file itself has none.
    """
    try:
        document = files.stock.document(path, allow_merge=allow_merge)
    except UnreadableError as error:
        document = unreadable(files.stock.shown(path), str(error))
    files.documents.append(document)
    files.knows.look(document, key)
    for one in (document, *document.variants()):
        if one.data is None:
            continue
        if isinstance(one.data, dict):
            yield one
            continue
        files.report(one, (), Fault("wrong-type", "a manifest file is a mapping of keys"))


def _load_project(files: LoadedFiles) -> None:
    path = files.root / PROJECT_FILE
    misnamed = list(of_root(files.stock, PROJECT_FILE))
    if misnamed:
        files.knows.forget(None)
        files.findings += misnamed
    if not os.path.lexists(path):
        return
    for document in _read(files, path):
        data = _without_anchors(document.data)
        project = _validated(files, ProjectFile, data, document, planned.PROJECT_FILE)
        if project is not None and files.project_document is None:
            files.project, files.project_document = project, document
            files.project_defaults = (spelt(ProjectFile, data, "defaults"),)
        _add_defaults(files, document, data, spelt(ProjectFile, data, "defaults"))


def _load_policies(files: LoadedFiles, document: Document) -> None:
    made = _validated(files, PoliciesFile, document.data, document, planned.POLICIES_FILE)
    files.policies.append(WrittenPolicies(made or PoliciesFile(), document))


def _load_tools(files: LoadedFiles, document: Document) -> None:
    data = _without_anchors(document.data)
    written = _validated(files, ToolsFile, data, document, planned.TOOLS_FILE)
    keys = {key: spelt(ToolsFile, data, key) for key in _OF_TOOLS}
    namespace = data.get(keys["namespace"])
    namespace = namespace if isinstance(namespace, str) else None
    if written is not None:
        for name, target in (written.targets or {}).items():
            _add_target(files, WrittenTarget(name, target, document, ("targets", name)))
        if written.prompts or written.resources or written.toolsets:
            files.offers.append(WrittenOffers(written, namespace, document))
    _add_defaults(files, document, data, keys["defaults"])
    of_file = ("file defaults", document, (keys["defaults"],))
    beneath = Beneath(
        (("project defaults", files.project_document, files.project_defaults), of_file)
    )
    for name, source in (written.sources or {}).items() if written is not None else ():
        place: FaultPath = (keys["sources"], name)
        files.tool_sources.append(WrittenSource(name, source, document, place, beneath))
    tools = data.get(keys["tools"])
    for name, raw in tools.items() if isinstance(tools, dict) else ():
        if isinstance(raw, dict):
            full = f"{namespace}.{name}" if namespace else name
            path: FaultPath = (keys["tools"], name)
            own = Layer("tool", document, path, {**said_by(str(name)), **long_tool(raw, raw)})
            layers = [*beneath.layers(raw), own]
            layered = Layered(layers)
            files.tools.append(WrittenTool(full, namespace, layered, document, path))


def _add_defaults(files: LoadedFiles, document: Document, data: dict[str, Any], key: str) -> None:
    """Keep the defaults of a file, whatever kinds they are for, so that they are checked once."""
    raw = data.get(key)
    if isinstance(raw, dict):
        files.defaults.append(Layer("defaults", document, (key,), long_tool(raw, raw)))


def _add_target(files: LoadedFiles, written: WrittenTarget) -> None:
    first = files.targets.get(written.name)
    if first is None:
        files.targets[written.name] = written
        return
    if first.document is written.document:
        return
    span = first.document.span(first.path, on_key=True)
    message = f"target `{written.name}` is declared at {first.document.file}:{span.line} already"
    fault = Fault("duplicate-target", message, (), "declare it once over all files", on_key=True)
    files.report(written.document, written.path, fault)


def _without_anchors(data: Any) -> dict[str, Any]:
    return {key: value for key, value in data.items() if not key.startswith("x-")}


def _validated(
    files: LoadedFiles, model: type[M], data: Any, document: Document, later: tuple[str, ...]
) -> M | None:
    """The file as a `model`; what is wrong is reported and left out, so that the rest counts.

    Keys of `later` do nothing yet, which is reported too.
    """
    made, faults = validated(model, data, document.source_text)
    files.report(document, (), *faults, *planned.unfinished(data, later, faults))
    if made is not None:
        return made
    files.knows.doubt(model, faults)
    files.broken_targets |= names_below("targets", faults)
    for depth in _DEPTHS:
        rest = data
        for fault in faults:
            key = fault.path[0] if fault.path else ""
            of_key = {"targets": depth, "sources": _OF_A_SOURCE}.get(str(key), 1)
            rest = without(rest, fault.path[:of_key])
        made = validated(model, rest, document.source_text)[0]
        if made is not None:
            return made
    return None
