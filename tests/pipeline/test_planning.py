"""`plan_and_execute`: plans of models, and an analyst that looks at them (U78-U81, U6)."""

from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from typing import Any

import pytest

from toolrt.core.calls import Caller
from toolrt.core.results import ToolResult
from toolrt.opened import Runtime
from toolrt.runtime import load
from toolrt.testing import StubCall, ToolError, open_files, stubbed, write_files

pytestmark = pytest.mark.anyio

BOSS = Caller("boss", may=frozenset({"call", "approve"}))
TOOLS = """
tools:
  find: {description: F., parameters: {q: string}, effect: read, python: "stub:one"}
  make: {description: M., parameters: {name: string, size: {type: integer, default: 1}}, python: "stub:one"}
  pay: {description: P., parameters: {to: string}, python: "stub:one", hitl: confirm}
  inner: {description: I., python: "stub:one", expose: false}
"""
STUB = """
def one(**given: str) -> None:
    pass

said = []
seen = []

async def look(situation):
    seen.append(situation)
    answer = said.pop(0) if said else {"evaluation": "fine", "next_action": "continue_plan"}
    if isinstance(answer, Exception):
        raise answer
    return answer

no_callable = 3
"""
ANALYST = "\nagent: {planner: {analyst: 'stub:look'}}\n"
ON = "builtins: [plan_and_execute]\n"


def thought(*plan: Mapping[str, Any], **more: Any) -> dict[str, Any]:
    made = {"reasoning": "r", "plan": list(plan), "criticism": "c", "action": "execute_plan"}
    return {"thought": {**made, **more}}


def step(tool: str, **parameters: Any) -> dict[str, Any]:
    return {"tool": tool, "parameters": parameters}


@asynccontextmanager
async def opened(
    project: str = ON,
    answers: Mapping[str, Callable[[dict[str, Any]], Any]] | None = None,
    rules: str | None = None,
) -> AsyncIterator[tuple[Runtime, list[StubCall], Any]]:
    all_ = {name: lambda given: {**given} for name in ("find", "make", "pay", "inner")}
    files = {"toolrt.yaml": project, "tools.d/t.yaml": TOOLS, "stub.py": STUB}
    files |= {"policies.d/p.yaml": rules} if rules else {}
    async with open_files(files) as rt:
        with stubbed(rt, all_ | dict(answers or {})) as calls:
            yield rt, calls, _module(rt)


def _module(rt: Runtime) -> Any:
    analyst = rt.snapshot.tools["plan_and_execute"].binding.analyst
    return analyst and analyst._called.__globals__


async def run(rt: Runtime, *plan: Mapping[str, Any], **more: Any) -> ToolResult:
    return await rt.call("plan_and_execute", thought(*plan, **more))


async def test_u78_the_steps_of_a_model_run_and_may_take_what_earlier_ones_gave():
    async with opened() as (rt, calls, _):
        result = await run(
            rt,
            step("find", q="tea"),
            {"id": "b", **step("make", name="a {{ steps.step_1.data.q }}", size=2)},
            step("make", name="{{ steps.b.data.name }}", size="{{ steps.b.data.size }}"),
        )

    assert result.status == "success"
    assert result.data["result"] == {"name": "a tea", "size": 2}
    assert [each["id"] for each in result.data["steps"]] == ["step_1", "b", "step_3"]
    assert result.data["revisions"] == 0
    assert len(calls) == 3


async def test_parts_of_lists_can_be_named():
    async with opened(answers={"find": lambda _: {"hits": [{"id": 7}, {"id": 8}]}}) as (
        rt,
        calls,
        _,
    ):
        await run(rt, step("find", q="x"), step("make", name="n", size="{{ steps.step_1.data.hits[1].id }}"))  # fmt: skip

    assert calls[1].arguments["size"] == 8


@pytest.mark.parametrize(
    "text",
    ["{{ 7 * 7 }}", "{{ caller.principal }}", "${secret:key}", "{% for x in y %}", "{{ item }}"],
)
async def test_what_a_model_writes_is_no_template_but_for_results_of_steps(text):
    async with opened() as (rt, calls, _):
        await run(rt, step("find", q=text))

    assert calls[0].arguments == {"q": text}


@pytest.mark.parametrize(
    ("plan", "said"),
    [
        ([step("fnd", q="x")], "there is no tool `fnd`"),
        ([step("inner")], "there is no tool `inner`"),
        ([step("plan_and_execute", thought={})], "there is no tool `plan_and_execute`"),
        ([step("find", q="{{ steps.step_1.data }}")], "`steps.step_1` is no earlier step"),
        ([step("find", q="{{ steps.step_2.data }}"), step("find", q="x")], "is no earlier step"),
        ([step("find", q="{{ steps['a'] }}")], "write {{ steps.ID.data.key }}"),
        ([{"id": "a", **step("find", q="x")}, {"id": "a", **step("find", q="x")}], "stands twice"),
        ([step("find", q="x")] * 21, "at most 20 steps"),
    ],
)  # fmt: skip
async def test_nothing_runs_of_a_plan_that_has_a_fault(plan, said):
    async with opened() as (rt, calls, _):
        result = await run(rt, *plan)

    assert result.error is not None
    assert result.error.code == "invalid-arguments"
    assert calls == []
    assert said in result.error.message


