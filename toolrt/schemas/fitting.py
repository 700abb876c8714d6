"""Whether a default surely fits its schema, told without compiling anything.

Most defaults are a number, a text or one of a few words: a thousand tools are checked at load, so
these are decided here, and only the rest is left to a validator.
"""

from collections.abc import Callable, Mapping
from typing import Any

from toolrt.schemas.keywords import OWN_WORDS
from toolrt.schemas.shapes import json_type

_SAYS_NOTHING = OWN_WORDS | {
    "$comment", "default", "deprecated", "description", "examples", "readOnly", "title",
    "writeOnly",
}  # fmt: skip


def surely_fits(schema: Any, value: Any) -> bool:
    """True only when `value` is valid; False when it is not, or when that takes a validator."""
    if not isinstance(schema, dict):
        return schema is True
    for word, wanted in schema.items():
        test = _TESTS.get(word)
        if test is None:
            if word not in _SAYS_NOTHING:
                return False
        elif not test(wanted, value):
            return False
    return True


def is_of_type(wanted: Any, value: Any) -> bool:
    """Whether `value` is of the type, or of one of the types, that `type` names."""
    types = (wanted,) if isinstance(wanted, str) else wanted
    kind = json_type(value)
    return kind in types or (kind == "integer" and "number" in types)


def _is_option(options: Any, value: Any) -> bool:
    return any(type(option) is type(value) and option == value for option in options)


def _is_number(value: Any) -> bool:
    return type(value) in {int, float}


_TESTS: Mapping[str, Callable[[Any, Any], bool]] = {
    "type": is_of_type,
    "enum": _is_option,
    "minimum": lambda limit, value: _is_number(value) and bool(value >= limit),
    "maximum": lambda limit, value: _is_number(value) and bool(value <= limit),
    "minLength": lambda limit, value: isinstance(value, str) and len(value) >= limit,
    "maxLength": lambda limit, value: isinstance(value, str) and len(value) <= limit,
    "items": lambda schema, value: (
        isinstance(value, list) and all(surely_fits(schema, item) for item in value)
    ),
    "anyOf": lambda branches, value: any(surely_fits(branch, value) for branch in branches),
}
