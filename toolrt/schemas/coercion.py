"""`coerce: safe`: text read as what the schema wants, where nothing can get lost.

Only values whose type the schema does not take are touched, and only where it takes a single kind
of thing: text becomes the number, boolean, array or object that it spells out, and a single value
an array of one. Each change is noted.
"""

import re
from collections.abc import Callable
from decimal import Decimal
from typing import Any, Final

from toolrt.core.errors import RefusedError
from toolrt.core.faults import Path
from toolrt.core.redaction import MASK
from toolrt.schemas.phrases import place, shown
from toolrt.schemas.plain import MAX_DIGITS
from toolrt.schemas.shapes import Shape, Shapes
from toolrt.schemas.text import parse_json

_INTEGER = re.compile(r"-?(?:0|[1-9][0-9]*)")
_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?")
_LONGEST_NUMBER = 400
WAS_SENT: Final = "was sent as"
"""What each note on such a change has."""
_UNREAD = object()


def coerced(arguments: dict[str, Any], shapes: Shapes) -> tuple[dict[str, Any], list[str]]:
    """The plain `arguments` read anew, in place, and a note on each change."""
    coercing = _Coercing(shapes)
    coercing.members(arguments, shapes.of(shapes.root), ())
    return arguments, coercing.notes


class _Coercing:
    """One pass over arguments; collects notes."""

    def __init__(self, shapes: Shapes) -> None:
        self.shapes = shapes
        self.notes: list[str] = []

    def members(self, value: Any, shape: Shape, path: Path) -> None:
        """Coerce what is inside an object or an array, in place."""
        if isinstance(value, dict):
            for name, item in value.items():
                value[name] = self.value(item, self.shapes.member(shape, name), (*path, name))
        elif isinstance(value, list):
            for index, item in enumerate(value):
                value[index] = self.value(item, self.shapes.member(shape, index), (*path, index))

    def value(self, value: Any, shape: Shape, path: Path) -> Any:
        made = self._text(value, shape) if isinstance(value, str) else value
        if shape.takes_only("array") and made is not None and not isinstance(made, list):
            made = [made]
        if made is not value:
            self._note(path, value, made)
        self.members(made, shape, path)
        return made

    def _text(self, text: str, shape: Shape) -> Any:
        if shape.takes_only("array", "object"):
            return _container(text, shape)
        for types, read in _READERS:
            if shape.takes_only(*types):
                value = read(text)
                return text if value is _UNREAD else value
        return text

    def _note(self, path: Path, sent: Any, made: Any) -> None:
        is_sensitive = any(shape.is_sensitive for shape in self.shapes.along(path))
        before, after = (MASK, MASK) if is_sensitive else (shown(sent), shown(made))
        self.notes.append(f"`{place(path)}` {WAS_SENT} {before} and taken as {after}")


def _container(text: str, shape: Shape) -> Any:
    if text.lstrip()[:1] not in {"[", "{"}:
        return text
    try:
        value = parse_json(text)
    except RefusedError:
        return text
    is_wanted = shape.takes_only("array" if isinstance(value, list) else "object")
    return value if is_wanted or shape.takes_only("array", "object") else text


def _integer(text: str) -> Any:
    if len(text) <= MAX_DIGITS and _INTEGER.fullmatch(text):
        return int(text)
    return _UNREAD


def _number(text: str) -> Any:
    whole = _integer(text)
    if whole is not _UNREAD or len(text) > _LONGEST_NUMBER or not _NUMBER.fullmatch(text):
        return whole
    value = float(text)
    return value if Decimal(repr(value)) == Decimal(text) else _UNREAD


def _boolean(text: str) -> Any:
    return {"true": True, "false": False}.get(text, _UNREAD)


_READERS: tuple[tuple[tuple[str, ...], Callable[[str], Any]], ...] = (
    (("integer", "number"), _number),
    (("boolean",), _boolean),
)
