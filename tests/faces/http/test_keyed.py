"""`Idempotency-Key`: the same call made again has the answer of the first."""

import asyncio
from typing import Any

import httpx
import pytest
from served import FILES, Served, served

pytestmark = pytest.mark.anyio
COUNTING = """
namespace: c
tools:
  add:
    description: Count up.
    parameters: {text: {type: string, default: x}, seconds: {type: number, default: 0}}
    shell: {script: 'sleep "$2"; printf "%s" "$1" >> count; cat count', argv: ["{{ text }}", "{{ seconds }}"]}
    effect: write
  fails: {description: Fail., shell: "printf x >> count; exit 3", effect: write}
  secret:
    description: Secret.
    parameters: {pin: {type: string, sensitive: true}}
    shell: {script: 'printf "%s" x >> count', env: {PIN: "{{ pin }}"}}
    effect: write
"""
COUNTS = {**FILES, "tools.d/c.yaml": COUNTING}


async def keyed(
    server: Served, tool: str, key: str, bearer: str | None = None, **arguments: Any
) -> httpx.Response:
    headers = {"Idempotency-Key": key.encode()}
    if bearer:
        headers["Authorization"] = f"Bearer {bearer}".encode()
    body = {"arguments": arguments}
    return await server.client.post(f"/v1/tools/{tool}/call", json=body, headers=headers)


async def test_the_same_key_runs_once_and_answers_the_same() -> None:
    async with served(COUNTS) as server:
        first, second = [await keyed(server, "c.add", "k1") for _ in range(2)]
        third = await keyed(server, "c.add", "k2")

    assert first.json() == second.json()
    assert second.headers["idempotency-replayed"] == "true"
    assert "idempotency-replayed" not in first.headers
    assert third.json()["text"] == "xx"


async def test_the_same_key_at_the_same_time_runs_once() -> None:
    async with served(COUNTS) as server:
        made = await asyncio.gather(*(keyed(server, "c.add", "k", seconds=0.3) for _ in range(5)))
        count = (server.runtime.project / "count").read_text()

    assert {each.json()["call_id"] for each in made} == {made[0].json()["call_id"]}
    assert count == "x"


async def test_a_key_is_of_one_set_of_arguments() -> None:
    async with served(COUNTS) as server:
        await keyed(server, "c.add", "k")
        other = await keyed(server, "c.add", "k", text="y")
        count = (server.runtime.project / "count").read_text()

    assert (other.status_code, other.json()["code"], count) == (422, "conflict", "x")


async def test_a_failure_of_the_tool_is_an_answer_and_a_refusal_leaves_the_key_free() -> None:
    async with served(COUNTS) as server:
        failed = [await keyed(server, "c.fails", "k") for _ in range(2)]
        refused = await keyed(server, "c.add", "r", text=5)
        good = await keyed(server, "c.add", "r", text="y")
        count = (server.runtime.project / "count").read_text()

    assert failed[0].json() == failed[1].json()
    assert (refused.status_code, good.status_code, count) == (400, 200, "xy")


async def test_a_call_goes_on_where_its_caller_hangs_up() -> None:
    async with served(COUNTS) as server:
        with pytest.raises(httpx.ReadTimeout):
            await server.client.post(
                "/v1/tools/c.add/call",
                json={"arguments": {"seconds": 0.8}},
                headers={"Idempotency-Key": "k"},
                timeout=0.3,
            )
        again = await keyed(server, "c.add", "k", seconds=0.8)

    assert again.json()["text"] == "x"


async def test_a_pause_leaves_the_key_free_and_the_run_takes_it() -> None:
    async with served(COUNTS) as server:
        first = await keyed(server, "t.pay", "k", to="a", amount=1)
        operator = server.site.access.starting.operator(())
        await server.runtime.approvals.approve(first.json()["pause"]["approval_id"], operator)
        second, third = [await keyed(server, "t.pay", "k", to="a", amount=1) for _ in range(2)]

    assert [first.status_code, second.status_code, third.status_code] == [202, 200, 200]
    assert second.json() == third.json()


async def test_nothing_is_kept_of_sensitive_tools() -> None:
    async with served(COUNTS) as server:
        first, second = [await keyed(server, "c.secret", "k", pin="1234") for _ in range(2)]
        count = (server.runtime.project / "count").read_text()

    assert (first.status_code, second.status_code, count) == (200, 409, "x")
    assert second.json()["code"] == "already-done"


@pytest.mark.parametrize("key", ["", "x" * 256, "a b", "é"])
async def test_a_key_has_a_length(key: str) -> None:
    async with served(COUNTS) as server:
        reply = await keyed(server, "c.add", key)

    assert reply.status_code == 400
