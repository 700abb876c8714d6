"""JSON Schema of annotated fields, by pydantic's public API.

One throw-away TypedDict stands for all fields of a callable: it takes any name (`self`, `_a`,
`schema`), shares definitions between fields, and reads JSON as JSON: bytes are base64.
"""

import warnings
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any, NotRequired, cast

from toolrt.schemas.annotations import plain_schema, readable

Fields = Mapping[str, Any]
Schema = dict[str, Any]

UNSUPPORTED = (TypeError, ValueError, NameError, AttributeError, KeyError, RuntimeError)
"""What pydantic, or a type's own hooks, raise for a type that has no JSON form."""

_MAPPED = ("properties", "$defs", "patternProperties", "dependentSchemas")
_NESTED = ("items", "additionalProperties", "contains", "not", "if", "then", "else")
_LISTED = ("anyOf", "oneOf", "allOf", "prefixItems")


def adapter_of(fields: Fields) -> Any:
    """A pydantic TypeAdapter of an object with these fields, all of them optional.

    Raises one of UNSUPPORTED for a type that pydantic cannot read.
    """
    from pydantic import ConfigDict, TypeAdapter  # noqa: PLC0415 - only such types need it
    from typing_extensions import TypedDict  # noqa: PLC0415 - typing's lacks the config on 3.11

    make = cast("Callable[[str, Mapping[str, Any]], Any]", TypedDict)
    record = make("Arguments", {key: NotRequired[readable(each)] for key, each in fields.items()})
    record.__pydantic_config__ = ConfigDict(val_json_bytes="base64", ser_json_bytes="base64")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return TypeAdapter(record)


def input_schemas(fields: Fields) -> tuple[dict[str, Schema], dict[str, Schema]]:
    """The schema of each field, and the definitions that they share.

    Raises one of UNSUPPORTED when a field has no JSON form.
    """
    simple = {key: plain_schema(each) for key, each in fields.items()}
    if all(schema is not None for schema in simple.values()):
        return cast("dict[str, Schema]", simple), {}
    made = adapter_of(fields).json_schema(schema_generator=_generator())
    return _without_titles(made).get("properties", {}), made.get("$defs", {})


def output_schema(annotation: Any) -> Schema | None:
    """The schema of what a callable returns; None when it says nothing about fields."""
    if plain_schema(annotation) is not None:
        return None
    from pydantic import TypeAdapter  # noqa: PLC0415 - only such types need it

    try:
        adapter = TypeAdapter(annotation)
        made = adapter.json_schema(mode="serialization", schema_generator=_generator())
    except UNSUPPORTED:
        return None
    return _without_titles(made) if "properties" in made or "$defs" in made else None


@cache
def _generator() -> Any:
    from pydantic.json_schema import GenerateJsonSchema  # noqa: PLC0415 - as above

    class Generator(GenerateJsonSchema):
        ignored_warning_kinds = {"skipped-choice", "non-serializable-default"}  # noqa: RUF012 - the base declares it so

        def field_title_should_be_set(self, schema: Any) -> bool:  # noqa: ARG002 - pydantic's name
            return False

        def bytes_schema(self, schema: Any) -> Schema:
            """Base64 wherever we read or write it; a model's own config may say otherwise."""
            made = super().bytes_schema(schema)
            is_base64 = made.get("format") == "base64url" or self.mode == "serialization"
            return {"type": "string", "contentEncoding": "base64"} if is_base64 else made

        def dataclass_schema(self, schema: Any) -> Schema:
            return self._closed(super().dataclass_schema(schema))

        def typed_dict_schema(self, schema: Any) -> Schema:
            return self._closed(super().typed_dict_schema(schema))

        def model_schema(self, schema: Any) -> Schema:
            made = super().model_schema(schema)
            return made if schema.get("root_model") else self._closed(made)

        def _closed(self, made: Schema) -> Schema:
            """A record takes its own fields only, unless it says `extra="allow"`.

            Pydantic drops the others in silence, and with them what a misspelt one meant.
            """
            if self.mode == "validation" and "properties" in made:
                made.setdefault("additionalProperties", False)
            return made

    return Generator


def _without_titles(made: Schema) -> Schema:
    """Take out the titles that only repeat the names of classes, and `format: path`.

    That format has a meaning of its own in manifests: a path below a root.
    """
    made.pop("title", None)
    for definition in made.get("$defs", {}).values():
        definition.pop("title", None)
    _drop_path_format(made)
    return made


def _drop_path_format(schema: Any) -> None:
    if not isinstance(schema, dict):
        return
    if schema.get("format") in {"path", "file-path", "directory-path"}:
        del schema["format"]
    for word in _MAPPED:
        for each in schema.get(word, {}).values():
            _drop_path_format(each)
    for word in _LISTED:
        for each in schema.get(word, ()):
            _drop_path_format(each)
    for word in _NESTED:
        _drop_path_format(schema.get(word))
