"""Questions of the command line that depend on who is there, and values that people fill in."""

import json
import os
import pty
import subprocess
import sys

import pytest

TOOLS = """\
tools:
  pay: {description: Pay., command: [echo, paid], hitl: confirm}
"""
FIELDS = [
    {"name": "city", "description": "Where to?"},
    {"name": "days", "type": "integer", "description": "How long?"},
]


@pytest.fixture(autouse=True)
def files(project):
    (project / "tools.d" / "t.yaml").write_text(TOOLS)
    (project / "toolrt.yaml").write_text(
        "approvals: {when_unattended: deny}\nbuiltins: [get_user_input]\n"
    )


def on_a_terminal(project, *args, stderr=True):
    """The exit status of a command whose stdin, and with `stderr` that too, is a terminal."""
    ours, theirs = pty.openpty()
    try:
        done = subprocess.run(
            [sys.executable, "-m", "toolrt", *args],
            cwd=project, stdin=theirs, stdout=subprocess.DEVNULL,
            stderr=theirs if stderr else subprocess.DEVNULL, timeout=30, check=False,
        )  # fmt: skip
    finally:
        os.close(theirs)
        os.close(ours)
    return done.returncode


def test_p17_without_a_terminal_nobody_is_attached(child):
    done = child("run", "pay")
    assert (done.returncode, done.stdout) == (4, "")
    assert "error[approval-unavailable]: this needs a person's yes, and nobody" in done.stderr


def test_p17_whoever_waits_is_attached(child):
    done = child("run", "pay", "--wait=100ms")
    assert (done.returncode, "paused" in done.stderr) == (6, True)


def test_p17_a_terminal_is_attached_if_questions_can_be_seen_there(project):
    assert on_a_terminal(project, "run", "pay") == 6
    assert on_a_terminal(project, "run", "pay", stderr=False) == 4


def test_u76_a_person_fills_in_what_a_model_asks_for(invoke):
    call = ("get_user_input", "--json", json.dumps({"fields": FIELDS}))
    paused = invoke("run", *call, "--wait=0s", "-o", "json")
    approval = json.loads(paused.stdout)["pause"]["approval_id"]

    shown = invoke("approvals", "show", approval).stdout
    assert "asks for  city, days" in shown
    assert "Where to?" in shown

    wrong = invoke("approvals", "approve", approval, "--edit", "city=Rome", "--edit", "days=x")
    assert wrong.exit_code == 2
    assert "`days` must be an integer" in wrong.stderr

    done = invoke(
        "approvals", "approve", approval, "--edit", "city=Rome", "--edit", "days=3", "--run"
    )
    assert (done.exit_code, json.loads(done.stdout)) == (0, {"city": "Rome", "days": 3})


def test_resolved_names_settings_that_hold_for_some_callers(invoke, project):
    (project / "policies.d").mkdir()
    (project / "policies.d" / "p.yaml").write_text(
        "settings:\n  - tools: [pay]\n    timeout: 5s\n    when: caller.principal == 'guest'\n"
    )
    lines = invoke("show", "pay", "--resolved").stdout.splitlines()
    document = json.loads(invoke("show", "pay", "--resolved", "-o", "json").stdout)

    assert lines[-1] == (
        "# policies.d/p.yaml:2 sets timeout for some callers: caller.principal == 'guest'"
    )
    assert document["conditional"] == [
        {
            "at": "policies.d/p.yaml:2",
            "when": "caller.principal == 'guest'",
            "options": ["timeout"],
        }
    ]
