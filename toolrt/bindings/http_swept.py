"""The arguments that `args_in` sends of themselves; what a manifest writes out wins over them.

Services read names in their own ways: `a[b]`, `a.b`, `A[b]` and `a[b][]` may all be one place. So
an argument, or a part of one, that could meet a written name is not sent, under any spelling.
"""

import re
from collections.abc import Iterable
from typing import Any

from toolrt.expressions.scope import ABSENT, Scope

_STEPS = re.compile(r"[\[\].]+")
_BRACKETS = re.compile(r"[\[\]]+")
_ODD = re.compile(r"[\s.+]")

Steps = tuple[str, ...]


class Swept:
    """All arguments but those that a template names, or that are not the model's.

    `excluded` are names of arguments; `written` are names of the request, of which a NUL stands
    for what a call fills in.
    """

    def __init__(self, excluded: frozenset[str], written: Iterable[str]) -> None:
        self._excluded = excluded
        readings = (steps for name in written for steps in _readings(name))
        self._written = frozenset(steps for steps in readings if steps)
        self._first = frozenset(steps[:1] for steps in self._written) | {()}

    def items(self, scope: Scope) -> list[tuple[str, Any]]:
        """Names and values to send, in the order of the arguments."""
        named = [pair for pair in scope.arguments.items() if pair[0] not in self._excluded]
        if not self._written:
            return named
        kept = ((name, self._kept(name, value)) for name, value in named)
        return [(name, value) for name, value in kept if value is not ABSENT]

    def _kept(self, name: str, value: Any) -> Any:
        """`value` without what would meet a written name; ABSENT when that is all of it."""
        readings = _readings(name)
        if all(steps[:1] not in self._first for steps in readings):
            return value
        if any(self._is_below_written(steps) for steps in readings):
            return ABSENT
        if isinstance(value, dict) and value:
            parts = ((key, self._kept(f"{name}[{key}]", each)) for key, each in value.items())
            return {key: each for key, each in parts if each is not ABSENT}
        if isinstance(value, list) and any(isinstance(each, (dict, list)) for each in value):
            items = (self._kept(f"{name}[{n}]", each) for n, each in enumerate(value))
            return [None if each is ABSENT else each for each in items]
        return ABSENT if any(self._is_above_written(steps) for steps in readings) else value

    def _is_below_written(self, steps: Steps) -> bool:
        return any(steps[:n] in self._written for n in range(1, len(steps) + 1))

    def _is_above_written(self, steps: Steps) -> bool:
        return any(each[: len(steps)] == steps for each in self._written)


def _readings(name: str) -> tuple[Steps, Steps]:
    """The steps of a name: with dots as steps, and with dots as part of a name (`a.b` is `a_b`).

    What stands behind a NUL could be anything, so the steps end before it.
    """
    fixed, _, _ = name.casefold().partition("\0")
    return _steps(_STEPS, fixed), _steps(_BRACKETS, fixed)


def _steps(separator: re.Pattern[str], name: str) -> Steps:
    steps = [_ODD.sub("_", step.strip()) for step in separator.split(name)]
    return tuple(step for step in steps if step)
