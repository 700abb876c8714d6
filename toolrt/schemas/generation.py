"""JSON Schema of annotated fields, by pydantic's public API.

One throw-away TypedDict stands for all fields of a callable: it takes any name (`self`, `_a`,
`schema`), shares definitions between fields, and reads JSON as JSON: bytes are base64.
"""

import json
import warnings
import weakref
from collections.abc import Callable, Mapping
from copy import deepcopy
from functools import cache
from typing import Any, cast

from toolrt.schemas.annotations import plain_schema, readable
from toolrt.schemas.foreign import ForeignError, looking

Fields = Mapping[str, Any]
Schema = dict[str, Any]

_WHOLE_NUMBER = "^-?[0-9]{1,18}$"
_MAPPED = ("properties", "$defs", "patternProperties", "dependentSchemas")
_NESTED = ("items", "additionalProperties", "contains", "not", "if", "then", "else")
_LISTED = ("anyOf", "oneOf", "allOf", "prefixItems")


def adapter_of(fields: Fields) -> Any:
    """A pydantic TypeAdapter of an object with these fields, all of them optional.

    Raises ForeignError for a type that pydantic cannot read.
    """
    with looking():
        return _adapter(fields)


def _adapter(fields: Fields) -> Any:
    from pydantic import ConfigDict, TypeAdapter  # noqa: PLC0415 - only such types need it
    from typing_extensions import TypedDict  # noqa: PLC0415 - typing's lacks the config on 3.11

    make = cast("Callable[..., Any]", TypedDict)  # NotRequired would reorder unions
    record = make("Arguments", {key: readable(each) for key, each in fields.items()}, total=False)
    record.__pydantic_config__ = ConfigDict(val_json_bytes="base64", ser_json_bytes="base64")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return TypeAdapter(record)


def input_schemas(fields: Fields) -> tuple[dict[str, Schema], dict[str, Schema]]:
    """The schema of each field, and the definitions that they share.

    Raises ForeignError when a field has no JSON form.
    """
    with looking():
        simple = {key: plain_schema(each) for key, each in fields.items()}
        rest = {key: fields[key] for key, schema in simple.items() if schema is None}
        found, definitions = _of_parts(rest) or _generated(rest)
    return cast("dict[str, Schema]", {**simple, **found}), definitions


Schemas = tuple[dict[str, Schema], dict[str, Schema]]
"""Those of fields, and the definitions that they share."""

_MOST_KNOWN = 500
_KNOWN: dict[int, tuple["weakref.ref[type]", Schema, dict[str, Schema]]] = {}
"""What was generated for a class, by its id: the same ones come in many callables."""


def _generated(fields: Fields) -> Schemas:
    """The schemas of fields that pydantic reads together."""
    if not fields:
        return {}, {}
    made = _without_titles(_adapter(fields).json_schema(schema_generator=_generator()))
    properties = made.get("properties", {})
    if properties.keys() != fields.keys():  # a type that means the record which stands for all
        raise ForeignError
    return properties, made.get("$defs", {})


def _of_parts(fields: Fields) -> Schemas | None:
    """The same, each class by itself and known from then on; None where two definitions of one
    name are not the same.
    """
    classes = {key: each for key, each in fields.items() if isinstance(each, type)}
    others = {key: each for key, each in fields.items() if key not in classes}
    found, definitions = _generated(others)
    for key, cls in classes.items():
        schema, more = _of_class(cls)
        if any(definitions.get(name, each) != each for name, each in more.items()):
            return None
        found[key] = schema
        definitions |= more
    return found, definitions


def _of_class(cls: type) -> tuple[Schema, dict[str, Schema]]:
    known = _KNOWN.get(id(cls))
    if known is None or known[0]() is not cls:
        properties, definitions = _generated({"value": cls})
        if len(_KNOWN) >= _MOST_KNOWN:
            _KNOWN.clear()
        known = _KNOWN[id(cls)] = weakref.ref(cls), properties["value"], definitions
    return deepcopy(known[1]), deepcopy(known[2])


def is_finite(value: Any) -> bool:
    """Whether there is neither NaN nor an infinity in plain containers, nor an endless number."""
    try:
        json.dumps(value, allow_nan=False, skipkeys=True, default=lambda _: None)
    except (ValueError, RecursionError):
        return False
    return True


