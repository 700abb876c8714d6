"""Vendors' formats over HTTP: tools out, a model's answer in."""

import pytest
from served import served

pytestmark = pytest.mark.anyio
ANSWER = {
    "choices": [{"message": {"role": "assistant", "tool_calls": [
        {"id": "c1", "type": "function",
         "function": {"name": "t_add", "arguments": '{"a": 1, "b": 4}'}},
        {"id": "c2", "type": "function", "function": {"name": "t_fails", "arguments": "{}"}},
    ]}}],
}  # fmt: skip


async def test_tools_are_exported_in_the_format_of_a_vendor() -> None:
    async with served() as server:
        made = (await server.get("/v1/tools?dialect=openai&tag=maths")).json()
        wrong = await server.get("/v1/tools?dialect=opnai")

    [tool] = made["tools"]
    assert (tool["type"], tool["function"]["name"]) == ("function", "t_add")
    assert made["fingerprint"]
    assert wrong.status_code in {400, 422}
    assert "openai" in wrong.json()["hint"]


async def test_an_answer_of_a_model_comes_back_as_messages() -> None:
    async with served() as server:
        reply = await server.post("/v1/turns", {"response": ANSWER})

    made = reply.json()
    assert reply.status_code == 200
    assert made["dialect"] == "openai"
    assert [each["tool_call_id"] for each in made["messages"]] == ["c1", "c2"]
    assert [each["status"] for each in made["results"]] == ["success", "error"]


@pytest.mark.parametrize(
    "body", [{}, {"response": {"nothing": 1}}, {"response": ANSWER, "dialect": "x"}, {"answer": 1}]
)
async def test_what_is_no_answer_is_400(body: object) -> None:
    async with served() as server:
        reply = await server.post("/v1/turns", body)

    assert reply.status_code in {400, 422}
    assert reply.json()["code"]
