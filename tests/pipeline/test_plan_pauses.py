"""Plans that wait for people, and go on at the step that waits: once, whoever goes on (U54, U79)."""

import asyncio
import os
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import toolrt
from toolrt.core.calls import Caller
from toolrt.core.results import ToolResult
from toolrt.opened import Runtime
from toolrt.stores.base import StoreError
from toolrt.stores.plans import KEPT_S, LEASE_S
from toolrt.testing import ManualClock, StubCall, ToolError, stubbed, write_files

pytestmark = pytest.mark.anyio

ANN = Caller("ann", session="s1")
BOSS = Caller("boss", may=frozenset({"call", "approve", "admin"}))
STUB = "def one(**given):\n    return given\n"
TOOLS = """
tools:
  look: {description: L., parameters: {q: string}, effect: read, python: "stub:one"}
  peek: {description: P., parameters: {q: string}, effect: read, python: "stub:one", hitl: confirm}
  fill: {description: F., parameters: {q: string, pin: {type: string, sensitive: true}}, effect: read, python: "stub:one", hitl: {mode: input, fields: [pin]}}
  make: {description: M., parameters: {name: string}, python: "stub:one"}
  pay: {description: P., parameters: {to: string}, python: "stub:one", hitl: confirm}
  order:
    description: O.
    parameters: {q: string, card: {type: string, sensitive: true, required: false}}
    steps:
      - {id: a, tool: make, args: {name: "{{ q }}"}}
      - {id: b, tool: pay, args: {to: "{{ steps.a.data.name }}"}}
      - {id: c, tool: make, args: {name: "{{ steps.b.data.to }}!"}}
  both:
    description: B.
    steps:
      - {id: a, tool: peek, args: {q: one}}
      - {id: b, tool: look, args: {q: two}}
      - {id: c, tool: fill, args: {q: three}}
      - {id: d, tool: make, args: {name: "{{ steps.a.data.q }} {{ steps.c.data.q }}"}}
"""
EDITED = "step `b`: the arguments were edited by boss"
TWO_PAUSES = """
tools:
  pays:
    description: P.
    steps:
      - {id: b, tool: pay, args: {to: ann}}
      - {id: c, tool: pay, args: {to: "{{ steps.b.data.to }}!"}}
"""
FAILS = """
tools:
  fails: {description: F., steps: [{id: b, tool: pay, args: {to: ann}, on_error: ON}]}
"""
ONCE = """
tools:
  once:
    {description: O., parameters: {n: integer}, python: "stub:one", idempotency_key: "{{ n }}"}
  twice:
    description: T.
    steps: [{id: a, tool: once, args: {n: 1}}, {id: b, tool: once, args: {n: 1}}]
"""
NAMES = ("look", "peek", "fill", "make", "pay")

Answers = Mapping[str, Callable[[dict[str, Any]], Any]]


@asynccontextmanager
async def opened(
    folder: Path, answers: Answers | None = None, clock: ManualClock | None = None
) -> AsyncIterator[tuple[Runtime, list[StubCall]]]:
    all_ = {name: lambda given: {**given} for name in NAMES} | dict(answers or {})
    async with toolrt.open(folder, clock=clock) as rt:
        with stubbed(rt, all_) as calls:
            yield rt, calls


@pytest.fixture
def project(tmp_path: Path) -> Path:
    return write_files(tmp_path, {"tools.d/t.yaml": TOOLS, "stub.py": STUB})


def made(calls: list[StubCall]) -> list[str]:
    return [each.tool for each in calls]


async def approve(rt: Runtime, result: ToolResult, **more: Any) -> None:
    assert result.pause is not None
    await rt.approvals.approve(result.pause.approval_id, BOSS, **more)


async def test_a_plan_waits_at_its_step_and_the_same_call_goes_on_there(project):
    async with opened(project) as (rt, calls):
        first = await rt.call("order", {"q": "tea"}, ANN)
        again = await rt.call("order", {"q": "tea"}, ANN)
        assert made(calls) == ["make"]
        await approve(rt, first)
        done = await rt.call("order", {"q": "tea"}, ANN)

    assert first.status == again.status == "paused"
    assert first.pause is not None
    assert again.pause is not None
    assert again.pause.approval_id == first.pause.approval_id
    assert first.context["steps"] == {"a": "success", "b": "waiting"}
    assert [each["step"] for each in first.context["waits"]] == ["b"]
    assert "at its step `b`" in first.text
    assert done.data == {"a": {"name": "tea"}, "b": {"to": "tea"}, "c": {"name": "tea!"}}
    assert made(calls) == ["make", "pay", "make"]


