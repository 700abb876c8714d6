"""The one owner of jsonschema-rs: schemas in, yes or no out, and violations in our own words.

Patterns run in linear time (no look-around, no back-references), formats are checked, and nothing
is ever fetched.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache, lru_cache
from typing import Any, NoReturn, Protocol, cast

import jsonschema_rs

from toolrt.core.faults import Path

LATEST = "https://json-schema.org/draft/2020-12/schema"
DRAFTS = (
    LATEST,
    "https://json-schema.org/draft/2019-09/schema",
    "http://json-schema.org/draft-07/schema",
    "http://json-schema.org/draft-06/schema",
    "http://json-schema.org/draft-04/schema",
)
KINDS = frozenset(name for name in vars(jsonschema_rs.ValidationErrorKind) if name[0].isupper())
"""Every kind of violation there is."""

_PATTERNS = jsonschema_rs.RegexOptions()


class Validator(Protocol):
    """A compiled schema."""

    def is_valid(self, instance: Any, /) -> bool: ...


@dataclass(frozen=True, slots=True)
class Violation:
    """One keyword that a value breaks.

    `kind` is one of `KINDS`; `path` leads to the value, `schema_path` to the keyword; `detail`
    holds what the kind knows (`limit`, `options`, …). `branches` are the violations of each branch
    of an `anyOf` or `oneOf`, or those of the property name in `detail["name"]`.
    """

    kind: str
    path: Path
    schema_path: Path
    detail: Mapping[str, Any] = field(default_factory=dict)
    branches: tuple[tuple["Violation", ...], ...] = ()


class BadSchemaError(Exception):
    """A schema that cannot be compiled: `violation` says where, when that is known."""

    def __init__(self, message: str, violation: Violation) -> None:
        super().__init__(message)
        self.message = message
        self.violation = violation


def compile_validator(schema: Mapping[str, Any] | bool) -> Validator:
    """The validator of a schema, in the draft that its `$schema` names, 2020-12 without one.

    Raises BadSchemaError for a schema that breaks its own draft, or refers outside itself.
    """
    try:
        return jsonschema_rs.validator_for(
            cast("dict[str, Any]", schema),
            validate_formats=True,
            retriever=_deny,
            pattern_options=_PATTERNS,
        )
    except jsonschema_rs.ValidationError as error:
        raise BadSchemaError(error.message, _violation(error)) from None


def compile_part(root: Mapping[str, Any], pointer: str) -> Validator:
    """The validator of what stands at `pointer` inside `root`."""
    base = "urn:toolrt:schema"
    try:
        return jsonschema_rs.validator_for(
            {"$schema": root.get("$schema", LATEST), "$ref": f"{base}#{pointer}"},
            validate_formats=True,
            retriever=_deny,
            registry=jsonschema_rs.Registry([(base, dict(root))], retriever=_deny),
            pattern_options=_PATTERNS,
        )
    except jsonschema_rs.ValidationError as error:
        raise BadSchemaError(error.message, _violation(error)) from None


@cache
def meta_validator(draft: str) -> Validator:
    """The validator of schemas themselves; `draft` is one of `DRAFTS`."""
    return compile_validator({"$schema": draft, "$ref": draft})


@lru_cache(maxsize=4096)
def is_pattern(text: str) -> bool:
    """Whether a regular expression can run in linear time, and is one at all."""
    try:
        compile_validator({"pattern": text})
    except BadSchemaError:
        return False
    return True


def pattern_fault(text: str) -> str:
    """What is wrong with a regular expression that is none, as a clause."""
    from pydantic_core import SchemaError, SchemaValidator, core_schema  # noqa: PLC0415 - a fault

    try:  # the same kind of engine, and the one that says why
        SchemaValidator(core_schema.str_schema(pattern=text))
    except SchemaError as error:
        reason = str(error).rpartition("\nerror: ")
        if reason[1]:
            return f"it is no regular expression: {reason[2]}"
        return "it is too large a regular expression: make its counts smaller"
    return "it is no regular expression, or too large a one"


def violations(validator: Validator, value: Any) -> list[Violation]:
    """Every keyword that `value` breaks.

    All are made at once, some 15 us and 1.5 KB each: bound the size of `value` first.
    """
    found = cast("jsonschema_rs.Validator", validator).iter_errors(value)
    return [_violation(error) for error in found]


def _deny(uri: str) -> NoReturn:
    raise ValueError(f"{uri} is not fetched")


def _violation(error: jsonschema_rs.ValidationError) -> Violation:
    kind: Any = type(error.kind)
    detail = {name: getattr(error.kind, name) for name in kind.__match_args__}
    branches = tuple(tuple(map(_violation, branch)) for branch in detail.pop("context", ()))
    inner = detail.pop("error", None)
    if isinstance(inner, jsonschema_rs.ValidationError):
        branches = ((_violation(inner),),)
        detail["name"] = str(inner.instance)
    path, schema_path = tuple(error.instance_path), tuple(error.schema_path)
    return Violation(kind.__name__, path, schema_path, detail, branches)
