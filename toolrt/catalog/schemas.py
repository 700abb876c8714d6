"""Where a tool's arguments come from: `parameters`, `input_schema`, or the implementation."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeGuard

from pydantic_core import from_json

from toolrt.bindings.base import Described
from toolrt.core.faults import Fault, FaultError, child
from toolrt.core.faults import Path as FaultPath
from toolrt.loading.files import UnreadableError, content
from toolrt.loading.layers import Layered
from toolrt.manifest.parameters import Parameters, own_words, parameters_of
from toolrt.manifest.tool import ToolManifest
from toolrt.schemas.check import schema_faults
from toolrt.schemas.path_places import path_places
from toolrt.schemas.phrases import visible

_NOTHING: dict[str, Any] = {"type": "object", "properties": {}, "additionalProperties": False}
_LARGEST = 1_000_000


def declared_parameters(
    manifest: ToolManifest, folder: Path, layered: Layered, faults: list[Fault]
) -> Parameters | None:
    """The arguments that the manifest writes, checked; None when it writes none."""
    if manifest.parameters is not None and manifest.input_schema is not None:
        message = "`parameters` and `input_schema` say the same thing: write one"
        faults.append(Fault("two-schemas", message, ("input_schema",), on_key=True))
    if manifest.parameters is not None:
        return _short_form(manifest.parameters, layered, faults)
    if manifest.input_schema is None:
        return None
    before = len(faults)
    check = _argument_faults
    schema = _schema(manifest.input_schema, "input_schema", folder, faults, check)
    is_broken = any(fault.severity == "error" for fault in faults[before:])
    return Parameters(_NOTHING) if is_broken else _object_schema(schema, faults)


def described_parameters(
    described: Described | None, place: FaultPath, faults: list[Fault]
) -> Parameters:
    """The arguments that the implementation at `place` has, or none."""
    if described is None:
        return Parameters(_NOTHING)
    found = _argument_faults(described.input_schema)
    faults += [_of_implementation(fault, place) for fault in found]
    return Parameters(described.input_schema)


def _of_implementation(fault: Fault, place: FaultPath) -> Fault:
    """A fault of a schema that nobody wrote: it names the parameter, whose place is elsewhere."""
    is_inside = fault.path[:1] == ("properties",) and len(fault.path) > 1
    what = f"parameter `{visible(str(fault.path[1]))}`" if is_inside else "a type"
    message = f"{what} of the callable: {fault.message}"
    hint = "change it there, or write `parameters` in the manifest"
    return Fault(fault.code, message, place, hint, fault.severity)


def output_schema(
    manifest: ToolManifest, folder: Path, faults: list[Fault]
) -> dict[str, Any] | None:
    """The written output schema, checked."""
    if manifest.output_schema is None:
        return None
    return _schema(manifest.output_schema, "output_schema", folder, faults, schema_faults)


def _argument_faults(schema: Any) -> list[Fault]:
    """What is wrong with a schema of arguments; there `format: path` means that it is enforced."""
    faults = schema_faults(schema)
    if any(fault.severity == "error" for fault in faults):
        return faults
    return [*faults, *path_places(schema)[1]]


def schema_files(merged: Mapping[str, Any]) -> list[str]:
    """The files that the schemas of a tool stand in, relative to the tool's own."""
    written = [merged[key] for key in ("input_schema", "output_schema") if key in merged]
    return [name for each in written if _is_file(name := child(each, "$ref"))]


def _short_form(written: dict[str, Any], layered: Layered, faults: list[Fault]) -> Parameters:
    before = len(faults)
    parameters = parameters_of(_texts_as_written(written, layered), faults)
    told = {fault.path for fault in faults[before:]}
    for fault in _argument_faults(parameters.schema):
        placed = fault.moved(_below_parameters(fault.path))
        if placed.path not in told and not _is_shadow(placed, told):
            faults.append(placed)
        if fault.code == "bad-schema" and len(fault.path) > 1:
            parameters.schema["properties"][fault.path[1]] = {}
    return parameters


def _is_shadow(fault: Fault, told: set[FaultPath]) -> bool:
    """Whether a path is not enforced only because something else of its parameter is wrong."""
    return fault.code == "unenforced-path" and any(path[:2] == fault.path[:2] for path in told)


def _texts_as_written(written: dict[str, Any], layered: Layered) -> dict[str, Any]:
    """Where the type is string, `default: 1.10` and the like are the text "1.10"."""
    made = dict(written)
    for name, schema in written.items():
        if isinstance(schema, dict) and schema.get("type") == "string":
            made[name] = _text_parameter(schema, ("parameters", name), layered)
    return made


def _text_parameter(schema: dict[str, Any], path: FaultPath, layered: Layered) -> dict[str, Any]:
    def text(value: Any, *below: str | int) -> Any:
        if not isinstance(value, (int, float)):
            return value
        return layered.source_text((*path, *below)) or value

    made = dict(schema)
    for word in {"default", "const"} & schema.keys():
        made[word] = text(schema[word], word)
    for word in {"enum", "examples"} & schema.keys():
        values = schema[word]
        if isinstance(values, list):
            made[word] = [text(value, word, number) for number, value in enumerate(values)]
    return made


def _below_parameters(path: FaultPath) -> FaultPath:
    """A path inside the made schema, as a path below `parameters`."""
    return ("parameters", *path[1:]) if path[:1] == ("properties",) else ("parameters",)


def _object_schema(schema: dict[str, Any], faults: list[Fault]) -> Parameters:
    if schema.get("type", "object") != "object":
        message = "the arguments of a tool are an object: `type: object`"
        faults.append(Fault("wrong-type", message, ("input_schema", "type")))
    properties = schema.get("properties", {})
    if not isinstance(properties, dict):
        return Parameters(_NOTHING)
    whole = {"type": "object", **schema, "properties": properties}
    return Parameters(whole, *own_words(properties, faults, ("input_schema", "properties")))


def _schema(
    written: dict[str, Any],
    key: str,
    folder: Path,
    faults: list[Fault],
    check: Callable[[Any], list[Fault]],
) -> dict[str, Any]:
    """A written schema, or the file that `{$ref: ./file.json}` names; faults are added."""
    reference = written.get("$ref")
    if not _is_file(reference):
        faults += [fault.under(key) for fault in check(written)]
        return written
    try:
        schema = _file(folder, reference, key)
    except FaultError as error:
        faults.extend(error.faults)
        return _NOTHING
    for fault in check(schema):
        where = ".".join(map(str, fault.path)) or "the schema"
        message = f"in {visible(reference)}, {visible(where)}: {fault.message}"
        faults.append(Fault(fault.code, message, (key, "$ref"), fault.hint, fault.severity))
    return schema


def _is_file(reference: Any) -> TypeGuard[str]:
    return isinstance(reference, str) and reference.startswith(("./", "../"))


def _file(folder: Path, reference: str, key: str) -> dict[str, Any]:
    try:
        text = content(folder / reference, _LARGEST)
        schema = from_json(text) if len(text) <= _LARGEST else None
    except UnreadableError as error:
        raise FaultError(_unreadable(key, reference, str(error))) from error
    except ValueError as error:
        raise FaultError(_unreadable(key, reference, f"it is no JSON: {error}")) from error
    if not isinstance(schema, dict):
        why = "it holds no JSON object" if len(text) <= _LARGEST else "it is larger than 1 MB"
        raise FaultError(_unreadable(key, reference, why))
    return schema


def _unreadable(key: str, reference: str, why: str) -> Fault:
    message = f"cannot read {visible(reference)}: {why}"
    return Fault("unreadable-schema", message, (key, "$ref"), "the path is relative to this file")
