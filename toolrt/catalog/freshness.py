"""`freshness` compiled: what a tool changes, and by which tools a caller gets to see it first.

The readers are told once all tools are compiled: each then knows what others want to hear of.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from toolrt.bindings.base import Effect
from toolrt.catalog.missing import missing
from toolrt.catalog.results import compiled
from toolrt.core.faults import Fault, Path
from toolrt.core.names import did_you_mean
from toolrt.core.versions import meant
from toolrt.expressions.slots import TEXT
from toolrt.expressions.templates import Names, Template, compile_template
from toolrt.loading.loader import LoadedFiles
from toolrt.manifest.parameters import Parameters
from toolrt.manifest.tool import ToolManifest

if TYPE_CHECKING:
    from toolrt.catalog.snapshot import ToolEntry

_RESOURCE = ("freshness", "resource")


@dataclass(frozen=True, slots=True)
class Freshness:
    """The template of what a call is about, and the full names of the tools that show it."""

    resource: Template
    read_by: tuple[str, ...]


def compile_freshness(
    manifest: ToolManifest,
    effect: Effect,
    parameters: Parameters,
    names: Names,
    faults: list[Fault],
) -> Freshness | None:
    """None for a tool without it, and for one with faults, which go to `faults`."""
    written = manifest.freshness
    if written is None:
        return None
    text = written.resource
    made = compiled(lambda: compile_template(text, TEXT, names), text, _RESOURCE, faults)
    if made is None:
        return None
    before = len(faults)
    faults.extend(_of_resource(made, parameters))
    if effect == "read":
        message = "`freshness` is for tools that change something; this one only reads"
        faults.append(Fault("no-effect", message, ("freshness",), severity="warning", on_key=True))
    is_good = all(fault.severity != "error" for fault in faults[before:])
    return Freshness(made, tuple(dict.fromkeys(written.read_by))) if is_good else None


def _of_resource(made: Template, parameters: Parameters) -> Iterator[Fault]:
    if made.references:
        hint = "name parameters, such as `{{ path }}`"
        yield Fault("disallowed", "a secret has no place in the name of a thing", _RESOURCE, hint)
    if "call" in made.roots:
        message = "what is another one for each call was never read before"
        yield Fault("unfit-resource", message, _RESOURCE, "name what is changed")
    if made.is_constant and made.source in parameters.names:
        message = f"`{made.source}` is the same for all calls, and no parameter"
        yield Fault("unfit-resource", message, _RESOURCE, f"write `{{{{ {made.source} }}}}`")
    if made.is_lone and not made.parameters.isdisjoint(parameters.optional):
        message = "a call without this parameter would be about nothing"
        yield Fault("unfit-resource", message, _RESOURCE, "require it, or give a default")


def check_readers(files: LoadedFiles, entries: Mapping[str, "ToolEntry"]) -> None:
    """Report the tools in `read_by` that cannot show what is changed."""
    for entry in entries.values():
        if entry.freshness is None:
            continue
        faults = list(_of_readers(entry, entry.freshness, entries, files))
        if faults:
            files.report_layered(entry.path, entry.layered, faults)


def _of_readers(
    entry: "ToolEntry", freshness: Freshness, entries: Mapping[str, "ToolEntry"], files: LoadedFiles
) -> Iterator[Fault]:
    written = entry.manifest.freshness
    for number, name in enumerate(written.read_by if written else ()):
        place = ("freshness", "read_by", number)
        reader = meant(name, entries)
        if reader is not None:
            for message, hint in _unfit(freshness, reader):
                yield Fault("unfit-link", message, place, hint)
            if not _tells(reader, entry):
                message = f"`{name}` tells no version: only changes made here will be noticed"
                hint = (
                    "python tools tell one with `Context.saw`, and http tools one another by ETag"
                )
                yield Fault("weak-freshness", message, place, hint, severity="warning")
        else:
            yield from _of_no_tool(name, place, files)


def _of_no_tool(name: str, place: Path, files: LoadedFiles) -> Iterator[Fault]:
    known = [written.name for written in files.tools]
    severity = None if name in known else missing(files, name)
    if severity is not None:
        message = f"`{name}` is no tool of this project"
        yield Fault("no-such-tool", message, place, did_you_mean(name, known), severity)


def _tells(reader: "ToolEntry", entry: "ToolEntry") -> bool:
    """Whether a reader may tell a version that the tool which changes it can compare."""
    if reader.kind == "http":
        return entry.kind in {"http", "python"}
    return reader.kind == "python"


def _unfit(freshness: Freshness, reader: "ToolEntry") -> Iterator[tuple[str, str]]:
    for name in sorted(freshness.resource.parameters - reader.parameters.names):
        message = f"`{reader.name}` takes no `{name}`, by which `resource` says what it shows"
        yield message, "name its parameters alike"
    variants = reader.variants.entries.values() if reader.variants else ()
    if any(each.manifest.cache is not None for each in (reader, *variants)):
        message = f"`{reader.name}` answers from its `cache`, so it may show what is no more"
        yield message, "name a tool without a cache"


def watched(tools: Mapping[str, "ToolEntry"]) -> dict[str, "ToolEntry"]:
    """The same tools; each one that others name in `read_by` knows the names of what it shows."""
    wanted: dict[str, dict[str, Template]] = {}
    for entry in tools.values():
        for reader in entry.freshness.read_by if entry.freshness else ():
            resource = entry.freshness.resource if entry.freshness else None
            if resource is not None:
                found = meant(reader, tools)
                name = reader if found is None else found.name
                wanted.setdefault(name, {})[resource.source] = resource
    return {
        name: entry.watched_as(tuple(wanted[name].values())) if name in wanted else entry
        for name, entry in tools.items()
    }
