"""Calls by REST: results, refusals, and what waits for people."""

import asyncio
import json
from typing import Any

import pytest
from served import FILES, START_KEY, Served, served
from until import until

from toolrt.core.results import Shown, ToolResult
from toolrt.faces.http.calling import body_of

pytestmark = pytest.mark.anyio


async def questions(server: Served) -> list[Any]:
    """What waits for a person, once something does."""
    found: list[Any] = await until(server.runtime.approvals.listed)
    return found


async def test_a_call_gives_the_document_of_its_result() -> None:
    async with served() as server:
        reply = await server.call("t.add", a=1, b=4)

    assert reply.status_code == 200
    assert reply.headers["content-type"] == "application/json"
    made = reply.json()
    assert made["schema"] == "toolrt/v1"
    assert (made["status"], made["data"], made["tool"]) == ("success", 5, "t.add")


async def test_a_tool_that_failed_is_a_result() -> None:
    async with served() as server:
        reply = await server.call("t.fails")

    assert reply.status_code == 200
    assert reply.json()["error"]["code"] == "execution-failed"


@pytest.mark.parametrize(
    ("tool", "arguments", "status", "code"),
    [
        ("t.add", {}, 400, "missing-arguments"),
        ("t.add", {"a": "x"}, 400, "invalid-arguments"),
        ("t.nothing", {}, 404, "unknown-tool"),
        ("t.add", [], 400, "invalid-arguments"),
    ],
)
async def test_what_was_refused_before_it_ran_is_a_problem(
    tool: str, arguments: object, status: int, code: str
) -> None:
    async with served() as server:
        reply = await server.post(f"/v1/tools/{tool}/call", {"arguments": arguments})

    assert reply.status_code == status
    assert reply.headers["content-type"] == "application/problem+json"
    made = reply.json()
    assert (made["code"], made["status"]) == (code, status)
    assert made["hint"]
    assert made["type"] == f"urn:toolrt:problem:{code}"


async def test_a_denied_call_is_403_with_its_rule() -> None:
    rules = "rules: [{id: never, decide: deny, tools: [t.add], when: args.a == 1, reason: Not today.}]\ndefault: allow"
    async with served({**FILES, "policies.d/p.yaml": rules}) as server:
        reply = await server.call("t.add", a=1)

    assert (reply.status_code, reply.json()["code"]) == (403, "denied")
    assert reply.json()["details"] == {"rule": "never"}


async def test_a_call_that_waits_for_a_person_is_202_and_names_no_people() -> None:
    async with served() as server:
        reply = await server.call("t.pay", to="ann", amount=3)

    pause = reply.json()["pause"]
    assert reply.status_code == 202
    assert reply.headers["location"] == f"/v1/approvals/{pause['approval_id']}"
    assert pause["url"] == f"http://127.0.0.1:{server.port}/approvals/{pause['approval_id']}"
    assert "needs" not in pause


async def test_the_same_call_runs_once_it_is_approved() -> None:
    async with served() as server:
        paused = (await server.call("t.pay", to="ann", amount=3)).json()
        approvals = server.runtime.approvals
        await approvals.approve(
            paused["pause"]["approval_id"], server.site.access.starting.operator(())
        )
        reply = await server.call("t.pay", to="ann", amount=3)
        again = await server.call("t.pay", to="ann", amount=3)

    assert (reply.status_code, reply.json()["text"]) == (200, "paid ann 3")
    assert again.status_code == 202


async def test_a18_wait_runs_what_is_approved_meanwhile() -> None:
    async with served() as server:
        waiting = asyncio.create_task(
            server.post("/v1/tools/t.pay/call?wait=20s", {"arguments": {"to": "ann", "amount": 3}})
        )
        open_ = await questions(server)
        await server.runtime.approvals.approve(
            open_[0].id, server.site.access.starting.operator(())
        )
        reply = await waiting

    assert (reply.status_code, reply.json()["text"]) == (200, "paid ann 3")


async def test_wait_ends_with_the_pause_when_its_time_is_over() -> None:
    async with served() as server:
        body = {"arguments": {"to": "ann", "amount": 3}}
        reply = await server.post("/v1/tools/t.pay/call?wait=100ms", body)

    assert reply.status_code == 202


async def test_a_denied_wait_tells_why() -> None:
    async with served() as server:
        body = {"arguments": {"to": "ann", "amount": 3}}
        waiting = asyncio.create_task(server.post("/v1/tools/t.pay/call?wait=20s", body))
        open_ = await questions(server)
        me = server.site.access.starting.operator(())
        await server.runtime.approvals.deny(open_[0].id, me, note="no such person")
        reply = await waiting

    assert (reply.status_code, reply.json()["code"]) == (403, "approval-denied")
    assert "no such person" in reply.json()["detail"]


async def test_a_body_that_says_something_else_is_refused() -> None:
    async with served() as server:
        reply = await server.post("/v1/tools/t.add/call", {"a": 1})

    assert (reply.status_code, reply.json()["code"]) == (400, "invalid-body")
    assert "arguments" in reply.json()["hint"]


def requests() -> list[Any]:
    """The requests that are being answered."""
    return [task for task in asyncio.all_tasks() if "run_asgi" in repr(task)]


async def test_who_hangs_up_ends_the_call() -> None:
    async with served() as server:
        body = json.dumps({"arguments": {"seconds": 30}}).encode()
        head = b"POST /v1/tools/t.nap/call HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
        _, writer = await asyncio.open_connection("127.0.0.1", server.port)
        writer.write(head + b"Content-Length: %d\r\n\r\n" % len(body) + body)
        await writer.drain()
        await until(requests)
        writer.close()
        await until(lambda: not requests())


SLOW = """
namespace: t
tools:
  fee: {description: Slow., shell: {script: "sleep 0.6; echo done >> paid.txt"}, effect: irreversible}
"""


@pytest.mark.parametrize("query", ["", "?wait=5s"])
async def test_what_cannot_be_undone_goes_on_where_its_caller_hangs_up(query: str) -> None:
    async with served({**FILES, "tools.d/fee.yaml": SLOW}) as server:
        path = f"/v1/tools/t.fee/call{query}"
        id_ = (await server.call("t.fee")).json()["pause"]["approval_id"]
        await server.post(f"/v1/approvals/{id_}/decision", {"decision": "approve"}, START_KEY)
        head = b"POST %b HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
        _, writer = await asyncio.open_connection("127.0.0.1", server.port)
        writer.write(head % path.encode() + b"Content-Length: 2\r\n\r\n{}")
        await writer.drain()
        await until(requests)
        await asyncio.sleep(0.1)
        writer.close()
        await until(lambda: not requests())
        kept = (server.runtime.project / "paid.txt").read_text()
        known = (await server.get(f"/v1/approvals/{id_}", START_KEY)).json()

    assert kept == "done\n"
    assert known["state"] == "succeeded"


PLAIN = ToolResult("c-1", "t.add", "success", time_s=0.001234, attempts=1, generation=3)


@pytest.mark.parametrize(
    "result",
    [
        PLAIN,
        PLAIN._replace(data={"a": [1.5, None, "\u20ac\u2028"]}, text='say "hi"\n\x07'),
        PLAIN._replace(data=[], cached=True, attempts=0),
        PLAIN._replace(context={"spilled": "x"}, final=True),
        PLAIN._replace(to="user", for_user=Shown("text", {"b": 1})),
    ],
)
async def test_the_short_way_to_a_document_is_the_document(result: ToolResult) -> None:
    assert json.loads(body_of(result)) == json.loads(json.dumps(result.document()))
