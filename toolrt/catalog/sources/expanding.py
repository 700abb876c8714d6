"""Sources to tools: which of what a source has are in, how they are called, what lies over them.

Each becomes a `WrittenTool` as a file could have it, and goes the way of any other from there.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from toolrt.catalog.sources.base import SourceTool, Yielded, origin
from toolrt.catalog.sources.meeting import leave_out_meeting
from toolrt.catalog.sources.names import name_faults, own_faults
from toolrt.catalog.workshop import Workshop
from toolrt.core.faults import Fault, child
from toolrt.core.globs import tool_pattern
from toolrt.core.names import did_you_mean
from toolrt.loading.layers import SOURCE, Layer, Layered
from toolrt.loading.loader import WrittenTool
from toolrt.loading.sources import WrittenSource
from toolrt.manifest.longform import long_tool
from toolrt.schemas.phrases import visible


def expand_sources(workshop: Workshop) -> None:
    """Put the tools of every source behind those of the files; what is wrong is reported."""
    files, first = workshop.files, dict[str, WrittenSource]()
    seen: dict[object, WrittenTool] = {}
    given = {id(each.document): each for each in files.stock.given}
    for written in files.tool_sources:
        source = written.of(given.get(id(written.document)))
        known = first.setdefault(source.name, source)
        if known is source:
            files.tools += _expanded(source, workshop, seen)
        elif known.document.file != source.document.file or source.given is not None:
            files.report(source.document, source.path, _twin(source, known))
    leave_out_meeting(files)


def _twin(source: WrittenSource, known: WrittenSource) -> Fault:
    span = known.document.span(known.path, on_key=True)
    message = f"source `{source.name}` is declared at {known.document.file}:{span.line} already"
    return Fault("duplicate-source", message, (), "rename one of the two", on_key=True)


def _expanded(
    source: WrittenSource, workshop: Workshop, seen: dict[object, WrittenTool]
) -> Iterator[WrittenTool]:
    """The tools of a source; `seen` are those of the sources before, by what they are."""
    files = workshop.files
    made = origin(source.origin)
    if made is None:  # the loader has warned that it does nothing yet
        files.knows.tools = False
        return
    yielded = made.yielded(source, workshop)
    choice = _Choice(source, yielded)
    chosen = choice.chosen()
    faults = (*own_faults(source), *yielded.faults, *choice.faults)
    files.report(source.document, source.path, *faults)
    if not choice.is_known:
        files.knows.tools = False
    for tool in chosen:
        written = _written(source, tool, choice.full_name(tool))
        known = seen.setdefault(tool.key, written) if tool.key is not None else written
        if known is not written:
            files.report(source.document, source.path, _again(tool, written, known))
        yield written


def _again(tool: SourceTool, written: WrittenTool, known: WrittenTool) -> Fault:
    span = known.document.span(known.path, on_key=True)
    what = f"`{visible(written.name)}`" + (f" ({tool.place})" if tool.place else "")
    message = f"{what} is `{visible(known.name)}` ({known.document.file}:{span.line}) once more"
    hint = "one object is one tool: take it out with `exclude`, or write it under `tools`"
    return Fault("duplicate-tool", message, (), hint)


@dataclass(slots=True)
class _Choice:
    """The tools of one source that are in, and the faults of its own keys."""

    source: WrittenSource
    yielded: Yielded
    faults: list[Fault]

    def __init__(self, source: WrittenSource, yielded: Yielded) -> None:
        self.source, self.yielded, self.faults = source, yielded, []

    @property
    def is_known(self) -> bool:
        """Whether all the tools are known that the source has."""
        has_errors = any(one.severity == "error" for one in self.yielded.faults)
        return self.yielded.unavailable is None and not has_errors

    def full_name(self, tool: SourceTool) -> str:
        own = f"{self.source.source.prefix or ''}{tool.name}"
        namespace = self.source.namespace
        return f"{namespace}.{own}" if namespace else own

    def chosen(self) -> list[SourceTool]:
        """Those that are in, in the order of the source."""
        options, yielded = self.source.source, self.yielded
        everything = [*yielded.tools, *(yielded.more or ())]
        names = [tool.name for tool in everything]
        included = self._fitting(options.include, everything, "include")
        excluded = self._fitting(options.exclude, everything, "exclude")
        selected = {tool.name for tool in yielded.tools}
        if yielded.more is not None:
            wanted = selected | included
        else:
            wanted = included if options.include else selected
        made = [tool for tool in everything if tool.name in wanted - excluded]
        self._check_overrides(names, {tool.name for tool in made}, excluded)
        wrong = dict(name_faults(self.source, made))
        self.faults += wrong.values()
        return [tool for tool in made if tool.name not in wrong]

    def _fitting(self, globs: Sequence[str], tools: Sequence[SourceTool], key: str) -> set[str]:
        """The names that fit any of the patterns; one that fits none is a fault."""
        found: set[str] = set()
        for number, glob in enumerate(globs):
            fits, words = tool_pattern(glob.removeprefix(_TAG)).fullmatch, _words_for(glob)
            hit = {tool.name for tool in tools if any(map(fits, words(tool)))}
            if not hit and self.is_known:
                known = {word: None for tool in tools for word in words(tool)}
                is_gone = any(map(fits, self.yielded.gone))
                self._fault(glob, known, (key, number), is_gone=is_gone)
            found |= hit
        return found

    def _check_overrides(self, names: Sequence[str], chosen: set[str], excluded: set[str]) -> None:
        """Overrides are for tools that are there, by the names that they have there."""
        for name in self.source.source.overrides:
            if name in chosen or not self.is_known:
                continue
            if name not in names:
                is_gone = name in self.yielded.gone
                self._fault(name, names, ("overrides", name), on_key=True, is_gone=is_gone)
                continue
            why = "`exclude` takes it out" if name in excluded else "it is not among those taken"
            message = f"this lies over nothing: {why}"
            path = ("overrides", name)
            self.faults.append(Fault("no-effect", message, path, None, "warning", on_key=True))

    def _fault(
        self,
        name: str,
        names: Iterable[str],
        path: tuple[str | int, ...],
        *,
        is_gone: bool,
        on_key: bool = False,
    ) -> None:
        if is_gone:
            message = f"`{visible(name)}` of source `{self.source.name}` is there no more"
            self.faults.append(Fault("no-such-tool", message, path, None, "warning", on_key=on_key))
            return
        known = list(names)
        hint = did_you_mean(name.removeprefix(_TAG), known) or _listed(known)
        what = "tag" if name.startswith(_TAG) else "tool"
        message = f"`{visible(name)}` is no {what} of source `{self.source.name}`"
        self.faults.append(Fault("no-such-tool", message, path, hint, on_key=on_key))


_MOST_LISTED = 8
_TAG = "tag:"
"""How a pattern begins that means tags: `include: [tag:pets]`."""


def _words_for(glob: str) -> Callable[[SourceTool], Sequence[str]]:
    """What of a tool a pattern is about."""
    if glob.startswith(_TAG):
        return lambda tool: [f"{each}" for each in tool.written.get("tags", ())]
    return lambda tool: (tool.name,)


def _listed(names: Sequence[str]) -> str:
    """What there is, as a hint."""
    if not names:
        return "it has no tools"
    more = f" and {len(names) - _MOST_LISTED} more" if len(names) > _MOST_LISTED else ""
    return f"it has {', '.join(map(visible, names[:_MOST_LISTED]))}{more}"


def _written(source: WrittenSource, tool: SourceTool, name: str) -> WrittenTool:
    """The tool as a file could have it: defaults, what the source says, what is laid over it."""
    document, path = source.document, source.path
    layers = [*source.beneath.layers(tool.written), Layer(SOURCE, document, path, tool.written)]
    override = _override(source, tool.name)
    if override is not None:
        place = (*path, "overrides", tool.name)
        layers.append(Layer("override", document, place, long_tool(override, override)))
    return WrittenTool(
        name,
        source.namespace,
        Layered(layers),
        document,
        (*path, tool.name),
        source=source,
        blocked=tool.blocked,
        key=tool.key,
    )


def _override(source: WrittenSource, name: str) -> Mapping[str, Any] | None:
    """What the file lays over a tool, as it is written."""
    raw: Any = source.document.data
    for step in (*source.path, "overrides", name):
        raw = child(raw, step)
    return raw if isinstance(raw, dict) else None
