"""Finds a project's files, reads them all, and checks their shape.

First half of the journey from YAML to a snapshot: what comes out is every tool with its layers,
every target, and a diagnostic for each fault of each file. The catalogue does the rest.
"""

import os
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from toolrt.core.faults import Fault, child
from toolrt.core.faults import Path as FaultPath
from toolrt.loading.diagnostics import Diagnostic, in_order, place_of
from toolrt.loading.files import UnreadableError, content, manifest_files
from toolrt.loading.findings import Finding, InDocument, InLayers
from toolrt.loading.layers import Layer, Layered, replaced
from toolrt.loading.problems import existing_path, faults_of, spelt
from toolrt.loading.reader import Document, read, unreadable
from toolrt.loading.remedies import meant
from toolrt.manifest import planned
from toolrt.manifest.longform import long_tool
from toolrt.manifest.policy import PoliciesFile
from toolrt.manifest.project import ProjectFile
from toolrt.manifest.target import Target
from toolrt.manifest.tool import ToolsFile
from toolrt.schemas.phrases import visible

PROJECT_FILE = "toolrt.yaml"
_REPAIRS = 20
_DEPTHS = (9, 3, 2)
"""How deep a fault in a target is cut out: as little as leaves a target, so that it is checked."""
_NO_VALUE = {"unknown-anchor", "alias-to-itself"}
_MERGE = re.compile(r'"<<"(?:\[[0-9]+\])?$')
_OF_GAPS = {"missing-key", "no-kind", "one-of", "unknown-name"}
"""What may be wrong only because a merge brought nothing."""

M = TypeVar("M", bound=BaseModel)


@dataclass(frozen=True, slots=True)
class WrittenTool:
    """A tool as its files have it: full name, and its layers from low to high."""

    name: str
    namespace: str | None
    layered: Layered
    document: Document
    path: FaultPath

    @property
    def label(self) -> str:
        return f"{self.document.file}: {'.'.join(map(str, self.path))}"


@dataclass(frozen=True, slots=True)
class WrittenTarget:
    """A target and where it stands."""

    name: str
    target: Target
    document: Document
    path: FaultPath


@dataclass(slots=True)
class LoadedFiles:
    """All that the files of a project say, and all that is wrong with them."""

    root: Path
    project: ProjectFile = field(default_factory=ProjectFile)
    project_document: Document | None = None
    tools: list[WrittenTool] = field(default_factory=list)
    targets: dict[str, WrittenTarget] = field(default_factory=dict)
    broken_targets: set[str] = field(default_factory=set)
    knows_targets: bool = True
    knows_vars: bool = True
    project_defaults: FaultPath = ("defaults",)
    defaults: list[Layer] = field(default_factory=list)
    broken_defaults: set[tuple[str, str]] = field(default_factory=set)
    documents: list[Document] = field(default_factory=list)
    findings: list[Finding] = field(default_factory=list)

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
        return name in self.broken_targets or not self.knows_targets

    def has_errors(self) -> bool:
        """Whether the project may not be used."""
        broken = (fault for document in self.documents for fault in document.faults)
        return any(one.is_error for one in self.findings) or any(
            one.severity == "error" for one in broken
        )

    def diagnostics(self) -> list[Diagnostic]:
        """Everything found, each once, in order of place.

        Where an alias leads nowhere there is no value, so nothing else is wrong with it; where it
        was to be merged, what is missing may be there.
        """
        found = [fault for document in self.documents for fault in document.faults]
        voids = {place_of(fault) for fault in found if fault.code in _NO_VALUE}
        twice = {place_of(fault) for fault in found if fault.code == "duplicate-key"}
        gaps = {_entry(each) for each in found if each.code in _NO_VALUE and _is_merged(each)}
        checked = [finding.diagnostic() for finding in self.findings]
        told = [
            each
            for each in checked
            if place_of(each) not in voids
            and not (each.code in _OF_GAPS and _entry(each) in gaps)
            and not (each.code == "unknown-key" and place_of(each) in twice)
        ]
        return in_order([*found, *told])


def _entry(one: Diagnostic) -> tuple[str, ...]:
    """The file, and the tool or target in it, that a diagnostic is about."""
    return (one.file, *one.path.split(".")[:2])


def _is_merged(one: Diagnostic) -> bool:
    """Whether it is about the value of a merge key, or about one of several."""
    return _MERGE.search(one.path) is not None


def load_files(root: Path) -> LoadedFiles:
    """Read every file of the project at `root`. Never raises for what the files hold."""
    files = LoadedFiles(root)
    _load_project(files)
    files.knows_vars &= all(document.data is not None for document in files.documents)
    for document in _documents(files, "tools_dir"):
        _load_tools(files, document)
    files.knows_targets &= all(document.data is not None for document in files.documents)
    for document in _documents(files, "policies_dir", allow_merge=False):
        _load_policies(files, document)
    return files


def _documents(files: LoadedFiles, key: str, *, allow_merge: bool = True) -> Iterator[Document]:
    """The documents of the folder that is named under `key` of the project file."""
    folder = getattr(files.project, key)
    try:
        paths = manifest_files(files.root / folder)
    except UnreadableError as error:
        _report_folder(files, key, folder, str(error))
        return
    for path in paths:
        if path == files.root / PROJECT_FILE:
            continue
        yield from _read(files, path, allow_merge=allow_merge)


