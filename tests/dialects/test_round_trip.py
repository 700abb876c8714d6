"""The official clients on a service that stands in for the vendor's: what toolrt exports goes out by
them, what comes in by them is a turn, and what a turn gives goes out by them again.
"""

import json
from collections.abc import Callable
from typing import Any

import anthropic
import httpx2
import openai
import pytest

from toolrt.testing import open_files

pytestmark = pytest.mark.anyio

FILES = {
    "tools.d/t.yaml": """
        namespace: t
        tools:
          add:
            description: Add.
            parameters: {a: integer, b: {type: integer, default: 2}}
            python: "sums:add"
            effect: read
    """,
    "sums.py": "def add(a: int, b: int = 2) -> int:\n    return a + b\n",
}
CHAT = {
    "id": "x", "object": "chat.completion", "created": 1, "model": "m",
    "choices": [{"index": 0, "finish_reason": "tool_calls", "message": {
        "role": "assistant", "content": None, "tool_calls": [
            {"id": "c1", "type": "function",
             "function": {"name": "t_add", "arguments": '{"a": 1, "b": null}'}}]}}],
}  # fmt: skip
RESPONSE = {
    "id": "x", "object": "response", "created_at": 1, "model": "m", "status": "completed",
    "parallel_tool_calls": True, "tool_choice": "auto", "tools": [],
    "output": [{"type": "function_call", "id": "f", "call_id": "c1", "name": "t_add",
                "arguments": '{"a": 1, "b": null}', "status": "completed"}],
}  # fmt: skip
MESSAGE = {
    "id": "x", "type": "message", "role": "assistant", "model": "m", "stop_reason": "tool_use",
    "stop_sequence": None, "usage": {"input_tokens": 1, "output_tokens": 1},
    "content": [{"type": "tool_use", "id": "c1", "name": "t_add", "input": {"a": 1}}],
}  # fmt: skip


class Service:
    """Answers every request with `answer`, and keeps what was asked."""

    def __init__(self, answer: Any) -> None:
        self.asked: list[Any] = []
        self._answer = answer

    def client(self) -> httpx2.AsyncClient:
        def handler(request: httpx2.Request) -> httpx2.Response:
            self.asked.append(json.loads(request.content))
            return httpx2.Response(200, json=self._answer)

        return httpx2.AsyncClient(transport=httpx2.MockTransport(handler))


async def turns(dialect: str, ask: Callable[..., Any], history: Callable[..., list[Any]]) -> Any:
    """Two requests with a turn between them; gives the turn."""
    async with open_files(FILES) as rt:
        tools = (await rt.export(dialect)).documents
        answer = await ask(tools, [{"role": "user", "content": "1 + 2?"}])
        turn = await rt.turn(answer)
        await ask(tools, history(answer, turn.messages))
        return turn


async def test_openai_s_client_sends_and_reads_it_all():
    service = Service(CHAT)
    async with openai.AsyncOpenAI(api_key="none", http_client=service.client()) as client:

        async def ask(tools: Any, messages: Any) -> Any:
            return await client.chat.completions.create(model="m", messages=messages, tools=tools)

        turn = await turns(
            "openai", ask, lambda answer, messages: [answer.choices[0].message, *messages]
        )

    first, second = service.asked
    assert turn.messages == [{"role": "tool", "tool_call_id": "c1", "content": "3"}]
    assert first["tools"][0]["function"]["strict"] is True
    assert second["messages"][-1] == turn.messages[0]
    assert second["messages"][0]["tool_calls"][0]["id"] == "c1"


async def test_openai_s_client_sends_and_reads_responses():
    service = Service(RESPONSE)
    async with openai.AsyncOpenAI(api_key="none", http_client=service.client()) as client:

        async def ask(tools: Any, items: Any) -> Any:
            return await client.responses.create(model="m", input=items, tools=tools)

        turn = await turns(
            "openai_responses", ask, lambda answer, messages: [*answer.output, *messages]
        )

    assert turn.messages == [{"type": "function_call_output", "call_id": "c1", "output": "3"}]
    assert service.asked[1]["input"][-1] == turn.messages[0]
    assert service.asked[0]["tools"][0]["name"] == "t_add"


async def test_anthropic_s_client_sends_and_reads_it_all():
    service = Service(MESSAGE)
    async with anthropic.AsyncAnthropic(api_key="none", http_client=service.client()) as client:

        async def ask(tools: Any, messages: Any) -> Any:
            return await client.messages.create(
                model="m", max_tokens=9, messages=messages, tools=tools
            )

        turn = await turns(
            "anthropic",
            ask,
            lambda answer, messages: [{"role": "assistant", "content": answer.content}, *messages],
        )

    (block,) = turn.messages[0]["content"]
    assert block == {"type": "tool_result", "tool_use_id": "c1", "content": "3"}
    assert service.asked[1]["messages"][-1] == turn.messages[0]
    assert service.asked[0]["tools"][0]["strict"] is True


async def test_the_content_of_a_client_s_objects_in_a_history_is_read():
    content = anthropic.types.Message.model_validate(MESSAGE).content
    output = openai.types.responses.Response.model_validate(RESPONSE).output

    async with open_files(FILES) as rt:
        one = await rt.turn({"role": "assistant", "content": content})
        other = await rt.turn(output)

    assert (one.dialect, one.results[0].data) == ("anthropic", 3)
    assert (other.dialect, other.results[0].data) == ("openai_responses", 3)
