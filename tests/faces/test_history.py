import asyncio
import json
import sqlite3

import pytest
from bank import identities, identity
from journal_desk import ADD, call, closed, journal_in

from toolrt.core.calls import Caller


@pytest.fixture
def recorded(project):
    """`recorded(note, …)`: a journal in the project, written by one function for each transaction."""

    def record(*calls, entries=()):
        async def work():
            journal = journal_in(project)
            for entry in entries:
                await journal._database.run(
                    lambda session, entry=entry: journal.audit(session, entry)
                )
            for each in calls:
                journal.note(*each, ADD)
            await closed(journal)

        asyncio.run(work())
        return project / ".toolrt" / "state.db"

    return record


def entries(shown):
    return json.loads(shown.stdout)["entries"]


APPROVAL = {"kind": "approval", "approval": "abcdefghij", "tool": "t.add", "principal": "bot"}
KNOWN = {"revision": 0, "final_hash": "f", "terms_hash": "t"}
EVENTS = [
    {**APPROVAL, "event": "asked", "at": 1.0, "call_id": "call-1", "state": "pending", **KNOWN},
    {**APPROVAL, "event": "decided", "at": 2.0, "call_id": "call-1", "state": "approved",
     "actor": "ann", "verdict": "approve", "note": "fine"},
    {**APPROVAL, "event": "claimed", "at": 3.0, "call_id": "call-1", "state": "claimed"},
    {**APPROVAL, "event": "succeeded", "at": 4.0, "call_id": "call-1", "state": "succeeded"},
]  # fmt: skip


def test_a_line_an_entry_the_latest_first(invoke, recorded):
    recorded(call(1), call(2, code="timeout", caller=Caller("ann")))

    first, second = invoke("history", "list").stdout.splitlines()
    assert "ann" in first
    assert "error (timeout)" in first
    assert "t.add  bot  allow by everything  success" in second
    assert second.endswith("call-1")


def test_a_project_without_a_journal_says_so_and_makes_none(invoke, project):
    for verb in ("list", "export", "stats", "tail"):
        shown = invoke("history", verb)
        assert (shown.exit_code, shown.stdout) == (0, "")
        assert "nothing was recorded yet" in shown.stderr
    assert "nothing was recorded yet" in invoke("history", "verify").stdout
    assert not (project / ".toolrt").exists()


def test_entries_are_chosen_by_options(invoke, recorded):
    recorded(call(1), call(2, code="timeout"), call(3, caller=Caller("ann")), entries=EVENTS)

    def ids(*options):
        return [
            each["call_id"] for each in entries(invoke("history", "list", *options, "-o", "json"))
        ]

    assert ids("--status", "timeout") == ["call-2"]
    assert ids("--caller", "ann", "--since", "1h") == ["call-3"]
    assert ids("--until", "1h") == ["call-1"] * 4
    assert ids("--approval", "abc", "--limit", "1") == ["call-1"]
    assert ids("t.*", "--limit", "2") == ["call-3", "call-2"]
    assert ids("other.*") == []
    assert ids("--since", "2001-01-01") == ["call-3", "call-2", "call-1"]


def test_a_time_that_is_none_is_wrong_usage(invoke):
    assert invoke("history", "list", "--since", "yesterday").exit_code == 2


def test_json_carries_the_schema(invoke, recorded):
    recorded(call(1))

    assert json.loads(invoke("history", "list", "-o", "json").stdout)["schema"] == "toolrt/v1"
    (line,) = invoke("history", "list", "-o", "jsonl").stdout.splitlines()
    assert json.loads(line)["schema"] == "toolrt/v1"


def test_show_tells_proposed_approved_executed_in_order(invoke, recorded):
    recorded(call(1, status="paused"), entries=EVENTS)

    for wanted in ("abc", "abcdefghij", "call-1"):
        shown = invoke("history", "show", wanted).stdout
        told = [line for line in shown.splitlines() if line and not line.startswith(" ")]
        said = ["proposed", "approved", "runs", "executed"]
        assert [line.rpartition("  ")[2] for line in told][:4] == said
    assert "note: fine" in shown
    assert told[1].split("  ")[2] == "ann"
    assert 'arguments: {"a": 1}' in shown


def test_show_of_a_call_tells_what_ran_on_its_approval(invoke, recorded):
    from types import SimpleNamespace

    record = SimpleNamespace(id="abcdefghij")
    recorded(call(7, approval=record), entries=EVENTS)

    assert len(entries(invoke("history", "show", "call-7", "-o", "json"))) == 5


def test_a_beginning_that_several_ids_share_is_not_enough(invoke, recorded):
    recorded(call(1), call(2))

    shown = invoke("history", "show", "call")
    assert shown.exit_code == 2
    assert "more than one id begins with 'call'" in shown.stderr


