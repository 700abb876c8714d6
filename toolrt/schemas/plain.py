"""Plain JSON data out of whatever a caller hands over.

The first thing that happens to arguments: a deep copy that holds nothing but exact JSON types, so
that everything after it (schema, policy, hash, binding) sees one and the same value.
"""

import math
from collections.abc import Mapping
from enum import Enum
from typing import Any

from toolrt.core.faults import Path

MAX_DEPTH = 64
MAX_DIGITS = 4300
MAX_VALUES = 100_000
"""With more, JSON is not read, and arguments have to fit as they are: it would take seconds."""
_TOO_DEEP = f"is nested deeper than {MAX_DEPTH} levels"
_SAFE_BITS = 14284  # every integer this short has at most MAX_DIGITS digits
_FIRST_TOO_LONG = 10**MAX_DIGITS


class NotJsonError(ValueError):
    """A value that JSON cannot carry: `reason` completes "`city` …", `path` leads to it."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason
        self.path: Path = ()


def plain(value: Any, depth: int = MAX_DEPTH) -> Any:
    """A deep copy of `value` in exact JSON types; tuples become lists, subclasses their base.

    Raises NotJsonError for other types, keys that are no text, NaN and infinities, lone
    surrogates, integers over 4,300 digits and more than `depth` containers in one another.
    """
    kind = type(value)
    if kind is str:
        if not value.isascii():
            _refuse_surrogates(value)
        return value
    if kind is int:
        if value.bit_length() > _SAFE_BITS:
            _refuse_long(value)
        return value
    if value is None or kind is bool:
        return value
    if kind is dict:
        return _object(value, depth)
    if kind is list or kind is tuple:
        return _array(value, depth)
    if kind is float:
        if not math.isfinite(value):
            raise NotJsonError(f"is {value}, which JSON does not have")
        return value
    return plain(_of_subclass(value), depth)


def without_surrogates(text: str) -> str:
    """`text` with U+FFFD for every half of a character, so that it can be written as UTF-8."""
    if text.isascii():
        return text
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def _object(value: dict[Any, Any], depth: int) -> dict[str, Any]:
    if depth <= 0:
        raise NotJsonError(_TOO_DEEP)
    made = value.copy()
    for key, item in value.items():
        if type(key) is not str or not key.isascii():
            return _object_of_odd_names(value, depth)
        if type(item) is not str or not item.isascii():
            made[key] = _member(item, key, depth)
    return made


def _object_of_odd_names(value: dict[Any, Any], depth: int) -> dict[str, Any]:
    return {_name(key): _member(item, key, depth) for key, item in value.items()}


def _member(item: Any, step: str | int, depth: int) -> Any:
    try:
        return plain(item, depth - 1)
    except NotJsonError as error:
        error.path = (step, *error.path)
        raise


def _array(value: list[Any] | tuple[Any, ...], depth: int) -> list[Any]:
    if depth <= 0:
        raise NotJsonError(_TOO_DEEP)
    return [
        item if type(item) is str and item.isascii() else _member(item, index, depth)
        for index, item in enumerate(value)
    ]


def _name(key: Any) -> str:
    """The exact text of a key. Its own faults carry the key as their place."""
    if not isinstance(key, str):
        raise NotJsonError(f"has a key of type {type(key).__name__}; keys are text")
    text = str.__str__(key)
    try:
        _refuse_surrogates(text)
    except NotJsonError as error:
        error.path = (text,)
        raise
    return text


def _of_subclass(value: Any) -> Any:
    try:
        return _base(value)
    except NotJsonError:
        raise
    except BaseException as error:  # what a type makes of itself is code of its author
        kind, what = type(value).__name__, type(error).__name__
        raise NotJsonError(f"is of type {kind}, which cannot be read ({what})") from error


def _base(value: Any) -> Any:
    """The plain value behind a subclass: StrEnum, IntEnum, OrderedDict, a named tuple."""
    if isinstance(value, str):
        return str.__str__(value)
    if isinstance(value, int):
        return int.__int__(value)
    if isinstance(value, float):
        return float.__float__(value)
    if isinstance(value, Mapping):
        return dict(value.items())
    if isinstance(value, (list, tuple)):
        return list(value)
    if isinstance(value, Enum) and type(value.value) in {str, int, float, bool}:
        return value.value
    raise NotJsonError(f"is of type {type(value).__name__}, which JSON does not have")


def _refuse_surrogates(text: str) -> None:
    try:
        text.encode()
    except UnicodeEncodeError as error:
        code = ord(text[error.start])
        raise NotJsonError(f"holds \\u{code:04x}, half a character (a lone surrogate)") from None


def _refuse_long(number: int) -> None:
    if abs(number) >= _FIRST_TOO_LONG:
        raise NotJsonError(f"is a number of more than {MAX_DIGITS} digits")
