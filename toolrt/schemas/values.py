"""Python values to plain JSON: what a callable returns, on its way out.

Plain values pass as they are, and cost next to nothing; everything else becomes the JSON that its
type's schema promises: dates in ISO 8601, bytes in base64, sets and tuples as arrays.
"""

import base64
import dataclasses
import enum
import math
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
from typing import Any

from toolrt.core.errors import BindingError

_ENDLESS = "contains itself, or is nested too deeply"
_SCALARS = frozenset({str, int, bool, type(None)})
_TEXTS = frozenset({str})


class NotPlainError(BindingError):
    """A value that has no JSON form."""

    def __init__(self, message: str, hint: str | None = None) -> None:
        super().__init__(message, code="bad-response", hint=hint)


def to_plain(value: Any) -> Any:
    """`value` in plain JSON types; NaN and infinities become null, keys become texts.

    The same object when it is plain already. Raises NotPlainError (bad-response) that names the
    type which has no JSON form.
    """
    try:
        return value if _is_plain(value) else _made_plain(value)
    except (NotPlainError, KeyboardInterrupt):
        raise
    except BaseException as error:  # serialisers of the value's own are user code
        is_endless = isinstance(error, RecursionError)
        reason = _ENDLESS if is_endless else f"cannot be written as JSON ({_name(error)})"
        raise NotPlainError(f"the tool returned {_what(value)} that {reason}") from error


def _is_plain(value: Any) -> bool:
    kind = type(value)
    if kind is dict:
        return _TEXTS.issuperset(map(type, value)) and _are_plain(value.values())
    if kind is list:
        return _are_plain(value)
    return kind in _SCALARS or (kind is float and math.isfinite(value))


def _are_plain(values: Iterable[Any]) -> bool:
    """A plain loop: for the few values of a usual answer it beats sets, maps and generators."""
    for value in values:
        kind = type(value)
        if kind is str or kind is int:
            continue
        if kind is float and math.isfinite(value):
            continue
        if not _is_plain(value):
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
    return float(value) if math.isfinite(value) else None


def _base64(value: bytes | bytearray | memoryview) -> str:
    return base64.b64encode(value).decode()


def _mapping(value: Mapping[Any, Any]) -> dict[str, Any]:
    return {_key(key): _made_plain(item) for key, item in value.items()}


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
