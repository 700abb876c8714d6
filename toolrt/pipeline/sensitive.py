"""Sensitive arguments of a call, taken out of what is told of its failure (O1).

A tool's own words may repeat what it was given, and a person may have filled in what the model is
not to see. Only failures of tools with sensitive parameters pay for it.
"""

from collections.abc import Iterator
from contextlib import suppress
from typing import Any

from toolrt.core.hiding import Leaf, Mask, hiding
from toolrt.schemas.plain import NotJsonError, plain
from toolrt.schemas.shapes import Schema, Shape, Shapes


class Sensitive:
    """Finds the sensitive arguments in calls of one tool."""

    def __init__(self, schema: Schema) -> None:
        self._shapes = Shapes(schema)

    def mask(self, arguments: Any) -> Mask:
        """What masks the sensitive ones among these arguments, checked or not."""
        root = self._shapes.of(self._shapes.root)
        return hiding(self._values(_readable(arguments), root, is_inside=False))

    def _values(self, value: Any, shape: Shape, *, is_inside: bool) -> Iterator[Leaf]:
        is_inside = is_inside or shape.is_sensitive
        if isinstance(value, dict):
            for name, each in value.items():
                member = self._shapes.member(shape, name)
                yield from self._values(each, member, is_inside=is_inside)
        elif isinstance(value, list):
            for at, each in enumerate(value):
                member = self._shapes.member(shape, at)
                yield from self._values(each, member, is_inside=is_inside)
        elif is_inside and isinstance(value, str | int | float) and not isinstance(value, bool):
            yield value


def _readable(arguments: Any) -> Any:
    """Arguments as JSON; where some of them are none, the others."""
    try:
        return plain(arguments)
    except NotJsonError:
        members = arguments.items() if type(arguments) is dict else ()
    return {name: each for name, item in members if type(name) is str for each in _json(item)}


def _json(value: Any) -> Iterator[Any]:
    """The value, if it is JSON."""
    with suppress(NotJsonError):
        yield plain(value)
