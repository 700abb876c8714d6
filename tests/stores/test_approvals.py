"""How approvals are kept and found."""

import re
from dataclasses import replace

import pytest

from toolrt.stores import approvals
from toolrt.stores.approvals import AmbiguousApprovalError, UnknownApprovalError, new_id
from toolrt.stores.base import ForbiddenChangeError
from toolrt.stores.moments import Condition

pytestmark = pytest.mark.anyio


def test_a17_an_id_is_128_random_bits_that_can_be_read_aloud():
    ids = {new_id() for _ in range(1000)}

    assert len(ids) == 1000
    assert all(re.fullmatch(r"[a-z2-7]{26}", each) for each in ids)


async def test_a_record_comes_back_as_it_was_kept(desk):
    asked = await desk.ask(
        mode="input",
        tenant="acme",
        reason="much",
        rules=("big", "night"),
        view="POST /pay",
        fields='{"type":"object"}',
        sealed='{"card":"4111"}',
        generation=7,
        policy_hash="p",
        call_id="c1",
    )

    kept = await desk.get(asked.id)
    assert kept == asked
    assert kept.rules == ("big", "night")
    assert kept.state == "pending"
    assert kept.expires == desk.moments.now().plus(600)


async def test_what_is_sensitive_stays_out_of_what_is_printed(desk):
    asked = await desk.ask(sealed='{"card":"4111"}')

    assert "4111" not in repr(asked)


async def test_a_part_of_an_id_finds_it_in_any_case(desk):
    asked = await desk.ask()

    assert (await desk.get(asked.id[:6])).id == asked.id
    assert (await desk.get(f" {asked.id.upper()} ")).id == asked.id


async def test_a_part_that_several_ids_share_finds_none(desk):
    await desk.ask("1", id="abc1")
    await desk.ask("2", id="abc2")

    with pytest.raises(AmbiguousApprovalError):
        await desk.get("abc")


async def test_a_whole_id_wins_over_a_longer_one(desk):
    await desk.ask("1", id="abc")
    await desk.ask("2", id="abcd")

    assert (await desk.get("abc")).id == "abc"


@pytest.mark.parametrize("which", ["nothing", "", "%", "_", " ", "'; --"])
async def test_an_id_that_nobody_has_is_not_found(desk, which):
    await desk.ask()

    with pytest.raises(UnknownApprovalError):
        await desk.get(which)


async def test_a_list_shows_the_latest_first_by_state_and_number(desk):
    for call in "123":
        await desk.ask(call, id=f"id{call}")
        desk.moments.advance(1)
    await desk.decide("id2", "deny")

    assert [each.id for each in await desk.listed()] == ["id3", "id2", "id1"]
    assert [each.id for each in await desk.listed("pending")] == ["id3", "id1"]
    assert [each.id for each in await desk.listed("denied", "approved")] == ["id2"]
    assert [each.id for each in await desk.listed(limit=1)] == ["id3"]


FINISHED = ["denied", "expired", "cancelled", "succeeded", "failed"]


async def brought_to(desk, state):
    """An approval in this state."""
    asked = await desk.ask(sealed='{"card":"4111"}')
    if state == "denied":
        await desk.decide(asked.id, "deny")
    elif state == "expired":
        desk.moments.advance(601)
        await desk.sweep()
    elif state == "cancelled":
        await desk.cancel(asked.id)
    elif state != "pending":
        await desk.decide(asked.id)
    if state in {"claimed", "succeeded", "failed", "unknown"}:
        await desk.claim(asked.id)
    if state in {"succeeded", "failed", "unknown"}:
        await desk.settle(asked.id, state)
    return asked.id


@pytest.mark.parametrize("state", FINISHED)
async def test_a2_a_finished_approval_never_changes_whatever_the_statement(desk, state):
    which = await brought_to(desk, state)
    before = await desk.get(which)

    for change in ("state = 'approved'", "outcome = 'x'", "revision = 9", "reason = 'x'"):
        sql = f"UPDATE approvals SET {change} WHERE id = ?"
        with pytest.raises(ForbiddenChangeError, match=r"stays|cannot go that way"):
            await desk.database.run(lambda session, sql=sql: session.change(sql, which))
    assert await desk.get(which) == before


WAYS = {
    "pending": {"approved", "denied", "expired", "cancelled"},
    "approved": {"claimed", "pending", "expired", "cancelled"},
    "claimed": {"succeeded", "failed", "unknown"},
    "unknown": {"succeeded", "failed"},
}


