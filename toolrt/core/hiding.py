"""Takes given values out of texts and JSON: what is sensitive in one call, and known to no project.

A `Redactor` looks for long ones and their encodings anywhere; one that is too short for that is
found where it stands by itself.
"""

import re
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from toolrt.core.disguises import SHORTEST
from toolrt.core.redaction import MASK, Redactor
from toolrt.core.unseen import bare

Mask = Callable[[Any], Any]
"""A copy of a JSON value without what is sensitive; texts stay texts."""

Leaf = str | int | float


def hiding(values: Iterable[Leaf]) -> Mask:
    """What masks these values."""
    redactor, short = Redactor(), set[str]()
    for text in map(str, set(values)):
        redactor.learn(text)
        if len(text) < SHORTEST:
            short.add(text)
    words = _words(short)

    def masked(text: str) -> str:
        text = redactor.text(text)
        if words is None:
            return text
        text = words.sub(MASK, text)
        seen = bare(text)
        return words.sub(MASK, seen) if words.search(seen) else text

    return lambda value: _without(redactor.value(value, masked), short)


def leaves(value: Any) -> Iterator[Leaf]:
    """The texts and numbers in a JSON value."""
    if isinstance(value, dict | list):
        for each in value.values() if isinstance(value, dict) else value:
            yield from leaves(each)
    elif isinstance(value, Leaf) and not isinstance(value, bool):
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
