"""Rows that somebody wrote into the store by hand: nothing runs on them, and they are found (A4)."""

import logging
import sqlite3
from contextlib import closing

import pytest

import toolrt
from toolrt.core.calls import Caller
from toolrt.pipeline.approvals import Standing
from toolrt.testing import write_files

pytestmark = pytest.mark.anyio

FILES = {
    "tools.d/t.yaml": """\
tools:
  pay:
    description: Pay.
    parameters: {invoice: string}
    command: [echo, "{{ invoice }}"]
    effect: write
""",
    "policies.d/p.yaml": """\
rules:
  - {id: look, decide: ask, tools: [pay], approval: {scopes: [once, pattern], count: %d}}
default: allow
""",
}
ANN = Caller("ann", session="s1")
BOSS = Caller("boss", may=frozenset({"approve"}))
CHIEF = Caller("chief", may=frozenset({"approve"}))
CALL = {"invoice": "A1"}
VOTE = (
    "INSERT INTO approval_decisions"
    " (approval_id, actor, roles, channel, verdict, note, at, number, final_hash)"
    " SELECT id, '%s', '[]', 'cli', 'approve', NULL, created_wall, 1, final_hash FROM approvals"
)
APPROVED = (
    "UPDATE approvals SET state = 'approved', revision = revision + 1, ended_wall = NULL,"
    " execute_by_wall = expires_wall, execute_by_s = expires_s, execute_by_boot = expires_boot"
)


@pytest.fixture
def root(tmp_path):
    """A folder; `root(count=2)` writes how many must say yes."""

    def written(count=1):
        files = {**FILES, "policies.d/p.yaml": FILES["policies.d/p.yaml"] % count}
        return write_files(tmp_path, files)

    return written


def forge(root, *statements):
    """Statements by somebody who may write the file, and has put the guards out of the way."""
    with closing(sqlite3.connect(root / ".toolrt" / "state.db")) as connection:
        triggers = connection.execute("SELECT name, sql FROM sqlite_master WHERE type = 'trigger'")
        kept = list(triggers)
        for name, _ in kept:
            connection.execute(f"DROP TRIGGER {name}")
        for statement in statements:
            connection.execute(statement)
        for _, sql in kept:
            connection.execute(sql)
        connection.commit()


async def asked(root, arguments=CALL):
    async with toolrt.open(root) as runtime:
        return (await runtime.call("pay", arguments, ANN)).pause.approval_id


async def reasons(runtime):
    found = await runtime._state.memory.journal.records.verify()
    return [f"{each.about}: {each.reason}" for each in found.faults]


FORGERIES = {
    "an invented vote": (VOTE % "boss", APPROVED),
    "no vote": (APPROVED,),
}


@pytest.mark.parametrize("statements", FORGERIES.values(), ids=list(FORGERIES))
@pytest.mark.parametrize("way", ["run", "the same call again"])
async def test_a4_an_approval_that_nobody_gave_runs_nothing_and_is_found(
    root, statements, way, caplog
):
    approval = await asked(root())
    forge(root(), *statements)
    async with toolrt.open(root()) as runtime:
        run, call = runtime.approvals.run, runtime.call
        result = await (run(approval) if way == "run" else call("pay", CALL, ANN))
        assert (result.status, result.error.code) == ("error", "approval-mismatch")
        assert (await runtime.approvals.get(approval)).state == "approved"
        assert any(f"approval {approval}" in each for each in await reasons(runtime))
        entries = await runtime._state.memory.journal.records.entries()
    assert "mismatch" in [each.get("event") for each in entries]
    assert [each.levelno for each in caplog.records if approval in each.getMessage()] == [
        logging.ERROR
    ]


async def test_a10_an_invented_vote_makes_no_two_of_one(root):
    approval = await asked(root(count=2))
    forge(root(count=2), VOTE % "chief")
    async with toolrt.open(root(count=2)) as runtime:
        moved = await runtime.approvals.approve(approval, BOSS)
        assert (moved.code, moved.record.state) == ("approval-mismatch", "pending")


async def test_a10_a_role_that_was_written_into_a_vote_counts_for_nothing(root):
    approval = await asked(root())
    async with toolrt.open(root()) as runtime:
        await runtime.approvals.approve(approval, BOSS)
    forge(root(), "UPDATE approval_decisions SET actor = 'chief'")
    async with toolrt.open(root()) as runtime:
        assert (await runtime.approvals.run(approval)).error.code == "approval-mismatch"