def output_schema(annotation: Any) -> Schema | None:
    """The schema of what a callable returns; None when it says nothing about fields."""
    try:
        with looking():
            made = None if plain_schema(annotation) is not None else _output_schema(annotation)
    except ForeignError:
        return None
    return made if made and ("properties" in made or "$defs" in made) else None


def _output_schema(annotation: Any) -> Schema:
    from pydantic import TypeAdapter  # noqa: PLC0415 - only such types need it

    adapter = TypeAdapter(annotation)
    made = adapter.json_schema(mode="serialization", schema_generator=_generator())
    return _without_titles(made)


@cache
def _generator() -> Any:
    from pydantic.json_schema import GenerateJsonSchema  # noqa: PLC0415 - as above

    class Generator(GenerateJsonSchema):
        ignored_warning_kinds = {"skipped-choice", "non-serializable-default"}  # noqa: RUF012 - the base declares it so

        def field_title_should_be_set(self, schema: Any) -> bool:  # noqa: ARG002 - pydantic's name
            return False

        def generate_inner(self, schema: Any) -> Schema:
            if _is_of_bytes(schema):
                self.handle_invalid_for_json_schema(schema, "a literal of bytes")
            made: Schema = super().generate_inner(schema)
            return _with_whole_names(_without_format_of_any_path(made, schema), schema)

        def bytes_schema(self, schema: Any) -> Schema:
            """Base64 wherever we read or write it; a model's own config may say otherwise."""
            made: Schema = super().bytes_schema(schema)
            return _as_base64(made, is_written=self.mode == "serialization")

        def default_schema(self, schema: Any) -> Schema:
            """Without what JSON cannot carry: the field may be left out all the same."""
            made: Schema = super().default_schema(schema)
            if not is_finite(made.get("default")):
                del made["default"]
            return made

        def dataclass_schema(self, schema: Any) -> Schema:
            return _closed(super().dataclass_schema(schema), self.mode)

        def typed_dict_schema(self, schema: Any) -> Schema:
            return _closed(super().typed_dict_schema(schema), self.mode)

        def model_schema(self, schema: Any) -> Schema:
            made = super().model_schema(schema)
            return made if schema.get("root_model") else _closed(made, self.mode)

    return Generator


def _closed(made: Schema, mode: str) -> Schema:
    """A record takes its own fields only, unless it says `extra="allow"`.

    Pydantic drops the others in silence, and with them what a misspelt one meant.
    """
    if mode == "validation" and "properties" in made:
        made.setdefault("additionalProperties", False)
    return made


def _as_base64(made: Schema, *, is_written: bool) -> Schema:
    is_base64 = made.get("format") == "base64url" or is_written
    return {"type": "string", "contentEncoding": "base64"} if is_base64 else made


def _is_of_bytes(core: Mapping[str, Any]) -> bool:
    """Whether it is a literal of bytes: no text of JSON is ever equal to them."""
    return core["type"] == "literal" and any(isinstance(each, bytes) for each in core["expected"])


def _with_whole_names(made: Schema, core: Mapping[str, Any]) -> Schema:
    """With what the names of a mapping look like where they are read as whole numbers."""
    if core["type"] == "dict" and core.get("keys_schema", {}).get("type") == "int":
        made["propertyNames"] = {"pattern": _WHOLE_NUMBER}
    return made


def _without_format_of_any_path(made: Schema, core: Mapping[str, Any]) -> Schema:
    """A plain `pathlib.Path` is any path; only what its author marks so is held inside a root."""
    extra = core.get("metadata", {}).get("pydantic_js_extra")
    is_marked = isinstance(extra, dict) and "format" in extra
    if core["type"] == "lax-or-strict" and made.get("format") == "path" and not is_marked:
        del made["format"]
    return made


def _without_titles(made: Schema) -> Schema:
    """Take out the titles that only repeat the names of classes, and formats of pydantic's own."""
    made.pop("title", None)
    for definition in made.get("$defs", {}).values():
        definition.pop("title", None)
    _drop_path_format(made)
    return made


def _drop_path_format(schema: Any) -> None:
    if not isinstance(schema, dict):
        return
    if schema.get("format") in {"file-path", "directory-path"}:
        del schema["format"]
    for word in _MAPPED:
        for each in schema.get(word, {}).values():
            _drop_path_format(each)
    for word in _LISTED:
        for each in schema.get(word, ()):
            _drop_path_format(each)
    for word in _NESTED:
        _drop_path_format(schema.get(word))
