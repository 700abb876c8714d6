"""OpenAI's chat completions: `tools`, `tool_calls`, and messages of the role `tool`."""

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
from toolrt.dialects.content import Blob, blobs, said
from toolrt.dialects.names import LONGEST, WireNames
from toolrt.schemas.profiles import OPENAI

NAME: Final = "openai"
LONGEST_NAME: Final = LONGEST
IS_TEXT: Final = False

_SHAPE = "hand over the whole answer, its `choices[0].message`, or a message with `tool_calls`"


def export_tools(tools: Sequence[Offered], names: WireNames, strict: Strict = "auto") -> Export:
    """The value of `tools` of a request."""

    def made(tool: Offered) -> tuple[dict[str, Any] | None, Sequence[Told]]:
        parameters, is_strict, told = parameters_of(tool, OPENAI, strict)
        if parameters is None:
            return None, told
        function = {
            "name": names.wire(tool.name),
            "description": description_of(tool, names),
            "parameters": parameters,
            "strict": is_strict,
        }
        return {"type": "function", "function": function}, told

    return exported(tools, names, made)


def is_response(response: Any) -> bool:
    """Whether it is a chat completion, or one message of it."""
    if not isinstance(response, Mapping):
        return False
    if isinstance(response.get("choices"), list):
        return True
    is_of_words = not isinstance(response.get("content"), list)
    return response.get("role") == "assistant" and (is_of_words or "tool_calls" in response)


def parse_calls(response: Any, names: WireNames) -> list[ToolCall]:
    """The tool calls of a message. Raises ParseError."""
    message, reason, at = _message(response)
    calls = message.get("tool_calls") or []
    if not isinstance(calls, list) or not all(isinstance(each, Mapping) for each in calls):
        raise ParseError("`tool_calls` is no list of calls", NAME, f"{at}tool_calls", _SHAPE)
    made = [_call(number, each, names) for number, each in enumerate(calls, 1)]
    if reason == "length" and made:
        made[-1] = cut_off(made[-1])
    return made


def format_results(
    calls: Sequence[ToolCall], results: Sequence[ToolResult], names: WireNames
) -> list[dict[str, Any]]:
    """A message for each call. Images follow in one of the user's: a tool's hold text alone."""
    messages: list[dict[str, Any]] = []
    parts: list[dict[str, Any]] = []
    for call, result in zip(calls, results, strict=True):
        content = said(result, names)
        images = [each for each in blobs(result) if each.is_image]
        if images:
            content += "\n(shown in the next message of the user)"
            parts.append({"type": "text", "text": f"The images of the call {call.id}:"})
            parts += [_image(each) for each in images]
        messages.append({"role": "tool", "tool_call_id": call.id, "content": content})
    return [*messages, {"role": "user", "content": parts}] if parts else messages


def _message(response: Any) -> tuple[Mapping[str, Any], str | None, str]:
    """The one message of an answer, why it ended there, and the place of it."""
    if not isinstance(response, Mapping):
        raise ParseError("this is no chat completion", NAME, hint=_SHAPE)
    if response.get("object") == "chat.completion.chunk":
        raise ParseError("this is one chunk of a stream", NAME, "object", _SHAPE)
    if "choices" not in response:
        return _checked(response.get("message", response), ""), response.get("finish_reason"), ""
    choices = response["choices"]
    if not isinstance(choices, list) or not choices:
        raise ParseError("the answer has no choices", NAME, "choices", _SHAPE)
    if len(choices) > 1:
        hint = "ask for one, or hand over the message of the one that counts"
        raise ParseError(f"the answer has {len(choices)} choices", NAME, "choices", hint)
    choice = choices[0] if isinstance(choices[0], Mapping) else {}
    at = "choices[0].message."
    return _checked(choice.get("message"), at), choice.get("finish_reason"), at


def _checked(message: Any, at: str) -> Mapping[str, Any]:
    if not isinstance(message, Mapping) or message.keys().isdisjoint({"role", "tool_calls"}):
        raise ParseError("there is no message", NAME, at.rstrip("."), _SHAPE)
    return message


def _call(number: int, written: Mapping[str, Any], names: WireNames) -> ToolCall:
    """One call; a custom tool has an `input` in place of arguments, which is no JSON of ours."""
    inner = written.get("function") or written.get("custom")
    inner = inner if isinstance(inner, Mapping) else {}
    arguments = inner.get("arguments", inner.get("input"))
    return tool_call(number, written.get("id"), inner.get("name"), arguments, names)


def _image(blob: Blob) -> dict[str, Any]:
    url = f"data:{blob.media_type};base64,{blob.base64}"
    return {"type": "image_url", "image_url": {"url": url}}
