"""Paths inside a manifest: as text for people, and past keys that were written twice.

The reader, its places and the diagnostics share these few words.
"""

import json
import re
from typing import Final, Self

from toolrt.core.faults import Path

_ROOM: Final = 80
_PLAIN_KEY: Final = re.compile(r"[\w$-]+")


class Repeat(str):
    """A key written again in its mapping, as a step of a path: `nth` is 1 for the second time.

    It reads like the key and is equal only to the same repetition, so that one mapping can hold
    a key and its repetitions side by side.
    """

    __slots__ = ("nth",)
    nth: int

    def __new__(cls, key: str, nth: int) -> Self:
        made = super().__new__(cls, key)
        made.nth = nth
        return made

    def __reduce__(self) -> tuple[type[Self], tuple[str, int]]:
        return type(self), (str(self), self.nth)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Repeat) and self.nth == other.nth and str(self) == str(other)

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __hash__(self) -> int:
        return hash((str(self), self.nth))


def short(text: str) -> str:
    """`text` cut to what a message has room for."""
    return text if len(text) <= _ROOM else f"{text[:_ROOM]}…"


def dotted(path: Path) -> str:
    """A path as people read it: `tools.pay.timeout`, `rules[0].id`; odd keys are quoted."""
    made = "".join(f"[{step}]" if isinstance(step, int) else f".{_key(step)}" for step in path)
    return made.removeprefix(".")


def unrepeated(path: Path) -> Path:
    """The same path with every repeated key as the plain key it repeats."""
    return tuple(str(step) if isinstance(step, Repeat) else step for step in path)


def through(path: Path, hidden: Path) -> Path:
    """`path` led into the value at `hidden`, a path of repeated keys, when it goes that far."""
    depth = len(hidden)
    if not depth or path[:depth] != unrepeated(hidden):
        return path
    return (*hidden, *path[depth:])


def _key(key: str) -> str:
    shown = short(key)
    return shown if _PLAIN_KEY.fullmatch(shown) else json.dumps(str(shown), ensure_ascii=False)
