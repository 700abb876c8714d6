"""Objects that are tools already: they say their name, their arguments and how they are run.

`name`, `description`, `input_schema` (or `parameters`, or `get_parameters()`) and `execute` (or
`run`, or `__call__`); the arguments are a JSON Schema, or a list of what each is.
"""

import inspect
from collections.abc import Iterable, Mapping
from typing import Any, Final

from toolrt.bindings.python_imports import run_at_load
from toolrt.bindings.python_live import Live
from toolrt.catalog.sources.base import SourceTool
from toolrt.catalog.sources.subjects import Subject
from toolrt.core.faults import Fault, FaultError

_SCHEMAS: Final = ("input_schema", "parameters", "get_parameters")
_RUNNERS: Final = ("execute", "run", "__call__")
_TYPES: Final[Mapping[object, str]] = {
    "str": "string", str: "string",
    "int": "integer", int: "integer",
    "float": "number", float: "number",
    "bool": "boolean", bool: "boolean",
    "list": "array", list: "array",
    "dict": "object", dict: "object",
}  # fmt: skip
_WORDS: Final = ("name", "type", "description", "required", "default")
_NAMED: Final = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)


def is_tool_object(found: Any) -> bool:
    """Whether an object says of itself what a tool needs; nothing of it is asked for."""
    says = _has(found, "name") and _first(found, _SCHEMAS) and _first(found, _RUNNERS)
    return bool(says) and not isinstance(found, type)


def tool_object(subject: Subject) -> SourceTool | None:
    """The tool that an object says it is; None for any other object.

    Raises FaultError for arguments that cannot be read.
    """
    found = subject.found
    schema, runner = _first(found, _SCHEMAS), _first(found, _RUNNERS)
    if schema is None or runner is None or not is_tool_object(found):
        return None

    def asked() -> tuple[Any, Any, Any, Any]:
        said = getattr(found, schema)
        given = said() if callable(said) and not isinstance(said, type) else said
        return found.name, getattr(found, "description", None), given, getattr(found, runner)

    name, description, given, run = run_at_load(subject.label, subject.project, asked)
    if not isinstance(name, str):
        return None
    arguments = _arguments(given, name)
    if _takes_all_at_once(run, arguments):
        call = subject.lives.of(("run", id(found), runner), lambda: _whole(subject.label, run))
        python: dict[str, Any] = {"call": call}
    else:
        python = subject.method(name, runner, run).written["python"]
    says = {"description": description} if isinstance(description, str) and description else {}
    key = ("method", id(found), runner)
    return SourceTool(name, {**says, **arguments, "python": python}, place=subject.place, key=key)


def _has(found: Any, name: str) -> bool:
    """Whether it has an attribute, without asking for it: properties run code."""
    return inspect.getattr_static(found, name, None) is not None


def _first(found: Any, names: Iterable[str]) -> str | None:
    return next((name for name in names if _has(found, name)), None)


def _arguments(given: Any, name: str) -> dict[str, Any]:
    """The arguments as a file could say them."""
    if isinstance(given, Mapping):
        is_schema = "properties" in given or given.get("type") == "object"
        return {"input_schema" if is_schema else "parameters": dict(given)}
    if isinstance(given, list | tuple):
        words = [_words(each) for each in given]
        if all(isinstance(each.get("name"), str) for each in words):
            return {"parameters": {each.pop("name"): each for each in words}}
    message = f"the arguments of `{name}` cannot be read"
    hint = "a JSON Schema, or a list of parameters: name, type, description, required, default"
    raise FaultError(Fault("unreadable-signature", message, ("object",), hint))


def _words(parameter: Any) -> dict[str, Any]:
    """What is said of one parameter: a mapping, or an object with the same names."""
    if isinstance(parameter, Mapping):
        said = dict(parameter)
    else:
        said = {word: getattr(parameter, word) for word in _WORDS if hasattr(parameter, word)}
    if said.get("default") is None:
        said.pop("default", None)
    kind = said.get("type")
    if isinstance(kind, str | type) and kind in _TYPES:
        said["type"] = _TYPES[kind]
    return said


def _takes_all_at_once(run: Any, arguments: Mapping[str, Any]) -> bool:
    """Whether it is run with one mapping of all arguments, under a name that is none of them."""
    try:
        parameters = list(inspect.signature(run).parameters.values())
    except (TypeError, ValueError):
        return False
    written: Any = arguments.get("parameters") or arguments["input_schema"].get("properties", {})
    named = [each for each in parameters if each.kind in _NAMED]
    if len(named) != len(parameters) or not named or named[0].name in written:
        return False
    return all(each.default is not inspect.Parameter.empty for each in named[1:])


def _whole(label: str, run: Any) -> Live:
    """The call with the mapping of all arguments."""

    def whole(**arguments: Any) -> Any:
        return run(arguments)

    async def whole_async(**arguments: Any) -> Any:
        return await run(arguments)

    return Live(label, whole_async if inspect.iscoroutinefunction(run) else whole)
