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


MANY = {
    "toolrt.yaml": "builtins: [search_tools, call_tool]\n"
    "retrieval: {max_told: 2, always: ['t.kept']}\n",
    "tools.d/t.yaml": "namespace: t\ntools:\n"
    "  kept: {description: Kept., effect: read, command: [echo]}\n"
    "  left: {description: Left., effect: read, command: [echo], tags: [some]}\n",
    "policies.d/p.yaml": ALL,
}


async def test_r9_a_request_has_the_tools_that_models_are_told_of() -> None:
    async with served(MANY) as server:
        made = (await server.get("/v1/tools?dialect=anthropic")).json()
        known = await server.runtime.export("anthropic")
        some = (await server.get("/v1/tools?dialect=anthropic&tag=some")).json()["tools"]
        found = (await server.get("/v1/tools?dialect=anthropic&q=left")).json()["tools"]
        people = (await server.get("/v1/tools")).json()["tools"]
    assert [each["name"] for each in made["tools"]] == ["call_tool", "search_tools", "t_kept"]
    assert (made["tools"], made["fingerprint"]) == (known.documents, known.fingerprint)
    assert [each["name"] for each in some] == ["t_left"]
    assert "t_left" in [each["name"] for each in found]
    assert len(people) == 4


async def test_u82_tools_that_stand_apart_for_their_vendor_are_told_too() -> None:
    tools = "tools:\n  find: {provider: {vendor: google, type: google_search}}\n"
    files = {"tools.d/w.yaml": tools, "policies.d/p.yaml": ALL}
    async with served(files) as server:
        made = (await server.get("/v1/tools?dialect=google")).json()
        known = await server.runtime.export("google")
    assert known.hosted
    assert made["hosted"] == list(known.hosted)