async def test_whoever_runs_the_approval_of_a_step_goes_on_with_the_plan(project):
    async with opened(project) as (rt, calls):
        first = await rt.call("order", {"q": "tea"}, ANN)
        await approve(rt, first)
        assert first.pause is not None
        done = await rt.approvals.run(first.pause.approval_id)

    assert (done.tool, done.status) == ("order", "success")
    assert done.data["c"] == {"name": "tea!"}
    assert made(calls) == ["make", "pay", "make"]


async def test_another_process_goes_on_with_what_one_began(project):
    async with opened(project) as (rt, _):
        first = await rt.call("order", {"q": "tea"}, ANN)
    async with opened(project) as (rt, calls):
        await approve(rt, first)
        done = await rt.call("order", {"q": "tea"}, ANN)

    assert done.data["a"] == {"name": "tea"}
    assert made(calls) == ["pay", "make"]


async def test_another_call_is_another_run(project):
    others = [({"q": "coffee"}, ANN), ({"q": "tea"}, Caller("bob")), ({"q": "tea"}, replace(ANN, session="s2"))]  # fmt: skip
    async with opened(project) as (rt, calls):
        first = await rt.call("order", {"q": "tea"}, ANN)
        await approve(rt, first)
        for arguments, caller in others:
            await rt.call("order", arguments, caller)

    assert Counter(made(calls))["make"] >= len(others)


async def test_of_two_who_go_on_at_once_one_does(project):
    async with opened(project) as (rt, calls):
        first = await rt.call("order", {"q": "tea"}, ANN)
        await approve(rt, first)
        results = await asyncio.gather(*[rt.call("order", {"q": "tea"}, ANN) for _ in range(5)])

    assert made(calls) == ["make", "pay", "make"] or made(calls).count("pay") == 1
    assert [each.status for each in results].count("success") == 1
    codes = {each.error.code for each in results if each.error}
    assert codes <= {"conflict"}


async def test_of_two_processes_that_go_on_at_once_one_does(project):
    async with AsyncExitStack() as stack:
        rt, calls = await stack.enter_async_context(opened(project))
        other, more = await stack.enter_async_context(opened(project))
        first = await rt.call("order", {"q": "tea"}, ANN)
        await approve(rt, first)
        await asyncio.gather(*[each.call("order", {"q": "tea"}, ANN) for each in (rt, other) * 3])

    assert Counter(made(calls) + made(more))["pay"] == 1


async def test_a_no_ends_the_plan_and_the_same_call_begins_another_one(project):
    async with opened(project) as (rt, calls):
        first = await rt.call("order", {"q": "tea"}, ANN)
        assert first.pause is not None
        await rt.approvals.deny(first.pause.approval_id, BOSS, note="too dear")
        refused = await rt.call("order", {"q": "tea"}, ANN)
        assert made(calls) == ["make"]
        await rt.call("order", {"q": "tea"}, ANN)

    assert refused.error is not None
    assert refused.error.code == "approval-denied"
    assert "too dear" in refused.error.message
    assert made(calls) == ["make", "make"]


async def test_a_question_that_has_lapsed_is_asked_again_and_nothing_else_is_done(project):
    clock = ManualClock()
    async with opened(project, clock=clock) as (rt, calls):
        first = await rt.call("order", {"q": "tea"}, ANN)
        clock.advance(3600)
        second = await rt.call("order", {"q": "tea"}, ANN)
        await approve(rt, second)
        done = await rt.call("order", {"q": "tea"}, ANN)

    assert first.pause is not None
    assert second.pause is not None
    assert second.pause.approval_id != first.pause.approval_id
    assert done.status == "success"
    assert made(calls) == ["make", "pay", "make"]


async def test_a_run_that_nobody_goes_on_with_is_forgotten(project):
    clock = ManualClock()
    async with opened(project, clock=clock) as (rt, calls):
        await rt.call("order", {"q": "tea"}, ANN)
        clock.advance(KEPT_S + 1)
        await rt.call("order", {"q": "tea"}, ANN)

    assert made(calls) == ["make", "make"]


async def test_edited_arguments_of_the_step_are_those_that_run(project):
    async with opened(project) as (rt, _):
        first = await rt.call("order", {"q": "tea"}, ANN)
        await approve(rt, first, edits={"to": "bob"})
        done = await rt.call("order", {"q": "tea"}, ANN)

    assert done.data["b"] == {"to": "bob"}
    assert done.data["c"] == {"name": "bob!"}
    assert list(done.context["notes"]) == [EDITED]


