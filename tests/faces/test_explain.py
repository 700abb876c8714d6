import asyncio
import json

import journal_desk
import pytest

from toolrt.core.calls import Caller
from toolrt.observe.journal_entries import PerTool

RULES = """\
rules:
  - id: big
    decide: ask
    tools: [t.add]
    when: args.a > 500 && !("finance" in caller.roles)
    reason: Big sums need finance.
    approval: {approvers: {roles: [finance]}, ttl: 30m, exclude_requester: true}
  - {id: never, decide: deny, tools: [t.fails], reason: It fails.}
  - {id: watch, decide: deny, tools: [t.echo], mode: audit}
  - {id: rest, decide: allow, tools: ["*"]}
"""


@pytest.fixture(autouse=True)
def rules(project):
    (project / "policies.d").mkdir()
    (project / "policies.d" / "p.yaml").write_text(RULES)


def lines(result):
    return [" ".join(line.split()) for line in result.stdout.splitlines()]


def test_the_rule_that_decides_stands_first_and_every_other_has_a_line(invoke):
    done = invoke("explain", "t.add", "a=900")
    said = lines(done)

    assert done.exit_code == 6
    assert said[0] == "ask the rule `big` asks a person: Big sums need finance."
    assert "approval a yes of role finance (not the requester), within 30m (confirm)" in said
    assert 'big ask matches `when` is true: args.a > 500 && !("finance" in caller.roles)' in said
    assert "rest allow matches it has no condition" in said
    assert "never" not in done.stdout


@pytest.mark.parametrize(
    ("args", "status", "first"),
    [
        (["t.add", "a=1"], 0, "allow the rule `rest` allows it"),
        (["t.add", "a=900", "--as", "ann:finance"], 0, "allow the rule `rest` allows it"),
        (["t.fails"], 4, "deny the rule `never` denies it: It fails."),
    ],
)
def test_the_status_says_what_would_become_of_the_call(invoke, args, status, first):
    done = invoke("explain", *args)

    assert (done.exit_code, lines(done)[0]) == (status, first)


def test_limits_come_with_their_origins_and_the_request_is_rendered(invoke):
    said = lines(invoke("explain", "t.echo", "text=hello"))

    assert "effect: read # tools.d/t.yaml tool" in said
    assert "total: 1m # built-in" in said
    assert "- hello" in said
    assert any(line.startswith("LOUD") or "env:" in line for line in said)


def test_the_document_has_the_decision_and_what_it_is_about(invoke):
    document = json.loads(invoke("explain", "t.add", "a=900", "-o", "json").stdout)

    assert document["schema"] == "toolrt/v1"
    assert (document["decision"], document["rule"]) == ("ask", "big")
    assert [each["id"] for each in document["rules"]] == ["big", "rest"]
    assert document["arguments"] == {"a": 900, "b": 2}
    assert document["terms"]["groups"] == [{"roles": ["finance"], "principals": [], "count": 1}]
    assert document["generation"] == 1
    assert len(document["policy_hash"]) == 64
    assert document["origins"]["effect"] == "tools.d/t.yaml tool"
    assert document["request"] is not None


def test_a_hidden_tool_is_said_to_be_hidden(invoke):
    said = lines(invoke("explain", "t.fails", "--as", "bob"))

    assert "hidden the caller does not even see this tool; to it there is none" in said


def test_to_who_may_not_admin_a_hidden_tool_is_none(invoke, project):
    (project / "toolrt.yaml").write_text("identities: [{os_user: nobody-1, principal: a}]\n")
    (project / "policies.d" / "p.yaml").write_text("default: deny\n")

    done = invoke("explain", "t.add", "a=1")

    assert done.exit_code == 7
    assert "there is no tool `t.add`" in done.stderr


def test_an_audit_rule_is_told_apart(invoke):
    said = lines(invoke("explain", "t.echo", "text=hello"))

    assert "audit watch would have counted too, but only watches" in said
    assert "watch deny matches audit it has no condition" in said


def test_what_is_unavailable_is_decided_all_the_same(invoke):
    done = invoke("explain", "t.broken")

    assert done.exit_code == 0
    assert "cannot be shown: it is unavailable: " in done.stdout


def test_without_rules_that_is_said(invoke, project):
    (project / "policies.d" / "p.yaml").unlink()

    assert lines(invoke("explain", "t.add", "a=1"))[0] == "allow this project has no rules"


def test_arguments_that_do_not_fit_are_told_as_by_run(invoke):
    done = invoke("explain", "t.add", "-o", "json")

    assert done.exit_code == 2
    assert json.loads(done.stdout)["error"]["code"] == "missing-arguments"


def test_an_unknown_tool_is_not_found(invoke):
    assert invoke("explain", "t.ad").exit_code == 7


@pytest.mark.parametrize(
    ("args", "told"),
    [
        ((), "which tool?"),
        (("--diff", "nowhere"), "there is no folder nowhere"),
        (("t.add", "a=1", "--diff", "."), "`--diff` takes no arguments"),
        (("--diff", "tools.d"), "has no policy files"),
    ],
)
def test_wrong_usage_says_what_to_write(invoke, project, args, told):
    (project / "tools.d" / "sub").mkdir()
    args = tuple("tools.d/sub" if each == "tools.d" else each for each in args)
    done = invoke("explain", *args)

    assert done.exit_code == 2
    assert told in done.stderr


