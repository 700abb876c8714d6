"""The vocabulary of JSON Schema 2020-12 and its forerunners, and toolrt's own words beside it."""

from collections.abc import Mapping
from typing import Final, Literal

Role = Literal["schema", "schemas", "named", "other"]
"""What stands under a keyword: a schema, a list of them, names to schemas, or something else."""

_BY_ROLE: Mapping[Role, tuple[str, ...]] = {
    "schema": (
        "additionalItems", "additionalProperties", "contains", "contentSchema", "else", "if",
        "items", "not", "propertyNames", "then", "unevaluatedItems", "unevaluatedProperties",
    ),
    "schemas": ("allOf", "anyOf", "oneOf", "prefixItems"),
    "named": (
        "$defs", "definitions", "dependencies", "dependentSchemas", "patternProperties",
        "properties",
    ),
    "other": (
        "$anchor", "$comment", "$dynamicAnchor", "$dynamicRef", "$id", "$recursiveAnchor",
        "$recursiveRef", "$ref", "$schema", "$vocabulary", "const", "contentEncoding",
        "contentMediaType", "default", "dependentRequired", "deprecated", "description", "enum",
        "examples", "exclusiveMaximum", "exclusiveMinimum", "format", "id", "maxContains",
        "maxItems", "maxLength", "maxProperties", "maximum", "minContains", "minItems",
        "minLength", "minProperties", "minimum", "multipleOf", "pattern", "readOnly", "required",
        "title", "type", "uniqueItems", "writeOnly",
    ),
}  # fmt: skip
ROLES: Final[Mapping[str, Role]] = {
    word: role for role, words in _BY_ROLE.items() for word in words
}
"""Keyword -> role."""

OWN_WORDS: Final = frozenset({"from", "default_from", "sensitive", "root", "allow_dash"})
"""What toolrt adds at a parameter."""

PATH_WORDS: Final = frozenset({"sensitive", "root", "allow_dash"})
"""Those that a path anywhere inside a parameter may have too."""

IN_PLACE: Final = frozenset(
    ("allOf", "anyOf", "oneOf", "not", "if", "then", "else", "dependentSchemas")
)
"""Keywords whose schemas are about the very same value."""

ANNOTATIONS: Final = frozenset(
    ("$anchor", "$comment", "$defs", "$dynamicAnchor", "$id", "$schema", "contentEncoding",
     "contentMediaType", "contentSchema", "default", "definitions", "deprecated", "description",
     "examples", "readOnly", "title", "writeOnly")
)  # fmt: skip
"""Words that check nothing."""

TYPE_OF: Final[Mapping[str, str]] = {
    word: kind
    for kind, words in {
        "string": "minLength maxLength pattern format",
        "number": "minimum maximum exclusiveMinimum exclusiveMaximum multipleOf",
        "array": "minItems maxItems uniqueItems contains minContains maxContains additionalItems "
        "unevaluatedItems",
        "object": "minProperties maxProperties propertyNames dependencies dependentRequired "
        "dependentSchemas unevaluatedProperties",
    }.items()
    for word in words.split()
}
"""Keyword -> the type whose values it is about."""

FORMATS: Final = frozenset(
    (
        "date", "date-time", "duration", "email", "hostname", "idn-email", "idn-hostname", "ipv4",
        "ipv6", "iri", "iri-reference", "json-pointer", "regex", "relative-json-pointer", "time",
        "uri", "uri-reference", "uri-template", "uuid",
    )
)  # fmt: skip
"""Formats that are checked."""

WORKSPACE_PATH: Final = "workspace-path"
"""The format of a parameter that is a path in a folder which its tool holds: checked as a text."""

SILENT_FORMATS: Final = frozenset(
    (
        "path", WORKSPACE_PATH, "int32", "int64", "float", "double", "byte", "binary", "password",
        "decimal",
    )
)  # fmt: skip
"""Formats that say something to others (OpenAPI) or to a kind (`path`); none is checked here."""

OTHER_TYPE_NAMES: Final[Mapping[str, str]] = {
    "str": "string", "text": "string", "int": "integer", "float": "number", "double": "number",
    "bool": "boolean", "list": "array", "dict": "object", "none": "null", "any": "",
}  # fmt: skip
OTHER_WORDS: Final[Mapping[str, str]] = {
    "nullable": 'write `type: [string, "null"]`',
    "example": "write `examples: [...]`",
    "min": "did you mean `minimum`?",
    "max": "did you mean `maximum`?",
    "optional": "write `required: false`",
    "choices": "did you mean `enum`?",
    "options": "did you mean `enum`?",
    "regex": "did you mean `pattern`?",
}
"""Words of other languages that people write, and what to write here."""
