"""Collections that are being filled while a file is read, and the way down to them.

Belongs to `assembly`, which reads; `places` keeps to the same rules for repeats and merges.
"""

from collections.abc import Iterable, Iterator
from typing import Any, Final

from toolrt.core.faults import Path
from toolrt.loading.paths import Repeat

MERGE: Final = "<<"
LOST: Final = Repeat("", 0)
"""Stands for a key that cannot be one; its value is dropped."""


class Frame:
    """A collection on its way; class attributes are the defaults of the usual case.

    `key` waits for its value. `is_odd` says that the finished collection is more than its items.
    `extra` counts the characters that aliases added inside.
    """

    key: str | None = None
    anchor: str | None = None
    repeats: dict[str, int] | None = None
    merge_start: int | None = None
    is_odd = False
    is_template = False
    extra = 0

    def __init__(self, made: dict[Any, Any] | list[Any], start: int, *, is_flow: bool) -> None:
        self.made = made
        self.start = start
        self.is_flow = is_flow

    def repeat(self, key: str) -> Repeat:
        """The step that keeps another value of `key` until the mapping is finished."""
        self.is_odd = True
        self.repeats = self.repeats or {}
        self.repeats[key] = nth = self.repeats.get(key, 0) + 1
        return Repeat(key, nth)

    def take_repeats(self) -> Iterator[tuple[Repeat, Any]]:
        """The values under repeated keys; they leave the mapping."""
        for key, times in (self.repeats or {}).items():
            for nth in range(1, times + 1):
                repeat = Repeat(key, nth)
                yield repeat, self.made.pop(repeat)  # type: ignore[arg-type]  # a mapping's keys


def merged(below: Iterable[Any], made: dict[Any, Any]) -> dict[Any, Any]:
    """`made` over the mappings of its `<<`, of which the first wins."""
    result: dict[Any, Any] = {}
    for one in reversed([one for one in below if isinstance(one, dict)]):
        result.update(one)
    result.update(made)
    return result


def path_to(stack: Iterable[Frame]) -> Path:
    """The steps from the root to the value that is being read."""
    steps: list[str | int] = []
    for frame in stack:
        if isinstance(frame.made, list):
            steps.append(len(frame.made))
        elif frame.key is not None:
            steps.append(frame.key)
    return tuple(steps)
