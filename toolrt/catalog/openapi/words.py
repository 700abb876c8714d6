"""The words of schemas: which come through, and what their values must be.

The words of a document reach models and validators, so each is on a list; those of toolrt's own
(`from`, `root`, `format: path`) are not, for they would fill arguments from the caller or send
files.
"""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from toolrt.core.unseen import bare
from toolrt.schemas.fitting import is_of_type
from toolrt.schemas.keywords import FORMATS, SILENT_FORMATS, WORKSPACE_PATH
from toolrt.schemas.shapes import TYPES
from toolrt.schemas.validators import is_pattern

Told = Callable[[str, str], None]
"""Takes why a word does not come through, and the word."""

_LONGEST_TITLE = 100
_MOST_OPTIONS = 500
_TYPES_OF_OLD = {"file": "string", "any": None}


@dataclass(frozen=True, slots=True)
class Words:
    """What comes through for one purpose.

    `checks` take a value and give it back as it counts, or None; `holding` are the words that hold
    schemas, with whether these are about the same value; `renamed` are written otherwise.
    """

    checks: Mapping[str, Callable[[Any], Any]]
    holding: Mapping[str, tuple[str, bool]]
    renamed: Mapping[str, str]
    hidden: str

    def plain(self, value: Mapping[str, Any], told: Told) -> dict[str, Any]:
        """The words of `value` that hold no schema, as they count."""
        made: dict[str, Any] = {}
        for word, check in self.checks.items():
            if word not in value:
                continue
            found = check(value[word])
            if found is not None:
                made[word] = found
            elif word in _TOLD:
                told(f"`{word}` is not one that is supported: not checked", word)
        return made

    def is_name(self, word: str, name: Any, schema: Any) -> bool:
        """Whether a name below `properties` or `patternProperties` comes through."""
        if not isinstance(name, str) or not _is_text(name):
            return False
        if word == "patternProperties":
            return is_pattern(name)
        return not (isinstance(schema, dict) and schema.get(self.hidden) is True)


def finished(made: dict[str, Any], value: Mapping[str, Any]) -> dict[str, Any]:
    """A converted schema in which words agree with each other."""
    _old_bounds(made, value)
    if "enum" in made:
        _options(made)
    if "required" in made:
        _required(made, value)
    if value.get("nullable") is True:
        return _nullable(made)
    return made


def _old_bounds(made: dict[str, Any], value: Mapping[str, Any]) -> None:
    """`exclusiveMinimum: true` of OpenAPI 3.0."""
    for bound, exclusive in (("minimum", "exclusiveMinimum"), ("maximum", "exclusiveMaximum")):
        if value.get(exclusive) is True and bound in made:
            made[exclusive] = made.pop(bound)


def _options(made: dict[str, Any]) -> None:
    """Options of the type that is said; those of a text may stand there as numbers."""
    wanted = made.get("type")
    options = made["enum"]
    if wanted == "string":
        options = [each if isinstance(each, str) else _said(each) for each in options]
    if wanted is not None:
        options = [each for each in options if is_of_type(wanted, each)]
    if options:
        made["enum"] = options
    else:
        del made["enum"]


def _said(option: Any) -> Any:
    if isinstance(option, bool):
        return str(option).lower()
    return str(option) if isinstance(option, (int, float)) else option


def _required(made: dict[str, Any], value: Mapping[str, Any]) -> None:
    """Names that are there to be given; where properties are composed, all but those hidden."""
    written = value.get("properties")
    names = written if isinstance(written, dict) else {}
    known = made.get("properties", {})
    is_composed = not _COMPOSING.isdisjoint(value)
    kept = [
        name
        for name in made["required"]
        if name in known or not written or (is_composed and name not in names)
    ]
    if kept:
        made["required"] = kept
    else:
        del made["required"]


def _nullable(made: dict[str, Any]) -> dict[str, Any]:
    if "enum" in made and None not in made["enum"]:
        made["enum"] = [*made["enum"], None]
    kind = made.get("type")
    if isinstance(kind, str):
        return {**made, "type": list(dict.fromkeys((kind, "null")))}
    if kind is not None:
        return {**made, "type": list(dict.fromkeys((*kind, "null")))}
    if _COMPOSING.isdisjoint(made):
        return made
    whole: dict[str, Any] = {word: made.pop(word) for word in _TEXTS if word in made}
    whole["anyOf"] = [made, {"type": "null"}]
    return whole


