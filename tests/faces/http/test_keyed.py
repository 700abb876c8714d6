"""`Idempotency-Key`: the same call made again has the answer of the first."""

import asyncio
from typing import Any

import httpx
import pytest
from served import FILES, PEOPLE, Served, served
from until import until

from toolrt.faces.http import keyed as subject
from toolrt.stores import idempotency

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


@pytest.mark.realtime
async def test_a_call_that_runs_keeps_its_key_however_long_it_takes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(idempotency, "LEASE_S", 0.0)
    monkeypatch.setattr(subject, "_LEASE_S", 0.4)
    monkeypatch.setattr(subject, "_RENEW_S", 0.1)
    async with served(COUNTS) as server:
        running = asyncio.create_task(keyed(server, "c.add", "k", seconds=1.5))
        await asyncio.sleep(1.0)
        [beside] = subject.routes(server.site)  # another worker of the store
        calls: Any = beside.endpoint.__closure__[0].cell_contents  # type: ignore[attr-defined]
        wanted = subject._Wanted("c.add", {"seconds": 1.5}, subject.Caller(), 0.0, {})
        found = await calls._standing(calls._call(wanted, b"k"), "other")
        first = await running
        count = (server.runtime.project / "count").read_text()

    assert found.standing == "running"
    assert (first.status_code, count) == (200, "x")


@pytest.mark.realtime
async def test_what_runs_here_is_never_taken_for_dead(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(idempotency, "LEASE_S", 0.0)
    monkeypatch.setattr(subject, "_LEASE_S", 0.1)
    async with served(COUNTS) as server:
        running = asyncio.create_task(keyed(server, "c.add", "k", seconds=1.0))
        await asyncio.sleep(0.6)
        second = await keyed(server, "c.add", "k", seconds=1.0)
        first = await running

    assert first.json() == second.json()


@pytest.mark.parametrize(
    ("condition", "status", "code"),
    [("args.seconds < 1.0", 403, "denied"), ("true", 404, "unknown-tool")],
)
async def test_what_came_before_is_for_who_may_still_call(
    condition: str, status: int, code: str
) -> None:
    files = {**COUNTS, "toolrt.yaml": PEOPLE}
    async with served(files) as server:
        first = await keyed(server, "c.add", "k", "bot-key")
        path = server.runtime.project / "policies.d" / "p.yaml"
        path.parent.mkdir(exist_ok=True)
        rule = f"{{id: no, decide: deny, tools: [c.add], when: '{condition}'}}"
        path.write_text(f"rules: [{rule}]\ndefault: allow\n")
        outcome = await server.runtime.reload("test")
        second = await keyed(server, "c.add", "k", "bot-key")

    assert first.status_code == 200
    assert outcome.is_accepted
    assert (second.status_code, second.json()["code"]) == (status, code)


async def test_a_wait_for_people_ends_with_who_waits() -> None:
    async with served(COUNTS) as server:
        with pytest.raises(httpx.ReadTimeout):
            await server.client.post(
                "/v1/tools/t.pay/call?wait=1m",
                json={"arguments": {"to": "a", "amount": 1}},
                headers={"Idempotency-Key": "k"},
                timeout=0.5,
            )

        async def paused() -> bool:
            again = await keyed(server, "t.pay", "k", to="a", amount=1)
            return again.status_code == 202

        assert await until(paused)


async def test_not_everybody_can_wait_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(subject, "_MOST_WAITING", 0)
    async with served(COUNTS) as server:
        reply = await server.post(
            "/v1/tools/t.pay/call?wait=1m", {"arguments": {"to": "a", "amount": 1}}
        )

    assert reply.status_code == 202