def _report_folder(files: LoadedFiles, key: str, folder: str, why: str) -> None:
    """A folder that cannot be read, where it is named, or else at itself."""
    if files.project_document is None or key not in files.project.model_fields_set:
        files.documents.append(unreadable(folder, why))
        return
    files.knows_targets &= key != "tools_dir"
    message = f"the folder `{visible(folder)}` cannot be read: {why}"
    files.report(files.project_document, (), Fault("unreadable-file", message, (key,)))


def _read(files: LoadedFiles, path: Path, *, allow_merge: bool = True) -> Iterator[Document]:
    """The document of a file, then one for each value that a duplicate key hid."""
    inside = path.is_relative_to(files.root)
    shown = path.relative_to(files.root).as_posix() if inside else str(path)
    try:
        document = read(content(path), shown, allow_merge=allow_merge)
    except UnreadableError as error:
        document = unreadable(shown, str(error))
    files.documents.append(document)
    for one in (document, *document.variants()):
        if one.data is None:
            continue
        if isinstance(one.data, dict):
            yield one
            continue
        files.report(one, (), Fault("wrong-type", "a manifest file is a mapping of keys"))


def _load_project(files: LoadedFiles) -> None:
    path = files.root / PROJECT_FILE
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
    _validated(files, PoliciesFile, document.data, document, planned.POLICIES_FILE)


def _load_tools(files: LoadedFiles, document: Document) -> None:
    data = _without_anchors(document.data)
    written = _validated(files, ToolsFile, data, document, planned.TOOLS_FILE)
    keys = {key: spelt(ToolsFile, data, key) for key in ("namespace", "defaults", "tools")}
    namespace = data.get(keys["namespace"])
    namespace = namespace if isinstance(namespace, str) else None
    if written is not None:
        for name, target in (written.targets or {}).items():
            _add_target(files, WrittenTarget(name, target, document, ("targets", name)))
    _add_defaults(files, document, data, keys["defaults"])
    tools = data.get(keys["tools"])
    for name, raw in tools.items() if isinstance(tools, dict) else ():
        if isinstance(raw, dict):
            full = f"{namespace}.{name}" if namespace else name
            path: FaultPath = (keys["tools"], name)
            layered = _layered(files, document, keys["defaults"], path)
            files.tools.append(WrittenTool(full, namespace, layered, document, path))


def _layered(files: LoadedFiles, document: Document, defaults: str, path: FaultPath) -> Layered:
    """The layers of the tool at `path`; those of its file stand under the key `defaults`."""
    raw = child(child(document.data, path[0]), path[1])
    below = [
        ("project defaults", files.project_document, files.project_defaults),
        ("file defaults", document, (defaults,)),
    ]
    layers = [
        Layer(name, owner, prefix, long_tool(written, raw))
        for name, owner, prefix in below
        if owner is not None and isinstance(written := child(owner.data, prefix[0]), dict)
    ]
    return Layered([*layers, Layer("tool", document, path, long_tool(raw, raw))])


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
    for fault in faults:
        if _is_about(fault, "targets"):
            files.broken_targets.update(map(str, fault.path[1:2]))
            files.knows_targets &= len(fault.path) > 1
        files.knows_vars &= not (model is ProjectFile and _is_about(fault, "vars"))
    for depth in _DEPTHS:
        rest = data
        for fault in faults:
            rest = _without(rest, fault.path[: depth if fault.path[:1] == ("targets",) else 1])
        made = validated(model, rest, document.source_text)[0]
        if made is not None:
            return made
    return None


def _is_about(fault: Fault, key: str) -> bool:
    """Whether a fault of a file stands under `key`, or under what it was misspelt as."""
    is_odd = fault.code == "unknown-key" and len(fault.path) == 1
    return fault.path[:1] == (key,) or (is_odd and meant(str(fault.path[0]), [key]) is not None)


def _without(data: Any, path: FaultPath) -> Any:
    """`data` without what `path` leads to; a list on the way goes as a whole."""
    if not path or not isinstance(data, dict) or path[0] not in data:
        return data
    rest = {key: value for key, value in data.items() if key != path[0]}
    below = data[path[0]]
    if len(path) > 1 and isinstance(below, dict):
        rest[str(path[0])] = _without(below, path[1:])
    return rest


def validated(
    model: type[M], data: Any, source_text: Callable[[FaultPath], str | None]
) -> tuple[M | None, list[Fault]]:
    """`data` as a `model`, and what is wrong with it.

    Where a text is wanted, a plain scalar is taken as written (`version: 1.10` is "1.10"), which
    `source_text(path)` knows.
    """
    for _ in range(_REPAIRS):
        try:
            return model.model_validate(data), []
        except ValidationError as error:
            taken = _taken_as_written(error, data, source_text)
            if taken is data:
                return None, faults_of(error, model, data)
            data = taken
    return None, []


def _taken_as_written(
    error: ValidationError, data: Any, source_text: Callable[[FaultPath], str | None]
) -> Any:
    """`data` with plain scalars as texts where `error` wants one; `data` itself without any."""
    for problem in error.errors(include_url=False, include_context=False):
        if problem["type"] != "string_type" or problem["input"] is None:
            continue
        path = existing_path(problem["loc"], data)
        text = source_text(path)
        if text is not None:
            data = replaced(data, path, text)
    return data
