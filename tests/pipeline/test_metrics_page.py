"""The page of metrics of a small run: calls of all sorts, and how things stand."""

import re

import pytest
from inline_snapshot import snapshot

from toolrt.core.calls import Caller
from toolrt.core.errors import BindingError, RefusedError
from toolrt.stores.base import StoreError
from toolrt.testing import ManualClock, open_files, stubbed, write_files

pytestmark = pytest.mark.anyio

TOOLS = """
defaults: {effect: read, retry: none}
tools:
  look: {description: Looks., command: [printf, hello], parameters: {name: string}}
  again: {description: Tries., command: [printf, hello], retry: {attempts: 3, initial: 1s}}
  broken: {description: Fails., command: ["false"], breaker: {failures: 2, recovery: 100s}, fallback: {value: none}}
  spare: {description: Fails., command: ["false"], fallback: kept}
  rare: {description: Is rare., command: [printf, hello], rate: 1/1h}
  kept: {description: Is kept., command: [printf, hello], cache: 5m}
  wipe: {description: Wipes., command: [printf, gone], effect: irreversible}
  gone: {description: Is not here., command: [no-such-program]}
"""
BOSS = Caller("boss", may=frozenset({"call", "approve", "admin"}))


class Flaky:
    """Fails the first time."""

    def __init__(self):
        self.asked = 0

    def __call__(self, _arguments):
        self.asked += 1
        if self.asked == 1:
            raise BindingError("busy", code="rate-limited", retryable=True, sent="never")
        return "hello"


async def calls(rt):
    """A few calls of every sort."""
    with stubbed(rt, {"again": Flaky()}):
        await rt.call("again", {})
    await rt.call("look", {"name": "Ada"})
    await rt.call("look", {"nmae": "Ada"})
    await rt.call("look", {})
    await rt.call("s3cret-value", {})
    for _ in range(3):
        await rt.call("broken", {})
    for _ in range(2):
        await rt.call("rare", {})
        await rt.call("kept", {})
    paused = await rt.call("wipe", {})
    await rt.approvals.approve(paused.pause.approval_id, BOSS)
    await rt.approvals.run(paused.pause.approval_id)


def shown(text, *, zeros=False):
    """Samples of a page in short, without buckets, sums and what no test can know."""
    samples = (line for line in text.splitlines() if not line.startswith("#"))
    hidden = re.compile(r"_bucket|_sum|timestamp|_info|_waiting|\.\d{2,}")
    return [
        line.removesuffix(".0")
        for line in samples
        if not hidden.search(line) and (zeros or not line.endswith(" 0.0"))
    ]