async def test_what_was_noted_of_a_step_before_a_pause_is_told_when_another_process_goes_on(
    project,
):
    write_files(project, {"tools.d/u.yaml": TWO_PAUSES})
    async with opened(project) as (rt, _):
        first = await rt.call("pays", {}, ANN)
        await approve(rt, first, edits={"to": "bob"})
        second = await rt.call("pays", {}, ANN)
        assert second.pause is not None
        await rt.approvals.approve(second.pause.approval_id, BOSS)
    async with opened(project) as (rt, calls):
        done = await rt.approvals.run(second.pause.approval_id)

    assert made(calls) == ["pay"]
    assert list(done.context["notes"]) == [EDITED]


@pytest.mark.parametrize("on_error", ["fail", "continue"])
async def test_an_edit_of_a_step_that_failed_is_told_too(project, on_error):
    write_files(project, {"tools.d/u.yaml": FAILS.replace("ON", on_error)})

    def broken(_given: dict[str, Any]) -> Any:
        raise ToolError("broken")

    async with opened(project, {"pay": broken}) as (rt, _):
        first = await rt.call("fails", {}, ANN)
        await approve(rt, first, edits={"to": "bob"})
        done = await rt.call("fails", {}, ANN)

    assert done.status == ("error" if on_error == "fail" else "success")
    assert list(done.context["notes"]) == [EDITED]


async def test_notes_of_steps_that_never_wait_are_told_of_the_plan(project):
    write_files(project, {"tools.d/u.yaml": ONCE})
    async with opened(project, {"once": dict}) as (rt, calls):
        done = await rt.call("twice", {}, ANN)

    assert made(calls) == ["once"]
    assert [each.partition(":")[0] for each in done.context["notes"]] == ["step `b`"]


async def test_u54_pauses_of_one_group_are_held_together_whatever_they_ask(project):
    async with opened(project) as (rt, calls):
        first = await rt.call("both", {}, ANN)
        assert made(calls) == ["look"]
        waits = first.context["waits"]
        assert [(each["step"], each["mode"]) for each in waits] == [
            ("a", "confirm"),
            ("c", "input"),
        ]
        await rt.approvals.approve(waits[0]["approval_id"], BOSS)
        half = await rt.call("both", {}, ANN)
        assert [each["step"] for each in half.context["waits"]] == ["c"]
        await rt.approvals.approve(waits[1]["approval_id"], BOSS, edits={"pin": "1234"})
        done = await rt.call("both", {}, ANN)

    assert done.data["d"] == {"name": "one three"}
    assert Counter(made(calls)) == {"look": 1, "peek": 1, "fill": 1, "make": 1}


async def test_a_step_that_fails_beside_one_that_waits_calls_the_question_off(project):
    def broken(_given: dict[str, Any]) -> Any:
        raise ToolError("broken")

    async with opened(project, {"look": broken}) as (rt, _):
        result = await rt.call("both", {}, ANN)
        pending = await rt.approvals.listed(("pending",))
        cancelled = await rt.approvals.listed(("cancelled",))

    assert result.error is not None
    assert result.error.details["step"] == "b"
    assert (pending, len(cancelled)) == ([], 2)


async def test_people_who_said_yes_to_the_plan_itself_are_not_asked_again_when_it_goes_on(project):
    rules = """
default: allow
rules:
  - {id: plans, decide: ask, tools: [order]}
"""
    write_files(project, {"policies.d/p.yaml": rules})
    async with opened(project) as (rt, calls):
        asked = await rt.call("order", {"q": "tea"}, ANN)
        assert made(calls) == []
        await approve(rt, asked)
        waiting = await rt.call("order", {"q": "tea"}, ANN)
        assert waiting.context["waits"][0]["step"] == "b"
        await approve(rt, waiting)
        done = await rt.call("order", {"q": "tea"}, ANN)

    assert done.status == "success"
    assert made(calls) == ["make", "pay", "make"]


async def test_a_plan_that_became_another_one_does_not_go_on(project):
    async with opened(project) as (rt, _):
        first = await rt.call("order", {"q": "tea"}, ANN)
        await approve(rt, first)
    write_files(project, {"tools.d/t.yaml": TOOLS.replace("data.to }}!", "data.to }}?")})
    async with opened(project) as (rt, calls):
        result = await rt.call("order", {"q": "tea"}, ANN)

    assert result.error is not None
    assert result.error.code == "conflict"
    assert "another tool since" in result.error.message
    assert calls == []


