"""Tools that call other tools: `fallback`, `verify`, `poll` and `steps`, checked once all are
compiled.

A tool that is not there, one that does not fit, and rows of tools that would never end are faults
at the key that names them (E14).
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from toolrt.catalog.missing import missing
from toolrt.catalog.sensitive import sensitive_names
from toolrt.catalog.snapshot import ToolEntry
from toolrt.catalog.steps import place_of, step_faults, steps_of
from toolrt.core.faults import Fault, Path
from toolrt.core.names import did_you_mean
from toolrt.core.versions import meant
from toolrt.loading.loader import LoadedFiles

DEEPEST = 4
"""How many calls may stand above one."""
_ASKED = frozenset({"verify", "poll"})
"""What asks about a call, and so may change nothing."""


@dataclass(frozen=True, slots=True)
class Link:
    """One tool names another one, under `key`; `given` are the arguments that it hands over, and
    `number` is that of the step, where it is one.
    """

    key: str
    tool: str
    given: frozenset[str]
    number: int | None = None

    @property
    def place(self) -> Path:
        return (self.key, "tool") if self.number is None else place_of(self.number, "tool")


def check_links(files: LoadedFiles, entries: Mapping[str, ToolEntry]) -> None:
    """Report every link that cannot work."""
    graph = {
        name: [_by_its_name(link, entries) for link in links_of(entry)]
        for name, entry in entries.items()
        if _has_links(entry)
    }
    for name, links in graph.items():
        faults = [fault for link in links for fault in _faults(entries[name], link, entries, files)]
        faults = faults or list(_endless(name, graph))
        if faults:
            entry = entries[name]
            files.report_layered(entry.path, entry.layered, faults)


def _by_its_name(link: Link, entries: Mapping[str, ToolEntry]) -> Link:
    """The link to a tool by the name that it has here, whichever was written."""
    other = meant(link.tool, entries)
    return link if other is None else replace(link, tool=other.name)


def _has_links(entry: ToolEntry) -> bool:
    manifest = entry.manifest
    is_alone = manifest.fallback is None and manifest.verify is None and manifest.poll is None
    return not is_alone or bool(steps_of(entry))


def links_of(entry: ToolEntry) -> Iterator[Link]:
    """The tools that a tool names."""
    fallback, manifest = entry.fallback, entry.manifest
    if fallback is not None and fallback.tool is not None:
        yield Link("fallback", fallback.tool, entry.parameters.names)
    for key, written in (("verify", manifest.verify), ("poll", manifest.poll)):
        if written is not None:
            yield Link(key, written.tool, frozenset(written.args))
    for number, step in enumerate(steps_of(entry)):
        yield Link("steps", step.tool, frozenset(step.written), number)


def _faults(
    entry: ToolEntry, link: Link, entries: Mapping[str, ToolEntry], files: LoadedFiles
) -> Iterator[Fault]:
    other = entries.get(link.tool)
    if other is None:
        yield from _of_no_tool(link, files)
        return
    if link.number is not None:
        yield from step_faults(entry, link.number, steps_of(entry)[link.number], other)
        return
    if link.key in _ASKED:
        yield from _unfit_to_ask(link, other)
        for name in sorted(link.given - other.parameters.visible):
            hint = did_you_mean(name, other.parameters.visible)
            message = f"`{other.name}` takes no `{name}`"
            yield Fault("unknown-argument", message, (link.key, "args", name), hint, on_key=True)
    else:
        yield from _unfit_to_stand_in(entry, link, other)
    wanted = sorted(set(other.input_schema.get("required", ())) - link.given)
    for name in wanted:
        if name not in other.parameters.defaults_from:
            message = f"`{other.name}` needs `{name}`, which it would not get"
            hint = _how_given(link, name)
            yield Fault("missing-argument", message, link.place, hint)


def _how_given(link: Link, name: str) -> str:
    if link.key in _ASKED:
        return f"add `{name}` to `{link.key}.args`"
    return f"it gets the arguments of this tool by name: call one `{name}`, or give it a default"


def _of_no_tool(link: Link, files: LoadedFiles) -> Iterator[Fault]:
    """A name without a compiled tool; what is wrong with one that has errors is told there."""
    known = [written.name for written in files.tools]
    severity = None if link.tool in known else missing(files, link.tool)
    if severity is not None:
        hint, message = did_you_mean(link.tool, known), f"`{link.tool}` is no tool of this project"
        yield Fault("no-such-tool", message, link.place, hint, severity)


def _unfit_to_ask(link: Link, other: ToolEntry) -> Iterator[Fault]:
    if other.effect != "read":
        message = (
            f"`{link.key}` asks a tool that only reads, and `{other.name}` is `{other.effect}`"
        )
        hint = "write `effect: read` there if that is so"
        yield Fault("unfit-link", message, link.place, hint)
    variants = other.variants.entries.values() if other.variants else ()
    if any(each.manifest.cache is not None for each in (other, *variants)):
        message = f"`{other.name}` answers from its `cache`, so it cannot tell how things are"
        yield Fault("unfit-link", message, link.place, "name a tool without a cache")


def _unfit_to_stand_in(entry: ToolEntry, link: Link, other: ToolEntry) -> Iterator[Fault]:
    """A fallback must keep what this tool promises: that it only reads, and how its arguments and
    its result are treated.
    """
    if entry.effect == "read" and other.effect != "read":
        message = f"this tool only reads, and `{other.name}`, its fallback, is `{other.effect}`"
        hint = "write `effect: read` there if that is so, else name a tool that only reads"
        yield Fault("unfit-link", message, link.place, hint)
    if other.manifest.result.to == "user" and entry.manifest.result.to != "user":
        message = f"what `{other.name}` answers is for people alone, and this tool tells the model"
        yield Fault("unfit-link", message, link.place, "write `result: {to: user}` here, too")
    hidden = sensitive_names(entry.parameters.schema) - sensitive_names(other.parameters.schema)
    for name in sorted(hidden & other.parameters.visible):
        message = f"`{name}` is sensitive here, and `{other.name}` would show it"
        yield Fault("unfit-link", message, link.place, "write `sensitive: true` there, too")


def _endless(name: str, graph: Mapping[str, list[Link]]) -> Iterator[Fault]:
    """The links of `name` that lead back to it, or too far."""
    for link in graph[name]:
        way = _way_back(link.tool, name, graph)
        if way:
            shown = " → ".join(f"`{each}`" for each in (name, *way))
            message = f"these tools call each other without end: {shown}"
            yield Fault("endless-links", message, link.place, "take one of the links away")
        elif _depth(link.tool, graph) > DEEPEST:
            message = f"from here, more than {DEEPEST} tools call each other in a row"
            yield Fault("endless-links", message, link.place, "make the row shorter")


def _way_back(start: str, goal: str, graph: Mapping[str, list[Link]]) -> tuple[str, ...]:
    """The tools on the shortest way from `start` to `goal`, both included; none where there is no
    way.
    """
    ways: list[tuple[str, ...]] = [(start,)]
    seen = {start}
    for way in ways:
        if way[-1] == goal:
            return way
        for link in graph.get(way[-1], ()):
            if link.tool not in seen:
                seen.add(link.tool)
                ways.append((*way, link.tool))
    return ()


def _depth(at: str, graph: Mapping[str, list[Link]], level: int = 1) -> int:
    """How many calls may stand in a row from `at` on; it is not counted further than needed."""
    if level > DEEPEST:
        return level
    return max((_depth(link.tool, graph, level + 1) for link in graph.get(at, ())), default=level)