async def test_a8_what_has_run_does_not_run_again_because_its_row_says_so(root):
    approval = await asked(root())
    async with toolrt.open(root()) as runtime:
        await runtime.approvals.approve(approval, BOSS)
        assert (await runtime.approvals.run(approval)).status == "success"
    forge(root(), APPROVED)
    async with toolrt.open(root()) as runtime:
        assert (await runtime.approvals.run(approval)).error.code == "approval-mismatch"
        found = await reasons(runtime)
    assert found == [f"approval {approval}: it is `approved`, and the journal left it `succeeded`"]


async def test_a7_an_approved_row_without_an_end_is_not_said_to_have_run(root):
    approval = await asked(root())
    async with toolrt.open(root()) as runtime:
        await runtime.approvals.approve(approval, BOSS)
    ends = ("execute_by_wall", "execute_by_s", "execute_by_boot")
    forge(root(), "UPDATE approvals SET " + ", ".join(f"{each} = NULL" for each in ends))
    async with toolrt.open(root()) as runtime:
        error = (await runtime.approvals.run(approval)).error
    assert error.code == "approval-mismatch"
    assert "until when it may run" in error.message


async def test_a11_a_standing_yes_that_was_written_by_hand_answers_nothing(root):
    approval = await asked(root())
    standing = Standing("pattern", 3600.0)
    async with toolrt.open(root()) as runtime:
        await runtime.approvals.approve(approval, BOSS, standing=standing)
    forge(root(), """UPDATE grants SET pattern = '{"invoice": null}'""")
    async with toolrt.open(root()) as runtime:
        [grant] = await runtime.approvals.grants()
        assert (await runtime.call("pay", {"invoice": "B9"}, ANN)).status == "paused"
        found = await reasons(runtime)
    assert found == [f"grant {grant.id}: it is not the one that was given"]


ROWS = {
    "a longer time": "execute_by_wall = execute_by_wall + 9e6, execute_by_s = execute_by_s + 9e6",
    "other roles of who asked": """caller = replace(caller, '"roles": []', '"roles": ["boss"]')""",
    "nobody who edited it": "edited_by = NULL",
    "another view": "view = replace(view, 'A2', 'A1')",
    "another reason": "reason = 'all is well'",
    "no rules": "rules = '[]'",
    "other words of the model": "asked_arguments = '{}'",
    "another session": "session = 's2'",
    "no seal": "seal = NULL",
}


@pytest.mark.parametrize("change", ROWS.values(), ids=list(ROWS))
async def test_a4_a_row_that_was_changed_by_hand_runs_nothing_and_is_found(root, change):
    approval = await asked(root())
    async with toolrt.open(root()) as runtime:
        await runtime.approvals.approve(approval, BOSS, edits={"invoice": "A2"})
    forge(root(), f"UPDATE approvals SET {change}")
    async with toolrt.open(root()) as runtime:
        error = (await runtime.approvals.run(approval)).error
        assert (error.code, error.hint) == ("approval-mismatch", "nothing ran")
        assert await reasons(runtime) == [f"approval {approval}: its row was changed by hand"]


@pytest.mark.parametrize("edits", [None, {"invoice": "A2"}])
@pytest.mark.parametrize("change", ["view = replace(view, 'A1', 'A0')", "expires_s = 9e9"])
async def test_a12_nobody_says_yes_to_a_row_that_was_changed_by_hand(root, change, edits):
    approval = await asked(root())
    forge(root(), f"UPDATE approvals SET {change}")
    async with toolrt.open(root()) as runtime:
        moved = await runtime.approvals.approve(approval, BOSS, edits=edits)
        assert (moved.code, moved.record.state) == ("approval-mismatch", "pending")
        assert moved.message == "its row was changed by hand"
        cancelled = await runtime.approvals.cancel(approval, BOSS)
        assert cancelled.record.state == "cancelled"
        assert await reasons(runtime) == [f"approval {approval}: its row was changed by hand"]


async def test_a5_terms_of_now_seal_no_row_that_was_changed_by_hand(root):
    approval = await asked(root())
    async with toolrt.open(root()) as runtime:
        await runtime.approvals.approve(approval, BOSS)
    forge(root(), "UPDATE approvals SET view = '{}'")
    async with toolrt.open(root(count=2)) as runtime:
        assert (await runtime.approvals.run(approval)).error.code == "approval-mismatch"
        assert (await runtime.approvals.get(approval)).state == "approved"


async def test_a2_a_cancelled_call_runs_no_more_because_its_row_says_so(root):
    approval = await asked(root())
    async with toolrt.open(root()) as runtime:
        await runtime.approvals.approve(approval, BOSS)
        await runtime.approvals.cancel(approval, BOSS)
    forge(
        root(),
        "UPDATE approvals SET state = 'approved', ended_wall = NULL, revision = revision - 1",
    )
    async with toolrt.open(root()) as runtime:
        error = (await runtime.approvals.run(approval)).error
    assert error.message == "`pay`: the journal knows that it was cancelled since"


