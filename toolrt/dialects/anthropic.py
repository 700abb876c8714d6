"""Anthropic's messages: `tools`, blocks `tool_use`, and blocks `tool_result` of the user."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from toolrt.core.results import ToolResult
from toolrt.dialects.base import (
    CUT_OFF,
    Export,
    Offered,
    ParseError,
    Strict,
    Told,
    ToolCall,
    description_of,
    exported,
    parameters_of,
    tool_call,
)
from toolrt.dialects.content import Blob, blobs, is_failed, said
from toolrt.dialects.names import LONGEST, WireNames
from toolrt.schemas.profiles import ANTHROPIC

NAME: Final = "anthropic"
LONGEST_NAME: Final = LONGEST
IS_TEXT: Final = False

MOST_STRICT: Final = 20
MOST_OPTIONAL: Final = 24
MOST_UNIONS: Final = 16
"""Strict tools of one request, and optional parameters and unions in all their schemas ("Structured
outputs: schema complexity limits").
"""

_SHAPE = "hand over the whole message, or its `content`"


class _Budget:
    """What is left of the limits of one request."""

    def __init__(self) -> None:
        self._left = {"tools": MOST_STRICT, "optional": MOST_OPTIONAL, "unions": MOST_UNIONS}

    def takes(self, schema: Mapping[str, Any]) -> bool:
        """Whether one more strict schema fits; if so, it counts."""
        used = {"tools": 1, "optional": _optional(schema), "unions": _unions(schema)}
        if any(used[what] > self._left[what] for what in used):
            return False
        self._left = {what: left - used[what] for what, left in self._left.items()}
        return True


def export_tools(tools: Sequence[Offered], names: WireNames, strict: Strict = "auto") -> Export:
    """The value of `tools` of a request. With `auto`, the first tools by name are strict, as many
    as the limits of a request let be.
    """
    budget = _Budget()

    def made(tool: Offered) -> tuple[dict[str, Any] | None, Sequence[Told]]:
        schema, is_strict, told = parameters_of(tool, ANTHROPIC, strict)
        if schema is None:
            return None, told
        if is_strict and strict == "auto" and not budget.takes(schema):
            schema, is_strict, told = parameters_of(tool, ANTHROPIC, "never")
            told.insert(0, Told(tool.name, "", "not strict: the limits of one request are used up"))
        document = {
            "name": names.wire(tool.name),
            "description": description_of(tool, names),
            "input_schema": schema,
        }
        return {**document, "strict": True} if is_strict else document, told

    return exported(tools, names, made)


def is_response(response: Any) -> bool:
    """Whether it is a message of the assistant, whose content is a list of blocks."""
    if not isinstance(response, Mapping) or not isinstance(response.get("content"), list):
        return False
    return response.get("role") == "assistant"


def parse_calls(response: Any, names: WireNames) -> list[ToolCall]:
    """The blocks `tool_use` of a message; tools that run at Anthropic are none of ours. Raises
    ParseError.
    """
    blocks, reason = _blocks(response)
    made: list[ToolCall] = []
    for block in blocks:
        if block.get("type") == "tool_use":
            number = len(made) + 1
            made.append(
                tool_call(number, block.get("id"), block.get("name"), block.get("input"), names)
            )
    if made and reason == "max_tokens" and blocks[-1].get("type") == "tool_use":
        made[-1] = made[-1]._replace(arguments=CUT_OFF)  # its input is what was there by then
    return made


def format_results(
    calls: Sequence[ToolCall], results: Sequence[ToolResult], names: WireNames
) -> list[dict[str, Any]]:
    """One message of the user with a block for each call; none without calls."""
    blocks = [_result(call, each, names) for call, each in zip(calls, results, strict=True)]
    return [{"role": "user", "content": blocks}] if blocks else []


def _blocks(response: Any) -> tuple[list[Mapping[str, Any]], str | None]:
    reason = None
    if isinstance(response, Mapping):
        if response.get("type") == "error":
            raise ParseError("the answer is an error of the vendor", NAME, "error", _SHAPE)
        reason = response.get("stop_reason")
        response = response.get("content")
    if isinstance(response, str):
        return [], reason
    if not isinstance(response, list):
        raise ParseError("the message has no content", NAME, "content", _SHAPE)
    for at, block in enumerate(response):
        if not isinstance(block, Mapping):
            raise ParseError("this is no block of content", NAME, f"content[{at}]", _SHAPE)
    return response, reason


def _result(call: ToolCall, result: ToolResult, names: WireNames) -> dict[str, Any]:
    text = {"type": "text", "text": said(result, names)}
    parts = [] if is_failed(result) else [part for each in blobs(result) if (part := _part(each))]
    made: dict[str, Any] = {
        "type": "tool_result",
        "tool_use_id": call.id,
        "content": [text, *parts] if parts else text["text"],
    }
    return {**made, "is_error": True} if is_failed(result) else made


def _part(blob: Blob) -> dict[str, Any] | None:
    """An image or a PDF as a block; None for other bytes, which the text describes."""
    source = {"type": "base64", "media_type": blob.media_type, "data": str(blob.base64)}
    if blob.is_image:
        return {"type": "image", "source": source}
    return {"type": "document", "source": source} if blob.media_type == "application/pdf" else None


def _optional(schema: Any) -> int:
    """Parameters that may be left out, at every depth."""
    own = 0
    if isinstance(schema, Mapping):
        own = len(schema.get("properties", {}).keys() - set(schema.get("required", ())))
    return own + sum(map(_optional, _inner(schema)))


def _unions(schema: Any) -> int:
    """Places that take one of several."""
    own = isinstance(schema, Mapping) and ("anyOf" in schema or type(schema.get("type")) is list)
    return own + sum(map(_unions, _inner(schema)))


def _inner(schema: Any) -> list[Any]:
    if not isinstance(schema, Mapping):
        return []
    named = [each for word in ("properties", "$defs") for each in schema.get(word, {}).values()]
    return [*named, *schema.get("anyOf", ()), schema.get("items")]