@pytest.mark.parametrize("state", WAYS)
async def test_a2_the_database_lets_a_state_go_only_where_it_may(desk, state):
    which = await brought_to(desk, state)
    every = {*WAYS, *FINISHED} - {state}
    refused = set()

    for to in every:
        sql = "UPDATE approvals SET sealed = NULL, state = ? WHERE id = ?"

        def work(session, to=to, sql=sql):
            session.change(sql, to, which)
            raise InterruptedError  # undone: the next one begins where this one did

        try:
            await desk.database.run(work)
        except ForbiddenChangeError:
            refused.add(to)
        except InterruptedError:
            pass

    assert every - refused == WAYS[state]


@pytest.mark.parametrize(
    "sql",
    [
        "UPDATE approvals SET asked_arguments = '{}'",
        "UPDATE approvals SET asked_hash = 'x'",
        "UPDATE approvals SET principal = 'x'",
        "UPDATE approvals SET caller = '{}'",
        "UPDATE approvals SET tool_hash = 'x'",
        "UPDATE approvals SET arguments = '{}'",
        "UPDATE approvals SET final_hash = 'x'",
        "DELETE FROM approvals",
        "UPDATE approval_decisions SET verdict = 'deny'",
        "UPDATE approval_decisions SET actor = 'x', final_hash = 'x'",
        "DELETE FROM approval_decisions",
        """INSERT INTO approval_decisions SELECT approval_id, 'x', roles, 'agent', verdict, note, at,
        9, final_hash, seal, supplied FROM approval_decisions""",
    ],
)
async def test_what_was_asked_and_said_stays_whatever_the_statement(desk, sql):
    asked = await desk.ask()
    await desk.decide(asked.id)

    with pytest.raises(ForbiddenChangeError):
        await desk.database.run(lambda session: session.change(sql))


@pytest.mark.parametrize("state", FINISHED)
async def test_a4_what_is_sensitive_is_erased_when_all_is_over(desk, state):
    which = await brought_to(desk, state)

    assert (await desk.get(which)).sealed is None


@pytest.mark.parametrize("state", ["pending", "approved", "claimed", "unknown"])
async def test_a4_what_is_sensitive_is_kept_until_then(desk, state):
    which = await brought_to(desk, state)

    assert (await desk.get(which)).sealed == '{"card":"4111"}'


async def test_an_entry_tells_who_and_what_but_never_an_argument(desk):
    asked = await desk.ask(sealed='{"card":"visa 4111"}')
    await desk.edit(asked.id, sealed='{"card":"visa 4222"}')
    await desk.decide(asked.id, note="fine")
    await desk.claim(asked.id, final_hash="final-edited")
    await desk.settle(asked.id)

    assert desk.events == ["asked", "edited", "decided", "claimed", "succeeded"]
    told = repr(desk.entries)
    assert "visa" not in told
    assert "amount" not in told
    assert desk.entries[2] | {
        "kind": "approval", "approval": asked.id, "actor": "ann", "verdict": "approve",
        "channel": "cli", "note": "fine", "state": "approved", "final_hash": "final-edited",
    } == desk.entries[2]  # fmt: skip


async def test_an_audit_that_fails_undoes_the_change(desk):
    asked = await desk.ask()

    def broken(session, entry):
        raise OSError("no journal")

    desk.audit = broken
    with pytest.raises(OSError, match="no journal"):
        await desk.decide(asked.id)
    assert await desk.state(asked.id) == "pending"


ALWAYS, NEVER = Condition("1 = 1", ()), Condition("1 = ?", (2,))


@pytest.mark.parametrize(
    ("stale", "condition"),
    [
        ({"revision": 7}, ALWAYS),
        ({"state": "approved"}, ALWAYS),
        ({"final_hash": "final-other"}, ALWAYS),
        ({}, NEVER),
    ],
)
async def test_a3_a_change_of_what_has_changed_meanwhile_is_none(desk, stale, condition):
    asked = await desk.ask()
    seen = replace(asked, **stale)
    sets = {"state": "cancelled"}

    def work(session):
        return approvals.move(session, seen, sets, condition)

    assert await desk.database.run(work) is False
    assert await desk.get(asked.id) == asked


async def test_a4_the_tables_keep_nothing_sensitive_in_what_is_finished(desk):
    asked = await desk.ask(sealed='{"card":"4111"}')
    sql = "UPDATE approvals SET state = 'denied' WHERE id = ?"

    with pytest.raises(ForbiddenChangeError):
        await desk.database.run(lambda session: session.change(sql, asked.id))


def test_columns_are_those_of_the_record():
    names = {each.name for each in approvals.fields(approvals.Approval)}

    assert names == {*approvals.PLAIN, *approvals.MOMENTS}
