"""Slots: how a value is escaped for the place where a template puts it.

Every text that a template makes goes through exactly one slot, so a value can never leave its
place: a path value stays one segment, a header value one line. There is no slot that lets a value
through raw where escaping means anything.
"""

import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote, quote_plus

from toolrt.core.errors import RefusedError

_NOT_IN_HEADER = re.compile(r"[^\x20-\x7e]")
_NOT_IN_XML = re.compile(r"[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_XML = str.maketrans(
    {
        "&": "&amp;",
        "<": "&lt;",
        ">": "&gt;",
        '"': "&quot;",
        "'": "&apos;",
        "\t": "&#9;",
        "\n": "&#10;",
        "\r": "&#13;",
    }
)


def _plain(value: Any) -> Any:
    """What JSON does not know but a Python tool may return."""
    return list(value) if isinstance(value, (set, frozenset)) else str(value)


_JSON = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":"), default=_plain)


class UnfitError(ValueError):
    """A text that a slot cannot hold; the message goes on from 'the value …' and shows none."""


@dataclass(frozen=True, slots=True)
class Slot:
    """A place for values: its name, and how a text is written there."""

    name: str
    encode: Callable[[str], str]

    def escape(self, value: Any, name: str | None = None) -> str:
        """`value` as this place takes it.

        Raises RefusedError (invalid-arguments), naming the parameter when `name` is given.
        """
        try:
            return self.encode(value if value.__class__ is str else as_text(value))
        except ValueError as error:
            what = f"`{name}`" if name else "a value"
            message = f"{what} {_reason(error)}"
        raise RefusedError(message, code="invalid-arguments")


def as_text(value: Any) -> str:
    """A JSON value as people write it: texts bare, everything else as compact JSON."""
    if isinstance(value, str):
        return value
    return str(value) if value.__class__ is int else _JSON.encode(value)


def path_segment(text: str) -> str:
    """One segment of a URL path (RFC 3986, section 3.3), never a relative one."""
    if text in {"", ".", ".."}:
        raise UnfitError("must not be empty, `.` or `..`, since it is one segment of a path")
    return quote(text, safe="")


def _reason(error: ValueError) -> str:
    if isinstance(error, UnfitError):
        return str(error)
    if isinstance(error, UnicodeEncodeError):
        return "holds half of a surrogate pair, which is no character"
    return "cannot be written as text"


def _text(text: str) -> str:
    return text


def _query(text: str) -> str:
    return quote(text, safe="")


def _header(text: str) -> str:
    if _NOT_IN_HEADER.search(text):
        raise UnfitError("must be printable ASCII on one line, since it goes into a header")
    return text


def _json_text(text: str) -> str:
    text.encode()
    return json.dumps(text, ensure_ascii=False)[1:-1]


def _xml(text: str) -> str:
    if _NOT_IN_XML.search(text):
        raise UnfitError("holds a control character that XML cannot carry")
    return text.translate(_XML)


def _argument(text: str) -> str:
    if "\0" in text:
        raise UnfitError("must not hold a NUL character")
    text.encode()
    return text


TEXT = Slot("text", _text)
PATH_SEGMENT = Slot("path segment", path_segment)
QUERY = Slot("query", _query)
HEADER = Slot("header", _header)
FORM = Slot("form", quote_plus)
JSON_TEXT = Slot("JSON text", _json_text)
XML = Slot("XML", _xml)
ARGUMENT = Slot("argument", _argument)
ENV = Slot("environment", _argument)
