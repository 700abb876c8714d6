"""A tool's schema in a person's words: its signature, its parameters, their types and limits."""

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

ALL_TYPES = frozenset({"string", "number", "integer", "boolean", "null", "array", "object"})

_WORD = re.compile(r"[A-Za-z_][A-Za-z0-9_.-]*")
_JSON_TYPES = {
    bool: "boolean",
    int: "integer",
    float: "number",
    str: "string",
    list: "array",
    dict: "object",
    type(None): "null",
}
_BOUNDS = (
    ("minimum", ">= {}"),
    ("exclusiveMinimum", "> {}"),
    ("maximum", "<= {}"),
    ("exclusiveMaximum", "< {}"),
    ("multipleOf", "multiple of {}"),
    ("minLength", "at least {} characters"),
    ("maxLength", "at most {} characters"),
    ("minItems", "at least {} items"),
    ("maxItems", "at most {} items"),
    ("pattern", "matches {}"),
    ("format", "format {}"),
    ("root", "below {}/"),
)
_LONGEST_CHOICE = 40
_DEEPEST = 3


@dataclass(frozen=True, slots=True)
class Parameter:
    """One parameter as `show` prints it."""

    name: str
    type: str
    is_required: bool
    default: str | None
    limits: str
    description: str


def signature(name: str, schema: Mapping[str, Any]) -> str:
    """`weather.forecast(city: string, days?: integer=3)`."""
    return f"{name}({', '.join(_inline(each) for each in parameters(schema))})"


def parameters(schema: Mapping[str, Any]) -> list[Parameter]:
    """What a model may send, required ones first."""
    return _members(schema, schema)


def fields(schema: Mapping[str, Any]) -> list[Parameter]:
    """The parameters, each followed by what is inside it: `to`, `to.street`, `stops[].city`."""
    properties = schema.get("properties", {})
    return [
        each
        for top in parameters(schema)
        for each in (top, *_inside(top.name, properties[top.name], schema, 0))
    ]


def types_of(spec: Any, root: Mapping[str, Any], depth: int = 0) -> frozenset[str]:
    """The JSON types that a schema may take; everything, where it does not say.

    `root` is where `$ref` looks. A number is `number`; a schema for integers alone is `integer`.
    """
    if not isinstance(spec, Mapping) or depth > 8:  # noqa: PLR2004 - references may go in circles
        return ALL_TYPES
    found = _own_types(spec)
    if "$ref" in spec:
        found &= types_of(_resolved(spec["$ref"], root), root, depth + 1)
    for word in ("anyOf", "oneOf"):
        if word in spec:
            options = [types_of(option, root, depth + 1) for option in spec[word]]
            found &= frozenset().union(*options)
    for part in spec.get("allOf", ()):
        found &= types_of(part, root, depth + 1)
    return found


def type_text(spec: Any, root: Mapping[str, Any], depth: int = 0) -> str:
    """`string`, `integer[]`, `metric|imperial`, `string|null`, `any`."""
    if not isinstance(spec, Mapping) or depth > 4:  # noqa: PLR2004 - deeper says less
        return "any"
    if "enum" in spec or "const" in spec:
        return _choices(spec.get("enum", [spec.get("const")]))
    if "$ref" in spec:
        return type_text(_resolved(spec["$ref"], root), root, depth + 1)
    options = spec.get("anyOf") or spec.get("oneOf")
    if options:
        return "|".join(dict.fromkeys(type_text(each, root, depth + 1) for each in options))
    names = spec.get("type", "any")
    names = [names] if isinstance(names, str) else names
    return "|".join(_named(name, spec, root, depth) for name in names)


def _named(name: str, spec: Mapping[str, Any], root: Mapping[str, Any], depth: int) -> str:
    if name != "array" or not isinstance(spec.get("items"), Mapping):
        return name
    inner = type_text(spec["items"], root, depth + 1)
    return f"({inner})[]" if "|" in inner else f"{inner}[]"