@pytest.mark.parametrize("way", ["call", "run"])
async def test_a_plan_goes_on_though_none_of_its_steps_asks_any_more(project, way):
    async with opened(project) as (rt, begun):
        first = await rt.call("order", {"q": "tea"}, ANN)
        await approve(rt, first)
    relaxed = TOOLS.replace('"stub:one", hitl: confirm}', '"stub:one"}')
    write_files(project, {"tools.d/t.yaml": relaxed})
    async with opened(project) as (rt, calls):
        assert first.pause is not None
        id_ = first.pause.approval_id
        result = await (rt.approvals.run(id_) if way == "run" else rt.call("order", {"q": "tea"}, ANN))  # fmt: skip
        another = await rt.call("order", {"q": "milk"}, ANN)

    assert (result.tool, result.status, another.status) == ("order", "success", "success")
    assert made(begun) + made(calls) == ["make", "pay", "make"] * 2


async def test_a_deny_of_today_holds_for_the_steps_that_are_left(project):
    async with opened(project) as (rt, _):
        first = await rt.call("order", {"q": "tea"}, ANN)
        await approve(rt, first)
    write_files(project, {"policies.d/p.yaml": "default: allow\nrules: [{id: no, decide: deny, tools: [pay]}]\n"})  # fmt: skip
    async with opened(project) as (rt, calls):
        result = await rt.call("order", {"q": "tea"}, ANN)

    assert result.error is not None
    assert calls == []


async def test_a_row_that_somebody_changed_by_hand_runs_nothing(project):
    async with opened(project) as (rt, _):
        first = await rt.call("order", {"q": "tea"}, ANN)
        await approve(rt, first)
        await rt._state.database.run(
            lambda session: session.change("UPDATE plan_steps SET body = ? WHERE slot = 'a'", b"[]")
        )
    async with opened(project) as (rt, calls):
        result = await rt.call("order", {"q": "tea"}, ANN)

    assert result.error is not None
    assert result.error.code == "unavailable"
    assert calls == []


async def test_a_run_whose_process_died_is_free_once_its_lease_has_lapsed(project):
    clock = ManualClock()
    async with opened(project, clock=clock) as (rt, _):
        first = await rt.call("order", {"q": "tea"}, ANN)
        await approve(rt, first)
        lease = "UPDATE plan_runs SET owner = 'gone', lease_wall = ?, lease_s = ?, lease_boot = 'clock'"  # fmt: skip
        until = (clock.wall() + LEASE_S, clock.monotonic() + LEASE_S)
        await rt._state.database.run(lambda session: session.change(lease, *until))
        held = await rt.call("order", {"q": "tea"}, ANN)
        clock.advance(LEASE_S + 1)
        done = await rt.call("order", {"q": "tea"}, ANN)

    assert held.error is not None
    assert (held.error.code, held.error.retryable) == ("conflict", True)
    assert done.status == "success"


async def test_nothing_is_kept_of_plans_that_never_wait(project):
    text = TOOLS + "  plain: {description: P., steps: [{id: a, tool: make, args: {name: x}}]}\n"
    write_files(project, {"tools.d/t.yaml": text})
    async with opened(project) as (rt, _):
        assert (await rt.call("plain", {})).status == "success"
        rows = await rt._state.database.read(lambda s: s.rows("SELECT * FROM plan_runs"))

    assert rows == []


async def test_what_a_run_has_done_is_forgotten_when_it_ends(project):
    async with opened(project) as (rt, _):
        first = await rt.call("order", {"q": "tea"}, ANN)
        await approve(rt, first)
        await rt.call("order", {"q": "tea"}, ANN)
        left = await rt._state.database.read(
            lambda s: s.rows("SELECT key FROM plan_runs UNION ALL SELECT key FROM plan_steps")
        )

    assert left == []


async def test_a_caller_who_gives_up_leaves_a_run_that_goes_on(project):
    async with opened(project) as (rt, calls):
        first = await rt.call("order", {"q": "tea"}, ANN)
        await approve(rt, first)
        task = asyncio.create_task(rt.call("order", {"q": "tea"}, ANN))
        await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        again = await rt.call("order", {"q": "tea"}, ANN)

    assert again.status == "success"
    assert Counter(made(calls))["pay"] == 1


async def test_a_run_whose_caller_gives_up_while_it_is_taken_is_free_at_once(project):
    codes = set()
    async with opened(project) as (rt, _):
        for turns in range(20):
            caller = replace(ANN, session=f"s{turns}")
            task = asyncio.create_task(rt.call("order", {"q": "tea"}, caller))
            for _ in range(turns):
                await asyncio.sleep(0)
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task
            again = await rt.call("order", {"q": "tea"}, caller)
            codes.add(again.error.code if again.error else again.status)

    assert codes <= {"paused", "unknown-outcome"}