@pytest.fixture
def calls_of_the_past(project):
    """A journal of three calls, and the folder `old` whose rules let everything through."""

    async def record():
        journal = journal_desk.journal_in(project)
        for number, a in enumerate((900, 1)):
            called = journal_desk.call(number, {"a": a, "b": 2}, caller=Caller("ann"))
            journal.note(*called, journal_desk.ADD)
        journal.note(*journal_desk.call(3, {}, tool="t.fails"), PerTool("t.fails"))
        await journal_desk.closed(journal)

    asyncio.run(record())
    (project / "old").mkdir()
    (project / "old" / "p.yaml").write_text("default: allow\n")


@pytest.mark.usefixtures("calls_of_the_past")
def test_calls_of_the_past_that_are_decided_otherwise_are_listed(invoke):
    done = invoke("explain", "--diff", "old")

    assert done.exit_code == 10
    assert lines(done) == [
        "old: old -> new: this project",
        "call-0 t.add ann allow -> ask default -> big a=900 b=2",
        "call-3 t.fails bot allow -> deny default -> never",
        "3 calls decided by both policies; 2 decisions differ",
    ]


@pytest.mark.usefixtures("calls_of_the_past")
def test_calls_that_would_be_let_through_are_counted(invoke, project):
    rules = (project / "policies.d" / "p.yaml", project / "old" / "p.yaml")
    strict = rules[0].read_text()
    rules[0].write_text(
        strict.replace("decide: deny, tools: [t.fails]", "decide: ask, tools: [t.fails]")
    )
    first = invoke("explain", "--diff", "old")
    rules[0].write_text("default: allow\n")
    rules[1].write_text(strict)
    done = invoke("explain", "--diff", "old")
    document = json.loads(invoke("explain", "--diff", "old", "-o", "json").stdout)

    assert "warning" not in first.stdout
    assert lines(done)[-1] == "warning: 2 calls would be let through that were not"
    assert (document["old"], document["new"]) == ("old", "this project")
    assert (document["let_through"], document["softened"]) == (2, 0)
    assert document["flips"][0]["arguments"] == {"a": 900, "b": 2}


@pytest.mark.usefixtures("calls_of_the_past")
def test_calls_that_would_ask_where_they_were_denied_are_counted(invoke, project):
    rules = (project / "policies.d" / "p.yaml", project / "old" / "p.yaml")
    rules[1].write_text("default: deny\n")
    rules[0].write_text("rules: [{id: a, decide: ask, tools: ['*']}]\n")
    done = invoke("explain", "--diff", "old")

    assert lines(done)[-1] == "warning: 3 calls would ask a person that were denied"


def test_long_arguments_are_cut_and_passwords_masked_where_flips_are_shown(invoke, project):
    journal = journal_desk.journal_in(project)
    arguments = {"a": "https://ann:hunter2@host/", "b": "x" * 200}

    async def record():
        journal.note(*journal_desk.call(0, arguments, caller=Caller("ann")), journal_desk.ADD)
        await journal_desk.closed(journal)

    asyncio.run(record())
    (project / "old").mkdir()
    (project / "old" / "p.yaml").write_text("default: deny\n")
    (project / "policies.d" / "p.yaml").write_text("default: allow\n")
    row = invoke("explain", "--diff", "old").stdout.splitlines()[1]

    assert "hunter2" not in row
    assert row.endswith("xxx…")
    assert len(row) < 160


@pytest.mark.usefixtures("calls_of_the_past")
def test_calls_of_one_tool_can_be_compared_as_a_document(invoke):
    done = invoke("explain", "t.add", "--diff", "old", "-o", "json")
    document = json.loads(done.stdout)

    assert done.exit_code == 10
    assert (document["schema"], document["calls"]) == ("toolrt/v1", 2)
    assert [flip["call_id"] for flip in document["flips"]] == ["call-0"]


@pytest.mark.usefixtures("calls_of_the_past")
def test_the_same_rules_decide_the_same(invoke):
    done = invoke("explain", "--diff", ".")

    assert (done.exit_code, done.stdout) == (
        0, "old: .  ->  new: this project\n3 calls decided by both policies; no decision differs\n"
    )  # fmt: skip


def test_without_a_journal_nothing_differs_and_nothing_is_made(invoke, project):
    done = invoke("explain", "--diff", ".")

    assert (done.exit_code, lines(done)) == (
        0, ["old: . -> new: this project", "0 calls decided by both policies; no decision differs"]
    )  # fmt: skip
    assert not (project / ".toolrt").exists()


def test_errors_in_the_other_rules_are_shown(invoke, project):
    (project / "old").mkdir()
    (project / "old" / "p.yaml").write_text("defualt: allow\n")

    done = invoke("explain", "--diff", "old")

    assert done.exit_code == 3
    assert "unknown-key" in done.stderr


@pytest.mark.usefixtures("calls_of_the_past")
def test_history_replay_decides_by_the_rules_of_now(invoke):
    """What was allowed by `everything` once is asked about today."""
    done = invoke("history", "replay", "t.add")

    assert done.exit_code == 10
    assert lines(done) == [
        "old: as decided then -> new: the rules of now",
        "call-0 t.add ann allow -> ask everything -> big a=900 b=2",
        "2 calls decided once more; 1 decision differs",
    ]
