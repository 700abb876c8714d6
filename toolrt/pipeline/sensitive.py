"""Sensitive arguments of a call, taken out of what is told of its failure (O1).

A tool's own words may repeat what it was given, and a person may have filled in what the model is
not to see. Only failures of tools with sensitive parameters pay for it.
"""

import re
from collections.abc import Callable, Iterator
from typing import Any

from toolrt.core.disguises import SHORTEST
from toolrt.core.redaction import MASK, Redactor
from toolrt.schemas.shapes import Schema, Shape, Shapes

Mask = Callable[[Any], Any]
"""A copy of a JSON value without what is sensitive; texts stay texts."""


class Sensitive:
    """Finds the sensitive arguments in calls of one tool."""

    def __init__(self, schema: Schema) -> None:
        self._shapes = Shapes(schema)

    def mask(self, arguments: Any) -> Mask:
        """What masks the sensitive ones among these arguments, checked or not."""
        found = set(self._values(arguments, self._shapes.of(self._shapes.root), is_inside=False))
        redactor, short = Redactor(), set[str]()
        for text in map(str, found):
            redactor.learn(text)
            if len(text) < SHORTEST:
                short.add(text)
        words = _words(short)

        def masked(text: str) -> str:
            text = redactor.text(text)
            return words.sub(MASK, text) if words else text

        return lambda value: _without(redactor.value(value, masked), short)

    def _values(self, value: Any, shape: Shape, *, is_inside: bool) -> Iterator[str | int | float]:
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


def _words(short: set[str]) -> re.Pattern[str] | None:
    """Finds values that are too short to be looked for inside words."""
    written = sorted((re.escape(each) for each in short if each), key=len, reverse=True)
    return re.compile(rf"(?<!\w)(?:{'|'.join(written)})(?!\w)") if written else None


def _without(value: Any, short: set[str]) -> Any:
    """The value without numbers that are such short ones."""
    if isinstance(value, dict):
        return {name: _without(each, short) for name, each in value.items()}
    if isinstance(value, list):
        return [_without(each, short) for each in value]
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return MASK if is_number and str(value) in short else value
