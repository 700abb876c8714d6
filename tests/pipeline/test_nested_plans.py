"""Plans that call plans, one of which waits for people: each goes on where it was (U54, U79)."""

from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

import toolrt
from toolrt.core.calls import Caller
from toolrt.core.results import ToolResult
from toolrt.opened import Runtime
from toolrt.testing import StubCall, ToolError, stubbed, write_files

pytestmark = pytest.mark.anyio

ANN = Caller("ann", session="s1")
BOSS = Caller("boss", may=frozenset({"call", "approve", "admin"}))
STUB = "def one(**given):\n    return given\n"
TOOLS = """
tools:
  make: {description: M., parameters: {name: string}, python: "stub:one"}
  pay: {description: P., parameters: {to: string}, python: "stub:one", hitl: confirm}
  flaky: {description: F., parameters: {to: string}, python: "stub:one", fallback: {tool: pay}}
  inner:
    description: I.
    parameters: {q: string}
    steps:
      - {id: a, tool: make, args: {name: "{{ q }}"}}
      - {id: b, tool: pay, args: {to: "{{ steps.a.data.name }}"}}
      - {id: c, tool: make, args: {name: "after {{ steps.b.data.to }}"}}
  middle:
    description: M.
    parameters: {q: string}
    steps:
      - {id: m, tool: inner, args: {q: "{{ q }}"}}
      - {id: n, tool: make, args: {name: "middle"}}
  outer:
    description: O.
    parameters: {q: string}
    steps:
      - {id: x, tool: make, args: {name: x}}
      - {id: y, tool: middle, args: {q: "{{ q }}"}}
      - {id: z, tool: make, args: {name: "z {{ steps.y.data.m.c.name }}"}}
  stand_in:
    description: S.
    parameters: {to: string}
    steps:
      - {id: a, tool: make, args: {name: "{{ to }}"}}
      - {id: b, tool: pay, args: {to: "{{ to }}"}}
      - {id: c, tool: make, args: {name: "paid {{ steps.b.data.to }}"}}
  shaky: {description: F., parameters: {to: string}, python: "stub:one", fallback: {tool: stand_in}}
  upon:
    description: U.
    steps:
      - {id: f, tool: shaky, args: {to: bob}}
      - {id: g, tool: make, args: {name: "{{ steps.f.data.c.name }}!"}}
  peek: {description: P., parameters: {q: string}, effect: read, python: "stub:one", hitl: confirm}
  fill: {description: F., parameters: {q: string, pin: string}, effect: read, python: "stub:one", hitl: {mode: input, fields: [pin]}}
  bad: {description: B., effect: read, python: "stub:one"}
  two:
    description: T.
    steps:
      - {id: a, tool: peek, args: {q: one}}
      - {id: b, tool: fill, args: {q: two}}
  acting:
    description: A.
    steps:
      - {id: m, tool: make, args: {name: once}}
      - {id: a, tool: peek, args: {q: one}}
      - {id: b, tool: peek, args: {q: two}}
  above:
    description: A.
    steps:
      - {id: x, tool: acting}
  beyond:
    description: B.
    steps:
      - {id: w, tool: above}
  of_model:
    description: O.
    steps:
      - {id: m, tool: make, args: {name: once}}
      - id: p
        tool: plan_and_execute
        args:
          thought:
            reasoning: r
            criticism: c
            action: execute_plan
            plan: [{tool: make, parameters: {name: inner}}, {tool: pay, parameters: {to: bob}}]
  with_bad:
    description: W.
    steps:
      - {id: x, tool: two}
      - {id: y, tool: bad}
  twice:
    description: T.
    steps:
      - {id: all, tool: pay, for_each: "{{ vars.names }}", args: {to: "{{ item }}"}}
  beside:
    description: B.
    steps:
      - {id: f, tool: flaky, args: {to: bob}}
      - {id: g, tool: make, args: {name: "{{ steps.f.data.to }}"}}
"""
PROJECT = "vars: {names: [ann, ann]}\nbuiltins: [plan_and_execute]\n"
ALL = ["make x", "make tea", "pay tea", "make after tea", "make middle", "make z after tea"]


@asynccontextmanager
async def opened(folder: Path, **answers: Any) -> AsyncIterator[tuple[Runtime, list[StubCall]]]:
    all_ = {
        name: lambda given: {**given}
        for name in ("make", "pay", "flaky", "shaky", "peek", "fill", "bad")
    } | answers
    async with toolrt.open(folder) as rt:
        with stubbed(rt, all_) as calls:
            yield rt, calls


