"""What became of a call, as people and programs see it: every shape that it may have."""

import json
import sqlite3
from contextlib import closing

import pytest
from bank import document

TOOLS = """\
tools:
  ring:
    description: Ask by telephone.
    parameters: {who: string}
    hitl: external
"""


@pytest.fixture(autouse=True)
def ring(project):
    (project / "tools.d" / "ring.yaml").write_text(TOOLS)


@pytest.fixture
def asked(invoke):
    shown = invoke("run", "ring", "who=Ann", "-o", "json")
    return json.loads(shown.stdout)["pause"]["approval_id"]


def outcome(invoke, approval):
    return document(invoke("approvals", "show", approval, "-o", "json"))["outcome"]


def written(project, text, state="succeeded"):
    """The outcome as another version, or a hand, may have kept it."""
    with closing(sqlite3.connect(project / ".toolrt" / "state.db")) as connection:
        connection.execute("DROP TRIGGER approvals_way")
        connection.execute("UPDATE approvals SET outcome = ?, state = ?", (text, state))
        connection.commit()


def test_a_call_by_hand_that_has_no_result_is_told_before_and_after_it_ends(invoke, asked):
    said = invoke("approvals", "approve", asked, "--error", "line busy")
    assert (said.exit_code, "outcome   line busy\n" in said.stdout) == (0, True)
    assert outcome(invoke, asked) == {"error": {"code": None, "message": "line busy"}}

    assert invoke("approvals", "run", asked).exit_code == 1
    text = invoke("approvals", "show", asked)
    assert (text.exit_code, "outcome   execution-failed: line busy\n" in text.stdout) == (0, True)
    assert outcome(invoke, asked)["error"]["code"] == "execution-failed"
    for form in ("text", "json", "jsonl", "yaml"):
        listed = invoke("approvals", "list", "--state", "all", "-o", form)
        assert (listed.exit_code, "failed" in listed.stdout) == (0, True)


def test_a12_a_result_by_hand_is_shown_before_and_after_the_call_ends(invoke, asked):
    said = invoke("approvals", "approve", asked, "--result", '{"answer": "yes"}')
    assert 'result:\n  answer: "yes"' in said.stdout
    assert invoke("approvals", "run", asked).exit_code == 0
    assert 'result:\n  answer: "yes"' in invoke("approvals", "show", asked).stdout
    assert outcome(invoke, asked)["data"] == {"answer": "yes"}


def test_a12_a_result_that_waits_for_a_second_yes_is_shown(invoke, asked, project):
    written(project, '{"data": "maybe"}', "pending")

    assert "result:\n  maybe" in invoke("approvals", "show", asked).stdout
    assert outcome(invoke, asked) == {"data": "maybe"}


@pytest.mark.parametrize(
    ("text", "line", "shape"),
    [
        (None, None, None),
        ('{"call_id": "c-1"}', None, {"call_id": "c-1"}),
        ('{"ok": true}', None, {"ok": True}),
        (
            '{"error": {"code": "timeout", "message": "too late", "hint": null}}',
            "timeout: too late",
            {"error": {"code": "timeout", "message": "too late", "hint": None}},
        ),
        ('{"error": {"message": "odd"}}', "odd", {"error": {"code": None, "message": "odd"}}),
        ('{"error": "text"}', "text", {"error": {"code": None, "message": "text"}}),
        ('{"error": 5}', "5", {"error": {"code": None, "message": "5"}}),
        ('{"error": null}', None, {"error": None}),
        ('"done"', None, {"data": "done"}),
        ("[1]", None, {"data": [1]}),
        ("no JSON", None, {"data": "no JSON"}),
    ],
)
@pytest.mark.parametrize("state", ["unknown", "succeeded"])
def test_whatever_is_kept_of_an_outcome_is_shown(invoke, asked, project, state, text, line, shape):
    written(project, text, state)
    shown = invoke("approvals", "show", asked)

    assert shown.exit_code == 0
    lines = [each for each in shown.stdout.splitlines() if each.startswith("outcome")]
    assert lines == ([f"outcome   {line}"] if line else [])
    assert ("result:\n" in shown.stdout) == ("data" in (shape or {}))
    assert outcome(invoke, asked) == shape


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--result", "NaN"), "--result: JSON has no NaN"),
        (("--result", '"\\ud800"'), "half a character"),
        (("--result", "[" * 20000), "nested deeper than 64 levels"),
        (("--result", "[" * 20000 + "]" * 20000), "nested deeper than 64 levels"),
        (("--result", "9" * 5000), "more than 4300 digits"),
        (("--result", "{"), "--result: the JSON ends too early"),
        (("--error", "\udcff"), "half a character"),
        (("--result", "1", "--note", "\udcff"), "half a character"),
        (("--result", "1", "--error", "no"), "a result or an error, not both"),
    ],
)
def test_what_is_broken_is_refused_when_it_is_given(invoke, asked, words, said):
    refused = invoke("approvals", "approve", asked, *words)

    assert (refused.exit_code, said in refused.stderr) == (2, True), refused.stderr
    assert document(invoke("approvals", "show", asked, "-o", "json"))["state"] == "pending"


@pytest.mark.parametrize(
    "words",
    [
        ("show", "\udcff"),
        ("run", "\udcff"),
        ("approve", "\udcff"),
        ("deny", "\udcff"),
        ("cancel", "\udcff"),
        ("resolve", "\udcff", "failed"),
        ("revoke", "\udcff\udcfe"),
        ("list", "--limit", "9" * 23),
        ("list", "--limit", "0"),
    ],
)
def test_words_that_nothing_is_called_by_are_wrong_usage(invoke, words):
    refused = invoke("approvals", *words)

    assert (refused.exit_code, refused.stdout) == (2, ""), refused.stderr
    assert "internal" not in refused.stderr


def altered(project, change):
    """A row that somebody changed who may write the file."""
    with closing(sqlite3.connect(project / ".toolrt" / "state.db")) as connection:
        connection.execute(f"UPDATE approvals SET {change}")
        connection.commit()


@pytest.mark.parametrize("change", ["view = '{}'", "fields = '[]'", "reason = 'all is well'"])
def test_a12_a_row_that_was_changed_by_hand_is_shown_as_one(invoke, project, asked, change):
    assert document(invoke("approvals", "show", asked, "-o", "json"))["altered"] is False
    altered(project, change)

    shown = invoke("approvals", "show", asked)
    said = "its row was changed by hand: nobody can say yes to it, and it runs nothing"
    assert f"altered   {said}\n" in shown.stdout
    assert shown.stderr == f"try: toolrt approvals cancel {asked[:8]}\n"
    assert document(invoke("approvals", "show", asked, "-o", "json"))["altered"] is True
    refused = invoke("approvals", "approve", asked, "--result", "1")
    assert "error[approval-mismatch]: ring: its row was changed by hand" in refused.stderr
    assert invoke("approvals", "cancel", asked).exit_code == 0
