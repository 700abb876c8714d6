"""Whose a request is: its own caller with what that may now, whatever its session began with."""

import pytest
from faces.mcp.projects import project
from faces.mcp.raw import client
from faces.mcp.serving import served
from faces.mcp.test_approvals import ANN, ASKING, paid

from toolrt import Caller
from toolrt.core.redaction import Secret

pytestmark = pytest.mark.anyio
CODE = """
import asyncio
import toolrt
async def quick(context: toolrt.Context) -> dict:
    "Says who calls."
    return context.caller.document()
async def slow(context: toolrt.Context) -> dict:
    "Says it later."
    await asyncio.sleep(0)
    return context.caller.document()
"""
TOOLS = """
tools:
  quick: {python: "says:quick", effect: read}
  slow: {python: "says:slow", effect: read, timeout: 5s}
"""
BEFORE = Caller("ann", ("finance",), "a", claims={"n": 1}, scopes=("s",))


def now(**more):
    return Caller("ann", tenant="a", **more)


@pytest.mark.parametrize("tool", ["quick", "slow"])
async def test_a_request_in_a_session_has_the_roles_and_claims_of_now(folder, tool):
    made = project(folder, TOOLS, says_py=CODE)
    async with served(made, caller=BEFORE) as site, client(site.url, "handshake") as raw:
        first = (await raw.call(tool)).result["structuredContent"]
        site.app.caller = now(roles=("guest",), claims={"n": 2})
        later = (await raw.call(tool)).result["structuredContent"]

    assert first["roles"] == ["finance"]
    assert (later["roles"], later["claims"], later["scopes"]) == (["guest"], {"n": 2}, [])
    assert later["session"] == first["session"] is not None


@pytest.mark.parametrize("tool", ["quick", "slow"])
async def test_a_request_in_a_session_has_the_credentials_of_now(folder, tool):
    made = project(folder, TOOLS, says_py=CODE)
    async with served(made, caller=BEFORE) as site, client(site.url, "handshake") as raw:
        await raw.call(tool)
        site.app.caller = now(credentials={"gh": Secret("second")})
        await raw.call(tool)
        seen = site.endpoint.sessions.known(
            raw.session["mcp-session-id"].encode(), site.app.caller, None
        )

    assert seen.named(site.app.caller).credentials == {"gh": Secret("second")}


@pytest.mark.parametrize("other", [Caller("bob", tenant="a"), Caller("ann", tenant="b")])
async def test_a_session_is_of_who_opened_it_for_every_method(folder, other):
    async with (
        served(project(folder), caller=BEFORE) as site,
        client(site.url, "handshake") as raw,
    ):
        site.app.caller = other
        headers = {"accept": "text/event-stream", **raw.session}
        statuses = [
            (await raw.ask("tools/list")).status,
            (await raw.call("add", {"a": 1})).status,
            (await raw.http.get(site.url, headers=headers)).status_code,
            (await raw.http.delete(site.url, headers=raw.session)).status_code,
        ]

    assert statuses == [404] * 4


async def test_who_may_approve_no_more_when_they_answer_decides_nothing(folder):
    async with (
        served(project(folder, ASKING), caller=ANN) as site,
        client(site.url, "handshake", elicitation={}) as raw,
        raw.stream("tools/call", {"name": "pay", "arguments": {}}) as messages,
    ):
        async for message in messages:
            if message.get("method") == "elicitation/create":
                site.app.caller = Caller("ann")
                said = {"action": "accept", "content": {"decision": "approve"}}
                await raw.respond(message["id"], said)
            if "result" in message:
                break
        (record,) = await site.runtime.approvals.listed()

    assert message["result"]["isError"] is True
    assert record.state == "pending"
    assert paid(folder) == []


async def test_a_call_whose_code_is_unknown_tool_is_made_once(folder):
    tools = """
    tools:
      unknown: {python: "unknown:unknown", effect: write}
    """
    code = """
    import pathlib
    import toolrt
    async def unknown() -> dict:
        "Says that there is no such tool."
        with pathlib.Path(__file__).with_name("runs.txt").open("a") as file:
            file.write("ran\\n")
        raise toolrt.ToolError("no such tool", code="unknown-tool")
    """
    made = project(folder, tools, unknown_py=code)
    said = []
    async with served(made) as site:
        for era in ("handshake", "modern"):
            async with client(site.url, era) as raw:
                await raw.ask("tools/list")
                said.append((await raw.call("unknown")).result)

    assert [each["isError"] for each in said] == [True, True]
    assert {each["_meta"]["toolrt/code"] for each in said} == {"unknown-tool"}
    assert (folder / "runs.txt").read_text().splitlines() == ["ran"] * 2
