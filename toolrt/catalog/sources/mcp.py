"""Tools of an MCP server: what it listed last, held against what was approved.

Nothing is connected here. Where nobody has asked the server yet, or it cannot be reached, its
pinned definitions stand in, so that a tool that is gone for now is told as such.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Final

from toolrt.bindings.mcp import Definition, Listing, Server, Servers, compile_server
from toolrt.catalog.sources.base import SourceTool, Yielded
from toolrt.catalog.sources.pins import LOCK, Judged, Lock, LockError, Pin, PinBook, read_lock
from toolrt.catalog.sources.wording import suspicions
from toolrt.catalog.workshop import Workshop
from toolrt.core.faults import MISSING, Fault, child
from toolrt.core.unseen import harmless, harmless_value
from toolrt.loading.files import MissingError, UnreadableError
from toolrt.loading.loader import LoadedFiles
from toolrt.loading.sources import WrittenSource
from toolrt.manifest.limits import long_timeout
from toolrt.manifest.source import McpSource
from toolrt.schemas.check import schema_faults
from toolrt.schemas.phrases import visible
from toolrt.schemas.validators import is_pattern

_KEY: Final = "mcp"
_NOT_ASKED: Final = "nobody has asked its server yet"
_ANYTHING: Final[Mapping[str, Any]] = {"type": "object"}
_WORDS: Final = {
    "changed": "has changed since it was approved",
    "unapproved": "is not approved yet",
    "unread": "cannot be held against what was seen before, for the store cannot be read",
}


def yielded(source: WrittenSource, workshop: Workshop) -> Yielded:
    """The tools of a server, as far as they are known."""
    options = source.source.mcp
    if options is None:
        return Yielded()
    server, faults = _server(source, options, workshop)
    if server is None:
        return Yielded(faults=faults)
    workshop.files.servers[source.name] = server
    return _Asking(source, server, workshop, list(faults)).yielded()


def _server(
    source: WrittenSource, options: McpSource, workshop: Workshop
) -> tuple[Server | None, list[Fault]]:
    """The server; faults of a target that it names are told where that stands."""
    context = workshop.context(source.name)
    server = compile_server(source.name, options, context)
    is_elsewhere = options.target is not None and options.target in workshop.files.targets
    found = [one for one in context.faults if not is_elsewhere or one.path[:1] == ("env",)]
    if is_elsewhere:
        found += [one for one in context.faults if one.code == "caller-in-connection"]
    broken = options.target is not None and workshop.files.is_broken_target(options.target)
    return server, [] if broken else [one.under(_KEY) for one in found]


@dataclass
class _Asking:
    """What one source comes to."""

    source: WrittenSource
    server: Server
    workshop: Workshop
    faults: list[Fault]
    lock: Lock = field(default_factory=dict)
    withheld: dict[str, str] = field(default_factory=dict)

    def yielded(self) -> Yielded:
        servers = self.workshop.services.share(Servers)
        listing, fault = servers.listing(self.server), servers.fault(self.server)
        self._read_lock()
        if fault is not None:
            self._tell_of_fault(fault)
        if listing is None:
            return self._remembered(fault)
        down = None if fault is None else f"its server cannot be reached: {fault}"
        self._tell_of(listing)
        tools = [self._tool(each, down) for each in listing.tools]
        servers.withhold(self.server, self.withheld)
        pinned = self.book.pinned(self.source.name, self.lock)
        gone = frozenset(pinned.keys() - {each.name for each in listing.tools})
        return Yielded(tools, faults=self.faults, gone=gone)

    def _remembered(self, fault: str | None) -> Yielded:
        """What was pinned before: unavailable, unless the project wants to try all the same."""
        down = f"its server cannot be reached: {fault}" if fault else None
        pinned = self.book.pinned(self.source.name, self.lock)
        if not pinned:
            return Yielded(faults=self.faults, unavailable=down or _NOT_ASKED)
        if self.source.source.on_failure == "use_pinned":
            down = None
        tools = [_written(self.source, pin.definition, down, self.made) for pin in pinned.values()]
        return Yielded(tools, faults=self.faults, unavailable=down)

    @property
    def book(self) -> PinBook:
        return self.workshop.services.share(PinBook)

    @property
    def made(self) -> Any:
        return self.workshop.files.stock.library.made

    def _tool(self, definition: Definition, down: str | None) -> SourceTool:
        if definition.problem is not None:
            self.withheld[self._full_name(definition)] = definition.problem
            return _empty(self.source, definition.name, definition.problem)
        for clause in self.made(("lint", definition.digest), partial(_suspicions, definition)):
            self._warn("suspicious-description", f"`{visible(definition.name)}` {clause}")
        seen = Pin(definition, self.server.endpoint)
        judged = self.book.judged(self.source.name, seen, self.lock)
        shown, why = self._judge(definition, judged)
        return _written(self.source, shown, why or down, self.made)

    def _judge(self, definition: Definition, judged: Judged) -> tuple[Definition, str | None]:
        """The definition that counts, and why its tool cannot be called."""
        if judged.verdict in {"same", "new"}:
            return definition, None
        full = self._full_name(definition)
        what = _WORDS[judged.verdict]
        hint = f"`toolrt pins diff {full}` shows it, `toolrt pins approve {full}` lets it in"
        if self.source.source.on_change == "warn":
            self._warn("definition-changed", f"`{visible(definition.name)}` {what}", hint)
            return definition, None
        shown = judged.pin.definition if judged.pin else definition
        self.withheld[full] = f"its definition {what}: {hint}"
        return shown, self.withheld[full]

    def _full_name(self, definition: Definition) -> str:
        return f"{self.source.name}.{self.source.source.prefix or ''}{definition.name}"

    def _tell_of_fault(self, fault: str) -> None:
        message = f"its server cannot be reached: {fault}"
        if self.source.source.on_failure == "fail":
            hint = "`on_failure: degrade` lets the rest of the project work meanwhile"
            self.faults.append(Fault("unreachable-server", message, (_KEY,), hint))
            return
        self._warn("unreachable-server", message, "it is tried again by itself")

    def _tell_of(self, listing: Listing) -> None:
        if listing.left_out:
            self._warn("too-many-tools", f"{listing.left_out} of its tools are left out: too many")

    def _warn(self, code: str, message: str, hint: str | None = None) -> None:
        self.faults.append(Fault(code, message, (_KEY,), hint, severity="warning"))

    def _read_lock(self) -> None:
        try:
            self.lock = locked(self.workshop.files)
        except LockError as error:
            message = f"`{LOCK}` cannot be read: {error}"
            hint = "take it from version control, or remove it and approve anew"
            self.faults.append(Fault("unreadable-lock", message, (_KEY,), hint))


def locked(files: LoadedFiles) -> Lock:
    """What `toolrt.lock` says, from now on a file of the project. Raises LockError."""
    try:
        content = files.stock.large(files.root / LOCK)
    except MissingError:
        return {}
    except UnreadableError as error:
        raise LockError(str(error)) from None
    made: Lock = files.stock.library.made((LOCK, content), lambda: read_lock(content))
    return made


def _suspicions(definition: Definition) -> tuple[str, ...]:
    return tuple(suspicions({"name": definition.name, **definition.written}))


def _written(
    source: WrittenSource, definition: Definition, blocked: str | None, made: Any
) -> SourceTool:
    """The tool as a file could say it."""
    key = (_KEY, source.name, definition.digest, source.document, source.path)
    tool: SourceTool = made(key, lambda: _tool_of(source, definition))
    return tool if blocked is None else SourceTool(tool.name, tool.written, blocked)


def _tool_of(source: WrittenSource, definition: Definition) -> SourceTool:
    schema = _loosened(harmless_value(dict(definition.input_schema))[0])
    problem = next(_problems(schema, "input schema"), None)
    if problem is not None:
        return _empty(source, definition.name, problem)
    written: dict[str, Any] = {"input_schema": schema, **_call(source, definition.name)}
    description = harmless(definition.description).strip()
    if description:
        written["description"] = description
    if definition.title:
        written["title"] = harmless(definition.title)
    output = definition.output_schema
    if output is not None and not any(_problems(output, "output schema")):
        written["output_schema"] = harmless_value(dict(output))[0]
    hints = definition.annotations
    if hints.get("destructiveHint") is True and hints.get("readOnlyHint") is not True:
        written["effect"] = "irreversible"
    return SourceTool(definition.name, written)


def _call(source: WrittenSource, name: str) -> dict[str, Any]:
    """How the tool is called, and in what time where the source says so."""
    made: dict[str, Any] = {_KEY: {"server": source.name, "tool": name}}
    raw: Any = source.document.data
    for step in (*source.path, _KEY, "timeout"):
        raw = child(raw, step)
    written = long_timeout(raw) if raw not in (MISSING, None) else {}
    bounds = {key: each for key, each in written.items() if key != "connect"}
    return {**made, "timeout": bounds} if bounds else made


def _empty(source: WrittenSource, name: str, problem: str) -> SourceTool:
    written = {
        "description": f"tool {visible(name)}",
        "input_schema": dict(_ANYTHING),
        **_call(source, name),
    }
    return SourceTool(name, written, problem)


def _problems(schema: Mapping[str, Any], what: str) -> Iterator[str]:
    if schema.get("type") != "object" and what == "input schema":
        yield f"its {what} is no object"
    for fault in schema_faults(schema):
        if fault.severity == "error":
            yield f"its {what} cannot be used: {fault.message}"


def _loosened(schema: Any) -> Any:
    """The schema without patterns that cannot run in linear time; the server checks them itself."""
    if isinstance(schema, list):
        return [_loosened(each) for each in schema]
    if not isinstance(schema, Mapping):
        return schema
    return dict(_kept(schema.items()))


def _kept(items: Iterable[tuple[str, Any]]) -> Iterator[tuple[str, Any]]:
    for key, value in items:
        is_odd = key == "pattern" and isinstance(value, str) and not is_pattern(value)
        if not is_odd:
            yield key, _loosened(value)
