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
    if is_same(old, new):
        return
    if _is_mapping(old) and _is_mapping(new):
        keys = {*(old if isinstance(old, dict) else ()), *(new if isinstance(new, dict) else ())}
        for key in sorted(keys, key=str):
            yield from differences(child(old, key), child(new, key), mask, (*path, str(key)))
        return
    texts = [_shown(each, mask) for each in (old, new)]
    yield ".".join(path), "" if None in texts else f"{texts[0]} -> {texts[1]}"


def is_same(old: Any, new: Any) -> bool:
    """Whether two values are the same to a condition, however deep they differ: `true` is not 1,
    and 1 is 1.0 (P10).
    """
    if isinstance(old, dict) and isinstance(new, dict):
        return old.keys() == new.keys() and all(is_same(old[key], new[key]) for key in old)
    if isinstance(old, list) and isinstance(new, list):
        return len(old) == len(new) and all(map(is_same, old, new))
    return bool(old == new) and isinstance(old, bool) == isinstance(new, bool)


def _is_mapping(value: Any) -> bool:
    """Whether it is a mapping, or one that is not there."""
    return isinstance(value, dict) or value is MISSING


def _shown(value: Any, mask: Mask) -> str | None:
    """A value that is short enough for the line; None for any other."""
    if value is MISSING:
        return "none"
    text = mask(value if isinstance(value, str) else json.dumps(value, ensure_ascii=False))
    return text if len(text) <= _ROOM and text.isprintable() else None
