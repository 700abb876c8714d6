"""JSON Schemas of the manifest files, for editors: built from the models and the kinds' Specs.

They say what may be written where, short forms included, so that an editor completes and marks
while one types. `toolrt check` remains the judge: it also knows names, files and callables.
"""

from collections.abc import Mapping
from typing import Any

from pydantic import BaseModel

from toolrt.bindings.base import KINDS, kind
from toolrt.manifest.parameters import SOURCES, TYPES
from toolrt.manifest.policy import PoliciesFile
from toolrt.manifest.project import ProjectFile
from toolrt.manifest.scalars import Duration
from toolrt.manifest.tool import KIND_NAMES, ToolManifest, ToolsFile

DRAFT = "https://json-schema.org/draft/2020-12/schema"
TEXT: dict[str, Any] = {"type": "string"}
ANYTHING: dict[str, Any] = {}
_DEFS = "#/$defs/"

SHORT: Mapping[str, dict[str, Any]] = {
    "cache": {"$ref": f"{_DEFS}duration"},
    "command": {"type": "array", "minItems": 1},
    "fallback": TEXT,
    "hitl": {"enum": ["none", "confirm", "input", "external"]},
    "http": TEXT,
    "idempotency_key": TEXT,
    "python": TEXT,
    "rate": {"type": "string", "pattern": "^[0-9]+/"},
    "retry": {"const": "none"},
    "shell": TEXT,
    "timeout": {"$ref": f"{_DEFS}duration"},
}
"""What the short form of a tool's key looks like, beside its mapping."""


def editor_schema(which: str = "tools") -> dict[str, Any]:
    """The schema of a kind of file: `tools`, `policies` or `project`.

    Raises:
        KeyError: another name.
    """
    return _MAKERS[which]()


def _tools() -> dict[str, Any]:
    schema, definitions = _parts(ToolsFile)
    tool = _tool(definitions)
    definitions["tool"] = tool
    definitions["defaults"] = {k: v for k, v in tool.items() if k != "oneOf"}
    properties = schema["properties"]
    properties["tools"] = _map_of({"$ref": f"{_DEFS}tool"})
    properties["defaults"] = {"$ref": f"{_DEFS}defaults"}
    return _file("toolrt tools file", schema, definitions, {"^x-": ANYTHING})


def _policies() -> dict[str, Any]:
    return _file("toolrt policies file", *_parts(PoliciesFile))


def _project() -> dict[str, Any]:
    schema, definitions = _parts(ProjectFile)
    definitions["tool"] = _tool(definitions)
    schema["properties"]["defaults"] = {
        k: v for k, v in definitions.pop("tool").items() if k != "oneOf"
    }
    return _file("toolrt project file", schema, definitions, {"^x-": ANYTHING})


_MAKERS = {"tools": _tools, "policies": _policies, "project": _project}


def _tool(definitions: dict[str, Any]) -> dict[str, Any]:
    """The schema of a tool; what it refers to is added to `definitions`."""
    schema, inner = _parts(ToolManifest)
    definitions.update(inner)
    definitions["duration"] = _parts_of_duration()
    definitions["parameter"] = _parameter()
    properties = schema["properties"]
    for name in KINDS:
        spec, below = _parts(kind(name).spec)
        definitions.update(below)
        definitions[name] = spec
        properties[name] = {"$ref": f"{_DEFS}{name}"}
    properties["parameters"] = _map_of({"$ref": f"{_DEFS}parameter"})
    for name, short in SHORT.items():
        properties[name] = {"anyOf": [short, _without_default(properties[name])]}
    for name, one in properties.items():
        properties[name] = {"anyOf": [one, {"type": "null"}]} if one else one
    schema["oneOf"] = [*({"required": [name]} for name in KIND_NAMES), _WITHOUT_KIND]
    return schema


_WITHOUT_KIND: dict[str, Any] = {
    "not": {"anyOf": [{"required": [name]} for name in KIND_NAMES]},
    "required": ["hitl"],
}


def _parameter() -> dict[str, Any]:
    type_name = {"enum": list(TYPES)}
    source = {"anyOf": [{"enum": list(SOURCES)}, {"type": "string", "pattern": "^caller.claims."}]}
    own = {
        "type": {"anyOf": [type_name, {"type": "array", "items": type_name}]},
        "required": {"type": ["boolean", "array"]},
        "from": source,
        "default_from": source,
        "sensitive": {"type": "boolean"},
        "allow_dash": {"type": "boolean"},
        "root": TEXT,
        "description": TEXT,
    }
    rest = {"type": ["object", "boolean"]}
    long = {"type": "object", "properties": {**_keywords(rest), **own}}
    return {"anyOf": [type_name, long]}


def _keywords(schema: dict[str, Any]) -> dict[str, Any]:
    """The JSON Schema words that people write most, so that editors offer them."""
    number, count = {"type": "number"}, {"type": "integer", "minimum": 0}
    return {
        "default": ANYTHING,
        "enum": {"type": "array"},
        "const": ANYTHING,
        "examples": {"type": "array"},
        "minimum": number,
        "maximum": number,
        "exclusiveMinimum": number,
        "exclusiveMaximum": number,
        "multipleOf": number,
        "minLength": count,
        "maxLength": count,
        "minItems": count,
        "maxItems": count,
        "pattern": TEXT,
        "format": TEXT,
        "items": schema,
        "properties": {"type": "object", "additionalProperties": schema},
    }


def _parts(model: type[BaseModel]) -> tuple[dict[str, Any], dict[str, Any]]:
    """A model's schema, and the definitions that it refers to."""
    schema = _untitled(model.model_json_schema(ref_template=_DEFS + "{model}"))
    return schema, schema.pop("$defs", {})


def _parts_of_duration() -> dict[str, Any]:
    class Holder(BaseModel):
        value: Duration

    return dict(Holder.model_json_schema()["properties"]["value"], title="duration")


def _untitled(schema: Any) -> Any:
    """Without the titles that pydantic makes up; a property that is called title stays."""
    if isinstance(schema, list):
        return [_untitled(one) for one in schema]
    if not isinstance(schema, dict):
        return schema
    return {
        key: {name: _untitled(one) for name, one in value.items()}
        if key == "properties"
        else _untitled(value)
        for key, value in schema.items()
        if not (key == "title" and isinstance(value, str))
    }


def _without_default(schema: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in schema.items() if key != "default"}


def _map_of(schema: dict[str, Any]) -> dict[str, Any]:
    return {"type": "object", "additionalProperties": schema}


def _file(
    title: str,
    schema: dict[str, Any],
    definitions: dict[str, Any],
    patterns: dict[str, Any] | None = None,
) -> dict[str, Any]:
    made = {"$schema": DRAFT, "title": title, **schema}
    if patterns:
        made["patternProperties"] = patterns
    if definitions:
        made["$defs"] = definitions
    return made
