"""Values kept as JSON, so that whoever is given one gets a copy of its own, of the same types."""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from pydantic_core import from_json, to_json

from toolrt.core.binaries import Base64, Binary
from toolrt.core.unseen import is_plainly_harmless
from toolrt.schemas.plain import MAX_DIGITS

_UNCHANGING = frozenset({str, int, float, bool, type(None)})
_WRAPPED: Mapping[str, type] = {"base64": Base64, "binary": Binary}


def written(value: Any) -> bytes | None:
    """A value as JSON; None where it would not come back the same."""
    kind = next((name for name, made in _WRAPPED.items() if type(value) is made), None)
    try:
        body = to_json([kind, value])
        return body if _same(read(body), value) else None
    except ValueError:
        return None


def read(body: bytes) -> Any:
    """The value that `written` made this of."""
    kind, value = from_json(body)
    return value if kind is None else _WRAPPED[kind](value)


def copier(value: Any, body: bytes) -> Callable[[], Any]:
    """Makes copies of a value, in the cheapest way that shares nothing which may be changed."""
    if type(value) in _UNCHANGING:
        return lambda: value
    if type(value) is dict and all(type(each) in _UNCHANGING for each in value.values()):
        return value.copy
    return partial(read, body)


def known_bytes(value: Any) -> int:
    """How long a value is as JSON, where it is short and holds nothing that acts unseen; else 0."""
    try:
        body = to_json(value)
    except ValueError:
        return 0
    return len(body) if len(body) <= MAX_DIGITS and is_plainly_harmless(body) else 0


def _same(one: Any, other: Any) -> bool:
    if type(one) is not type(other):
        return False
    if isinstance(one, dict):
        return list(one) == list(other) and all(_same(v, other[k]) for k, v in one.items())
    if isinstance(one, list):
        return len(one) == len(other) and all(map(_same, one, other))
    return bool(one == other)
