"""Python values to plain JSON: what a callable returns, on its way out.

Plain values pass as they are, and cost next to nothing; everything else becomes the JSON that its
type's schema promises: dates in ISO 8601, bytes in base64, sets and tuples as arrays.
"""

import dataclasses
import enum
from collections.abc import (
    AsyncIterator,
    Awaitable,
    Iterable,
    Iterator,
    Mapping,
    Sequence,
    ValuesView,
)
from collections.abc import Set as AbstractSet
from itertools import chain
from math import isfinite
from typing import Any

from toolrt.core.binaries import encoded
from toolrt.core.errors import BindingError

MAX_ANSWER_DEPTH = 200
"""The most containers in one another that an answer may have, wherever it comes from.

Everything between a binding and a caller walks the whole value, the writer of JSON in C with a
limit of its own at 255 (pydantic_core), the rest with a few Python frames a level.
"""

_ENDLESS = f"contains itself, or is nested deeper than {MAX_ANSWER_DEPTH} levels"
_CONTAINERS = frozenset({dict, list})
_TEXTS = frozenset({str})
_SCALARS = frozenset({str, int, bool, type(None)})


class NotPlainError(BindingError):
    """A value that has no JSON form."""

    def __init__(self, message: str, hint: str | None = None) -> None:
        super().__init__(message, code="bad-response", hint=hint)


def to_plain(value: Any) -> Any:
    """`value` in plain JSON types; NaN and infinities become null, keys become texts.

    The same object when it is plain already. Raises NotPlainError (bad-response) that names the
    type which has no JSON form.
    """
    if type(value) is dict and is_flat(value):
        return value
    try:
        return value if _is_plain(value) else _in_bounds(_made_plain(value))
    except NotPlainError:
        raise
    except BaseException as error:  # serialisers of the value's own are user code
        is_endless = isinstance(error, RecursionError)
        reason = _ENDLESS if is_endless else f"cannot be written as JSON ({_name(error)})"
        raise NotPlainError(f"the tool returned {_what(value)} that {reason}") from error


def is_too_deep(value: Any) -> bool:
    """Whether a JSON value has more than MAX_ANSWER_DEPTH containers in one another."""
    level = [value] if type(value) in _CONTAINERS else []
    for _ in range(MAX_ANSWER_DEPTH):
        inside = [each.values() if type(each) is dict else each for each in level]
        level = [each for each in chain.from_iterable(inside) if type(each) in _CONTAINERS]
        if not level:
            return False
    return True


def fresh(value: Any) -> Any:
    """A copy of a JSON value: what is done to it is not there for whoever has the other (E10)."""
    if type(value) is dict:
        return {name: fresh(each) for name, each in value.items()}
    return [fresh(each) for each in value] if type(value) is list else value


def _in_bounds(made: Any) -> Any:
    if is_too_deep(made):
        raise RecursionError
    return made


def is_flat(value: dict[Any, Any]) -> bool:
    """Whether it is plain and holds texts and numbers only, as most answers do; 0.3 us sooner."""
    for key, item in value.items():
        kind = type(item)
        if type(key) is not str:
            return False
        if kind is str or kind is int:
            continue
        if kind is not float or not isfinite(item):
            return False
    return True


def _is_plain(value: Any, depth: int = MAX_ANSWER_DEPTH) -> bool:
    """Whether there is nothing to do; false as well for a value with more levels than `depth`."""
    kind = type(value)
    if kind is dict:
        is_keyed = depth > 0 and _TEXTS.issuperset(map(type, value))
        return is_keyed and _are_plain(value.values(), depth - 1)
    if kind is list:
        return depth > 0 and _are_plain(value, depth - 1)
    return kind in _SCALARS or (kind is float and isfinite(value))


def _are_plain(values: Iterable[Any], depth: int) -> bool:
    """A plain loop: for the few values of a usual answer it beats sets, maps and generators."""
    for value in values:
        kind = type(value)
        if kind is str or kind is int:
            continue
        if kind is float and isfinite(value):
            continue
        if not _is_plain(value, depth):
            return False
    return True


def _made_plain(value: Any) -> Any:
    if type(value) in _SCALARS:
        return value
    for kinds, make in _MAKERS:
        if isinstance(value, kinds):
            return make(value)
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        fields = dataclasses.fields(value)
        return {each.name: _made_plain(getattr(value, each.name)) for each in fields}
    for method, options in (("model_dump", {"by_alias": True}), ("tolist", {})):
        if hasattr(value, method) and not isinstance(value, type):
            return _made_plain(getattr(value, method)(**options))
    return _by_pydantic(value)


def _by_pydantic(value: Any) -> Any:
    """Dates, UUIDs, decimals, paths, and whatever else pydantic writes as JSON."""
    from pydantic_core import (  # noqa: PLC0415 - only such values need it
        PydanticSerializationError,
        to_jsonable_python,
    )

    try:
        return to_jsonable_python(value, inf_nan_mode="null")
    except PydanticSerializationError:
        pass
    raise NotPlainError(f"the tool returned {_what(value)}, which has no JSON form")


def _number(value: float) -> float | None:
    return float(value) if isfinite(value) else None


def _base64(value: bytes | bytearray | memoryview) -> str:
    return encoded(bytes(value))


def _mapping(value: Mapping[Any, Any]) -> dict[str, Any]:
    made: dict[str, Any] = {}
    for key, item in value.items():
        name = _key(key)
        if name in made:
            message = f"the tool returned a mapping with two keys that are both written `{name}`"
            raise NotPlainError(message, hint="use texts as keys")
        made[name] = _made_plain(item)
    return made


def _key(key: Any) -> str:
    made = _made_plain(key)
    if made is None or isinstance(made, bool):
        return {None: "null", True: "true", False: "false"}[made]
    if isinstance(made, str | int | float):
        return str(made)
    message = f"the tool returned a mapping with {_what(key)} as key"
    raise NotPlainError(message, hint="use texts as keys")


def _array(value: Iterable[Any]) -> list[Any]:
    return [_made_plain(item) for item in value]


def _member(value: enum.Enum) -> Any:
    return _made_plain(value.value)


def _refuse(value: Any) -> Any:
    """An iterator may never end, and reading it may do things: the author must say so."""
    if hasattr(value, "close"):
        value.close()
    message = f"the tool returned {_what(value)}, which is not a value yet"
    raise NotPlainError(message, hint="return a list, or await it first")


_MAKERS: tuple[tuple[Any, Any], ...] = (
    (enum.Enum, _member),
    (str, str.__str__),
    (int, int.__int__),
    (float, _number),
    (bytes | bytearray | memoryview, _base64),
    (Mapping, _mapping),
    (Sequence | AbstractSet | ValuesView, _array),
    (Iterator | AsyncIterator | Awaitable, _refuse),
)


def _what(value: Any) -> str:
    return f"a value of type {_name(value)}"


def _name(value: Any) -> str:
    return type(value).__name__