def _members(spec: Mapping[str, Any], root: Mapping[str, Any]) -> list[Parameter]:
    required = spec.get("required", ())
    found = [
        _parameter(name, member, root, name in required)
        for name, member in spec.get("properties", {}).items()
    ]
    return sorted(found, key=lambda each: not each.is_required)


def _inside(name: str, spec: Any, root: Mapping[str, Any], depth: int) -> Iterator[Parameter]:
    """The fields of an object, or of the objects of a list."""
    if depth > _DEEPEST:
        return
    whole = _opened(spec, root)
    if "items" in whole:
        yield from _inside(f"{name}[]", whole["items"], root, depth + 1)
    for each in _members(whole, root):
        inner = f"{name}.{each.name}"
        yield replace(each, name=inner)
        yield from _inside(inner, whole["properties"][each.name], root, depth + 1)


def _opened(spec: Any, root: Mapping[str, Any], depth: int = 0) -> Mapping[str, Any]:
    """The schema behind a reference, and behind `or null`; its own words come first."""
    if not isinstance(spec, Mapping) or depth > 8:  # noqa: PLR2004 - references may go in circles
        return {}
    options = spec.get("anyOf") or spec.get("oneOf") or ()
    inner = [each for each in options if each != {"type": "null"}]
    if "$ref" in spec:
        inner = [_resolved(spec["$ref"], root)]
    return {**_opened(inner[0], root, depth + 1), **spec} if len(inner) == 1 else spec


def _parameter(name: str, spec: Any, root: Mapping[str, Any], is_required: bool) -> Parameter:
    whole = _opened(spec, root)
    return Parameter(
        name=name,
        type=type_text(spec, root),
        is_required=is_required,
        default=_word(whole["default"]) if "default" in whole else None,
        limits=", ".join(_limits(whole, root)),
        description=str(whole.get("description", "")),
    )


def _inline(parameter: Parameter) -> str:
    name = parameter.name if parameter.is_required else f"{parameter.name}?"
    default = f"={parameter.default}" if parameter.default is not None else ""
    return f"{name}: {parameter.type}{default}"


def _limits(spec: Mapping[str, Any], root: Mapping[str, Any]) -> Iterator[str]:
    if "enum" in spec and len(_choices(spec["enum"])) == _LONGEST_CHOICE:
        yield "one of " + ", ".join(map(_word, spec["enum"]))
    for word, text in _BOUNDS:
        if word in spec:
            limit = text.format(spec[word])
            yield limit.removesuffix("s") if spec[word] == 1 else limit
    if "items" in spec:
        yield from (f"each {limit}" for limit in _limits(_opened(spec["items"], root), root))
    if spec.get("uniqueItems"):
        yield "no item twice"
    if isinstance(spec.get("examples"), list) and spec["examples"]:
        yield "e.g. " + ", ".join(_word(each) for each in spec["examples"][:3])


def _choices(values: Iterable[Any]) -> str:
    text = "|".join(_word(value) for value in values)
    return text if len(text) <= _LONGEST_CHOICE else f"{text[: _LONGEST_CHOICE - 1]}…"


def _word(value: Any) -> str:
    """A JSON value; a text that is one word goes without quotes."""
    if isinstance(value, str) and _WORD.fullmatch(value):
        return value
    return json.dumps(value, ensure_ascii=False)


def _own_types(spec: Mapping[str, Any]) -> frozenset[str]:
    if "const" in spec:
        return frozenset({_JSON_TYPES[type(spec["const"])]})
    if "enum" in spec:
        return frozenset(_JSON_TYPES[type(value)] for value in spec["enum"])
    named = spec.get("type", ())
    return frozenset([named] if isinstance(named, str) else named) or ALL_TYPES


def _resolved(reference: Any, root: Mapping[str, Any]) -> Any:
    """What a local `#/…` reference points to; None for any other."""
    if not isinstance(reference, str) or not reference.startswith("#"):
        return None
    found: Any = root
    for part in filter(None, reference[1:].split("/")):
        if not isinstance(found, Mapping):
            return None
        found = found.get(part.replace("~1", "/").replace("~0", "~"))
    return found