@pytest.fixture
def project(tmp_path: Path) -> Path:
    files = {"tools.d/t.yaml": TOOLS, "stub.py": STUB, "toolrt.yaml": PROJECT}
    return write_files(tmp_path, files)


def made(calls: list[StubCall]) -> list[str]:
    return [f"{each.tool} {next(iter(each.arguments.values()))}" for each in calls]


async def approve(rt: Runtime, result: ToolResult, **more: Any) -> str:
    assert result.pause is not None
    await rt.approvals.approve(result.pause.approval_id, BOSS, **more)
    return result.pause.approval_id


async def ends(rt: Runtime, approval: str, name: str, arguments: dict[str, Any], way: str) -> Any:
    if way == "run":
        return await rt.approvals.run(approval)
    return await rt.call(name, arguments, ANN)


@pytest.mark.parametrize("way", ["call", "run"])
async def test_u54_a_plan_below_plans_goes_on_at_its_own_step_and_then_those_above(project, way):
    async with opened(project) as (rt, calls):
        first = await rt.call("outer", {"q": "tea"}, ANN)
        assert made(calls) == ALL[:2]
        approval = await approve(rt, first)
        done = await ends(rt, approval, "outer", {"q": "tea"}, way)

    assert (done.tool, done.status) == ("outer", "success")
    assert done.data["z"] == {"name": "z after tea"}
    assert made(calls) == ALL


@pytest.mark.parametrize("way", ["call", "run"])
async def test_another_process_goes_on_with_plans_below_plans(project, way):
    async with opened(project) as (rt, begun):
        first = await rt.call("outer", {"q": "tea"}, ANN)
    async with opened(project) as (rt, calls):
        still = await rt.call("outer", {"q": "tea"}, ANN)
        approval = await approve(rt, first, edits={"to": "coffee"})
        done = await ends(rt, approval, "outer", {"q": "tea"}, way)

    assert still.status == "paused"
    assert done.data["z"] == {"name": "z after coffee"}
    edited = "step `y`: step `m`: step `b`: the arguments were edited by boss"
    assert list(done.context["notes"]) == [edited]
    assert made(begun) + made(calls) == [each.replace("pay tea", "pay coffee").replace("after tea", "after coffee") for each in ALL]  # fmt: skip


async def test_a_no_far_below_ends_all_plans_above_it(project):
    async with opened(project) as (rt, calls):
        first = await rt.call("outer", {"q": "tea"}, ANN)
        assert first.pause is not None
        await rt.approvals.deny(first.pause.approval_id, BOSS)
        refused = await rt.call("outer", {"q": "tea"}, ANN)
        kept = await rt._state.database.read(
            lambda session: session.rows("SELECT tool FROM plan_runs")
        )

    assert refused.error is not None
    assert refused.error.code == "approval-denied"
    assert made(calls) == ALL[:2]
    assert kept == []


@pytest.mark.parametrize("way", ["call", "run"])
async def test_the_fallback_of_a_step_that_waits_is_what_goes_on(project, way):
    def broken(_given: dict[str, Any]) -> Any:
        raise ToolError("broken", code="unavailable")

    async with opened(project, flaky=broken) as (rt, calls):
        first = await rt.call("beside", {}, ANN)
        approval = await approve(rt, first)
        done = await ends(rt, approval, "beside", {}, way)

    assert done.status == "success"
    assert Counter(made(calls)) == Counter(["flaky bob", "pay bob", "make bob"])


@pytest.mark.parametrize("way", ["call", "run"])
async def test_two_items_that_are_alike_are_two_calls_and_two_questions(project, way):
    async with opened(project) as (rt, calls):
        result = await rt.call("twice", {}, ANN)
        for _ in range(2):
            approval = await approve(rt, result)
            result = await ends(rt, approval, "twice", {}, way)

    assert result.data == {"all": [{"to": "ann"}, {"to": "ann"}]}
    assert made(calls) == ["pay ann", "pay ann"]


