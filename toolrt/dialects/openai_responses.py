"""OpenAI's responses: flat `tools`, items `function_call`, and items `function_call_output`."""

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
    cut_off,
    description_of,
    exported,
    parameters_of,
    tool_call,
)
from toolrt.dialects.content import Blob, blobs, is_failed, said
from toolrt.dialects.names import LONGEST, WireNames
from toolrt.schemas.profiles import OPENAI

NAME: Final = "openai_responses"
LONGEST_NAME: Final = LONGEST
IS_TEXT: Final = False

_SHAPE = "hand over the whole response, or its `output`"
_CALL = "function_call"


def export_tools(tools: Sequence[Offered], names: WireNames, strict: Strict = "auto") -> Export:
    """The value of `tools` of a request; `strict` is always said, for it is on where it is not."""

    def made(tool: Offered) -> tuple[dict[str, Any] | None, Sequence[Told]]:
        parameters, is_strict, told = parameters_of(tool, OPENAI, strict)
        if parameters is None:
            return None, told
        document = {
            "type": "function",
            "name": names.wire(tool.name),
            "description": description_of(tool, names),
            "parameters": parameters,
            "strict": is_strict,
        }
        return document, told

    return exported(tools, names, made)


def is_response(response: Any) -> bool:
    """Whether it is a response, or a list of items with a call among them."""
    if isinstance(response, Mapping):
        return isinstance(response.get("output"), list)
    if not isinstance(response, list):
        return False
    return any(isinstance(each, Mapping) and each.get("type") == _CALL for each in response)


def parse_calls(response: Any, names: WireNames) -> list[ToolCall]:
    """The items `function_call`; what runs at OpenAI is none of ours. Raises ParseError."""
    items, is_cut = _items(response)
    made: list[ToolCall] = []
    for item in items:
        if item.get("type") == _CALL:
            found = _call(len(made) + 1, item, names)
            made.append(cut_off(found) if item.get("status") == "incomplete" else found)
    if made and is_cut:
        made[-1] = cut_off(made[-1])
    return made


def format_results(
    calls: Sequence[ToolCall], results: Sequence[ToolResult], names: WireNames
) -> list[dict[str, Any]]:
    """An item for each call."""
    return [
        {"type": "function_call_output", "call_id": call.id, "output": _output(each, names)}
        for call, each in zip(calls, results, strict=True)
    ]


def _items(response: Any) -> tuple[list[Mapping[str, Any]], bool]:
    """The items of a response, and whether it ended before they did."""
    is_cut = False
    if isinstance(response, Mapping):
        if response.get("status") == "failed":
            raise ParseError("the response is a failure of the vendor", NAME, "error", _SHAPE)
        is_cut = response.get("status") == "incomplete"
        response = response.get("output")
    if not isinstance(response, list):
        raise ParseError("the response has no output", NAME, "output", _SHAPE)
    for at, item in enumerate(response):
        if not isinstance(item, Mapping):
            raise ParseError("this is no item of a response", NAME, f"output[{at}]", _SHAPE)
    return response, is_cut


def _call(number: int, item: Mapping[str, Any], names: WireNames) -> ToolCall:
    return tool_call(number, item.get("call_id"), item.get("name"), item.get("arguments"), names)


def _output(result: ToolResult, names: WireNames) -> str | list[dict[str, Any]]:
    text = said(result, names)
    parts = [] if is_failed(result) else [part for each in blobs(result) if (part := _part(each))]
    return [{"type": "input_text", "text": text}, *parts] if parts else text


def _part(blob: Blob) -> dict[str, Any] | None:
    """An image or a PDF; None for other bytes, which the text describes."""
    url = f"data:{blob.media_type};base64,{blob.base64}"
    if blob.is_image:
        return {"type": "input_image", "image_url": url, "detail": "auto"}
    if blob.media_type == "application/pdf":
        return {"type": "input_file", "filename": "output.pdf", "file_data": url}
    return None
