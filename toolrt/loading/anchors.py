"""Anchors of one document, and how much larger their aliases make it.

Values are shared, never copied; what counts is what somebody who walks the data would see.
"""

from collections.abc import KeysView
from dataclasses import dataclass
from typing import Any, Final

ALIAS_LIMIT: Final = 1 << 20
"""Characters that aliases may add to a file."""


@dataclass(frozen=True, slots=True)
class Anchored:
    """A value under an anchor; `size` in characters, those of aliases inside counted."""

    value: Any
    size: int


class Anchors:
    """Name -> what stands there; the last of a name is the one that an alias means."""

    def __init__(self) -> None:
        self._known: dict[str, Anchored | None] = {}
        self._added = 0

    @property
    def names(self) -> KeysView[str]:
        return self._known.keys()

    def begin(self, name: str) -> None:
        """A collection under `name` has begun; an alias to it from inside is one to itself."""
        self._known[name] = None

    def finish(self, name: str, value: Any, size: int) -> None:
        self._known[name] = Anchored(value, size)

    def find(self, name: str) -> Anchored | None:
        """What an alias stands for; None while it is unfinished. Raises KeyError."""
        return self._known[name]

    def is_bomb(self, anchored: Anchored) -> bool:
        """Count one more alias to it; true when that is more than a file may grow."""
        self._added += anchored.size
        return self._added > ALIAS_LIMIT