@pytest.mark.parametrize("way", ["call", "run"])
async def test_a_plan_that_stands_in_for_a_step_goes_on_at_its_own_step(project, way):
    def broken(_given: dict[str, Any]) -> Any:
        raise ToolError("broken", code="unavailable")

    async with opened(project, shaky=broken) as (rt, calls):
        first = await rt.call("upon", {}, ANN)
        approval = await approve(rt, first)
        done = await ends(rt, approval, "upon", {}, way)

    assert done.status == "success", done.text
    counts = Counter(each for each in made(calls) if not each.startswith("shaky"))
    assert counts == Counter(["make bob", "pay bob", "make paid bob", "make paid bob!"])


async def test_all_that_plans_below_wait_for_is_named_and_each_can_be_decided_by_itself(project):
    async with opened(project) as (rt, calls):
        first = await rt.call("with_bad", {}, ANN)
        waits = first.context["waits"]
        assert [(each["step"], each["mode"]) for each in waits] == [
            ("x", "confirm"),
            ("x", "input"),
        ]
        assert all(each["approval_id"] in first.text for each in waits)
        still = await rt.call("with_bad", {}, ANN)
        assert still.context["waits"] == waits
        await rt.approvals.approve(waits[1]["approval_id"], BOSS, edits={"pin": "1"})
        half = await rt.call("with_bad", {}, ANN)
        assert half.context["waits"] == waits[:1]
        await rt.approvals.approve(waits[0]["approval_id"], BOSS)
        done = await rt.call("with_bad", {}, ANN)

    assert done.data["x"] == {"a": {"q": "one"}, "b": {"q": "two", "pin": "1"}}
    assert Counter(each.tool for each in calls) == {"peek": 1, "fill": 1, "bad": 1}


async def test_a_step_that_fails_beside_plans_that_wait_calls_all_of_it_off(project):
    fails = [True]

    def broken(given: dict[str, Any]) -> Any:
        if fails[0]:
            raise ToolError("broken")
        return given

    async with opened(project, bad=broken) as (rt, _):
        failed = await rt.call("with_bad", {}, ANN)
        pending = await rt.approvals.listed(("pending",))
        fails[0] = False
        again = await rt.call("with_bad", {}, ANN)

    assert failed.error is not None
    assert pending == []
    assert again.status == "paused"


@pytest.mark.parametrize("name", ["above", "beyond"])
@pytest.mark.parametrize("which", [0, 1])
async def test_whichever_approval_is_run_it_is_the_outermost_plan_that_goes_on(
    project, name, which
):
    async with opened(project) as (rt, calls):
        first = await rt.call(name, {}, ANN)
        waits = [each["approval_id"] for each in first.context["waits"]]
        for each in waits:
            await rt.approvals.approve(each, BOSS)
        done = await rt.approvals.run(waits[which])
        kept = await rt._state.database.read(lambda session: session.rows("SELECT * FROM plan_runs"))  # fmt: skip

    assert (done.tool, done.status) == (name, "success")
    assert Counter(made(calls)) == {"make once": 1, "peek one": 1, "peek two": 1}
    assert kept == []


@pytest.mark.parametrize("way", ["call", "run"])
async def test_a_plan_that_calls_the_plan_of_a_model_makes_no_step_twice(project, way):
    async with opened(project) as (rt, calls):
        first = await rt.call("of_model", {}, ANN)
        approval = await approve(rt, first)
        done = await ends(rt, approval, "of_model", {}, way)

    assert (done.tool, done.status) == ("of_model", "success")
    assert made(calls) == ["make once", "make inner", "pay bob"]


@pytest.mark.parametrize("way", ["call", "run"])
async def test_an_edit_of_a_step_of_a_plan_that_stands_in_is_told(project, way):
    def broken(_given: dict[str, Any]) -> Any:
        raise ToolError("broken", code="unavailable")

    async with opened(project, shaky=broken) as (rt, _):
        first = await rt.call("upon", {}, ANN)
        approval = await approve(rt, first, edits={"to": "eve"})
        done = await ends(rt, approval, "upon", {}, way)

    edited = "step `f`: `stand_in`: step `b`: the arguments were edited by boss"
    assert done.data["g"] == {"name": "paid eve!"}
    assert edited in done.context["notes"]


async def test_the_edited_items_of_a_step_are_named(project):
    async with opened(project) as (rt, _):
        for name in ("bob", "eve"):
            waiting = await rt.call("twice", {}, ANN)
            await approve(rt, waiting, edits={"to": name})
        done = await rt.call("twice", {}, ANN)

    edited = "steps `all[0]`, `all[1]`: the arguments were edited by boss"
    assert list(done.context["notes"]) == [edited]
