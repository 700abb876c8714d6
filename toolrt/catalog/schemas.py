"""Where a tool's arguments come from: `parameters`, `input_schema`, or the implementation."""

from pathlib import Path
from typing import Any

from pydantic_core import from_json

from toolrt.bindings.base import Described
from toolrt.core.faults import Fault, FaultError
from toolrt.core.faults import Path as FaultPath
from toolrt.loading.layers import Layered
from toolrt.manifest.parameters import Parameters, own_words, parameters_of
from toolrt.manifest.tool import ToolManifest
from toolrt.schemas.check import schema_faults

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
    schema = _schema(manifest.input_schema, "input_schema", folder, faults)
    return _object_schema(schema, faults) if len(faults) == before else Parameters(_NOTHING)


def described_parameters(described: Described | None, faults: list[Fault]) -> Parameters:
    """The arguments that the implementation has, or none."""
    if described is None:
        return Parameters(_NOTHING)
    faults += schema_faults(described.input_schema)
    return Parameters(described.input_schema)


def output_schema(
    manifest: ToolManifest, folder: Path, faults: list[Fault]
) -> dict[str, Any] | None:
    """The written output schema, checked."""
    if manifest.output_schema is None:
        return None
    return _schema(manifest.output_schema, "output_schema", folder, faults)


def _short_form(written: dict[str, Any], layered: Layered, faults: list[Fault]) -> Parameters:
    before = len(faults)
    parameters = parameters_of(_texts_as_written(written, layered), faults)
    told = {fault.path for fault in faults[before:]}
    for fault in schema_faults(parameters.schema):
        placed = fault.moved(_below_parameters(fault.path))
        if placed.path not in told:
            faults.append(placed)
        if fault.code == "bad-schema" and len(fault.path) > 1:
            parameters.schema["properties"][fault.path[1]] = {}
    return parameters


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


def _schema(written: dict[str, Any], key: str, folder: Path, faults: list[Fault]) -> dict[str, Any]:
    """A written schema, or the file that `{$ref: ./file.json}` names; faults are added."""
    reference = written.get("$ref")
    if not (isinstance(reference, str) and reference.startswith(("./", "../"))):
        faults += [fault.under(key) for fault in schema_faults(written)]
        return written
    try:
        schema = _file(folder, reference, key)
    except FaultError as error:
        faults.extend(error.faults)
        return _NOTHING
    for fault in schema_faults(schema):
        where = ".".join(map(str, fault.path)) or "the schema"
        message = f"in {reference}, {where}: {fault.message}"
        faults.append(Fault(fault.code, message, (key, "$ref"), fault.hint, fault.severity))
    return schema


def _file(folder: Path, reference: str, key: str) -> dict[str, Any]:
    path = folder / reference
    try:
        if path.stat().st_size > _LARGEST:
            raise FaultError(_unreadable(key, reference, "it is larger than 1 MB"))
        schema = from_json(path.read_bytes())
    except OSError as error:
        raise FaultError(_unreadable(key, reference, (error.strerror or "").lower())) from error
    except ValueError as error:
        raise FaultError(_unreadable(key, reference, f"it is no JSON: {error}")) from error
    if not isinstance(schema, dict):
        raise FaultError(_unreadable(key, reference, "it holds no JSON object"))
    return schema


def _unreadable(key: str, reference: str, why: str) -> Fault:
    message = f"cannot read {reference}: {why}"
    return Fault("unreadable-schema", message, (key, "$ref"), "the path is relative to this file")
