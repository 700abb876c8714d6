"""Asking: kept before it is told, once for each call, and not too often."""

import time

import pytest
from approval_desk import SEALS, few, question

from toolrt.core.decisions import Caps
from toolrt.stores import approval_asks
from toolrt.stores.approval_asks import Refusal
from toolrt.stores.approvals import COLUMNS

pytestmark = pytest.mark.anyio


async def test_a1_a_question_is_on_the_disk_before_its_id_is_told(desk):
    asked = await desk.ask()

    other = type(desk.database)(desk.database.path)
    found = await other.read(lambda session: session.rows("SELECT id, state FROM approvals"))
    await other.close()
    assert found == [(asked.id, "pending")]


async def test_a1_a_question_that_could_not_be_kept_gives_no_id(desk):
    def work(session):
        approval_asks.create(session, question(), desk.moments.now(), seals=SEALS)
        raise OSError("before the commit")

    with pytest.raises(OSError, match="before"):
        await desk.database.run(work)
    assert await desk.listed() == []


@pytest.mark.parametrize("is_approved", [False, True])
async def test_the_same_call_again_is_the_same_question(desk, is_approved):
    first = await desk.ask()
    if is_approved:
        await desk.decide(first.id)

    again = await desk.ask()
    assert again.id == first.id
    assert len(await desk.listed()) == 1
    assert desk.events.count("asked") == 1


async def test_the_same_call_by_another_caller_is_another_question(desk):
    first = await desk.ask("1")
    second = await desk.ask("1", asked_hash="asked-1-of-eve", principal="eve")

    assert first.id != second.id


async def test_a_call_that_runs_or_has_run_can_be_asked_again(desk):
    first = await desk.ask()
    await desk.decide(first.id)
    await desk.claim(first.id)
    second = await desk.ask()

    assert second.id != first.id


@pytest.mark.parametrize("end", ["deny", "expire", "expire-approved"])
async def test_a15_the_same_call_within_a_minute_of_its_end_is_refused(desk, end):
    asked = await desk.ask()
    if end == "deny":
        await desk.decide(asked.id, "deny")
    else:
        if end == "expire-approved":
            desk.moments.advance(300)
            await desk.decide(asked.id)
            desk.moments.advance(-300)
        desk.moments.advance(600)

    desk.moments.advance(59)
    refused = await desk.ask()
    assert isinstance(refused, Refusal)
    assert refused.why == "recently-denied"
    assert refused.earlier.id == asked.id

    desk.moments.advance(1)
    assert (await desk.ask()).state == "pending"


async def test_a15_another_call_is_not_refused(desk):
    asked = await desk.ask("1")
    await desk.decide(asked.id, "deny")

    assert (await desk.ask("2")).state == "pending"


async def test_a15_a_call_that_was_cancelled_may_be_asked_again(desk):
    asked = await desk.ask()
    await desk.cancel(asked.id)

    assert (await desk.ask()).state == "pending"


@pytest.mark.parametrize("jump_s", [-7200, 7200])
async def test_a15_a_wall_clock_set_anew_changes_nothing(desk, jump_s):
    asked = await desk.ask()
    await desk.decide(asked.id, "deny")
    desk.moments.jump(jump_s)
    desk.moments.advance(59)
    assert (await desk.ask()).why == "recently-denied"

    desk.moments.advance(1)
    assert (await desk.ask()).state == "pending"


async def test_a16_a_session_has_only_so_many_open_questions(desk):
    caps = few(pending=3)
    for call in "123":
        assert (await desk.ask(call, caps)).state == "pending"

    assert (await desk.ask("4", caps)).why == "too-many-pending"
    assert (await desk.ask("4", caps, session="s2")).state == "pending"
    assert (await desk.ask("3", caps)).state == "pending"  # the same as before


