"""Many calls in one go: what runs beside what, and what each comes to (U52-U54, M6-M11, M30)."""

import asyncio
import os
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from limits import AT_ONCE_S

from toolrt.core.calls import Caller
from toolrt.core.errors import RefusedError
from toolrt.core.results import Answer
from toolrt.observe.journal_records import Filter
from toolrt.opened import Runtime
from toolrt.testing import ToolError, open_files, stubbed

pytestmark = pytest.mark.anyio

TOOLS = """
tools:
  read: {description: Reads., parameters: {n: {type: integer, default: 0}}, effect: read, python: "stub:n"}
  few: {description: Reads., effect: read, python: "stub:none", concurrency: 2}
  write: {description: Writes., parameters: {n: {type: integer, default: 0}}, python: "stub:n"}
  fails: {description: Fails., effect: read, python: "stub:fails", retry: none}
  pay: {description: Pays., parameters: {to: string}, python: "stub:to", hitl: confirm}
  fill: {description: Asks., parameters: {to: string}, python: "stub:to", hitl: {mode: input, fields: [to]}}
  done: {description: Ends., python: "stub:none", result: {final: true}}
  big: {description: Big., parameters: {size: integer}, effect: read, python: "stub:big"}
  quits: {description: Quits., effect: read, python: "stub:quits"}
  nap: {description: Naps., effect: read, shell: "echo $$ >> pids; sleep 60 & sleep 60"}
"""
STUB = """
import asyncio
import toolrt

running, most, order = set(), 0, []
gate = None


async def n(n: int) -> int:
    global most
    token = object()
    running.add(token)
    most = max(most, len(running))
    order.append(n)
    for _ in range(3):
        await asyncio.sleep(0)
    running.discard(token)
    return n


async def none() -> None:
    await n(-1)


async def fails() -> None:
    raise toolrt.ToolError("no", code="conflict")


async def quits() -> None:
    raise asyncio.CancelledError


def to(to: str) -> str:
    order.append(to)
    return to


def big(size: int) -> str:
    return "x" * size
"""
FILES = {"tools.d/t.yaml": TOOLS, "stub.py": STUB}


@pytest.fixture
async def runtime():
    async with open_files(FILES) as opened:
        yield opened


@pytest.fixture
def stub(runtime) -> Any:
    """The module of the tools, as the project has it."""
    return sys.modules["stub"]


def reads(count: int, tool: str = "read") -> list[dict[str, Any]]:
    return [{"tool": tool, "arguments": {"n": at}} for at in range(count)]


def codes(results: list[Any]) -> list[str]:
    return [each.error.code if each.error else each.status for each in results]


async def test_m9_results_are_in_the_order_of_the_request(runtime):
    class LastFirst:
        """Answers the call with the highest number first."""

        def __init__(self) -> None:
            self.ended: list[int] = []
            self.turns = [asyncio.Event() for _ in range(4)]
            self.turns[3].set()

        async def call(self, invocation: Any) -> Answer:
            n = invocation.arguments["n"]
            await self.turns[n].wait()
            self.ended.append(n)
            self.turns[n - 1].set()
            return Answer(n)

    binding, snapshot = LastFirst(), runtime.snapshot
    tool = snapshot.tools["read"].answered_by(binding)
    runtime.swap(replace(snapshot, tools={**snapshot.tools, "read": tool}))

    results = await runtime.call_many(reads(4))

    assert binding.ended == [3, 2, 1, 0]
    assert [each.data for each in results] == [0, 1, 2, 3]


async def test_m10_reads_run_together_16_at_once(runtime, stub):
    await runtime.call_many(reads(40))

    assert stub.most == 16


async def test_u53_writes_run_one_after_the_other_in_order(runtime, stub):
    await runtime.call_many(reads(6, "write"))

    assert (stub.most, stub.order[-6:]) == (1, [0, 1, 2, 3, 4, 5])


async def test_m11_a_serial_batch_runs_nothing_beside_anything(runtime, stub):
    await runtime.call_many(reads(6), serial=True)

    assert stub.most == 1


async def test_as_many_of_a_tool_run_at_once_as_it_says(runtime, stub):
    await runtime.call_many([{"tool": "few"}] * 8)

    assert stub.most == 2


async def test_a_tool_that_is_full_holds_nobody_else_up(runtime, stub):
    results = await runtime.call_many([*[{"tool": "few"}] * 20, *reads(14)])

    assert codes(results) == ["success"] * 34
    assert stub.most == 16


async def test_m6_arguments_may_be_json_text(runtime):
    results = await runtime.call_many([{"tool": "read", "arguments": '{"n": 7}'}])

    assert results[0].data == 7


