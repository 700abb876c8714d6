"""The filters of templates, all of them; nothing else can be applied to a value.

Each is linear in its input, and the two that could multiply it stop at the longest text.
"""

import base64
import json as _json
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

from jinja2 import Undefined

from toolrt.expressions.plain import LONGEST, raise_too_long
from toolrt.expressions.slots import as_text, path_segment


class Encoded(str):
    """A text that is already escaped for the path it goes into."""

    __slots__ = ()


def present(value: Any) -> Any:
    """`value` itself; a missing one raises jinja's UndefinedError here, not a TypeError later."""
    if isinstance(value, Undefined):
        value._fail_with_undefined_error()  # noqa: SLF001 - jinja's way to fail by name
    return value


def segments(value: Any) -> Encoded:
    """Many path segments, of a list or a text with slashes, each one encoded."""
    each = value if isinstance(value, list) else _text(value).split("/")
    return Encoded("/".join(path_segment(_text(segment)) for segment in each))


def join(value: Any, separator: str = "") -> str:
    pieces = [_text(each) for each in present(value)]
    separator = _text(separator)
    _bound(sum(map(len, pieces)) + len(separator) * len(pieces))
    return separator.join(pieces)


def json(value: Any) -> str:
    return _json.dumps(present(value), ensure_ascii=False, separators=(",", ":"))


def b64encode(value: Any) -> str:
    return base64.b64encode(_text(value).encode()).decode()


def b64decode(value: Any) -> str:
    return base64.b64decode(_text(value), validate=True).decode()


def lower(value: Any) -> str:
    return _text(value).lower()


def upper(value: Any) -> str:
    return _text(value).upper()


def trim(value: Any, characters: str | None = None) -> str:
    return _text(value).strip(characters)


def replace(value: Any, old: str, new: str) -> str:
    text, old, new = _text(value), _text(old), _text(new)
    _bound(len(text) + text.count(old) * max(0, len(new) - len(old)))
    return text.replace(old, new)


def length(value: Any) -> int:
    return len(present(value))


def default(value: Any, otherwise: Any = "", boolean: bool = False) -> Any:
    if isinstance(value, Undefined) or (boolean and not value):
        return otherwise
    return value


FILTERS: Mapping[str, Callable[..., Any]] = MappingProxyType(
    {
        each.__name__: each
        for each in (
            b64decode,
            b64encode,
            default,
            join,
            json,
            length,
            lower,
            replace,
            segments,
            trim,
            upper,
        )
    }
)


def _text(value: Any) -> str:
    return as_text(present(value))


def _bound(size: int) -> None:
    if size > LONGEST:
        raise_too_long()
