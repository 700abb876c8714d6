"""The steps of plain conditions: Python closures that agree with the CEL library, or say nothing.

A step takes the values of a call and gives a value of JSON. Whatever is an error in CEL, or could
be taken another way, raises UnsureError, and then the library decides about the whole condition.
So a step that is never reached does no harm: in CEL `false && error` is false and `true || error`
is true, on either side.
"""

from collections.abc import Callable, Collection, Sequence
from types import NoneType
from typing import Any, Final

Values = Sequence[Any]
"""What a condition reads, each a scalar, a list of texts or MISSING."""
Step = Callable[[Values], Any]

MISSING: Final = object()
"""A key that is not there."""

_NUMBERS = (int, float)
_ORDERED = frozenset({(str, str), *((one, other) for one in _NUMBERS for other in _NUMBERS)})
_ALIKE = _ORDERED | {(bool, bool), (NoneType, NoneType)}
_SCALARS = frozenset({str, int, float, bool, NoneType})


class UnsureError(Exception):
    """Only the library can tell."""


def fixed(literal: Any) -> Step:
    """A literal."""
    return lambda _values: literal


def held(place: int) -> Step:
    """The value at `place`."""

    def step(values: Values) -> Any:
        value = values[place]
        if value is MISSING:
            raise UnsureError
        return value

    return step


def given(place: int) -> Step:
    """Whether there is a value at `place`."""
    return lambda values: values[place] is not MISSING


def equal(left: Step, right: Step) -> Step:
    """`==`: numbers of both types by value, and of different types false; true is not one."""

    def step(values: Values) -> bool:
        one, other = left(values), right(values)
        if (type(one), type(other)) in _ALIKE:
            return bool(one == other)
        if type(one) in _SCALARS and type(other) in _SCALARS:
            return False
        raise UnsureError

    return step


def ordered(compare: Callable[[Any, Any], bool], left: Step, right: Step) -> Step:
    """`<` and its like: of two texts, by code points, or of two numbers."""

    def step(values: Values) -> bool:
        one, other = left(values), right(values)
        if (type(one), type(other)) in _ORDERED:
            return compare(one, other)
        raise UnsureError

    return step


def among(left: Step, literals: Collection[Any], kinds: Collection[type]) -> Step:
    """`in` a list of literals, all of `kinds`."""

    def step(values: Values) -> bool:
        value = left(values)
        if type(value) in kinds:
            return value in literals
        if type(value) in _SCALARS:
            return False
        raise UnsureError

    return step


def listed(left: Step, right: Step) -> Step:
    """`in` a list that is read, which holds texts alone."""

    def step(values: Values) -> bool:
        value, texts = left(values), right(values)
        if type(value) is str and type(texts) is list:
            return value in texts
        raise UnsureError

    return step


def of_texts(ask: Callable[[str, str], bool], left: Step, right: Step) -> Step:
    """`startsWith` and its like: a question about two texts."""

    def step(values: Values) -> bool:
        one, other = left(values), right(values)
        if type(one) is str and type(other) is str:
            return ask(one, other)
        raise UnsureError

    return step


def size(of: Step) -> Step:
    """How many code points a text has, or how many items a list."""

    def step(values: Values) -> int:
        value = of(values)
        if type(value) is str or type(value) is list:
            return len(value)
        raise UnsureError

    return step


def negated(asked: Step) -> Step:
    """`!`."""
    return lambda values: not _answer(asked(values))


def both(left: Step, right: Step) -> Step:
    """`&&`."""
    return lambda values: _answer(left(values)) and _answer(right(values))


def either(left: Step, right: Step) -> Step:
    """`||`."""
    return lambda values: _answer(left(values)) or _answer(right(values))


def _answer(value: Any) -> bool:
    """`value`, which has to be a boolean."""
    if value is True or value is False:
        return bool(value)
    raise UnsureError