async def test_the_page_tells_of_every_sort_of_call_and_how_things_stand():
    async with open_files({"tools.d/t.yaml": TOOLS}, clock=ManualClock(1e9)) as rt:
        await calls(rt)
        text = await rt.metrics()

    assert "s3cret" not in text
    assert shown(text) == snapshot(
        [
            'toolrt_calls_total{by="caller",code="",status="success",tool="again"} 1',
            'toolrt_calls_total{by="caller",code="",status="success",tool="look"} 1',
            'toolrt_calls_total{by="caller",code="invalid-arguments",status="error",tool="look"} 1',
            'toolrt_calls_total{by="caller",code="missing-arguments",status="error",tool="look"} 1',
            'toolrt_calls_total{by="caller",code="",status="success",tool="broken"} 3',
            'toolrt_calls_total{by="caller",code="",status="success",tool="rare"} 1',
            'toolrt_calls_total{by="caller",code="rate-limited",status="error",tool="rare"} 1',
            'toolrt_calls_total{by="caller",code="",status="success",tool="kept"} 2',
            'toolrt_calls_total{by="caller",code="",status="paused",tool="wipe"} 1',
            'toolrt_calls_total{by="approval",code="",status="success",tool="wipe"} 1',
            'toolrt_calls_total{by="caller",code="unknown-tool",status="error",tool="(unknown)"} 1',
            'toolrt_call_duration_seconds_count{status="success",tool="again"} 1',
            'toolrt_call_duration_seconds_count{status="success",tool="look"} 1',
            'toolrt_call_duration_seconds_count{status="error",tool="look"} 2',
            'toolrt_call_duration_seconds_count{status="success",tool="broken"} 3',
            'toolrt_call_duration_seconds_count{status="success",tool="rare"} 1',
            'toolrt_call_duration_seconds_count{status="error",tool="rare"} 1',
            'toolrt_call_duration_seconds_count{status="success",tool="kept"} 2',
            'toolrt_call_duration_seconds_count{status="paused",tool="wipe"} 1',
            'toolrt_call_duration_seconds_count{status="success",tool="wipe"} 1',
            'toolrt_call_duration_seconds_count{status="error",tool="(unknown)"} 1',
            'toolrt_attempts_total{tool="again"} 2',
            'toolrt_attempts_total{tool="look"} 1',
            'toolrt_attempts_total{tool="broken"} 2',
            'toolrt_attempts_total{tool="rare"} 1',
            'toolrt_attempts_total{tool="kept"} 1',
            'toolrt_attempts_total{tool="wipe"} 1',
            'toolrt_retries_total{tool="again"} 1',
            'toolrt_schema_violations_total{tool="look"} 2',
            "toolrt_unknown_tool_calls_total 1",
            'toolrt_degraded_calls_total{by="value",tool="broken"} 3',
            'toolrt_throttled_calls_total{tool="rare"} 1',
            'toolrt_cache_hits_total{tool="kept"} 1',
            'toolrt_cache_misses_total{tool="kept"} 1',
            'toolrt_result_tokens_total{tool="again"} 1',
            'toolrt_result_tokens_total{tool="look"} 31',
            'toolrt_result_tokens_total{tool="broken"} 4',
            'toolrt_result_tokens_total{tool="rare"} 14',
            'toolrt_result_tokens_total{tool="kept"} 3',
            'toolrt_result_tokens_total{tool="wipe"} 40',
            'toolrt_result_tokens_total{tool="(unknown)"} 7',
            'toolrt_breaker_state{name="broken",of="tool",state="open"} 1',
            'toolrt_breaker_changes_total{name="broken",of="tool",to="open"} 1',
            'toolrt_approvals{state="succeeded"} 1',
            'toolrt_approval_decisions{verdict="approve"} 1',
            "toolrt_reload_success 1",
            "toolrt_generation 1",
            'toolrt_tools{state="available"} 7',
            'toolrt_tools{state="unavailable"} 1',
        ]
    )


async def test_a_call_that_another_one_makes_is_told_apart():
    async with open_files({"tools.d/t.yaml": TOOLS}) as rt:
        await rt.call("spare", {})
        await rt.call("spare", {})

        found = [line for line in shown(await rt.metrics()) if "_calls_total" in line]
    assert found == snapshot(
        [
            'toolrt_calls_total{by="caller",code="",status="success",tool="spare"} 2',
            'toolrt_calls_total{by="tool",code="",status="success",tool="kept"} 2',
            'toolrt_degraded_calls_total{by="tool",tool="spare"} 2',
        ]
    )


async def test_counts_survive_a_reload():
    async with open_files({"tools.d/t.yaml": TOOLS}) as rt:
        await rt.call("look", {"name": "Ada"})
        before = shown(await rt.metrics())
        write_files(rt.project, {"tools.d/t.yaml": TOOLS.replace("Looks.", "Looks closely.")})
        assert (await rt.reload("test")).is_new
        await rt.call("look", {"name": "Ada"})
        after = shown(await rt.metrics())

    assert [line for line in after if line not in before] == snapshot(
        [
            'toolrt_calls_total{by="caller",code="",status="success",tool="look"} 2',
            'toolrt_call_duration_seconds_count{status="success",tool="look"} 2',
            'toolrt_attempts_total{tool="look"} 2',
            'toolrt_result_tokens_total{tool="look"} 3',
            "toolrt_generation 2",
        ]
    )


