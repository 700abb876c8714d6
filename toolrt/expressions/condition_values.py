"""The values that conditions read: their types, which part of them counts, and what the CEL library
gets wrong.
"""

import re
from collections.abc import Collection, Iterable, Mapping
from typing import Any

LARGEST_EXACT = 2**53
"""Up to here an integer is a double as well, and compares with doubles exactly."""

_TYPES = {bool: "bool", int: "int", float: "double", str: "string", dict: "map"}
_OF_SCHEMA = {
    "string": "string",
    "integer": "int",
    "number": "double",
    "boolean": "bool",
    "object": "map",
}
_OF_LISTS = {"bool", "int", "string"}
_KEY = re.compile(r"[A-Za-z_]\w*", re.ASCII)
_RESERVED = frozenset(
    {
        *("as", "break", "const", "continue", "else", "false", "for", "function", "if", "import"),
        *("in", "let", "loop", "namespace", "null", "package", "return", "true", "var", "void"),
        "while",
    }
)
"""Words of the language that name nothing: https://github.com/google/cel-spec, langdef."""
_DEEPEST = 200
_HALF = re.compile("[\ud800-\udfff]")


def part(value: Any, keys: Collection[str | None] | None) -> Any:
    """Those keys of `value` that are read; all of it when that is not known."""
    if value.__class__ is not dict and not isinstance(value, Mapping):
        return value
    return dict(value) if keys is None else {key: value[key] for key in keys if key in value}


def doubles(arguments: Mapping[str, Any], numbers: Iterable[str]) -> dict[str, float]:
    """Every `number` as a double, as the check has assumed, where that is exact."""
    return {
        name: float(arguments[name])
        for name in numbers
        if type(arguments.get(name)) is int and abs(arguments[name]) <= LARGEST_EXACT
    }


def type_of_schema(schema: Any) -> str:
    """The type of values of a JSON Schema; `dyn` when it allows several."""
    if not isinstance(schema, Mapping):
        return "dyn"
    kind = schema.get("type")
    if kind == "array":
        item = type_of_schema(schema.get("items"))
        return f"list({item})" if item in _OF_LISTS else "list(dyn)"
    if isinstance(kind, str):
        return _OF_SCHEMA.get(kind, "dyn")
    choices = schema.get("enum")
    is_text = isinstance(choices, list) and all(isinstance(each, str) for each in choices)
    return "string" if kind is None and is_text else "dyn"


def type_of_value(value: Any) -> str:
    """The CEL type of a constant; `dyn` where it is not one that comparisons know."""
    if isinstance(value, list):
        items = {type_of_value(each) for each in value}
        item = items.pop() if len(items) == 1 else "dyn"
        return f"list({item})" if item in _OF_LISTS else "list(dyn)"
    return _TYPES.get(type(value), "dyn")


def is_readable_key(name: str) -> bool:
    """Whether `vars.name` can be written; other keys are read with brackets."""
    return name not in _RESERVED and _KEY.fullmatch(name) is not None


def is_readable(text: str) -> bool:
    """Whether the library would read all of `text`: it holds no NUL and no half characters."""
    return "\0" not in text and (text.isascii() or not _HALF.search(text))


def why_unreadable(values: Iterable[Any]) -> str | None:
    """What the library would get wrong: it cuts texts at a NUL, and deep nesting crashes it."""
    level = list(values)
    for _ in range(_DEEPEST):
        below: list[Any] = []
        for node in level:
            kind = node.__class__
            if kind is str:
                if "\0" in node:
                    return "a text that it reads holds a NUL character"
            elif kind is dict:
                below += node
                below += node.values()
            elif kind is list:
                below += node
        if not below:
            return None
        level = below
    return "a value that it reads is nested too deeply"
