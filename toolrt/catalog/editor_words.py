"""What pydantic says of a model, as the manifest language takes it.

Where a text is wanted any scalar will do, some mappings have a short form, and a layer need not
hold what is required of the whole.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from pydantic import BaseModel, TypeAdapter

from toolrt.manifest.scalars import Duration

DEFS = "#/$defs/"
TEXT: dict[str, Any] = {"type": ["string", "number", "boolean"]}
"""A plain scalar is taken as written where a text is wanted."""

DURATION = TypeAdapter(Duration).json_schema()
SHORT: Mapping[str, dict[str, Any]] = {
    "As": {"type": "string", "pattern": "^[^:]+(:[^,]+(,[^,]+)*)?$"},
    "Cache": DURATION,
    "Fallback": TEXT,
    "Hitl": {"enum": ["none", "confirm", "input", "external"]},
    "IdempotencyKey": TEXT,
    "OpenApiSource": TEXT,
    "PromptArgument": TEXT,
    "PromptMessage": TEXT,
    "PythonSource": TEXT,
    "Rate": {"type": "string", "pattern": f"^[1-9][0-9]*/{DURATION['pattern'].lstrip('^')}"},
    "Retry": {"const": "none"},
    "Timeout": DURATION,
}
"""Model -> what its short form looks like."""

Schema = dict[str, Any]
_IN_PLACE = ("anyOf", "oneOf", "allOf")
_NULL: Schema = {"type": "null"}


def definitions_of(model: type[BaseModel]) -> tuple[Schema, Schema]:
    """A model's schema, and the definitions that it refers to."""
    schema = _adapted(model.model_json_schema(ref_template=DEFS + "{model}"))
    return schema, schema.pop("$defs", {})


def nullable(schema: Schema) -> Schema:
    """The same, or null."""
    if not schema or _NULL in schema.get("anyOf", ()):
        return schema
    return {"anyOf": [schema, _NULL]}


def map_of(schema: Schema) -> Schema:
    return {"type": "object", "additionalProperties": schema}


def as_layer(schema: Schema, definitions: Schema) -> Schema:
    """The schema of one layer of a mapping: nothing is required, and `null` resets two levels.

    What it refers to is changed in `definitions`; what stands in a list replaces as a whole, so
    there all stays as it is.
    """
    for name in _reached(schema["properties"].values(), definitions):
        below = definitions[name]
        definitions[name] = _loosened(below)
        for inner in _reached(below.get("properties", {}).values(), definitions):
            definitions[inner] = _unrequired(definitions[inner])
    return _loosened(schema)


def _loosened(schema: Schema) -> Schema:
    properties = schema.get("properties", {})
    inner = {name: nullable(one) for name, one in properties.items()}
    return {**_unrequired(schema), "properties": inner}


def _unrequired(schema: Schema) -> Schema:
    rest = {key: value for key, value in schema.items() if key != "required"}
    if "oneOf" in rest:
        rest["oneOf"] = [*rest["oneOf"], {"not": {"anyOf": schema["oneOf"]}}]
    return rest


def _reached(schemas: Any, definitions: Schema) -> Iterator[str]:
    """The definitions that stand in place of these schemas, not in a list or map below them."""
    for schema in schemas:
        if not isinstance(schema, dict):
            continue
        name = schema.get("$ref", "").removeprefix(DEFS)
        if name in definitions:
            yield name
        for word in _IN_PLACE:
            yield from _reached(schema.get(word, ()), definitions)


def _adapted(schema: Any) -> Any:
    """With scalars for texts and with short forms; without titles that pydantic makes up.

    Defaults go too: they are seconds and bytes, not what one writes.
    """
    if isinstance(schema, list):
        return [_adapted(one) for one in schema]
    if not isinstance(schema, dict):
        return schema
    made: Schema = {
        key: _adapted_each(value) if key in {"properties", "$defs"} else _adapted(value)
        for key, value in schema.items()
        if not (key == "title" and isinstance(value, str)) and key != "default"
    }
    if made.get("type") == "string" and made.keys().isdisjoint({"pattern", "const", "enum"}):
        made["type"] = TEXT["type"]
    name = made.get("$ref", "").removeprefix(DEFS)
    return {"anyOf": [SHORT[name], made]} if name in SHORT else made


def _adapted_each(schemas: Mapping[str, Any]) -> Schema:
    return {name: _adapted(one) for name, one in schemas.items()}
