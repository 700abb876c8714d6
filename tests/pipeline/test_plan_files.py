"""Plans without any model: from a file, or from a program (U79)."""

import json

import pytest

from toolrt.catalog.plan_file import BrokenPlanError
from toolrt.core.calls import Caller
from toolrt.core.errors import ProjectError, RefusedError
from toolrt.testing import open_files, stubbed

pytestmark = pytest.mark.anyio

BOSS = Caller("boss", may=frozenset({"call", "approve"}))
FILES = {
    "tools.d/t.yaml": """
tools:
  find: {description: F., parameters: {q: string}, effect: read, python: "stub:one"}
  pay: {description: P., parameters: {to: string, n: {type: integer, default: 1}}, python: "stub:one", hitl: confirm}
  make: {description: M., python: "stub:one"}
  inner: {description: I., python: "stub:one", expose: false}
  outer: {description: O., steps: [{id: a, tool: inner}]}
""",
    "stub.py": "def one(**given: str) -> None:\n    pass\n",
}
ANSWERS = {name: lambda given: {**given} for name in ("find", "pay", "make", "inner")}
PLAN = {
    "parameters": {"q": "string"},
    "steps": [
        {"id": "a", "tool": "find", "args": {"q": "{{ q }}"}},
        {"id": "b", "tool": "pay", "args": {"to": "{{ steps.a.data.q }}"}},
        {"id": "c", "tool": "make"},
    ],
}


@pytest.mark.parametrize("ends_by_approval", [True, False])
async def test_a_plan_of_a_program_waits_and_goes_on_like_a_tool(ends_by_approval):
    async with open_files(FILES) as rt:
        with stubbed(rt, ANSWERS) as calls:
            first = await rt.plan(PLAN, {"q": "x"})
            assert first.pause is not None
            id_ = first.pause.approval_id
            await rt.approvals.approve(id_, BOSS)
            done = await (rt.approvals.run(id_) if ends_by_approval else rt.plan(PLAN, {"q": "x"}))

    assert (done.tool, done.status) == ("plan:plan", "success")
    assert done.data == {"a": {"q": "x"}, "b": {"to": "x", "n": 1}, "c": {}}
    assert [each.tool for each in calls] == ["find", "pay", "make"]


@pytest.mark.parametrize("suffix", ["yaml", "json"])
async def test_a_plan_stands_in_a_file(tmp_path, suffix):
    file = tmp_path / f"my plan.{suffix}"
    file.write_text(json.dumps(PLAN["steps"] and {"steps": [{"id": "a", "tool": "make"}]}))
    async with open_files(FILES) as rt:
        with stubbed(rt, ANSWERS):
            result = await rt.plan(file)

    assert (result.tool, result.data) == ("plan:my_plan", {"a": {}})


async def test_a_list_of_steps_is_a_plan():
    async with open_files(FILES) as rt:
        with stubbed(rt, ANSWERS):
            result = await rt.plan([{"id": "a", "tool": "find", "args": {"q": "x"}}])

    assert result.data == {"a": {"q": "x"}}


async def test_faults_of_a_plan_file_have_their_place_and_nothing_runs(tmp_path):
    file = tmp_path / "p.yaml"
    file.write_text("steps:\n  - {id: a, tool: find, args: {q: x}}\n  - {id: b, tool: fnd}\n  - {id: c, tool: find, args: {r: 1, q: 2}}\n")  # fmt: skip
    async with open_files(FILES) as rt:
        with stubbed(rt, ANSWERS) as calls, pytest.raises(BrokenPlanError) as caught:
            await rt.plan(file)

    found = [(each["code"], each["line"]) for each in caught.value.diagnostics]
    assert found == [("no-such-tool", 3), ("unknown-argument", 4), ("wrong-argument", 4)]
    assert "p.yaml:3:19" in caught.value.report
    assert "did you mean `find`?" in caught.value.report
    assert calls == []


@pytest.mark.parametrize(
    "plan", [{}, {"steps": []}, {"steps": 3}, {"steps": PLAN["steps"], "hitl": "confirm"}, "[1]"]
)
async def test_what_is_no_plan_is_told(plan, tmp_path):
    if plan == "[1]":
        (tmp_path / "p.json").write_text(plan)
        plan = tmp_path / "p.json"
    async with open_files(FILES) as rt:
        with pytest.raises(BrokenPlanError):
            await rt.plan(plan)


async def test_what_cannot_be_read_is_told(tmp_path):
    async with open_files(FILES) as rt:
        with pytest.raises(ProjectError, match="cannot be read"):
            await rt.plan(tmp_path / "none.yaml")
        with pytest.raises(RefusedError):
            await rt.plan({"steps": object()})


async def test_a_plan_is_decided_about_step_by_step_and_its_arguments_are_checked():
    rules = "default: allow\nrules: [{id: no, decide: deny, tools: [pay], reason: not now}]\n"
    async with open_files({**FILES, "policies.d/p.yaml": rules}) as rt:
        with stubbed(rt, ANSWERS) as calls:
            missing = await rt.plan(PLAN, {})
            result = await rt.plan(PLAN, {"q": "x"})

    assert missing.error is not None
    assert missing.error.code == "missing-arguments"
    assert result.error is not None
    assert result.error.details["step"] == "b"
    assert result.error.code in {"denied", "execution-failed"}
    assert [each.tool for each in calls] == ["find"]


async def test_a_preview_shows_each_step_and_what_is_decided_about_it():
    rules = """
default: allow
rules: [{id: dear, decide: ask, tools: [pay], when: "args.n > 100"}]
"""
    tools = FILES["tools.d/t.yaml"].replace(", hitl: confirm", "")
    steps = [*PLAN["steps"], {"id": "d", "tool": "pay", "args": {"to": "bob", "n": 500}}]
    async with open_files({**FILES, "tools.d/t.yaml": tools, "policies.d/p.yaml": rules}) as rt:
        with stubbed(rt, ANSWERS) as calls:
            seen = await rt.plans.preview({**PLAN, "steps": steps}, {"q": "x"})

    decided = {each["id"]: each["decision"]["decision"] for each in seen["steps"]}
    assert decided == {"a": "allow", "b": "depends", "c": "allow", "d": "ask"}
    assert seen["groups"] == [["a"], ["b"], ["c"], ["d"]]
    assert calls == []


@pytest.mark.parametrize("rules", ["default: allow\n", "rules: [{id: a, decide: allow, tools: [outer]}]\n"])  # fmt: skip
async def test_a_plan_of_a_caller_calls_what_is_not_exposed_only_by_a_tool_that_does(rules):
    async with open_files({**FILES, "policies.d/p.yaml": rules}) as rt:
        with stubbed(rt, ANSWERS) as calls:
            with pytest.raises(BrokenPlanError, match="there for other tools alone"):
                await rt.plan([{"id": "a", "tool": "inner"}])
            assert calls == []
            result = await rt.plan([{"id": "a", "tool": "outer"}])

    assert result.data == {"a": {"a": {}}}