def test_an_id_that_nobody_has_ends_with_7(invoke, recorded):
    recorded(call(1))

    assert invoke("history", "show", "nothing").exit_code == 7


def test_o3_nothing_recorded_acts_on_the_terminal(invoke, recorded):
    evil = "\x1b[2J\u202e\x07"
    recorded(
        call(1, {"a": evil, evil: 1}, caller=Caller(evil)),
        entries=[
            {**EVENTS[1], "note": evil, "approval": f"abc{evil}", "tool": evil, "actor": evil}
        ],
    )

    for verb in (("list",), ("show", "call-1"), ("stats",), ("export",), ("list", "-o", "yaml")):
        shown = invoke("history", *verb)
        assert shown.stdout
        assert not {"\x1b", "\u202e", "\x07"} & set(shown.stdout), verb


def test_export_is_a_line_an_entry_the_oldest_first(invoke, recorded):
    recorded(call(1), call(2), entries=EVENTS)

    lines = [json.loads(line) for line in invoke("history", "export").stdout.splitlines()]
    assert [line["at"] for line in lines] == sorted(line["at"] for line in lines)
    assert [line["kind"] for line in lines] == ["approval"] * 4 + ["call"] * 2
    assert {line["schema"] for line in lines} == {"toolrt/v1"}


def test_verify_is_silent_about_what_is_in_order(invoke, recorded):
    recorded(call(1))

    shown = invoke("history", "verify")
    assert (shown.exit_code, shown.stdout) == (
        0,
        "ok: nothing was tampered with\njournal: 2 rows, approvals: 0, votes: 0, grants: 0\n",
    )
    covered = json.loads(invoke("history", "verify", "-o", "json").stdout)["covered"]
    assert covered == {"journal": 2, "approvals": 0, "votes": 0, "grants": 0}


def tamper(path, *statements):
    connection = sqlite3.connect(path)
    for sql in ("DROP TRIGGER journal_same", "DROP TRIGGER journal_kept", *statements):
        connection.execute(sql)
    connection.commit()
    connection.close()


def test_a20_verify_ends_with_9_when_something_was_tampered_with(invoke, recorded):
    with_guards = recorded(call(1))
    tamper(with_guards, "UPDATE journal SET count = 9 WHERE seq = 2")

    shown = invoke("history", "verify")
    assert shown.exit_code == 9
    assert "row 2: the row was edited, or moved here" in shown.stdout
    assert "the journal: the guard `journal_kept` is gone" in shown.stdout
    faults = json.loads(invoke("history", "verify", "-o", "json").stdout)["faults"]
    assert [each["seq"] for each in faults] == [None, None, 2]


def test_a20_verify_names_the_approval_that_nobody_asked_about(invoke, recorded):
    recorded(entries=EVENTS)

    shown = invoke("history", "verify")
    assert shown.exit_code == 9
    assert "approval abcdefghij: it is gone" in shown.stdout


@pytest.mark.parametrize("table", ["journal", "journal_heads", "meta"])
def test_a20_verify_ends_with_9_when_a_table_is_gone(invoke, recorded, table):
    connection = sqlite3.connect(recorded(call(1)))
    connection.execute(f"DROP TABLE {table}")
    connection.commit()
    connection.close()

    shown = invoke("history", "verify")
    assert shown.exit_code == 9
    assert f"the table `{table}` is gone" in shown.stdout


def test_a20_verify_without_the_key_is_no_success_and_makes_no_other(invoke, recorded, project):
    recorded(call(1))
    key = project / ".toolrt" / "key"
    key.unlink()

    shown = invoke("history", "verify")
    assert shown.exit_code == 1
    assert "key is gone" in shown.stderr
    assert not key.exists()


def test_a20_another_key_is_told(invoke, recorded, project):
    recorded(call(1))
    (project / ".toolrt" / "key").write_text("ab" * 32)

    shown = invoke("history", "verify")
    assert shown.exit_code == 9
    assert "sealed with another key than the one there is now" in shown.stdout
    assert len(shown.stdout.splitlines()) == 2


def test_stats_count_by_tool(invoke, recorded):
    recorded(call(1), call(2, code="timeout"), call(3, status="paused"))

    (tool,) = json.loads(invoke("history", "stats", "-o", "json").stdout)["tools"]
    assert tool["calls"] == 3
    assert (tool["failed"], tool["paused"], tool["p50_ms"]) == (1, 1, 1.5)
    assert "t.add" in invoke("history", "stats").stdout


