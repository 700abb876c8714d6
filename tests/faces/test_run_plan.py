"""`toolrt run --plan`: a plan file from the command line."""

import json

import pytest

TOOLS = """
tools:
  look: {description: L., parameters: {a: {type: string, default: x}}, effect: read, command: [printf, "{{ a }}"]}
  pay: {description: P., parameters: {to: string}, command: [printf, "paid {{ to }}"], hitl: confirm}
"""
PLAN = """
parameters: {q: string}
steps:
  - {id: a, tool: look, args: {a: "{{ q }}"}}
  - {id: b, tool: pay, args: {to: "{{ steps.a.data }}"}, when: "args.q != 'no'"}
"""


@pytest.fixture
def plan(project):
    (project / "tools.d" / "t.yaml").write_text(TOOLS)
    (project / "plan.yaml").write_text(PLAN)
    return "plan.yaml"


def test_a_plan_waits_and_the_same_command_goes_on(invoke, plan):
    first = invoke("run", "--plan", plan, "q=bob")
    id_ = invoke("approvals", "list", "--ids").stdout.strip()
    invoke("approvals", "approve", id_)
    done = invoke("run", "--plan", plan, "q=bob", "-o", "json")

    assert first.exit_code == 6
    assert "at its step `b`" in first.stderr
    assert done.exit_code == 0
    assert json.loads(done.stdout)["data"] == {"a": "bob", "b": "paid bob"}


def test_a_plan_with_arguments_of_json_ends(invoke, plan):
    done = invoke("run", "--plan", plan, "--json", '{"q": "no"}', "-o", "json")

    assert json.loads(done.stdout)["data"] == {"a": "no", "b": None}


def test_a_dry_run_shows_each_step(invoke, plan):
    shown = invoke("run", "--plan", plan, "q=bob", "--dry-run")

    assert shown.stdout.splitlines() == [
        '1.  a  look  allow  {"a": "bob"}',
        '2.  b  pay   ask    {"to": "{{ steps.a.data }}"} when args.q != \'no\'',
    ]


def test_faults_have_their_place(invoke, project, plan):
    (project / plan).write_text(PLAN.replace("tool: pay", "tool: pey"))

    shown = invoke("run", "--plan", plan, "q=bob")
    document = json.loads(invoke("run", "--plan", plan, "q=bob", "-o", "json").stdout)

    assert shown.exit_code == 3
    assert "plan.yaml:5:19: error[no-such-tool]" in shown.stderr
    assert document["error"]["code"] == "manifests-invalid"


@pytest.mark.parametrize(
    "more", [["--serial"], ["--batch", "x.json"], ["--watch"], ["--stop-on-error"]]
)
def test_what_is_for_other_calls_goes_with_no_plan(invoke, plan, more):
    shown = invoke("run", "--plan", plan, "q=bob", *more)

    assert shown.exit_code == 2
    assert "does not go with it" in shown.stderr


def test_wrong_arguments_and_files_are_told(invoke, plan):
    assert invoke("run", "--plan", plan).exit_code == 2
    assert invoke("run", "--plan", plan, "q=a", "r=b").exit_code == 2
    assert "cannot be read" in invoke("run", "--plan", "nowhere.yaml").stderr