@pytest.mark.parametrize("arguments", ["{", '{"n": 1', "[]", "", "null", None, [1]])
async def test_m6_what_is_no_object_fails_its_call_alone(runtime, arguments):
    calls = [{"tool": "read"}, {"tool": "write", "arguments": arguments}, {"tool": "read"}]

    assert codes(await runtime.call_many(calls)) == ["success", "invalid-arguments", "success"]


async def test_m6_a_call_without_a_tool_is_one_of_an_unknown_tool(runtime):
    assert (
        codes(await runtime.call_many([{}, {"tool": 5}, {"tool": "reed"}])) == ["unknown-tool"] * 3
    )


async def test_an_empty_batch_has_no_results(runtime):
    assert await runtime.call_many([]) == []


async def test_r29_a_call_is_not_made_where_one_that_it_depends_on_failed(runtime, stub):
    calls = [
        {"id": "a", "tool": "fails"},
        {"id": "b", "tool": "write", "arguments": {"n": 77}, "depends_on": ["a"]},
        {"id": "c", "tool": "read", "depends_on": ["b"]},
        {"id": "d", "tool": "read"},
    ]
    results = await runtime.call_many(calls)

    assert codes(results) == ["conflict", "unavailable", "unavailable", "success"]
    assert results[1].error.message == (
        "this call was not made: it depends on `a`, which failed (conflict)"
    )
    assert results[1].error.details == {"depends_on": "a", "because": "conflict"}
    assert results[1].context["recovery"]["course"] == "return-error"
    assert (results[1].attempts, results[1].context["not_made"]) == (0, True)
    assert 77 not in stub.order


async def test_u54_all_pauses_come_together_each_with_its_own_id(runtime):
    calls = [
        {"tool": "pay", "arguments": {"to": "ann"}},
        {"tool": "read"},
        {"tool": "pay", "arguments": {"to": "bob"}},
        {"tool": "fill"},
        {"tool": "read", "depends_on": ["1"]},
    ]
    results = await runtime.call_many(calls)
    pauses = [each.pause for each in results if each.pause]

    assert codes(results) == ["paused", "success", "paused", "paused", "unavailable"]
    assert len({each.approval_id for each in pauses}) == 3
    assert {each.mode for each in pauses} == {"confirm", "input"}
    assert "waits for a person" in results[4].error.message


async def test_u54_after_the_yes_what_was_missing_runs_once(runtime, stub):
    calls = [
        {"tool": "pay", "arguments": {"to": "zoe"}},
        {"tool": "pay", "arguments": {"to": "yan"}},
    ]
    first = await runtime.call_many(calls)
    await runtime.approvals.approve(
        first[0].pause.approval_id, Caller("ann", may=frozenset({"approve"}))
    )

    again = await runtime.call_many(calls)

    assert codes(again) == ["success", "paused"]
    assert again[1].pause.approval_id == first[1].pause.approval_id
    assert [each for each in stub.order if each in {"zoe", "yan"}] == ["zoe"]


async def test_stop_on_error_makes_none_after_a_failure(runtime):
    calls = [
        *reads(1, "write"),
        {"tool": "fails"},
        *reads(2, "write"),
        {"tool": "pay", "arguments": {"to": "x"}},
    ]

    assert codes(await runtime.call_many(calls)) == [
        "success",
        "conflict",
        "success",
        "success",
        "paused",
    ]
    stopped = await runtime.call_many(calls, stop_on_error=True)
    assert codes(stopped) == ["success", "conflict", "cancelled", "cancelled", "cancelled"]
    assert stopped[2].error.message == (
        "this call was not made: the call `2` failed, and the batch stops there"
    )


async def test_stop_on_error_keeps_what_runs_beside_the_failure(runtime):
    results = await runtime.call_many([*reads(3), {"tool": "fails"}, *reads(3)], stop_on_error=True)

    assert codes(results)[:4] == ["success", "success", "success", "conflict"]


async def test_a_final_result_ends_the_batch(runtime):
    results = await runtime.call_many([*reads(1), {"tool": "done"}, *reads(2)])

    assert codes(results) == ["success", "success", "cancelled", "cancelled"]
    assert results[2].error.message == "this call was not made: `done` has ended the run"


async def test_a_tool_that_cancels_itself_ends_its_own_call_only(runtime):
    results = await runtime.call_many([*reads(2), {"tool": "quits"}, *reads(2)])

    assert len(results) == 5
    assert codes(results)[:2] + codes(results)[3:] == ["success"] * 4
    assert results[2].error is not None


async def test_progress_is_told_call_by_call(runtime):
    told: list[Any] = []
    await runtime.call_many(reads(2, "write"), on_progress=lambda *each: told.append(each))

    assert told == [(1, 2, "write success"), (2, 2, "write success")]


