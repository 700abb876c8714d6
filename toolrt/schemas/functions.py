"""A Python callable to a tool's schema, description and call adaptor.

Signature and docstring are enough: the manifest writes a tool's parameters only where it wants
them otherwise. What cannot be described is reported all at once, each with its remedy.
"""

from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from inspect import isasyncgenfunction, isgeneratorfunction
from pathlib import Path
from typing import Any

from toolrt.core.faults import Fault, FaultError
from toolrt.schemas.annotations import is_plain, shown, without_metadata
from toolrt.schemas.conversion import EXTRA, Adaptor, Placed, field_types, flattened
from toolrt.schemas.docstrings import read_docstring
from toolrt.schemas.foreign import ForeignError, looking
from toolrt.schemas.generation import Schema, input_schemas, is_finite, output_schema
from toolrt.schemas.signatures import (
    EMPTY,
    VAR_KEYWORD,
    VARIADIC,
    WRITE_PARAMETERS,
    Callee,
    Parameter,
    read_callee,
)
from toolrt.schemas.values import to_plain

Schemas = tuple[dict[str, Schema], dict[str, Schema]]
"""Those of the fields, and the definitions that they share."""

_IMPORT = "import the type where the function is defined"
_LEAVE_OUT = "give it a default to leave it out, or bind it with functools.partial"


@dataclass(frozen=True, slots=True)
class FunctionSchema:
    """What a callable says about itself; `warnings` are for whoever wrote it."""

    name: str
    input_schema: Schema
    description: str | None
    output_schema: Schema | None
    warnings: tuple[Fault, ...]
    callee: Callee

    @property
    def adaptor(self) -> Adaptor:
        """What turns JSON arguments into those of a call."""
        return Adaptor(self.callee, self.input_schema["properties"])

    def bind(self, arguments: Mapping[str, Any]) -> Placed:
        """Positional and keyword arguments of a call with these JSON arguments."""
        return self.adaptor.bind(arguments)


def describe_function(
    fn: Callable[..., Any],
    root: Path | None = None,
    *,
    skip: int = 0,
    callee: Callee | None = None,
) -> FunctionSchema:
    """The schema of a callable; `root` and `skip` as for `read_callee`, whose outcome `callee` is
    where it is known.

    Raises FaultError with one fault for each problem, warnings included.
    """
    callee = callee or read_callee(fn, root, skip=skip)
    faults = _faults(fn, callee)
    kept, schemas, unsupported = _supported(callee)
    faults += unsupported
    if any(fault.severity == "error" for fault in faults):
        raise FaultError(*faults)
    doc = read_docstring(callee.doc)
    schema = _input_schema(kept, schemas, doc.parameters, flattened(callee))
    return FunctionSchema(
        name=callee.name,
        input_schema=schema,
        description=doc.description,
        output_schema=None if callee.returns is EMPTY else output_schema(callee.returns),
        warnings=tuple(faults),
        callee=callee,
    )


def _faults(fn: Callable[..., Any], callee: Callee) -> list[Fault]:
    """What the signature alone tells."""
    if callee.is_opaque:
        message = f"{callee.label} takes only *args and **kwargs, which says nothing about them"
        hint = f"put functools.wraps on the decorator's inner function, or {WRITE_PARAMETERS}"
        return [Fault("unreadable-signature", message, hint=hint)]
    faults = [
        _unannotated(callee, each)
        for each in callee.visible
        if not each.is_annotated and each.kind not in VARIADIC
    ]
    if isgeneratorfunction(fn) or isasyncgenfunction(fn):
        message = f"{callee.label} is a generator function, and a tool gives one value"
        faults.append(Fault("unsupported-result", message, hint="return a list"))
    return faults


def _unannotated(callee: Callee, parameter: Parameter) -> Fault:
    message = f"parameter `{parameter.name}` of {callee.label} has no type, so it takes anything"
    hint = "annotate it"
    return Fault("unannotated-parameter", message, hint=hint, severity="warning")


def _supported(callee: Callee) -> tuple[Callee, Schemas, list[Fault]]:
    """The callee without the parameters that have no JSON form, its schemas, and the faults."""
    try:
        return callee, _schemas(callee.visible), []
    except ForeignError:
        bad = {each.name: why for each in callee.visible if (why := _why_not(each)) is not None}
    rest = replace(callee, parameters=tuple(p for p in callee.parameters if p.name not in bad))
    faults = [_unsupported(callee, p, bad[p.name]) for p in callee.visible if p.name in bad]
    try:
        return rest, _schemas(rest.visible), faults
    except ForeignError as error:
        message = f"the parameters of {callee.label} together have no JSON form: {error}"
        fault = Fault("unsupported-parameter", message.rstrip(": "), hint=WRITE_PARAMETERS)
        return rest, ({}, {}), [*faults, fault]


