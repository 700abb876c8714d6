"""One schema of several that hold for the same value: `allOf` for readers that do not know it.

What comes out says no less than each part; where that cannot be written as one, there is none.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import Any

Schema = Mapping[str, Any]

_FIRST_WINS = frozenset({"title", "description", "default", "examples", "deprecated", "$comment"})


def merged(parts: Iterable[Any]) -> dict[str, Any] | None:
    """One schema that takes what every part takes; None where there is no such."""
    made: dict[str, Any] = {}
    for part in parts:
        if part is True:
            continue
        if not isinstance(part, Mapping) or not _add(made, part):
            return None
    return made


def _add(made: dict[str, Any], part: Schema) -> bool:
    for word, value in part.items():
        if word not in made:
            made[word] = value
            continue
        if word in _FIRST_WINS or (made[word] == value and word != "enum"):  # 1 equals true
            continue
        both = _BOTH.get(word)
        found = both(made[word], value) if both else None
        if found is None:
            return False
        made[word] = found
    return True


def _properties(one: Schema, other: Schema) -> dict[str, Any] | None:
    made = dict(one)
    for name, schema in other.items():
        both = merged((made[name], schema)) if name in made else schema
        if both is None:
            return None
        made[name] = both
    return made


def _types(one: Any, other: Any) -> Any:
    ones, others = _listed(one), _listed(other)
    common = [each for each in ones if each in others]
    if "integer" not in common and {"integer", "number"} <= {*ones, *others}:
        common.append("integer")
    return (common[0] if len(common) == 1 else common) if common else None


def _listed(types: Any) -> list[str]:
    return [types] if isinstance(types, str) else list(types)


def _options(one: list[Any], other: list[Any]) -> list[Any] | None:
    known = [(type(each), each) for each in other]
    return [each for each in one if (type(each), each) in known] or None


def _others(one: Any, other: Any) -> Any:
    """What two say of other names: no, where either says so."""
    return False if one is False or other is False else merged((one, other))


_BOTH: Mapping[str, Callable[[Any, Any], Any]] = {
    "$defs": _properties,
    "additionalProperties": _others,
    "definitions": _properties,
    "enum": _options,
    "exclusiveMaximum": min,
    "exclusiveMinimum": max,
    "items": lambda one, other: merged((one, other)),
    "maxItems": min,
    "maxLength": min,
    "maxProperties": min,
    "maximum": min,
    "minItems": max,
    "minLength": max,
    "minProperties": max,
    "minimum": max,
    "properties": _properties,
    "required": lambda one, other: list(dict.fromkeys([*one, *other])),
    "type": _types,
    "uniqueItems": lambda one, other: one or other,
}
"""Keyword -> what two values of it come to."""