def _type(value: Any) -> Any:
    names = value if isinstance(value, list) else [value]
    found = [_TYPES_OF_OLD.get(name, name) for name in names if isinstance(name, str)]
    kinds = list(dict.fromkeys(name for name in found if name in TYPES))
    if len(kinds) < len(names):
        return None if len(kinds) != 1 or len(names) > 1 else kinds[0]
    return kinds[0] if len(kinds) == 1 else kinds or None


def _number(value: Any) -> Any:
    is_number = type(value) in {int, float} and math.isfinite(value)
    return value if is_number else None


def _above_zero(value: Any) -> Any:
    return value if _number(value) is not None and value > 0 else None


def _count(value: Any) -> Any:
    if type(value) is float and value.is_integer():
        value = int(value)
    return value if type(value) is int and value >= 0 else None


def _format(value: Any) -> Any:
    is_known = isinstance(value, str) and value in _FORMATS
    return value if is_known else None


def _pattern(value: Any) -> Any:
    return value if isinstance(value, str) and is_pattern(value) else None


def _enum(value: Any) -> Any:
    if not isinstance(value, list) or not value or len(value) > _MOST_OPTIONS:
        return None
    plain = [each for each in value if _is_plain(each)]
    return plain or None


def _const(value: Any) -> Any:
    return value if _is_plain(value) else None


def _names(value: Any) -> Any:
    if not isinstance(value, list):
        return None
    return list(dict.fromkeys(each for each in value if isinstance(each, str))) or None


def _flag(value: Any) -> Any:
    return value if value is True else None


def _title(value: Any) -> Any:
    if not isinstance(value, str):
        return None
    return bare(value)[:_LONGEST_TITLE] or None


def _is_plain(value: Any) -> bool:
    if isinstance(value, str):
        return _is_text(value)
    if isinstance(value, float):
        return math.isfinite(value)
    return value is None or isinstance(value, (bool, int))


def _is_text(value: str) -> bool:
    return value.isascii() or bare(value) == value


_FORMATS = (FORMATS | SILENT_FORMATS) - {"path", WORKSPACE_PATH}
_TEXTS = ("description", "title")
_TOLD = frozenset({"pattern", "type"})
_COMPOSING = frozenset(("$ref", "allOf", "anyOf", "oneOf"))

_EITHER = {"oneOf": "anyOf"}
"""Branches overlap in many documents, where `oneOf` would refuse what the service takes."""

_SAME = ("schema", True)
_OTHER = ("schema", False)

ARGUMENT = Words(
    checks={
        "type": _type,
        "title": _title,
        "format": _format,
        "enum": _enum,
        "const": _const,
        "pattern": _pattern,
        "minLength": _count,
        "maxLength": _count,
        "minimum": _number,
        "maximum": _number,
        "exclusiveMinimum": _number,
        "exclusiveMaximum": _number,
        "multipleOf": _above_zero,
        "minItems": _count,
        "maxItems": _count,
        "uniqueItems": _flag,
        "minProperties": _count,
        "maxProperties": _count,
        "required": _names,
        "deprecated": _flag,
    },
    holding={
        "properties": ("named", False),
        "patternProperties": ("named", False),
        "additionalProperties": _OTHER,
        "propertyNames": _OTHER,
        "items": _OTHER,
        "contains": _OTHER,
        "prefixItems": ("schemas", False),
        "allOf": ("schemas", True),
        "anyOf": ("schemas", True),
        "oneOf": ("schemas", True),
        "not": _SAME,
        "if": _SAME,
        "then": _SAME,
        "else": _SAME,
    },
    renamed=_EITHER,
    hidden="readOnly",
)
"""For what is sent: all that can be checked before it is."""

ANSWER = Words(
    checks={"type": _type},
    holding={
        "properties": ("named", False),
        "additionalProperties": ("mapping", False),
        "items": _OTHER,
        "allOf": ("schemas", True),
        "anyOf": ("schemas", True),
        "oneOf": ("schemas", True),
    },
    renamed=_EITHER,
    hidden="writeOnly",
)
"""For what comes back: what it looks like, and nothing that a service slightly off would break."""