TAMPERINGS = {
    "edited arguments": (
        "UPDATE approvals SET final_hash = 'x'",
        "other arguments are in it than the journal knows",
    ),
    "other terms": (
        """UPDATE approvals SET terms = replace(terms, '"count": 1', '"count": 0')""",
        "it asks for other yeses than the journal knows",
    ),
    "a question that nobody asked": (
        "INSERT INTO approvals SELECT 'forged', * FROM (SELECT {rest} FROM approvals)",
        "the journal does not know it",
    ),
    "a vote that is gone": (
        "DELETE FROM approval_decisions",
        "what boss said is gone",
    ),
    "a vote with other words": (
        "UPDATE approval_decisions SET note = 'no'",
        "boss did not say that through toolrt",
    ),
    "an approval that is gone": ("DELETE FROM approvals", "it is gone"),
    "a standing yes that is revived": (
        "UPDATE grants SET revoked_by = NULL",
        "it was revoked, and is in force again",
    ),
    "uses that were given back": (
        "UPDATE grants SET uses = 0",
        "it has 0 uses, and the journal knows of 1",
    ),
    "a standing yes that is gone": ("DELETE FROM grants", "it is gone"),
}


@pytest.mark.parametrize(("statement", "reason"), TAMPERINGS.values(), ids=list(TAMPERINGS))
async def test_a20_what_the_journal_does_not_know_is_found(root, statement, reason):
    approval = await asked(root())
    async with toolrt.open(root()) as runtime:
        await runtime.approvals.approve(approval, BOSS, standing=Standing("pattern", 3600.0))
        await runtime.approvals.run(approval)
        await runtime.call("pay", CALL, ANN)
        [grant] = await runtime.approvals.grants()
        await runtime.approvals.revoke(grant.id, BOSS)
        assert await reasons(runtime) == []
    with closing(sqlite3.connect(root() / ".toolrt" / "state.db")) as connection:
        columns = [row[1] for row in connection.execute("PRAGMA table_info(approvals)")]
    rest = ", ".join("'other'" if c == "asked_hash" else c for c in columns if c != "id")
    forge(root(), statement.format(rest=rest) if "{rest}" in statement else statement)
    async with toolrt.open(root()) as runtime:
        assert any(each.endswith(reason) for each in await reasons(runtime))


@pytest.mark.parametrize("table", ["journal", "journal_heads", "meta", "approval_decisions"])
async def test_a20_a_table_that_is_gone_is_found(root, table):
    await asked(root())
    with closing(sqlite3.connect(root() / ".toolrt" / "state.db")) as connection:
        connection.execute(f"DROP TABLE {table}")
        connection.commit()
    async with toolrt.open(root()) as runtime:
        assert f"None: the table `{table}` is gone" in await reasons(runtime)


async def test_a20_a_guard_that_is_gone_is_found(root):
    await asked(root())
    with closing(sqlite3.connect(root() / ".toolrt" / "state.db")) as connection:
        connection.execute("DROP TRIGGER approvals_final")
        connection.commit()
    async with toolrt.open(root()) as runtime:
        assert await reasons(runtime) == ["None: the guard `approvals_final` is gone"]


async def test_a20_a_journal_that_was_emptied_is_found(root):
    await asked(root())
    forge(
        root(),
        "DELETE FROM journal",
        "DELETE FROM journal_heads",
        "DELETE FROM meta WHERE name = 'journal'",
        "DELETE FROM approvals",
    )
    async with toolrt.open(root()) as runtime:
        assert await reasons(runtime) == ["None: the count of writers was edited or deleted"]


async def test_a20_all_that_may_happen_to_an_approval_is_in_order(root):
    root_ = root(count=2)
    async with toolrt.open(root_) as runtime:
        rt, records = runtime.approvals, runtime._state.memory.journal.records
        first = (await runtime.call("pay", CALL, ANN)).pause.approval_id
        await rt.approve(first, BOSS)
        await rt.approve(first, CHIEF, edits={"invoice": "A2"})
        await rt.approve(first, BOSS)
        assert (await rt.run(first)).status == "success"
        second = (await runtime.call("pay", {"invoice": "B"}, ANN)).pause.approval_id
        await rt.deny(second, BOSS, note="no")
        third = (await runtime.call("pay", {"invoice": "C"}, ANN)).pause.approval_id
        await rt.cancel(third, BOSS)
        verified = await records.verify()
    assert (verified.faults, verified.approvals, verified.votes) == ([], 3, 3)
    assert verified.rows > 8