async def test_l2_a_reload_that_is_refused_is_told():
    async with open_files({"tools.d/t.yaml": TOOLS}) as rt:
        write_files(rt.project, {"tools.d/t.yaml": "tools: ["})
        await rt.reload("test")
        text = await rt.metrics()

    assert "toolrt_reload_success 0.0" in text
    assert "toolrt_generation 1.0" in text


async def test_r32_a_breaker_is_told_by_its_target_and_the_strictest_state_counts():
    tools = """
    targets: {shop: {url: "http://127.0.0.1:9"}}
    defaults: {effect: read, retry: none, breaker: {failures: 1, recovery: 100s}}
    tools:
      buy: {description: Buys., http: {target: shop, url: /a}}
      look: {description: Looks., http: {target: shop, url: /a}, breaker: {failures: 9}}
    """
    async with open_files({"tools.d/t.yaml": tools}) as rt:
        down = BindingError("down", target_fault=True)

        def fail(_arguments):
            raise down

        with stubbed(rt, {"buy": fail}):
            await rt.call("buy", {})
            found = [line for line in shown(await rt.metrics(), zeros=True) if "breaker" in line]

    assert found == snapshot(
        [
            'toolrt_breaker_state{name="shop",of="target",state="closed"} 0',
            'toolrt_breaker_state{name="shop",of="target",state="half-open"} 0',
            'toolrt_breaker_state{name="shop",of="target",state="open"} 1',
            'toolrt_breaker_changes_total{name="shop",of="target",to="closed"} 0',
            'toolrt_breaker_changes_total{name="shop",of="target",to="half-open"} 0',
            'toolrt_breaker_changes_total{name="shop",of="target",to="open"} 1',
        ]
    )


async def test_what_people_said_and_how_long_it_took_is_told():
    clock = ManualClock(1e9)
    async with open_files({"tools.d/t.yaml": TOOLS}, clock=clock) as rt:
        asked = [(await rt.call("wipe", {}, Caller(name))).pause for name in ("a", "b", "c")]
        clock.advance(30)
        await rt.approvals.approve(asked[0].approval_id, BOSS)
        clock.advance(30)
        await rt.approvals.deny(asked[1].approval_id, BOSS)
        found = [line for line in shown(await rt.metrics()) if "toolrt_approval" in line]

    assert found == snapshot(
        [
            'toolrt_approvals{state="pending"} 1',
            'toolrt_approvals{state="approved"} 1',
            'toolrt_approvals{state="denied"} 1',
            'toolrt_approval_decisions{verdict="approve"} 1',
            'toolrt_approval_decisions{verdict="deny"} 1',
            'toolrt_approval_wait_seconds{verdict="approve"} 30',
            'toolrt_approval_wait_seconds{verdict="deny"} 60',
            "toolrt_approval_oldest_seconds 60",
        ]
    )


async def test_the_page_goes_without_a_store_that_fails(monkeypatch):
    async with open_files({"tools.d/t.yaml": TOOLS}) as rt:

        async def fails(_work):
            raise StoreError("unreachable", "the store is gone")

        database = rt._state.memory.database
        monkeypatch.setattr(database, "read", fails)
        text = await rt.metrics()

    assert "toolrt_generation 1.0" in text
    assert "toolrt_approvals" not in text


async def test_metrics_that_nobody_wants_are_neither_counted_nor_told():
    files = {"tools.d/t.yaml": TOOLS, "toolrt.yaml": "telemetry: {metrics: false}"}
    async with open_files(files) as rt:
        await calls(rt)

        assert await rt.metrics() == ""


async def test_arguments_that_cannot_be_read_count_for_their_tool():
    async with open_files({"tools.d/t.yaml": TOOLS}) as rt:
        for name in ("look", "s3cret-value"):
            rt.refuse(name, RefusedError("no JSON", code="invalid-arguments"))
        text = await rt.metrics()

    assert 'toolrt_schema_violations_total{tool="look"} 1.0' in text
    assert "s3cret" not in text
