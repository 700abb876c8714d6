"""Tools of an OpenAPI document: `openapi: {spec: FILE}`.

The document is read and mapped once for each content. Where the project names no `target`, the
document's own address and security schemes become targets, called like the source.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from hashlib import sha256
from typing import Any

from toolrt.catalog.openapi.mapping import NoOpenApiError, Options, map_document
from toolrt.catalog.openapi.reading import document_data
from toolrt.catalog.openapi.report import Mapped
from toolrt.catalog.openapi.security import begin_of
from toolrt.catalog.sources.base import SourceTool, Yielded
from toolrt.catalog.workshop import Workshop
from toolrt.core.faults import Fault
from toolrt.core.names import did_you_mean
from toolrt.loading.files import UnreadableError
from toolrt.loading.loader import LoadedFiles, WrittenTarget
from toolrt.loading.sources import WrittenSource
from toolrt.manifest.source import OpenApiSource
from toolrt.manifest.target import Target
from toolrt.schemas.phrases import visible

_KEY = "openapi"


@dataclass(frozen=True, slots=True)
class _Made:
    """What came of a document, or why nothing did; the same object while nothing changes."""

    mapped: Mapped | None
    why: str
    tools: tuple[SourceTool, ...] = ()
    targets: tuple[WrittenTarget, ...] = ()


def yielded(source: WrittenSource, workshop: Workshop) -> Yielded:
    """The tools of a document; its targets are declared by the way."""
    options, files = source.source.openapi, workshop.files
    if options is None:
        return Yielded()
    wrong = list(_faults(options, files))
    if wrong:
        return Yielded(faults=wrong)
    made = _made(source, options, files)
    if made.mapped is None:
        message = f"`{visible(options.spec)}` cannot be used: {made.why}"
        hint = "the path is relative to the project"
        return Yielded(faults=[Fault("unreadable-spec", message, (_KEY, "spec"), hint)])
    for written in made.targets:
        files.targets.setdefault(written.name, written)
    faults = [*_warning(made.mapped), *_without_effect(source)]
    return Yielded(made.tools, faults=faults)


def _faults(options: OpenApiSource, files: LoadedFiles) -> Iterator[Fault]:
    """A target that nobody declares, told once and not for each tool."""
    name = options.target
    if name is None or name in files.targets or files.is_broken_target(name):
        return
    hint = did_you_mean(name, files.targets) or "declare it under `targets`"
    message = f"there is no target `{visible(name)}`"
    yield Fault("unknown-target", message, (_KEY, "target"), hint)


def _made(source: WrittenSource, options: OpenApiSource, files: LoadedFiles) -> _Made:
    try:
        content = files.stock.large(files.root / options.spec)
    except UnreadableError as error:
        return _Made(None, str(error))
    prefix = _prefix(source, files)
    own = begin_of(prefix)
    others = frozenset(each for each in _others(source, files) if begin_of(each).startswith(own))
    mapping = Options(prefix, options.target, _address(options), others=others)
    key = (_KEY, sha256(content).digest(), mapping, source.document, source.path)
    return files.stock.library.made(key, lambda: _map(content, source, options, mapping))


def _map(content: bytes, source: WrittenSource, options: OpenApiSource, mapping: Options) -> _Made:
    try:
        mapped = map_document(document_data(content, options.spec), mapping)
    except NoOpenApiError as error:
        return _Made(None, str(error))
    tools = tuple(SourceTool(each.name, each.written, each.blocked) for each in mapped.tools)
    return _Made(mapped, "", tools, tuple(_targets(mapped.targets, source)))


def _targets(made: Mapping[str, Any], source: WrittenSource) -> Iterator[WrittenTarget]:
    path = (*source.path, _KEY)
    for name, written in made.items():
        yield WrittenTarget(name, Target.model_validate(written), source.document, path)


def _address(options: OpenApiSource) -> str | None:
    return None if options.base_url is None else options.base_url.rstrip("/")


def _prefix(source: WrittenSource, files: LoadedFiles) -> str:
    """The name of the document's target: that of the source, unless the project has such a one."""
    declared = files.targets.get(source.name)
    is_free = declared is None or declared.path == (*source.path, _KEY)
    return source.name if is_free else f"{source.name}_{_KEY}"


def _others(source: WrittenSource, files: LoadedFiles) -> Iterator[str]:
    """Who else has secrets that begin like a name: other sources, and targets of the project."""
    yield from (each.name for each in files.tool_sources if each.name != source.name)
    for name, written in files.targets.items():
        if written.path[-1:] != (_KEY,):  # else a document's
            yield name


def _without_effect(source: WrittenSource) -> Iterator[Fault]:
    """What a file of the project has no use for: nobody else changes it, or keeps it away."""
    for key in ("on_change", "on_failure"):
        if getattr(source.source, key) is not None:
            message = f"`{key}` does nothing for a document, which is a file of the project"
            hint = "who may change the project's files decides; review it like them"
            yield Fault("no-effect", message, (key,), hint, "warning", on_key=True)


def _warning(mapped: Mapped) -> Iterator[Fault]:
    """What was not mapped, in one line; `toolrt import openapi` lists it."""
    if not mapped.unmapped:
        return
    total = f"{len(mapped.tools):,} of {mapped.operations:,} operations are tools"
    message = f"{total}; not mapped: {mapped.summary()}"
    hint = "`toolrt import openapi FILE` lists each, with its place and why"
    yield Fault("not-mapped", message, (_KEY, "spec"), hint, severity="warning")
