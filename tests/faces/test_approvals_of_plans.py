"""Whoever decides about a step of a plan is told so, and caller and person what was changed."""

import json

import pytest
from bank import document

TOOLS = """\
tools:
  give: {description: G., parameters: {to: string}, command: [echo, "{{ to }}"], hitl: confirm}
  gifts: {description: G., steps: [{id: p, tool: give, args: {to: ann}}]}
  all_gifts: {description: A., steps: [{id: q, tool: gifts}]}
"""
SAID = "a step of plan `{}`; running it once it is approved, as with --run, also makes the steps"


@pytest.fixture(autouse=True)
def plans(project):
    (project / "tools.d" / "gifts.yaml").write_text(TOOLS)


def asked(invoke, *call):
    paused = json.loads(invoke("run", *call, "-o", "json").stdout)
    return paused["pause"]["approval_id"]


@pytest.mark.parametrize("name", ["gifts", "all_gifts"])
def test_who_approves_a_step_is_told_of_the_outermost_plan_that_goes_on(invoke, name):
    approval = asked(invoke, name)
    assert SAID.format(name) in invoke("approvals", "show", approval).stdout
    assert document(invoke("approvals", "show", approval, "-o", "json"))["plan"] == name


def test_a_call_by_itself_is_of_no_plan(invoke):
    approval = asked(invoke, "give", "to=ann")
    assert "a step of plan" not in invoke("approvals", "show", approval).stdout
    assert document(invoke("approvals", "show", approval, "-o", "json"))["plan"] is None


def test_the_caller_of_a_plan_reads_that_a_person_edited_a_step(invoke):
    approval = asked(invoke, "gifts")
    invoke("approvals", "approve", approval, "--edit", "to=eve")
    run = invoke("run", "gifts")
    assert run.stderr.startswith("note: step `p`: the arguments were edited by ")
