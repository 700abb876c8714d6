"""Google's Gemini: function declarations, parts `functionCall`, and parts `functionResponse`.

Names are in camel case on the wire and in snake case in the SDK's objects; both are read.
"""

from collections.abc import Iterator, Mapping, Sequence
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
    told_of,
    tool_call,
)
from toolrt.dialects.content import Blob, blobs, is_failed, notes, said, words
from toolrt.dialects.names import LONGEST, WireNames
from toolrt.schemas.profiles import GOOGLE
from toolrt.schemas.strict import rewritten

NAME: Final = "google"
LONGEST_NAME: Final = LONGEST
IS_TEXT: Final = False

_SHAPE = "hand over the whole answer, its `candidates[0].content`, or the parts of it"
_BROKEN: Mapping[str, str] = {
    "MALFORMED_FUNCTION_CALL": "the model wrote a call that is none",
    "UNEXPECTED_TOOL_CALL": "the model called a tool although the request has none",
}
"""Reasons to end that leave no call behind."""


def export_tools(tools: Sequence[Offered], names: WireNames, strict: Strict = "auto") -> Export:
    """The `functionDeclarations` of a tool of a request, with JSON Schema in Google's subset.

    A declaration is not strict by itself: the mode VALIDATED of a request holds the model to all.
    """
    del strict

    def made(tool: Offered) -> tuple[dict[str, Any] | None, Sequence[Told]]:
        done = rewritten(tool.input_schema, GOOGLE)
        told = told_of(tool, [*done.changes, *done.obstacles])
        if done.schema is None:
            return None, told
        document: dict[str, Any] = {
            "name": names.wire(tool.name),
            "description": description_of(tool, names),
        }
        if done.schema["properties"]:
            document["parametersJsonSchema"] = done.schema
        return document, told

    return exported(tools, names, made)


def is_response(response: Any) -> bool:
    """Whether it is an answer with candidates, or the content of one."""
    if not isinstance(response, Mapping):
        return False
    return isinstance(response.get("candidates"), list) or isinstance(response.get("parts"), list)


def parse_calls(response: Any, names: WireNames) -> list[ToolCall]:
    """The function calls of an answer, which have no id with most models. Raises ParseError."""
    parts, reason = _parts(response)
    found = list(_calls(parts))
    made = [
        tool_call(number, each.get("id"), each.get("name"), each.get("args"), names)
        for number, each in enumerate(found, 1)
    ]
    if not made and reason is not None and reason in _BROKEN:
        hint = "ask the model again"
        raise ParseError(_BROKEN[reason], NAME, "candidates[0].finishReason", hint)
    if made and reason == "MAX_TOKENS" and parts and found[-1] in parts[-1].values():
        made[-1] = made[-1]._replace(arguments=CUT_OFF)
    return made


def format_results(
    calls: Sequence[ToolCall], results: Sequence[ToolResult], names: WireNames
) -> list[dict[str, Any]]:
    """One content of the user with a part for each call; images follow as parts of their own."""
    answers: list[dict[str, Any]] = []
    beside: list[dict[str, Any]] = []
    for call, result in zip(calls, results, strict=True):
        response: dict[str, Any] = {"name": call.name, "response": _response(result, names)}
        if call.has_id:
            response["id"] = call.id
        answers.append({"functionResponse": response})
        beside += [] if is_failed(result) else map(_inline, blobs(result))
    return [{"role": "user", "parts": [*answers, *beside]}] if answers else []


def _parts(response: Any) -> tuple[list[Mapping[str, Any]], str | None]:
    """The parts of the one candidate of an answer, and why it ended there."""
    reason, at = None, "parts"
    if isinstance(response, Mapping) and "candidates" in response:
        candidates = response["candidates"]
        if not isinstance(candidates, list) or not candidates:
            raise ParseError("the answer has no candidates", NAME, "candidates", _SHAPE)
        if len(candidates) > 1:
            hint = "ask for one, or hand over the content of the one that counts"
            raise ParseError(
                f"the answer has {len(candidates)} candidates", NAME, "candidates", hint
            )
        first = candidates[0] if isinstance(candidates[0], Mapping) else {}
        reason = first.get("finishReason", first.get("finish_reason"))
        response, at = first.get("content") or {"parts": []}, "candidates[0].content.parts"
    if isinstance(response, Mapping):
        response = response.get("parts", [] if "role" in response else None)
    parts = response
    if not isinstance(parts, list) or not all(isinstance(each, Mapping) for each in parts):
        raise ParseError("the answer has no parts", NAME, at, _SHAPE)
    return parts, reason


def _calls(parts: Sequence[Mapping[str, Any]]) -> Iterator[Mapping[str, Any]]:
    for part in parts:
        found = part.get("functionCall", part.get("function_call"))
        if isinstance(found, Mapping):
            yield found


def _response(result: ToolResult, names: WireNames) -> dict[str, Any]:
    """The answer of a function: an object with its `output`, and notes, or an `error`."""
    if is_failed(result):
        return {"error": said(result, names)}
    beside = {"notes": told} if (told := notes(result, names)) else {}
    if result.text or blobs(result):
        return {"output": words(result, names), **beside}
    return {"output": result.data, **beside}


def _inline(blob: Blob) -> dict[str, Any]:
    return {"inlineData": {"mimeType": blob.media_type, "data": str(blob.base64)}}
