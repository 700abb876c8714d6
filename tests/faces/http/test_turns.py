"""Vendors' formats over HTTP: tools out, a model's answer in."""

import pytest
from served import served

from toolrt.faces.http.calling import ends

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


VERSIONS = """
namespace: w
tools:
  find: {provider: {vendor: anthropic, type: web_search_20250305}}
  look: {provider: {vendor: anthropic, type: web_fetch_20250910}, hitl: confirm}
  say@1: {description: Old., effect: read, command: [echo, old]}
  say@2: {description: New., effect: read, command: [echo, new]}
  pay@1: {description: Pay., effect: irreversible, command: [echo, paid]}
"""
ALL = "rules:\n  - {id: all, decide: allow, tools: ['*']}\n"


async def test_u82_a_vendor_is_not_told_of_what_people_have_to_be_asked_about() -> None:
    files = {"tools.d/w.yaml": VERSIONS, "policies.d/p.yaml": ALL}
    async with served(files) as server:
        made = (await server.get("/v1/tools?dialect=anthropic")).json()["tools"]
    assert [each["name"] for each in made if "type" in each] == ["web_search"]


async def test_a_tool_is_looked_at_by_every_name_that_calls_it() -> None:
    async with served({"tools.d/w.yaml": VERSIONS}) as server:
        found = {
            name: (await server.get(f"/v1/tools/{name}")).json().get("name")
            for name in ("w.say", "w.say@2", "w.say@1", "w.say@3")
        }
    assert found == {"w.say": "w.say", "w.say@2": "w.say", "w.say@1": "w.say@1", "w.say@3": None}


async def test_calls_that_may_come_to_what_cannot_be_undone_outlast_their_connection() -> None:
    files = {"tools.d/w.yaml": VERSIONS, "toolrt.yaml": "builtins: [call_tool, search_tools]\n"}
    async with served(files) as server:
        names = ("w.say", "w.pay", "w.pay@1", "call_tool", "search_tools")
        paths = (f"/v1/tools/{name}/call".encode() for name in names)
        ended = [ends(server.runtime, {"raw_path": path}) for path in paths]
    assert ended == [True, False, False, False, True]
