"""Where the parameters that a manifest writes and those of the function have come apart."""

import types
import typing
from collections.abc import Iterator, Mapping
from datetime import date, datetime, time, timedelta
from pathlib import Path
from typing import Any
from uuid import UUID

from toolrt.core.faults import Fault
from toolrt.core.names import did_you_mean, nearest
from toolrt.schemas.annotations import field_names, without_metadata
from toolrt.schemas.conversion import flattened
from toolrt.schemas.signatures import VAR_KEYWORD, VARIADIC, Callee, Parameter

_UNIONS = (typing.Union, types.UnionType)
_JSON_TYPES: Mapping[Any, frozenset[str]] = {
    str: frozenset({"string"}),
    int: frozenset({"integer"}),
    float: frozenset({"integer", "number"}),
    bool: frozenset({"boolean"}),
    list: frozenset({"array"}),
    dict: frozenset({"object"}),
    type(None): frozenset({"null"}),
    **dict.fromkeys((bytes, date, datetime, time, timedelta, UUID, Path), frozenset({"string"})),
    **dict.fromkeys((tuple, set, frozenset), frozenset({"array"})),
}

_BY_IDENTITY = {id(annotation): names for annotation, names in _JSON_TYPES.items()}
"""So that no metaclass of a user's has a say in the look-up."""


def drift(callee: Callee, schema: Mapping[str, Any]) -> Iterator[Fault]:
    """Faults (signature-drift) of the written arguments' `schema`; paths begin at the tool."""
    properties: Mapping[str, Any] = schema.get("properties", {})
    required = frozenset(schema.get("required", ()))
    whole = flattened(callee, properties)
    if whole is not None:
        yield from _unknown(callee, properties, field_names(whole.annotation))
        return
    parameters = {each.key: each for each in callee.visible if each.kind != VAR_KEYWORD}
    if callee.of_kind(VAR_KEYWORD) is None:
        yield from _unknown(callee, properties, frozenset(parameters))
    for key, parameter in parameters.items():
        if key in properties:
            yield from _clashes(callee, parameter, properties[key], key in required)
        elif parameter.is_required and not nearest(key, properties.keys() - parameters.keys()):
            message = f"{callee.label} requires `{key}`, which is not among the parameters"
            hint = "write it, or give it a default in the function"
            yield Fault("signature-drift", message, ("/", "parameters"), hint, on_key=True)


def _unknown(
    callee: Callee, properties: Mapping[str, Any], known: frozenset[str]
) -> Iterator[Fault]:
    for name in properties:
        if name not in known:
            message = f"{callee.label} does not take `{name}`"
            yield _fault(name, message, did_you_mean(name, sorted(known)), on_key=True)


def _clashes(
    callee: Callee, parameter: Parameter, schema: Any, is_required: bool
) -> Iterator[Fault]:
    if not isinstance(schema, dict):
        return
    name = parameter.key
    if parameter.is_required and not is_required and not {"default", "default_from"} & {*schema}:
        message = f"`{name}` may be left out here, but {callee.label} requires it"
        yield _fault(name, message, "give it a default here or in the function", on_key=True)
    wanted = _json_types(parameter)
    written = schema.get("type")
    given = frozenset([written] if isinstance(written, str) else written or ())
    if wanted is not None and given and not given & wanted:
        message = f"`{name}` is {_listed(given)} here, but {_listed(wanted)} in {callee.label}"
        yield _fault(name, message, None, on_key=False)


def _json_types(parameter: Parameter) -> frozenset[str] | None:
    """The JSON types that a parameter takes; None when that is not plain to see."""
    if parameter.kind in VARIADIC:
        return frozenset({"array"})
    return _types_of(parameter.annotation)


def _types_of(annotation: Any) -> frozenset[str] | None:
    bare = without_metadata(annotation)
    origin = typing.get_origin(bare)
    if origin in _UNIONS:
        branches = [_types_of(each) for each in typing.get_args(bare)]
        known = [each for each in branches if each is not None]
        return frozenset().union(*known) if len(known) == len(branches) else None
    return _BY_IDENTITY.get(id(origin or bare))


def _listed(names: frozenset[str]) -> str:
    return " or ".join(sorted(names))


def _fault(name: str, message: str, hint: str | None, *, on_key: bool) -> Fault:
    path = ("/", "parameters", name)
    return Fault("signature-drift", message, path, hint, on_key=on_key)
