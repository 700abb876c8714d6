"""What a plain scalar means: the core schema of YAML 1.2 (section 10.3.2), less what JSON lacks.

`no`, `on`, `12:30`, `1_000` and dates stay text. Part of reading a file.
"""

import re
from collections.abc import Mapping
from typing import Any, Final

from toolrt.core.faults import Fault, FaultError
from toolrt.loading.paths import short

DIGIT_LIMIT: Final = 4300
"""Python's own limit for turning digits into a number and back."""

_BIT_LIMIT: Final = 14_284
_DECIMAL: Final = 10
_PREFIX: Final = "tag:yaml.org,2002:"
_WORDS: Final[Mapping[str, bool | None]] = {
    **dict.fromkeys(("", "~", "null", "Null", "NULL")),
    **dict.fromkeys(("true", "True", "TRUE"), True),
    **dict.fromkeys(("false", "False", "FALSE"), False),
}
_FIRST: Final = frozenset("-+.0123456789")
_INT: Final = re.compile(r"[-+]?[0-9]+")
_OTHER_BASE: Final = re.compile(r"0o[0-7]+|0x[0-9a-fA-F]+")
_FLOAT: Final = re.compile(r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?")
_NOT_FINITE: Final = re.compile(r"[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN)")
_INFINITE: Final = float("inf")


def plain(text: str) -> Any:
    """The value of an unquoted scalar. Raises `FaultError` for numbers that JSON does not have."""
    word = _WORDS.get(text, text)
    if word is not text or text[0] not in _FIRST:
        return word
    if _INT.fullmatch(text):
        return _whole(text)
    if _FLOAT.fullmatch(text):
        return _finite(float(text), text)
    if _OTHER_BASE.fullmatch(text):
        return _whole(text, base=0)
    if _NOT_FINITE.fullmatch(text):
        return _finite(_INFINITE, text)
    return text


def tagged(tag: str, text: str) -> Any:
    """The value of a scalar with a tag of `SCALAR_TAGS`. Raises `FaultError` when it is none."""
    name = tag.removeprefix(_PREFIX)
    if name == "str":
        return text
    value = plain(text)
    if name == "float" and type(value) is int:
        value = _as_float(value, text)
    if not isinstance(value, _TYPES[name]) or (name == "int" and isinstance(value, bool)):
        raise FaultError(Fault("bad-tag", f"`{short(text)}` is no {_NAMES[name]}"))
    return value


def written(tag: str) -> str:
    """A tag as people write it: `!!str`."""
    return f"!!{tag.removeprefix(_PREFIX)}" if tag.startswith(_PREFIX) else tag


def _whole(text: str, base: int = _DECIMAL) -> int:
    if len(text) > DIGIT_LIMIT:
        raise _too_long(text)
    number = int(text, base)
    if base != _DECIMAL and number.bit_length() > _BIT_LIMIT:
        raise _too_long(text)
    return number


def _too_long(text: str) -> FaultError:
    message = f"a number of {len(text)} digits is too long"
    return FaultError(Fault("number-too-long", message, hint=f"at most {DIGIT_LIMIT} digits"))


def _finite(number: float, text: str) -> float:
    if abs(number) < _INFINITE:
        return number
    message = f"`{short(text)}` is no number that JSON knows"
    raise FaultError(Fault("not-finite", message, hint="quote it if it is meant as text"))


def _as_float(number: int, text: str) -> float:
    try:
        return float(number)
    except OverflowError:
        return _finite(_INFINITE, text)


_NAMES: Final = {
    "null": "null",
    "bool": "true or false",
    "int": "whole number",
    "float": "number",
}
_TYPES: Final[Mapping[str, type | tuple[type, ...]]] = {
    "null": type(None),
    "bool": bool,
    "int": int,
    "float": float,
}
SCALAR_TAGS: Final = frozenset(f"{_PREFIX}{name}" for name in ("str", *_NAMES))
MAP_TAG: Final = f"{_PREFIX}map"
SEQ_TAG: Final = f"{_PREFIX}seq"