@pytest.fixture
def shared(invoke, project, recorded, as_user):
    """Calls of ann and bob, who may call, in one journal; `boss` may decide."""
    recorded(
        call(1, caller=Caller("ann")),
        call(2, caller=Caller("bob")),
        call(3, {"a": "mine"}, caller=Caller("bob"), code="unknown-tool", attempts=0),
        entries=[{**EVENTS[0], "principal": "ann"}, {**EVENTS[1], "actor": "bob"}],
    )
    identities(
        project, identity("ann", "call"), identity("bob", "call"), identity("boss", "approve")
    )
    as_user("bob")
    return as_user


def test_who_may_only_call_sees_their_own_calls(invoke, shared):
    told = entries(invoke("history", "list", "-o", "json"))
    tools = json.loads(invoke("history", "stats", "-o", "json").stdout)["tools"]

    assert {each["call_id"] for each in told} == {"call-2", "call-3"}
    assert [each["calls"] for each in tools] == [2]
    assert invoke("history", "show", "call-2").exit_code == 0
    assert [invoke("history", "show", each).exit_code for each in ("call-1", "abcd")] == [7, 7]
    shared("boss")
    assert len(entries(invoke("history", "list", "-o", "json"))) == 5


def test_tail_follows_their_own_calls_alone(shared, project, invoke, monkeypatch):
    told = []
    monkeypatch.setattr(
        "toolrt.faces.cli.history_follow.show_each", lambda _settings, found: told.extend(found)
    )
    monkeypatch.setattr("toolrt.observe.journal_records.Records.tail", _interrupted)

    assert invoke("history", "tail").exit_code == 0
    assert {each["call_id"] for each in told} == {"call-2", "call-3"}


async def _interrupted(*_):
    raise KeyboardInterrupt
    yield


@pytest.mark.parametrize("verb", ["verify", "export", "replay"])
def test_the_whole_journal_is_for_those_who_may_approve_or_admin(invoke, shared, verb):
    refused = invoke("history", verb)
    shared("boss")

    assert (refused.exit_code, refused.stdout) == (4, "")
    assert "error[access-denied]: bob sees only their own calls here" in refused.stderr
    assert invoke("history", verb).exit_code != 4


def test_p15_a_caller_is_not_told_which_rule_hid_a_tool(invoke, shared):
    (mine,) = entries(invoke("history", "show", "call-3", "-o", "json"))
    text = invoke("history", "show", "call-3").stdout
    shared("boss")
    (whole,) = entries(invoke("history", "show", "call-3", "-o", "json"))

    assert (mine["decision"], mine["policy_hash"], mine["arguments"]) == (None, "", {"a": "***"})
    assert "everything" not in text
    assert whole["decision"]["rule"] == "everything"


def test_a_stranger_reads_no_journal(invoke, shared):
    shared("eve")

    shown = invoke("history", "list")
    assert (shown.exit_code, shown.stdout) == (4, "")
    assert "eve is not among the `identities`" in shown.stderr


def test_a_project_file_that_cannot_be_read_shows_nobody_the_journal(invoke, shared, project):
    (project / "toolrt.yaml").write_text("identities: [\n")

    shown = invoke("history", "list")
    assert (shown.exit_code, shown.stdout) == (3, "")


def test_history_reads_while_manifests_are_broken(invoke, recorded, project):
    recorded(call(1))
    (project / "tools.d" / "bad.yaml").write_text("tools: [\n")

    assert invoke("history", "list").exit_code == 0


def test_tail_shows_the_last_and_each_new_one(project, recorded):
    import os
    import subprocess
    import sys

    recorded(call(1))
    tail = subprocess.Popen(
        [sys.executable, "-m", "toolrt", "history", "tail", "-o", "jsonl"],
        cwd=project, stdout=subprocess.PIPE, text=True, env=os.environ,
    )  # fmt: skip
    try:
        assert json.loads(tail.stdout.readline())["call_id"] == "call-1"
        recorded(call(2))
        assert json.loads(tail.stdout.readline())["call_id"] == "call-2"
    finally:
        tail.terminate()
        tail.communicate(timeout=20)
    assert tail.returncode == 0


@pytest.mark.parametrize("verb", [["list"], ["verify"], ["export"], ["show", "x"]])
def test_a_journal_in_a_folder_that_is_closed_to_us_is_told(invoke, recorded, monkeypatch, verb):
    recorded(call(1))

    def refuse(path, **_):
        raise PermissionError(13, "Permission denied", str(path))

    monkeypatch.setattr("toolrt.stores.private.Path.exists", refuse)
    shown = invoke("history", *verb)

    assert shown.exit_code == 1
    assert "error[unavailable]" in shown.stderr
    assert "cannot be used: Permission denied" in shown.stderr