async def test_a_listener_that_fails_is_told_as_it_failed_and_leaves_nothing_running(runtime, stub):
    def bad(*_: Any) -> None:
        raise ValueError("mine")

    with pytest.raises(ValueError, match="mine"):
        await runtime.call_many(reads(40), on_progress=bad)
    count = len(stub.order)
    await asyncio.sleep(0.01)

    assert len(stub.order) == count


async def test_after_the_runtime_is_closed_every_call_is_refused():
    async with open_files(FILES) as runtime:
        pass

    assert codes(await runtime.call_many(reads(2))) == ["unavailable"] * 2


def is_there(leader: int) -> bool:
    """Whether anybody of the group that a process leads is still there."""
    try:
        os.killpg(leader, 0)
    except ProcessLookupError:
        return False
    return True


async def gone(is_gone: Callable[[], bool]) -> bool:
    ends = time.monotonic() + AT_ONCE_S
    while not is_gone() and time.monotonic() < ends:  # noqa: ASYNC110 - processes tell nobody
        await asyncio.sleep(0.02)
    return is_gone()


@pytest.mark.realtime
async def test_e13_a_batch_that_is_cancelled_leaves_no_child_behind(runtime):
    pids = Path(runtime.project) / "pids"
    task = asyncio.create_task(runtime.call_many([{"tool": "nap"}] * 3))
    assert await gone(lambda: pids.exists() and len(pids.read_text().split()) == 3)

    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task

    leaders = [int(each) for each in pids.read_text().split()]
    assert await gone(lambda: not any(map(is_there, leaders)))


async def test_e13_nothing_begins_after_a_cancellation(runtime, stub):
    begun = len(stub.order)
    task = asyncio.create_task(runtime.call_many(reads(40)))
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    count = len(stub.order)
    await asyncio.sleep(0.01)

    assert len(stub.order) == count <= begun + 16


async def test_o7_m30_the_biggest_results_are_cut_until_all_fit(runtime):
    sizes = [45_000, 1_000, 49_000, 44_000, 46_000, 47_000]
    calls = [{"tool": "big", "arguments": {"size": size}} for size in sizes]
    first, second = await runtime.call_many(calls), await runtime.call_many(calls)

    cut = ["success", "success", "partial", "success", "success", "success"]
    assert [each.status for each in first] == cut
    assert sum(len(each.text) for each in first) <= 200_000
    assert [each.text for each in first] == [each.text for each in second]
    read = await runtime.read_output(first[2].context["spilled"], 0, 60_000)
    assert read.text == "x" * 49_000


async def test_the_journal_tells_of_the_batch_and_each_call_of_its_batch(runtime):
    results = await runtime.call_many([{"id": "a", "tool": "read"}, {"id": "b", "tool": "write"}])
    journal = runtime._state.memory.journal
    await journal.flush()
    entries = await journal.records.entries()
    batch = next(each for each in entries if each["kind"] == "batch")
    calls = [each for each in entries if each["kind"] == "call"]

    assert batch["groups"] == [["a"], ["b"]]
    assert {each["batch"]["call"] for each in calls} == {"a", "b"}
    assert {each["batch"]["id"] for each in calls} == {batch["batch"]}
    assert results[0].context["batch"] == {"id": batch["batch"], "call": "a"}
    found = await journal.records.entries(Filter(id=batch["batch"]))
    assert len(found) == 3


async def test_a_name_that_no_text_can_carry_stops_no_batch(runtime):
    results = await runtime.call_many([{"tool": "\ud800" + "x" * 5000}, *reads(1)])
    await runtime._state.memory.journal.flush()

    assert codes(results) == ["unknown-tool", "success"]


async def test_rules_hold_for_each_call_by_itself():
    rules = """
    default: allow
    rules: [{id: no, decide: deny, tools: [write], when: args.n == 2}]
    """
    async with open_files(FILES | {"policies.d/p.yaml": rules}) as runtime:
        results = await runtime.call_many(reads(4, "write"))

    assert codes(results) == ["success", "success", "denied", "success"]


async def test_a_batch_of_one_pauses_refuses_and_answers_like_a_call(runtime: Runtime):
    with stubbed(runtime, {"fails": raising}) as calls:
        one = await runtime.call("fails", {})
        many = await runtime.call_many([{"tool": "fails"}])

    assert len(calls) == 2
    assert (one.error, one.status) == (many[0].error, many[0].status)


def raising(_: dict[str, Any]) -> Any:
    raise ToolError("busy", code="conflict")


async def test_a_batch_that_is_refused_runs_nothing(runtime, stub):
    before = len(stub.order)
    with pytest.raises(RefusedError):
        await runtime.call_many([*reads(3), {"tool": "read", "depends_on": ["nobody"]}])

    assert len(stub.order) == before
