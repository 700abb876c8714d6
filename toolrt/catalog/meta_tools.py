"""`search_tools` and `call_tool`: by these a model finds and calls tools that it was not told of.

A call of `call_tool` is the call of the tool that it names: the gateway never makes another one
of it. Rules about that tool decide, people are asked about it, and the journal has its name.
"""

from collections.abc import Awaitable, Callable, Container, Iterable, Iterator, Mapping
from typing import Any, Final

from toolrt.catalog.snapshot import ToolEntry
from toolrt.core.calls import Invocation
from toolrt.core.errors import RefusedError
from toolrt.core.faults import Fault
from toolrt.core.globs import no_such_tool
from toolrt.core.results import Answer
from toolrt.loading.loader import LoadedFiles
from toolrt.manifest.offers import is_among
from toolrt.manifest.project import ProjectFile

SEARCH: Final = "search_tools"
CALL: Final = "call_tool"

_MOST: Final = 20

SEARCH_MANIFEST: Mapping[str, Any] = {
    "title": "Search tools",
    "description": (
        "Find tools for what you want to do: there are more than you were told of. Gives the names,"
        " descriptions and parameters of those that serve it best. Call them by call_tool."
    ),
    "effect": "read",
    "input_schema": {
        "type": "object",
        "properties": {
            "intent": {
                "type": "string",
                "minLength": 1,
                "maxLength": 2000,
                "description": "What you want to do, in a few words.",
            },
            "k": {
                "type": "integer",
                "minimum": 1,
                "maximum": _MOST,
                "description": "How many at most.",
            },
        },
        "required": ["intent"],
        "additionalProperties": False,
    },
}
CALL_MANIFEST: Mapping[str, Any] = {
    "title": "Call a tool",
    "description": (
        "Call a tool that search_tools has found, by its name and with the arguments that its"
        " parameters ask for. What comes back is what that tool gives."
    ),
    "effect": "write",
    "input_schema": {
        "type": "object",
        "properties": {
            "name": {"type": "string", "description": "The name of the tool."},
            "arguments": {"type": "object", "description": "Its arguments."},
        },
        "required": ["name"],
        "additionalProperties": False,
    },
}

Finder = Callable[[Invocation], Awaitable[list[dict[str, Any]]]]


class Finders:
    """Who searches for the tools of one runtime; the runtime puts it there."""

    def __init__(self) -> None:
        self.find: Finder | None = None

    async def close(self) -> None:
        self.find = None


class Searching:
    """Gives what was found."""

    def __init__(self, finders: Finders) -> None:
        self._finders = finders

    async def call(self, invocation: Invocation) -> Answer:
        find = self._finders.find
        if find is None:
            raise RefusedError("there is nobody here who searches", code="unsupported")
        return Answer(await find(invocation))

    def preview(self, invocation: Invocation) -> dict[str, Any]:
        return {"searches_for": invocation.arguments["intent"]}


class Calling:
    """Stands where a call is that of the tool that it names."""

    async def call(self, _invocation: Invocation) -> Answer:
        message = "`call_tool` is called by itself alone, with the name of a tool"
        raise RefusedError(message, code="unsupported", hint="call the tool that you mean")

    def preview(self, invocation: Invocation) -> dict[str, Any]:
        return {"calls": dict(invocation.arguments)}


def told_of(project: ProjectFile, listed: Mapping[str, ToolEntry]) -> Mapping[str, ToolEntry]:
    """The tools that models are told of: all, or where these are more than `retrieval.max_told`,
    those of toolrt itself and those that are `always` told of.
    """
    options = project.retrieval
    if options is None or options.max_told is None or len(listed) <= options.max_told:
        return listed
    return {
        name: entry
        for name, entry in listed.items()
        if entry.kind == "built-in" or is_among(name, entry.version, options.always)
    }


def check_told(files: LoadedFiles, entries: Mapping[str, ToolEntry]) -> None:
    """Report tools that models are not told of and could never find, and patterns of those that
    they are `always` told of that fit nothing.
    """
    options = files.project.retrieval
    if options is None or files.project_document is None:
        return
    faults = list(_of_always(files, options.always, entries))
    others = (each for each in entries.values() if each.kind != "built-in" and each.manifest.expose)
    is_hiding = any(not is_among(each.name, each.version, options.always) for each in others)
    if options.max_told is not None and is_hiding:
        faults += _of_max_told(files.project.builtins)
    files.report(files.project_document, ("retrieval",), *faults)


def _of_always(
    files: LoadedFiles, patterns: Iterable[str], entries: Mapping[str, ToolEntry]
) -> Iterator[Fault]:
    if not files.knows.tools:
        return
    written: dict[str, str | None] = dict.fromkeys(each.name for each in files.tools)
    known = written | {name: entry.version for name, entry in entries.items()}
    for number, pattern in enumerate(patterns):
        if not any(is_among(name, version, (pattern,)) for name, version in known.items()):
            yield no_such_tool(pattern, known, ("always", number))


def _of_max_told(builtins: Container[str]) -> Iterator[Fault]:
    lacks = [f"`{each}`" for each in (SEARCH, CALL) if each not in builtins]
    if not lacks:
        return
    are = "are" if len(lacks) > 1 else "is"
    message = (
        "where there are more tools, models cannot come to those that they are not told of:"
        f" {' and '.join(lacks)} {are} not among `builtins`"
    )
    hint = f"write `builtins: [{SEARCH}, {CALL}]`"
    yield Fault("unfound-tools", message, ("max_told",), hint, "warning", on_key=True)
