"""JSON Schemas of the manifest files, for editors: built from the models and the kinds' Specs.

They say what may be written where, short forms included, so that an editor completes and marks
while one types. `toolrt check` remains the judge: it also knows names, files and callables.
"""

from collections.abc import Callable, Mapping
from typing import Any

from toolrt.bindings.base import KINDS, kind
from toolrt.catalog.editor_words import (
    DEFS,
    TEXT,
    as_layer,
    definitions_of,
    map_of,
    nullable,
)
from toolrt.core.versions import with_version
from toolrt.manifest.parameters import NAME as PARAMETER_NAME
from toolrt.manifest.parameters import OWN_WORDS, RESERVED, SOURCES, TYPES
from toolrt.manifest.policy import PoliciesFile
from toolrt.manifest.project import ProjectFile
from toolrt.manifest.tool import KIND_NAMES, NAME, ToolManifest, ToolsFile
from toolrt.schemas.keywords import ROLES

DRAFT = "https://json-schema.org/draft/2020-12/schema"
_ANYTHING: dict[str, Any] = {}
_ANCHORS = {"^x-": _ANYTHING}

SHORT_KINDS: Mapping[str, str] = {
    "command": "argv",
    "http": "url",
    "python": "call",
    "shell": "script",
    "steps": "steps",
}
"""Kind -> the option that its short form is."""


def editor_schema(which: str = "tools") -> dict[str, Any]:
    """The schema of a kind of file: `tools`, `policies` or `project`.

    Raises:
        KeyError: another name.
    """
    return _MAKERS[which]()


def _tools() -> dict[str, Any]:
    schema, definitions = definitions_of(ToolsFile)
    definitions |= _of_tool()
    properties = schema["properties"]
    properties["tools"] = nullable(
        {**map_of({"$ref": f"{DEFS}tool"}), "propertyNames": {"pattern": with_version(NAME)}}
    )
    properties["defaults"] = nullable({"$ref": f"{DEFS}defaults"})
    return _file("toolrt tools file", schema, definitions, _ANCHORS)


def _policies() -> dict[str, Any]:
    return _file("toolrt policies file", *definitions_of(PoliciesFile))


def _project() -> dict[str, Any]:
    schema, definitions = definitions_of(ProjectFile)
    definitions |= _of_tool()
    properties = schema["properties"]
    properties["defaults"] = {"$ref": f"{DEFS}defaults"}
    schema["properties"] = {name: nullable(one) for name, one in properties.items()}
    return _file("toolrt project file", schema, definitions, _ANCHORS)


_MAKERS: Mapping[str, Callable[[], dict[str, Any]]] = {
    "tools": _tools,
    "policies": _policies,
    "project": _project,
}


def _of_tool() -> dict[str, Any]:
    """The definitions `tool` and `defaults`, and all that they refer to.

    A tool is one layer of several: what is required may stand in another, and `null` resets.
    """
    keys, definitions = definitions_of(ToolManifest)
    properties = keys["properties"]
    for name in KINDS:
        spec, below = definitions_of(kind(name).spec)
        definitions |= {**below, name: spec}
        whole = {"$ref": f"{DEFS}{name}"}
        short = SHORT_KINDS.get(name)
        properties[name] = whole if short is None else {"anyOf": [spec["properties"][short], whole]}
    definitions |= {"parameter": _parameter(), "schema": _schema()}
    properties["parameters"] = _parameters()
    properties["input_schema"] = _input_schema()
    properties["output_schema"] = {"type": "object", "$ref": f"{DEFS}schema"}
    layer = as_layer(keys, definitions)
    definitions["defaults"] = definitions["ToolManifest"] = layer
    definitions["tool"] = {**layer, "oneOf": [*map(_has, KIND_NAMES), _WITHOUT_KIND]}
    return definitions


def _has(name: str) -> dict[str, Any]:
    return {"required": [name], "properties": {name: {"not": {"type": "null"}}}}


_WITHOUT_KIND: dict[str, Any] = {
    "not": {"anyOf": [_has(name) for name in KIND_NAMES]},
    "required": ["hitl"],
}


def _parameters() -> dict[str, Any]:
    whole_schema = {
        "required": ["type", "properties"],
        "properties": {"type": {"const": "object"}, "properties": {"type": "object"}},
    }
    return {
        **map_of({"$ref": f"{DEFS}parameter"}),
        "propertyNames": {"pattern": f"^{PARAMETER_NAME}$", "not": {"enum": sorted(RESERVED)}},
        "not": whole_schema,
    }


def _parameter() -> dict[str, Any]:
    """A type, or JSON Schema with our own words; other words are judged by `check`."""
    required = {"required": {"type": ["boolean", "array"]}}
    long = {"type": "object", "properties": {**_keywords(), **required, **_own_words()}}
    return {"anyOf": [{"enum": list(TYPES)}, {**long, **_RULES}]}


def _input_schema() -> dict[str, Any]:
    named = {"allOf": [{"$ref": f"{DEFS}schema"}, {"properties": _own_words(), **_RULES}]}
    return {
        "type": "object",
        "properties": {"type": {"const": "object"}, "properties": map_of(named)},
    }


_IS_PATH = {"required": ["format"], "properties": {"format": {"const": "path"}}}
_RULES: dict[str, Any] = {
    "not": {"type": "object", "required": ["from", "default_from"]},
    "dependentSchemas": {
        "root": {"anyOf": [_IS_PATH, {"required": ["items"], "properties": {"items": _IS_PATH}}]}
    },
}
"""Words of ours that do not go together, or not alone."""


def _own_words() -> dict[str, Any]:
    source = {"anyOf": [{"enum": list(SOURCES)}, {"type": "string", "pattern": "^caller.claims."}]}
    flag = {"type": "boolean"}
    known = {"sensitive": flag, "allow_dash": flag, "root": TEXT, "from": source}
    return {word: {**known, "default_from": source}[word] for word in sorted(OWN_WORDS)}


def _schema() -> dict[str, Any]:
    """JSON Schema, as far as an editor should help with it."""
    return {"type": ["object", "boolean"], "properties": _keywords()}


def _keywords() -> dict[str, Any]:
    """The words of JSON Schema, those that people write most with what they take."""
    inner = {"$ref": f"{DEFS}schema"}
    by_role: Mapping[str, dict[str, Any]] = {
        "schema": {"anyOf": [inner, {"type": "array", "items": inner}]},
        "schemas": {"type": "array", "items": inner},
        "named": map_of({"anyOf": [inner, {"type": "array"}]}),
    }
    number, count = {"type": "number"}, {"type": "integer", "minimum": 0}
    type_name = {"enum": list(TYPES)}
    known = {
        "type": {"anyOf": [type_name, {"type": "array", "items": type_name}]},
        "description": TEXT,
        "enum": {"type": "array"},
        "examples": {"type": "array"},
        "pattern": {"type": "string"},
        "format": {"type": "string"},
        **dict.fromkeys(("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"), number),
        **dict.fromkeys(("minLength", "maxLength", "minItems", "maxItems"), count),
    }
    return {word: known.get(word, by_role.get(role, _ANYTHING)) for word, role in ROLES.items()}


def _file(
    title: str,
    schema: dict[str, Any],
    definitions: dict[str, Any],
    patterns: dict[str, Any] | None = None,
) -> dict[str, Any]:
    made = {"$schema": DRAFT, "title": title, **schema}
    if patterns:
        made["patternProperties"] = patterns
    return {**made, "$defs": definitions}
