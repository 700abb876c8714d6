"""MCP: the documents of `tools/list`, and the results of `tools/call`, of every revision.

Up to 2025-11-25 structured output is an object; from 2026-07-28 it is any JSON value. What a tool
answers in another shape stands under `result` for the former.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from toolrt.core.results import ToolResult
from toolrt.dialects.base import (
    Export,
    Offered,
    ParseError,
    Strict,
    Told,
    ToolCall,
    description_of,
    exported,
    tool_call,
)
from toolrt.dialects.content import Blob, blobs, is_failed, notes, words
from toolrt.dialects.names import LONGEST_MCP, WireNames
from toolrt.schemas.strict import TITLES, cleaned

NAME: Final = "mcp"
LONGEST_NAME: Final = LONGEST_MCP
IS_TEXT: Final = False

MODERN: Final = "2026-07-28"
"""The first revision of the stateless era; revisions compare as texts."""

WRAPPED: Final = "result"
"""Where structured output stands that is no object, for clients that know only objects."""

NOTICE: Final = "toolrt/notice"
"""Where it is said why an answer is not what the output schema says."""
CUT: Final = "the answer was too long, and is cut; its text has what is there of it"

_OPEN_WORLD = frozenset({"http", "mcp"})
_SHARED = frozenset({"$defs", "$schema", "definitions"})
_LIFTABLE = _SHARED | {"additionalProperties", "description", "properties", "required", "type"}
_SHAPE = 'hand over the params of `tools/call`: {"name": "files_size", "arguments": {…}}'


def tool_document(
    tool: Offered, names: WireNames, revision: str = MODERN, *, asks: bool = False
) -> dict[str, Any]:
    """A tool as `tools/list` shows it to clients of a revision; `asks` says that a person is asked
    before each call of it.

    The server shows the same. It is only told what the project says: annotations are hints, and
    relax nothing. Schemas are whole but for their titles, as MCP takes all of JSON Schema.
    """
    schema = cleaned(tool.input_schema, TITLES)
    made: dict[str, Any] = {"name": names.wire(tool.name)}
    if tool.title:
        made["title"] = tool.title
    made["description"] = description_of(tool, names)
    made["inputSchema"] = {"type": "object", "properties": {}, **schema}
    if tool.told_schema is not None:
        made["outputSchema"] = output_schema(tool.told_schema, revision)
    made["annotations"] = annotations(tool)
    if asks:
        made["_meta"] = {"toolrt/asks": True}
    return made


def annotations(tool: Offered) -> dict[str, bool]:
    """What the effect of a tool comes to: what reads is neither destructive nor counts twice.

    A write may always overwrite, as nobody said that it only adds; so does one that may be
    repeated, such as a deletion. What speaks to services reaches an open world; of other kinds
    it is not known.
    """
    is_read = tool.effect == "read"
    made = {
        "readOnlyHint": is_read,
        "destructiveHint": not is_read,
        "idempotentHint": is_read or tool.is_idempotent,
    }
    if tool.kind in _OPEN_WORLD:
        made["openWorldHint"] = True
    return made


def output_schema(schema: Mapping[str, Any], revision: str) -> dict[str, Any]:
    """The schema of structured output as clients of a revision take it. It takes a notice, too: a
    call that went well, and whose answer was cut or is of another shape, is no failure.
    """
    made: dict[str, Any] = cleaned(schema, TITLES)
    if revision >= MODERN or made.get("type") == "object":
        return _or_notice(made)
    inner, shared = _parted(made)
    wrapped = {"type": "object", "properties": {WRAPPED: inner}, "required": [WRAPPED]}
    return _or_notice({**wrapped, **shared})


def _or_notice(schema: dict[str, Any]) -> dict[str, Any]:
    """The same, or an object with a notice alone."""
    noticed = {NOTICE: {"type": "string"}}
    if schema.get("type") == "object" and schema.keys() <= _LIFTABLE:
        made = {**schema, "properties": {**schema.get("properties", {}), **noticed}}
        if required := made.pop("required", None):
            made["anyOf"] = [{"required": required}, {"required": [NOTICE]}]
        return made
    inner, shared = _parted(schema)
    notice = {"type": "object", "properties": noticed, "required": [NOTICE]}
    is_object = {"type": "object"} if schema.get("type") == "object" else {}
    return {**is_object, "anyOf": [inner, notice], **shared}


def _parted(schema: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """A schema to stand inside another, and what it refers to, which stays at the top."""
    inner = {word: each for word, each in schema.items() if word not in _SHARED}
    return inner, {word: each for word, each in schema.items() if word in _SHARED}


def result_document(
    result: ToolResult,
    names: WireNames,
    revision: str = MODERN,
    schema: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """A result as `tools/call` gives it; `schema` is the output schema of the tool.

    A value is structured, too, where there is a schema or it is an object. An answer that was cut
    is not what a schema says, so a notice stands in its place.
    """
    is_whole = result.status == "success" and result.for_user is None
    made: dict[str, Any] = {"content": content(result, names), "isError": is_failed(result)}
    if schema is not None and not is_whole and not is_failed(result):
        made["structuredContent"] = {NOTICE: CUT}
    elif is_whole and schema is not None:
        made["structuredContent"] = structured(result.data, schema, revision)
    elif is_whole and type(result.data) is dict and not blobs(result):
        made["structuredContent"] = result.data
    made["_meta"] = {"toolrt/call_id": result.call_id, "toolrt/status": result.status}
    return made


def structured(data: Any, schema: Mapping[str, Any], revision: str) -> Any:
    """The value of a tool with an output schema, for clients of a revision."""
    return data if revision >= MODERN or schema.get("type") == "object" else {WRAPPED: data}


def content(result: ToolResult, names: WireNames) -> list[dict[str, Any]]:
    """The parts of a result: its text, and what it holds of images, sounds and other bytes."""
    found = [] if is_failed(result) else blobs(result)
    text = {"type": "text", "text": words(result, names)}
    parts = [text, *(_part(each, result) for each in found)]
    return [*told_apart(parts, result, names), *noted(result, names)]


def told_apart(
    parts: Sequence[Mapping[str, Any]], result: ToolResult, names: WireNames
) -> list[dict[str, Any]]:
    """The parts for the model, and behind them, where the answer is for the user alone, those that
    the client shows to nobody else.
    """
    if result.for_user is None:
        return [dict(each) for each in parts]
    shown = result._replace(text=result.for_user.text, data=result.for_user.data, for_user=None)
    text = {"type": "text", "text": words(shown, names)}
    of_user = [text, *(_part(each, result) for each in blobs(shown))]
    first, *others = parts
    return [
        {**first, "annotations": {"audience": ["assistant"]}},
        *({**each, "annotations": {"audience": ["user"]}} for each in [*of_user, *others]),
    ]


def noted(result: ToolResult, names: WireNames) -> list[dict[str, Any]]:
    """A part for each note: a value that is JSON stays so."""
    return [{"type": "text", "text": each} for each in notes(result, names)]


def export_tools(tools: Sequence[Offered], names: WireNames, strict: Strict = "auto") -> Export:
    """The `tools` of `tools/list`; MCP has no strict schemas, and takes them as they are."""
    del strict

    def made(tool: Offered) -> tuple[dict[str, Any], Sequence[Told]]:
        return tool_document(tool, names), ()

    return exported(tools, names, made)


def is_response(response: Any) -> bool:
    """Whether it is a request `tools/call`, or the params of one."""
    if not isinstance(response, Mapping):
        return False
    if response.get("method") == "tools/call":
        return True
    return isinstance(response.get("name"), str) and response.keys() <= {
        "_meta", "arguments", "name", "task",
    }  # fmt: skip


def parse_calls(response: Any, names: WireNames) -> list[ToolCall]:
    """The one call of a request. Raises ParseError."""
    if not is_response(response):
        raise ParseError("this is no call of a tool", NAME, hint=_SHAPE)
    params = response.get("params") if "method" in response else response
    if not isinstance(params, Mapping):
        raise ParseError("the request has no params", NAME, "params", _SHAPE)
    number = response.get("id")
    id_ = number if isinstance(number, str) else None if number is None else str(number)
    return [tool_call(1, id_, params.get("name"), params.get("arguments"), names)]


def format_results(
    calls: Sequence[ToolCall], results: Sequence[ToolResult], names: WireNames
) -> list[dict[str, Any]]:
    """A result for each call, as of the newest revision."""
    del calls
    return [result_document(each, names) for each in results]


def _part(blob: Blob, result: ToolResult) -> dict[str, Any]:
    kind = blob.media_type.partition("/")[0]
    if kind in {"image", "audio"}:
        return {"type": kind, "data": blob.base64, "mimeType": blob.media_type}
    resource = {
        "uri": f"toolrt://calls/{result.call_id}",
        "mimeType": blob.media_type,
        "blob": blob.base64,
    }
    return {"type": "resource", "resource": resource}