async def test_people_decide_about_a_step_whose_tool_is_there_for_plans_alone(project):
    text = TOOLS.replace("pay: {description: P.,", "pay: {expose: false, description: P.,")
    write_files(project, {"tools.d/t.yaml": text})
    async with opened(project) as (rt, calls):
        first = await rt.call("order", {"q": "tea"}, ANN)
        await approve(rt, first, edits={"to": "bob"})
        done = await rt.call("order", {"q": "tea"}, ANN)

    assert done.data["b"] == {"to": "bob"}
    assert made(calls) == ["make", "pay", "make"]


KILLED = """
import asyncio, os, signal, sys
import toolrt

async def main():
    async with toolrt.open(sys.argv[1]) as rt:
        await rt.call("order", {"q": "tea"}, toolrt.Caller("ann", session="s1"))

asyncio.run(main())
"""
DEADLY = """
import os, signal
def one(**given):
    with open("made.txt", "a") as file:
        print(*given.values(), file=file)
    if list(given.values()) == [os.environ.get("DEADLY")]:
        os.kill(os.getpid(), signal.SIGKILL)
    return given
"""


@pytest.mark.parametrize(
    ("dies_at", "ends", "made_then"),
    [("tea!", "unknown-outcome", ["tea", "tea", "tea!"]), ("none", None, ["tea", "tea", "tea!"])],
)
async def test_a_killed_process_leaves_a_run_that_makes_no_step_twice(
    tmp_path, monkeypatch, dies_at, ends, made_then
):
    write_files(tmp_path, {"tools.d/t.yaml": TOOLS.replace("stub:one", "deadly:one"), "deadly.py": DEADLY})  # fmt: skip
    monkeypatch.chdir(tmp_path)

    def child(deadly: str) -> int:
        environ = {**os.environ, "DEADLY": deadly}
        command = [sys.executable, "-c", KILLED, str(tmp_path)]
        return subprocess.run(command, env=environ, cwd=tmp_path, check=False).returncode

    child("nobody")  # it waits at `b`
    async with toolrt.open(tmp_path) as rt:
        [record] = await rt.approvals.listed()
        await rt.approvals.approve(record.id, BOSS)
    status = child(dies_at)
    async with toolrt.open(tmp_path) as rt:
        lapse = "UPDATE plan_runs SET lease_wall = 0, lease_s = 0"
        await rt._state.database.run(lambda session: session.change(lapse))
        assert status == (-signal.SIGKILL if ends else 0)
        result = await rt.call("order", {"q": "tea"}, ANN) if ends else None

    if result is not None:
        assert result.error is not None
        assert (result.error.code, result.error.details["step"]) == (ends, "c")
    assert (tmp_path / "made.txt").read_text().split() == made_then


@pytest.mark.parametrize("writes", range(6))
async def test_a_plan_that_cannot_be_kept_any_more_says_what_it_did_and_nothing_stands_in_for_it(
    project, writes
):
    text = TOOLS.replace("  order:\n", "  order:\n    fallback: {tool: other}\n").replace(
        "  both:",
        '  other: {description: X., parameters: {q: string}, python: "stub:one"}\n  both:',
    )
    write_files(project, {"tools.d/t.yaml": text})
    async with opened(project, {"other": lambda given: {**given}}) as (rt, calls):
        database, left = rt._state.database, [writes]
        run = database.run

        async def failing(work: Any) -> Any:
            left[0] -= 1
            if left[0] < 0:
                raise StoreError("full", "the disk is full")
            return await run(work)

        database.run = failing
        failed = await rt.call("order", {"q": "tea"}, ANN)
        database.run = run
        made_first = made(calls)
        again = await rt.call("order", {"q": "tea"}, ANN)

    if "other" in made_first:
        assert "make" not in made_first[: made_first.index("other")]
    elif failed.error is not None and "make" in made_first:
        assert failed.error.retryable is False
        assert "stays done" in str(failed.error.hint)
    assert again.status == "paused" or again.error is not None
    assert "other" not in made(calls)[len(made_first) :]


async def test_nothing_stands_in_for_a_plan_that_runs_already(project):
    text = TOOLS.replace("  order:\n", "  order:\n    fallback: {tool: other}\n").replace(
        "  both:",
        '  other: {description: X., parameters: {q: string}, python: "stub:one"}\n  both:',
    )
    write_files(project, {"tools.d/t.yaml": text})
    async with opened(project, {"other": lambda given: {**given}}) as (rt, calls):
        results = await asyncio.gather(*[rt.call("order", {"q": "tea"}, ANN) for _ in range(4)])

    assert made(calls) == ["make"]
    assert {each.error.code for each in results if each.error} == {"conflict"}
