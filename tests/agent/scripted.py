"""A model that says what a test wants, in the words of each vendor, over loopback.

It looks at what it is sent as a vendor does: each call of its last answer has an answer of its own,
by id or by name, and roles are where they belong.
"""

import json
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from loopback import Heard, Loopback, json_reply, loopback

DIALECTS = ("openai", "openai_responses", "anthropic", "google")

Call = tuple[str, Mapping[str, Any]]


@dataclass(frozen=True, slots=True)
class Says:
    """One answer: words, and calls by their names on the wire. `status` is that of HTTP."""

    text: str = ""
    calls: tuple[Call, ...] = ()
    status: int = 200


@dataclass(slots=True)
class Model:
    """What is left of the script, and every request that came."""

    dialect: str
    script: list[Says]
    requests: list[dict[str, Any]] = field(default_factory=list)
    ids: int = 0
    last: list[tuple[str, Call]] = field(default_factory=list)
    headers: Mapping[str, str] = field(default_factory=dict)
    hook: Callable[[Heard], bytes] | None = None

    def hear(self, heard: Heard) -> bytes:
        """What is answered to a request."""
        self.headers = heard.headers
        return (self.hook or self.answer)(heard)

    def answer(self, heard: Heard) -> bytes:
        body = json.loads(heard.body)
        self.requests.append(body)
        says = self.script.pop(0)
        if says.status != 200:
            return json_reply('{"error": {"message": "not now"}}', says.status)
        assert self.answered(body) == [id_ for id_, _ in self.last]
        self.last = []
        for call in says.calls:
            self.ids += 1
            self.last.append((f"id{self.ids}" if self.dialect != "google" else call[0], call))
        return json_reply(json.dumps(_WRITE[self.dialect](says.text, self.last)))

    def answered(self, body: Mapping[str, Any]) -> list[str]:
        """The calls that the end of a request answers."""
        return _ANSWERED[self.dialect](body) if self.last else []

    def results(self, at: int = -1) -> str:
        """What a request said of the calls, as text."""
        return json.dumps(self.requests[at], ensure_ascii=False)

    def tools(self, at: int = -1) -> list[str]:
        """The names of the tools of a request."""
        found = self.requests[at].get("tools", [])
        found = found[0]["functionDeclarations"] if self.dialect == "google" and found else found
        return [each.get("function", each)["name"] for each in found]


def _openai(text: str, calls: list[tuple[str, Call]]) -> Any:
    made = [
        {"id": id_, "type": "function", "function": {"name": n, "arguments": json.dumps(a)}}
        for id_, (n, a) in calls
    ]
    message: dict[str, Any] = {"role": "assistant", "content": text or None}
    if made:
        message["tool_calls"] = made
    reason = "tool_calls" if made else "stop"
    return {"object": "chat.completion", "choices": [{"message": message, "finish_reason": reason}]}


def _responses(text: str, calls: list[tuple[str, Call]]) -> Any:
    words = [{"type": "output_text", "text": text, "annotations": []}]
    message: dict[str, Any] = {"type": "message", "id": "msg_1", "role": "assistant"}
    message |= {"status": "completed", "content": words}
    made = [
        {"type": "function_call", "call_id": id_, "name": n, "arguments": json.dumps(a),
         "status": "completed"}
        for id_, (n, a) in calls
    ]  # fmt: skip
    return {"status": "completed", "output": [*([message] if text else []), *made]}


def _anthropic(text: str, calls: list[tuple[str, Call]]) -> Any:
    words = [{"type": "text", "text": text}] if text else []
    made = [{"type": "tool_use", "id": id_, "name": n, "input": a} for id_, (n, a) in calls]
    reason = "tool_use" if made else "end_turn"
    return {
        "type": "message",
        "role": "assistant",
        "content": [*words, *made],
        "stop_reason": reason,
    }


def _google(text: str, calls: list[tuple[str, Call]]) -> Any:
    words = [{"text": text}] if text else []
    made = [{"functionCall": {"name": n, "args": a}} for _, (n, a) in calls]
    content = {"role": "model", "parts": [*words, *made]}
    return {"candidates": [{"content": content, "finishReason": "STOP"}]}


_WRITE: Mapping[str, Callable[[str, list[tuple[str, Call]]], Any]] = {
    "openai": _openai,
    "openai_responses": _responses,
    "anthropic": _anthropic,
    "google": _google,
}


def _after(messages: list[Any], is_asked: Callable[[Any], bool]) -> list[Any]:
    """What stands behind the last message that asks for calls."""
    at = max(number for number, each in enumerate(messages) if is_asked(each))
    return messages[at + 1 :]


def _of_openai(body: Mapping[str, Any]) -> list[str]:
    behind = _after(body["messages"], lambda each: "tool_calls" in each)
    tools = [each for each in behind if each["role"] == "tool"]
    assert behind[: len(tools)] == tools
    return [each["tool_call_id"] for each in tools]


def _of_responses(body: Mapping[str, Any]) -> list[str]:
    behind = _after(body["input"], lambda each: each.get("type") == "function_call")
    return [each["call_id"] for each in behind if each.get("type") == "function_call_output"]


def _of_anthropic(body: Mapping[str, Any]) -> list[str]:
    [said, *_] = _after(body["messages"], lambda each: each["role"] == "assistant")
    assert said["role"] == "user"
    return [each["tool_use_id"] for each in said["content"] if each["type"] == "tool_result"]


def _of_google(body: Mapping[str, Any]) -> list[str]:
    [said, *_] = _after(body["contents"], lambda each: each["role"] == "model")
    return [
        each["functionResponse"]["name"] for each in said["parts"] if "functionResponse" in each
    ]


_ANSWERED: Mapping[str, Callable[[Mapping[str, Any]], list[str]]] = {
    "openai": _of_openai,
    "openai_responses": _of_responses,
    "anthropic": _of_anthropic,
    "google": _of_google,
}


@asynccontextmanager
async def model(dialect: str, *script: Says) -> AsyncIterator[tuple[Model, Loopback]]:
    """A model that follows a script, and where it is reached."""
    made = Model(dialect, list(script))
    async with loopback(made.hear) as server:
        yield made, server