async def test_a16_an_answer_or_the_end_of_time_makes_room(desk):
    caps = few(pending=1)
    first = await desk.ask("1", caps)
    await desk.decide(first.id)
    await desk.ask("2", caps)
    assert (await desk.ask("3", caps)).why == "too-many-pending"

    desk.moments.advance(601)
    assert (await desk.ask("3", caps)).state == "pending"


async def test_a16_a_session_asks_only_so_often(desk):
    caps = few(asks=3)
    for call in "123":
        asked = await desk.ask(call, caps)
        await desk.decide(asked.id)
        desk.moments.advance(10)

    assert (await desk.ask("4", caps)).why == "too-many-asks"
    assert (await desk.ask("other", caps, session="s2")).state == "pending"
    desk.moments.advance(30)
    assert (await desk.ask("4", caps)).state == "pending"
    assert (await desk.ask("5", caps)).why == "too-many-asks"


async def test_a16_callers_without_a_session_are_counted_by_themselves(desk):
    caps = few(pending=1)
    await desk.ask("1", caps, session=None)

    assert (await desk.ask("2", caps, session=None)).why == "too-many-pending"
    assert (await desk.ask("2", caps, session=None, principal="eve")).state == "pending"
    assert (await desk.ask("3", caps, session=None, tenant="acme")).state == "pending"


async def test_a16_the_built_in_caps_are_50_open_and_20_a_minute(desk):
    for call in range(50):
        assert (await desk.ask(call)).state == "pending"
        desk.moments.advance(3.1)
    assert (await desk.ask("more")).why == "too-many-pending"

    for call in range(20):
        await desk.ask(f"s2-{call}", session="s2")
    assert (await desk.ask("more", session="s2")).why == "too-many-asks"


async def test_a16_asking_takes_no_longer_however_much_was_asked_before(desk):
    caps = few(10**6, 10**6)

    async def seconds(name):
        began = time.process_time()
        for number in range(40):
            await desk.cancel((await desk.ask(f"{name}{number}", caps)).id)
        return time.process_time() - began

    def past(session):
        names = ", ".join(COLUMNS[1:])
        assert COLUMNS[0] == "id"
        for number in range(6):
            more = f"SELECT id || 'x{number}', {names} FROM approvals"
            session.change(f"INSERT INTO approvals ({', '.join(COLUMNS)}) {more}")

    await seconds("warm")
    desk.moments.advance(100)
    before = await seconds("early")
    desk.moments.advance(100)
    await desk.database.run(past)

    assert await seconds("late") < 3 * before


@pytest.mark.parametrize("ahead_s", [0, 3600, 10**9])
async def test_a15_a_no_of_a_moment_ago_counts_after_a_boot_whatever_the_clock_once_said(
    desk, ahead_s
):
    desk.moments.jump(ahead_s)
    await desk.ask("2")
    desk.moments.jump(-ahead_s)
    asked = await desk.ask()
    await desk.decide(asked.id, "deny")
    desk.moments.advance(6)
    desk.moments.reboot()
    refused = await desk.ask()
    assert isinstance(refused, approval_asks.Refusal)
    desk.moments.advance(55)
    assert (await desk.ask()).state == "pending"


async def test_a15_a_clock_that_was_set_back_after_a_boot_makes_no_old_no_a_new_one(desk):
    asked = await desk.ask()
    await desk.decide(asked.id, "deny")
    desk.moments.advance(3600)
    await desk.ask("2")
    desk.moments.reboot()
    desk.moments.jump(-(10**9))
    assert (await desk.ask()).state == "pending"


async def test_too_many_questions_within_a_minute_are_too_many_after_a_boot_as_well(desk):
    desk.moments.jump(10**9)
    await desk.ask("0")
    desk.moments.jump(-(10**9))
    for call in "123":
        await desk.ask(call)
    desk.moments.advance(6)
    desk.moments.reboot()
    refused = await desk.ask("4", Caps(asks=3))
    assert refused.why == "too-many-asks"