async def test_a_plan_sees_no_more_than_its_caller():
    rules = """
default: allow
rules: [{id: no, decide: deny, tools: [make], unless: "'maker' in caller.roles"}]
"""
    async with opened(rules=rules) as (rt, calls, _):
        result = await rt.call("plan_and_execute", thought(step("make", name="n")), Caller("ann"))
        allowed = await rt.call(
            "plan_and_execute", thought(step("make", name="n")), Caller("bo", ("maker",))
        )

    assert result.error is not None
    assert "there is no tool `make`" in result.error.message
    assert allowed.status == "success"
    assert len(calls) == 1


async def test_a_model_names_tools_as_it_knows_them():
    tools = TOOLS.replace("\ntools:", "\nnamespace: shop\ntools:", 1)
    said = {"evaluation": "no", "next_action": "revise_plan", "plan": [step("shop_find", q="a"), step("shop_find", q="b")]}  # fmt: skip
    files = {"toolrt.yaml": ON + ANALYST, "tools.d/t.yaml": tools, "stub.py": STUB}
    async with open_files(files) as rt:
        with stubbed(rt, {"shop.find": lambda given: {**given}}) as calls:
            _module(rt)["said"][:] = [said]
            result = await run(rt, step("shop.find", q="a"), step("shop_find", q="z"))

    assert [each["tool"] for each in result.data["steps"]] == ["shop.find", "shop.find"]
    assert [each.arguments["q"] for each in calls] == ["a", "b"]


async def test_a_model_may_ask_instead():
    async with opened() as (rt, calls, _):
        result = await run(rt, action="request_clarification", clarification_needed="Which one?")
        silent = await run(rt, action="request_clarification")

    assert result.data == {"clarification_needed": "Which one?"}
    assert silent.error is not None
    assert calls == []


async def test_a_plan_of_a_model_waits_for_people_and_goes_on():
    plan = (step("make", name="n"), step("pay", to="bob"), step("make", name="z"))
    async with opened() as (rt, calls, _):
        first = await run(rt, *plan)
        assert first.pause is not None
        await rt.approvals.approve(first.pause.approval_id, BOSS)
        done = await run(rt, *plan)

    assert done.status == "success"
    assert [each.tool for each in calls] == ["make", "pay", "make"]


@pytest.mark.parametrize("project", [ON, ON + ANALYST])
async def test_a_model_hears_that_a_person_edited_a_step_of_its_plan(project):
    plan = (step("make", name="n"), step("pay", to="bob"), step("make", name="z"))
    async with opened(project) as (rt, _, _):
        first = await run(rt, *plan)
        assert first.pause is not None
        await rt.approvals.approve(first.pause.approval_id, BOSS, edits={"to": "eve"})
        done = await run(rt, *plan)

    assert done.status == "success"
    assert list(done.context["notes"]) == ["step `step_2`: the arguments were edited by boss"]


async def test_a_step_that_fails_ends_the_plan_unless_the_project_says_otherwise():
    def broken(_given: dict[str, Any]) -> Any:
        raise ToolError("broken")

    plan = (step("find", q="x"), step("make", name="n"))
    async with opened(answers={"find": broken}) as (rt, _, _module):
        failed = await run(rt, *plan)
    going_on = ON + "agent: {planner: {on_step_error: continue}}\n"
    async with opened(going_on, answers={"find": broken}) as (rt, _, _module):
        went_on = await run(rt, *plan)

    assert failed.error is not None
    assert failed.error.message == "the step `step_1` failed: broken"
    assert [each["status"] for each in went_on.data["steps"]] == ["error", "success"]


async def test_u80_an_analyst_is_asked_after_each_step_and_may_end_the_plan():
    async with opened(ON + ANALYST) as (rt, calls, module):
        module["said"][:] = [
            {"evaluation": "go on", "next_action": "continue_plan"},
            {"evaluation": "enough", "next_action": "final_answer", "answer": {"stock": 3}},
        ]
        result = await run(rt, step("find", q="a"), step("find", q="b"), step("find", q="c"))

    assert result.data["result"] == {"stock": 3}
    assert len(calls) == 2
    assert [each["step"]["id"] for each in module["seen"]] == ["step_1", "step_2"]
    assert module["seen"][0]["left"] == [
        {"id": "step_2", "tool": "find"}, {"id": "step_3", "tool": "find"},
    ]  # fmt: skip


