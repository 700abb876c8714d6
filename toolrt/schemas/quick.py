"""The check of what most calls are: arguments that are valid as they stand, and need no second
look, for they are texts, whole numbers and booleans only.

It never refuses: what it does not know it leaves to the whole check. Of a schema with simple
members pydantic-core checks, copies and completes in one go; any other is checked by the schema's
own validator, and copied here.
"""

import math
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from pydantic_core import CoreSchema, SchemaValidator, ValidationError
from pydantic_core import core_schema as core

from toolrt.schemas.shapes import Shapes
from toolrt.schemas.validators import LATEST, Validator

Check = Callable[[Any], dict[str, Any]]

_SCALARS = frozenset({str, int, bool, float, type(None)})
_SHORT_BITS = 64
_LEAST, _MOST = -(2**63), 2**63 - 1
_ANNOTATIONS = frozenset({"title", "description", "default", "examples", "deprecated", "sensitive"})
_OF_ROOT = frozenset({"$schema", "type", "properties", "required", "additionalProperties"})
_OF_TEXT = frozenset({"type", "minLength", "maxLength"})
_OF_NUMBER = frozenset({"type", "minimum", "maximum"})


def quick_check(
    shapes: Shapes, validator: Validator, defaults: tuple[tuple[str, Any], ...], whole: Check
) -> Check | None:
    """A check that is sooner done and else asks `whole`; None for a schema that lets unknown names
    in, or fills in more than scalars. Names that are hidden are unknown to the schema.
    """
    root = shapes.root
    if not isinstance(root, dict) or "patternProperties" in root:
        return None
    is_closed = root.get("additionalProperties") is False
    if not is_closed or not _SCALARS.issuperset(type(value) for _, value in defaults):
        return None
    fields = _typed(root, dict(defaults))
    if fields is None:
        return _by_copying(validator, defaults, whole)
    typed = core.typed_dict_schema(fields, extra_behavior="forbid", strict=True)
    return _by_types(SchemaValidator(typed), whole)


def _by_types(typed: SchemaValidator, whole: Check) -> Check:
    validate = typed.validate_python

    def check(arguments: Any) -> dict[str, Any]:
        if type(arguments) is dict:
            try:
                made: dict[str, Any] = validate(arguments)
            except ValidationError:
                return whole(arguments)
            return made
        return whole(arguments)

    return check


def _by_copying(validator: Validator, defaults: tuple[tuple[str, Any], ...], whole: Check) -> Check:
    """What is not checked and copied in a moment is left to the whole check."""
    is_valid = validator.is_valid

    def check(arguments: Any) -> dict[str, Any]:
        if type(arguments) is not dict:
            return whole(arguments)
        if not _are_settled(arguments.values()):
            return whole(arguments)
        try:
            if not is_valid(arguments):
                return whole(arguments)
        except ValueError:  # no JSON at all
            return whole(arguments)
        made = arguments.copy()
        for name, default in defaults:
            if name not in made:
                made[name] = default
        return made

    return check


def _are_settled(values: Iterable[Any]) -> bool:
    """Whether they are canonical already; a plain loop, for there are few."""
    for item in values:
        kind = type(item)
        if kind is str:
            is_settled = item.isascii()
        elif kind is int:
            is_settled = item.bit_length() <= _SHORT_BITS
        else:
            is_settled = kind is bool or _is_fraction(item)
        if not is_settled:
            return False
    return True


def _is_fraction(item: Any) -> bool:
    """A float that is no whole number: it stays as it is whatever the schema says."""
    return type(item) is float and math.isfinite(item) and not item.is_integer()


def _typed(
    root: Mapping[str, Any], defaults: Mapping[str, Any]
) -> dict[str, core.TypedDictField] | None:
    """The members as pydantic-core knows them; None where one is not simple enough."""
    known = _OF_ROOT | _ANNOTATIONS
    if not known.issuperset(root) or root.get("$schema", LATEST) != LATEST:
        return None
    properties, required = root.get("properties", {}), root.get("required", ())
    if not properties.keys() >= {*required}:
        return None
    fields = {}
    for name, schema in properties.items():
        member = _member(schema)
        if member is None:
            return None
        if name in defaults:
            member = core.with_default_schema(member, default=defaults[name])
        is_required = name in required and name not in defaults
        fields[name] = core.typed_dict_field(member, required=is_required)
    return fields


def _member(schema: Any) -> CoreSchema | None:
    if not isinstance(schema, dict):
        return None
    keywords, kind = schema.keys() - _ANNOTATIONS, schema.get("type")
    options = schema.get("enum")
    if options is not None:
        is_plain = keywords <= {"type", "enum"} and kind in {None, "string"}
        is_of_texts = bool(options) and all(type(each) is str for each in options)
        return core.literal_schema(options) if is_plain and is_of_texts else None
    if kind == "boolean" and keywords == {"type"}:
        return core.bool_schema(strict=True)
    if kind == "string" and keywords <= _OF_TEXT and _are_whole(schema, "minLength", "maxLength"):
        least = schema.get("minLength", 0)  # without one, halves of characters would pass
        return core.str_schema(min_length=least, max_length=schema.get("maxLength"), strict=True)
    if kind == "integer" and keywords <= _OF_NUMBER and _are_whole(schema, "minimum", "maximum"):
        least, most = schema.get("minimum", _LEAST), schema.get("maximum", _MOST)
        return core.int_schema(ge=max(least, _LEAST), le=min(most, _MOST), strict=True)
    return None


def _are_whole(schema: Mapping[str, Any], *names: str) -> bool:
    """Whether what is written there is whole, and no longer than lengths can be."""
    return all(type(n) is int and abs(n) <= _MOST for n in (schema.get(name, 0) for name in names))
