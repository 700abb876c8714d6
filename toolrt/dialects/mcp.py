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
from toolrt.dialects.content import Blob, blobs, is_failed, said
from toolrt.dialects.names import LONGEST_MCP, WireNames
from toolrt.schemas.strict import cleaned

NAME: Final = "mcp"
LONGEST_NAME: Final = LONGEST_MCP
IS_TEXT: Final = False

MODERN: Final = "2026-07-28"
"""The first revision of the stateless era; revisions compare as texts."""

WRAPPED: Final = "result"
"""Where structured output stands that is no object, for clients that know only objects."""

_SHARED = frozenset({"$defs", "definitions"})
_SHAPE = 'hand over the params of `tools/call`: {"name": "files_size", "arguments": {…}}'


def tool_document(
    tool: Offered, names: WireNames, revision: str = MODERN, *, asks: bool = False
) -> dict[str, Any]:
    """A tool as `tools/list` shows it to clients of a revision; `asks` says that a person is asked
    before each call of it.

    It is only told what the project says: annotations are hints, and relax nothing.
    """
    schema = cleaned(tool.input_schema)
    made: dict[str, Any] = {
        "name": names.wire(tool.name),
        "description": description_of(tool, names),
        "inputSchema": {"type": "object", "properties": {}, **schema},
        "annotations": annotations(tool),
    }
    if tool.title:
        made["title"] = tool.title
    if tool.output_schema is not None:
        made["outputSchema"] = output_schema(tool.output_schema, revision)
    if asks:
        made["_meta"] = {"toolrt/asks": True}
    return made


def annotations(tool: Offered) -> dict[str, bool]:
    """What the effect of a tool comes to: what reads is neither destructive nor counts twice."""
    is_read = tool.effect == "read"
    return {
        "readOnlyHint": is_read,
        "destructiveHint": tool.effect == "irreversible",
        "idempotentHint": is_read or tool.is_idempotent,
    }


def output_schema(schema: Mapping[str, Any], revision: str) -> dict[str, Any]:
    """The schema of structured output as clients of a revision take it."""
    made: dict[str, Any] = cleaned(schema)
    if revision >= MODERN or made.get("type") == "object":
        return made
    inner = {word: each for word, each in made.items() if word not in _SHARED}
    shared = {word: each for word, each in made.items() if word in _SHARED}
    return {"type": "object", "properties": {WRAPPED: inner}, "required": [WRAPPED], **shared}


def result_document(
    result: ToolResult,
    names: WireNames,
    revision: str = MODERN,
    schema: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """A result as `tools/call` gives it; `schema` is the output schema of the tool.

    A value is structured, too, where there is a schema or it is an object. What is not whole (a
    failure, a call that waits, an answer that was cut) cannot be what a schema says, and is an
    error to clients that hold it against one.
    """
    is_whole = result.status == "success" and result.for_user is None
    made: dict[str, Any] = {"content": content(result, names)}
    made["isError"] = is_failed(result) or (schema is not None and not is_whole)
    if is_whole and schema is not None:
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
    if not found:
        return [{"type": "text", "text": said(result, names)}]
    text = {"type": "text", "text": said(result, names)}
    return [text, *(_part(each, result) for each in found)]


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
