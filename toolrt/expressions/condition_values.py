"""The values that conditions read: which part of them, and what the CEL library gets wrong."""

import re
from collections.abc import Collection, Iterable, Mapping
from typing import Any

LARGEST_EXACT = 2**53
"""Up to here an integer is a double as well, and compares with doubles exactly."""

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
