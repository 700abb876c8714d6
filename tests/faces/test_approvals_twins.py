"""Whoever is asked is told that the very same call runs, or came to an unknown end."""

import json

import pytest
from bank import document

TOOLS = """\
tools:
  hang: {description: Hangs., parameters: {n: string}, command: [sleep, "5"], effect: write,
         timeout: {attempt: 100ms}, retry: none, hitl: confirm}
"""


@pytest.fixture
def lost(project, invoke):
    """The id of an approved call that timed out."""
    (project / "tools.d" / "hang.yaml").write_text(TOOLS)
    pause = json.loads(invoke("run", "hang", "n=1", "-o", "json").stdout)["pause"]
    assert pause["same_call"] is None
    invoke("approvals", "approve", pause["approval_id"], "--run")
    return pause["approval_id"]


def test_the_same_call_again_says_that_the_outcome_of_the_earlier_one_is_unknown(invoke, lost):
    again = invoke("run", "hang", "n=1")
    assert f"The very same call ran: outcome unknown (approval {lost})" in again.stderr
    paused = json.loads(invoke("run", "hang", "n=1", "-o", "json").stdout)
    pause = paused["pause"]
    assert pause["same_call"]["approval_id"] == lost
    assert pause["same_call"]["state"] == "unknown"

    listed = invoke("approvals", "list", "--state", "pending").stdout
    assert "pending, same call ran: outcome unknown" in listed
    shown = invoke("approvals", "show", pause["approval_id"]).stdout
    assert "before    the very same call, asked for" in shown
    assert f"ran: outcome unknown ({lost[:8]})\n" in shown
    told = document(invoke("approvals", "show", pause["approval_id"], "-o", "json"))
    assert told["same_call"] == pause["same_call"]


def test_other_arguments_are_another_call(invoke, lost):
    again = invoke("run", "hang", "n=2")
    assert (again.exit_code, "same call ran" in again.stderr) == (6, False)
