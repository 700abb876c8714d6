"""Where two values of plain data differ, leaf by leaf, in words: `timeout`, `5s -> 8s`."""

import json
from collections.abc import Callable, Iterator
from typing import Any

from toolrt.core.faults import MISSING, child

Mask = Callable[[str], str]
Difference = tuple[str, str]
"""The dotted name of a leaf, and how it changed; that is empty where values are not for showing."""

_ROOM = 40


def differences(old: Any, new: Any, mask: Mask, path: tuple[str, ...] = ()) -> Iterator[Difference]:
    """The leaves that differ, sorted; `mask` takes secrets out of what is shown."""
    if old == new and _is_number(old) == _is_number(new):
        return
    if _is_mapping(old) and _is_mapping(new):
        keys = {*(old if isinstance(old, dict) else ()), *(new if isinstance(new, dict) else ())}
        for key in sorted(keys, key=str):
            yield from differences(child(old, key), child(new, key), mask, (*path, str(key)))
        return
    texts = [_shown(each, mask) for each in (old, new)]
    yield ".".join(path), "" if None in texts else f"{texts[0]} -> {texts[1]}"


def _is_number(value: Any) -> bool:
    """Whether it is a number; `true` is none, though Python thinks that it is 1."""
    return isinstance(value, int | float) and not isinstance(value, bool)


def _is_mapping(value: Any) -> bool:
    """Whether it is a mapping, or one that is not there."""
    return isinstance(value, dict) or value is MISSING


def _shown(value: Any, mask: Mask) -> str | None:
    """A value that is short enough for the line; None for any other."""
    if value is MISSING:
        return "none"
    text = mask(value if isinstance(value, str) else json.dumps(value, ensure_ascii=False))
    return text if len(text) <= _ROOM and text.isprintable() else None
