"""Bytes that came back from the world, read as the manifest says: text, json, lines, csv and more.

The last step of a binding's journey, shared by the kinds that get bytes: http, command, shell.
What cannot be read so is a `bad-response`; the excerpt in its details is for the operator.
"""

import json
import math
import re
from collections.abc import Callable, Mapping
from itertools import chain
from typing import Any, Final, Literal, NoReturn

from toolrt.core.errors import BindingError
from toolrt.schemas.values import MAX_ANSWER_DEPTH, is_too_deep

Output = Literal["text", "json", "jsonl", "lines", "csv", "xml", "sse"]

MOST_VALUES: Final = 1_000_000
"""More values in one JSON text keep the event loop from everything else for too long."""

_EXCERPT = 200
_CONTAINERS = frozenset({dict, list})
_TOO_DEEP = f"it is nested deeper than {MAX_ANSWER_DEPTH} levels"
_SURROGATE_ESCAPE = re.compile(r"\\u[dD][89a-fA-F]")


def decode(output: Output, data: bytes) -> Any:
    """The value of `data`: a text, a JSON value, a list of JSON values, of lines, of rows or of
    events, or the root of an XML document.

    Text, lines and events replace bytes that are not UTF-8; JSON must be UTF-8 and finite (RFC
    8259), nested at most MAX_ANSWER_DEPTH deep, and of MOST_VALUES at most; lone surrogates in it
    become U+FFFD.
    Raises BindingError `bad-response`.
    """
    return _READERS[output](data)


def decode_xml(data: bytes, encoding: str | None = None) -> Any:
    """The same for XML whose encoding is known from elsewhere."""
    from toolrt.bindings.answer_xml import BadMarkupError, read_xml  # noqa: PLC0415 - few need it

    try:
        return _whole(read_xml(data, encoding))
    except BadMarkupError as error:
        raise _unreadable("XML", str(error), data) from None


def _text(data: bytes) -> str:
    return data.decode("utf-8", "replace")


def _lines(data: bytes) -> list[str]:
    lines = _text(data).split("\n")
    if not lines[-1]:
        lines.pop()
    return [line.removesuffix("\r") for line in lines]


def _json(data: bytes) -> Any:
    return _parse(_strict(data, "JSON"), data, "JSON")


def _jsonl(data: bytes) -> list[Any]:
    lines = enumerate(_strict(data, "JSON Lines").split("\n"), 1)
    return [_parse(line, data, f"JSON in line {number}") for number, line in lines if line.strip()]


def _csv(data: bytes) -> list[dict[str, str]]:
    from toolrt.bindings.answer_csv import BadTableError, read_csv  # noqa: PLC0415 - few need it

    try:
        return read_csv(_strict(data, "CSV"))
    except BadTableError as error:
        raise _unreadable("CSV", str(error), data) from None


def _events(data: bytes) -> list[dict[str, Any]]:
    from toolrt.bindings.answer_events import read_events  # noqa: PLC0415 - few need it

    try:
        return read_events(_text(data), _event_data)
    except OverflowError as error:
        raise _unreadable("a stream of events", str(error), data) from None


def _event_data(text: str) -> Any:
    """JSON where it is some, else the text."""
    if text[:1] not in _JSON_STARTS:
        return text
    try:
        return _parse(text, b"", "JSON")
    except BindingError:
        return text


def _strict(data: bytes, wanted: str) -> str:
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise _unreadable(wanted, f"byte {error.start} is not UTF-8", data) from None


def _parse(text: str, data: bytes, wanted: str) -> Any:
    if not text.strip():
        raise _unreadable(wanted, "it is empty", data)
    try:
        value = _DECODER.decode(text)
    except json.JSONDecodeError as error:
        why = f"{error.msg} at line {error.lineno} column {error.colno}"
        raise _unreadable(wanted, why, data) from None
    except ValueError:
        raise _unreadable(wanted, "a number in it is out of range", data) from None
    except RecursionError:
        raise _unreadable(wanted, _TOO_DEEP, data) from None
    containers = text.count("[") + text.count("{")
    if containers + text.count(",") > MOST_VALUES and not _has_room(value):
        raise _unreadable(wanted, f"it has more than {MOST_VALUES:,} values", data)
    if containers > MAX_ANSWER_DEPTH and is_too_deep(value):
        raise _unreadable(wanted, _TOO_DEEP, data)
    return _whole(value) if _SURROGATE_ESCAPE.search(text) else value


def _has_room(value: Any) -> bool:
    """Whether there are no more than MOST_VALUES in it: signs of JSON stand in texts, too."""
    left, level = MOST_VALUES, [value]
    while level and left >= 0:
        inside = [each.values() if type(each) is dict else each for each in level]
        left -= sum(map(len, inside))
        level = [each for each in chain.from_iterable(inside) if type(each) in _CONTAINERS]
    return left >= 0


def _unreadable(wanted: str, why: str, data: bytes) -> BindingError:
    return BindingError(
        f"the answer is not {wanted}: {why}",
        code="bad-response",
        details={"excerpt": _text(data[:_EXCERPT]), "bytes": len(data)},
    )


def _finite(digits: str) -> float:
    value = float(digits)
    if math.isinf(value):
        raise ValueError(digits)
    return value


def _no_constant(name: str) -> NoReturn:
    raise ValueError(name)


def _whole(value: Any) -> Any:
    """`value` with every lone surrogate replaced, in keys too."""
    if isinstance(value, str):
        return value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    if isinstance(value, dict):
        return {_whole(key): _whole(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_whole(item) for item in value]
    return value


_JSON_STARTS = frozenset('{["-0123456789tfn')
_DECODER = json.JSONDecoder(parse_float=_finite, parse_constant=_no_constant)
_READERS: Mapping[Output, Callable[[bytes], Any]] = {
    "text": _text,
    "json": _json,
    "jsonl": _jsonl,
    "lines": _lines,
    "csv": _csv,
    "xml": decode_xml,
    "sse": _events,
}