async def test_u80_a_plan_that_is_revised_makes_no_step_again_that_was_done():
    revised = [step("make", name="a"), step("make", name="{{ steps.step_1.data.name }}!")]
    async with opened(ON + ANALYST) as (rt, calls, module):
        module["said"][:] = [{"evaluation": "no", "next_action": "revise_plan", "plan": revised}]
        result = await run(rt, step("make", name="a"), step("make", name="b"))

    assert [each.arguments["name"] for each in calls] == ["a", "a!"]
    assert (result.data["result"]["name"], result.data["revisions"]) == ("a!", 1)


async def test_a_revised_plan_waits_and_goes_on_where_it_was_even_twice():
    revised = [
        step("make", name="a"),
        step("pay", to="x"),
        step("pay", to="y"),
        step("find", q="z"),
    ]
    async with opened(ON + ANALYST) as (rt, calls, module):
        module["said"][:] = [{"evaluation": "no", "next_action": "revise_plan", "plan": revised}]
        plan = (step("make", name="a"), step("make", name="b"), step("make", name="c"))
        result = await run(rt, *plan)
        for _ in range(2):
            assert result.pause is not None
            await rt.approvals.approve(result.pause.approval_id, BOSS)
            result = await run(rt, *plan)

    assert result.status == "success"
    assert [each.tool for each in calls] == ["make", "pay", "pay", "find"]
    assert result.data["revisions"] == 1


async def test_caps_on_revisions_and_steps_end_a_plan():
    async with opened(ON + ANALYST) as (rt, _, module):
        module["said"][:] = [
            {"evaluation": "no", "next_action": "revise_plan", "plan": [step("find", q=str(n))]}
            for n in range(9)
        ]
        result = await run(rt, step("find", q="first"))

    assert result.error is not None
    assert result.error.code == "budget-exhausted"
    assert result.error.details["limit"] == "revisions"


@pytest.mark.parametrize(
    ("said", "message"),
    [
        (None, "gave no analysis"),
        ({"evaluation": "x", "next_action": "stop"}, "`next_action` is one of"),
        ({"evaluation": "x", "next_action": "revise_plan"}, "`revise_plan` has a `plan`"),
        ({"evaluation": "x", "next_action": "revise_plan", "plan": [step("nix")]}, "there is no tool"),
        (ValueError("my secret"), "the analyst of plans failed (ValueError)"),
    ],
)  # fmt: skip
async def test_an_analyst_that_fails_ends_the_plan(said, message):
    async with opened(ON + ANALYST) as (rt, _, module):
        module["said"][:] = [said]
        result = await run(rt, step("find", q="x"))

    assert result.error is not None
    assert message in result.error.message
    assert "my secret" not in str(result.document())


@pytest.mark.parametrize(
    "revised",
    [
        [{**step("make", name="b"), "id": 5}],
        [{**step("make", name="b"), "id": ["x"]}],
        [{**step("make", name="b"), "id": "Not so"}],
        [{**step("make", name="b"), "id": "step_1"}],
        [{**step("make", name="b"), "more": 1}],
        [step("make", name={1, 2})],
        [{"tool": "make", "parameters": {1: "b"}}],
        [step("make", name="b")] * 101,
        [step("nix")],
    ],
)
async def test_what_an_analyst_says_is_looked_at_and_what_was_done_before_is_not_denied(revised):
    said = {"evaluation": "no", "next_action": "revise_plan", "plan": revised}
    async with opened(ON + ANALYST) as (rt, calls, module):
        module["said"][:] = [said]
        failed = await run(rt, step("make", name="a"), step("find", q="z"))
        again = await run(rt, step("make", name="a"), step("find", q="z"))

    assert failed.error is not None
    assert (failed.error.code, failed.error.retryable) == ("bad-response", False)
    assert failed.error.details["steps"] == {"step_1": "success"}
    assert "nothing ran" not in failed.text + str(failed.error.hint)
    assert again.status == "success"
    assert [each.tool for each in calls] == ["make", "find"]


def test_an_analyst_that_is_none_is_a_fault_of_the_project(tmp_path):
    for name in ("stub:no_callable", "stub:nowhere", "nowhere:fn"):
        project = ON + f"agent: {{planner: {{analyst: '{name}'}}}}\n"
        files = {"toolrt.yaml": project, "tools.d/t.yaml": TOOLS, "stub.py": STUB}
        [fault] = [each for each in load(write_files(tmp_path, files)).diagnostics if each.severity == "error"]  # fmt: skip
        assert (fault.file, fault.line) == ("toolrt.yaml", 2)


async def test_the_tool_is_there_only_where_the_project_names_it():
    async with open_files({"tools.d/t.yaml": TOOLS, "stub.py": STUB}) as rt:
        result = await run(rt, step("find", q="x"))

    assert result.error is not None
    assert result.error.code == "unknown-tool"