def _schemas(parameters: tuple[Parameter, ...]) -> Schemas:
    """Raises ForeignError when a type is not known, or has no JSON form."""
    for each in parameters:
        if each.unresolved:
            raise ForeignError(each.unresolved)
    return input_schemas(field_types(parameters))


def _why_not(parameter: Parameter) -> str | None:
    """Why a parameter has no schema, which may be nothing worth telling; None when it has one."""
    try:
        _schemas((parameter,))
    except ForeignError as error:
        return str(error)
    return None


def _unsupported(callee: Callee, parameter: Parameter, why: str) -> Fault:
    what = f"parameter `{parameter.name}` of {callee.label}"
    hint = f"{_LEAVE_OUT}, or {WRITE_PARAMETERS}" if why else _LEAVE_OUT
    if parameter.unresolved:
        reason = f"{what}: its type cannot be resolved ({why})"
        is_name = why.endswith("is not defined")
        hint = f"{_IMPORT}, or {WRITE_PARAMETERS}" if is_name else WRITE_PARAMETERS
    else:
        reason = f"{what}: {_shown(parameter)} has no JSON form" + (f" ({why})" if why else "")
    if parameter.is_required:
        return Fault("unsupported-parameter", reason, hint=hint)
    message = f"{reason}; it is left out and keeps its default"
    return Fault("unsupported-parameter", message, severity="warning")


def _shown(parameter: Parameter) -> str:
    try:
        with looking():
            return f"`{shown(without_metadata(parameter.annotation))}`"
    except ForeignError:
        return "its type"


def _input_schema(
    callee: Callee,
    schemas: Schemas,
    descriptions: Mapping[str, str],
    whole: Parameter | None,
) -> Schema:
    """The schema of all arguments, or that of the record `whole`, whose fields they are."""
    properties, definitions = schemas
    if whole is not None:
        return _of_record(properties[whole.key], definitions)
    extra = properties.pop(EXTRA, None)
    for each in callee.visible:
        if each.kind != VAR_KEYWORD:
            _describe(properties[each.key], descriptions.get(each.name))
            _put_default(properties[each.key], each, callee)
    made: Schema = {"type": "object", "properties": properties}
    required = [each.key for each in callee.visible if each.is_required]
    if required:
        made["required"] = required
    made["additionalProperties"] = extra["additionalProperties"] if extra else False
    return {**made, "$defs": definitions} if definitions else made


def _of_record(schema: Schema, definitions: dict[str, Schema]) -> Schema:
    """The schema of the arguments when the fields of a record are the parameters."""
    name = schema.get("$ref", "").rpartition("/")[2]
    record = definitions.get(name, schema)
    is_recursive = name in definitions and _mentions(definitions, schema["$ref"])
    others = {key: each for key, each in definitions.items() if key != name or is_recursive}
    made = {key: value for key, value in record.items() if key != "description"}
    made.setdefault("properties", {})
    made.setdefault("additionalProperties", False)
    return {**made, "$defs": others} if others else made


def _mentions(schema: Any, reference: str) -> bool:
    if isinstance(schema, dict):
        return schema.get("$ref") == reference or any(
            _mentions(each, reference) for each in schema.values()
        )
    return isinstance(schema, list) and any(_mentions(each, reference) for each in schema)


def _describe(schema: Schema, description: str | None) -> None:
    """The docstring's words, where the type brings none of its own."""
    if description:
        schema.setdefault("description", description)


def _put_default(schema: Schema, parameter: Parameter, callee: Callee) -> None:
    """The default as JSON, if it has such a form and the type reads it back."""
    if parameter.default is EMPTY or parameter.kind in VARIADIC:
        return
    with suppress(ForeignError), looking():
        if not is_finite(parameter.default):
            return
        default = to_plain(parameter.default)
        if not _is_of_its_type(parameter) and not is_plain(parameter.annotation):
            alone = replace(callee, parameters=(parameter,))
            Adaptor(alone, [parameter.key]).bind({parameter.key: default})
        schema["default"] = default


def _is_of_its_type(parameter: Parameter) -> bool:
    return (
        isinstance(parameter.annotation, type) and type(parameter.default) is parameter.annotation
    )
