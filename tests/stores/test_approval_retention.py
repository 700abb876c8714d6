"""Finished approvals go once they are old, bit by bit, and nothing comes back with that."""

import pytest
from approval_desk import few

from toolrt.core.errors import RefusedError
from toolrt.stores import approval_asks, approval_retention
from toolrt.stores.approval_retention import LEAST_S, MOST, removed_old
from toolrt.stores.grants import in_force
from toolrt.stores.moments import Condition, Moment

pytestmark = pytest.mark.anyio

HOUR_S = 3600.0
DAY_S = 24 * HOUR_S


@pytest.fixture
def prune(desk):
    async def once(retention_s=HOUR_S):
        return await desk.run(removed_old, retention_s)

    return once


async def ended(desk, call="1"):
    """The id of a question that was denied now."""
    asked = await desk.ask(call, few(10_000, 10_000))
    await desk.decide(asked.id, "deny")
    return asked.id


async def ids(desk):
    return {each.id for each in await desk.listed(limit=10_000)}


async def test_what_ended_long_ago_goes_with_what_was_said_about_it(desk, prune):
    old = await ended(desk)
    desk.moments.advance(10 * DAY_S)
    young = await ended(desk, "2")

    assert await prune(9 * DAY_S) == 1
    assert await ids(desk) == {young}
    assert await desk.votes(old) == []
    assert len(await desk.votes(young)) == 1
    assert await prune(9 * DAY_S) == 0


@pytest.mark.parametrize("state", ["pending", "approved", "claimed", "unknown"])
async def test_what_has_not_ended_stays_however_old_it_is(desk, prune, state):
    asked = await desk.ask()
    if state != "pending":
        await desk.decide(asked.id)
    if state in {"claimed", "unknown"}:
        await desk.claim(asked.id)
    if state == "unknown":
        await desk.settle(asked.id, "unknown", outcome=None)
    desk.moments.advance(100 * DAY_S)

    assert await prune() == 0
    assert await ids(desk) == {asked.id}


async def test_a_day_is_kept_in_any_case_for_the_minute_of_a_no_and_for_repeated_keys(desk, prune):
    asked = await ended(desk)
    desk.moments.advance(59)
    assert await prune(0.001) == 0
    refused = await desk.ask()
    assert isinstance(refused, approval_asks.Refusal)
    desk.moments.advance(LEAST_S - 60)
    assert await prune(0.001) == 0
    desk.moments.advance(2)
    assert await prune(0.001) == 1
    assert asked not in await ids(desk)


async def test_what_a_standing_yes_in_force_came_from_stays_with_it(desk, prune):
    asked = await desk.ask()
    await desk.decide(asked.id)
    await desk.claim(asked.id)
    await desk.settle(asked.id)
    desk.moments.advance(DAY_S - 10)
    grant = await desk.grant(approval_id=asked.id, ttl_s=DAY_S)
    desk.moments.advance(DAY_S - 10)
    assert await prune() == 0
    assert (await desk.use()).id == grant.id

    desk.moments.advance(11)
    assert await prune() == 1
    assert await desk.use() is None


async def test_standing_yeses_that_are_over_go_too(desk, prune):
    await desk.grant(ttl_s=60.0)
    revoked = await desk.grant(ttl_s=DAY_S)
    await desk.revoke(revoked.id)
    desk.moments.advance(DAY_S + 61)
    await prune()
    left = await desk.database.read(lambda s: s.rows("SELECT id FROM grants"))
    assert left == [(revoked.id,)]
    desk.moments.advance(DAY_S)
    await prune()
    assert await desk.database.read(lambda s: s.rows("SELECT id FROM grants")) == []


async def test_a8_what_was_removed_is_not_found_and_runs_nothing(desk, prune):
    asked = await desk.ask()
    await desk.decide(asked.id)
    await desk.claim(asked.id)
    await desk.settle(asked.id)
    desk.moments.advance(2 * DAY_S)
    await prune()

    for work in (desk.claim, desk.decide, desk.renew, desk.settle, desk.cancel, desk.get):
        with pytest.raises(RefusedError) as refused:
            await work(asked.id)
        assert refused.value.code == "not-found"
    again = await desk.ask()
    assert (again.state, again.id == asked.id) == ("pending", False)


@pytest.mark.parametrize("jump_s", [-10 * DAY_S, 1000 * DAY_S])
async def test_a6_a_wall_clock_set_anew_removes_nothing_before_its_time(desk, prune, jump_s):
    await ended(desk)
    desk.moments.jump(jump_s)
    desk.moments.advance(DAY_S - 1)
    assert await prune() == 0
    desk.moments.jump(-jump_s)
    desk.moments.advance(2)
    assert await prune() == 1


async def test_a_pass_is_bounded_and_takes_the_oldest_first(desk, prune, monkeypatch):
    monkeypatch.setattr(approval_retention, "MOST", 3)
    old = []
    for number in range(7):
        old.append(await ended(desk, str(number)))
        desk.moments.advance(1)
    desk.moments.advance(2 * DAY_S)

    left = []
    for _ in range(4):
        left.append(await ids(desk))
        await prune()
    assert left == [set(old), set(old[3:]), set(old[6:]), set()]
    assert MOST == 500


async def test_a20_the_journal_is_told_how_many_went(desk, prune):
    await ended(desk)
    desk.moments.advance(2 * DAY_S)
    desk.entries.clear()
    await prune()
    await prune()

    [entry] = desk.entries
    assert (entry["kind"], entry["approvals"], entry["grants"]) == ("retention", 1, 0)


async def test_nobody_else_may_delete_afterwards(desk, prune):
    await ended(desk)
    desk.moments.advance(2 * DAY_S)
    await prune()
    sql = "SELECT * FROM meta WHERE name = 'pruning'"
    assert await desk.database.read(lambda s: s.rows(sql)) == []


async def test_looking_for_what_is_old_takes_an_index(desk):
    now = Moment(1e9, 1e9, "b")
    old = approval_retention.old_ones(now, DAY_S, ["a"], in_force(now))
    boots = Condition(approval_retention._OTHERS, (1e9, "b") * 2)
    for query in (old, boots):
        plan = await desk.database.read(
            lambda s, q=query: s.rows(f"EXPLAIN QUERY PLAN {q.sql}", *q.parameters)
        )
        assert any("approvals_ended" in row[-1] for row in plan)


YEARS_S = 10 * 365 * DAY_S


async def test_a15_a_wall_clock_that_was_ahead_once_ages_nothing_after_a_boot(desk, prune):
    desk.moments.jump(YEARS_S)
    await ended(desk, "2")
    desk.moments.jump(-YEARS_S)
    desk.moments.advance(5)
    asked = await ended(desk)
    desk.moments.advance(1)
    desk.moments.reboot()
    for _ in range(100):
        assert await prune(90 * DAY_S) == 0
        desk.moments.advance(HOUR_S)
    assert asked in await ids(desk)


async def test_a15_a_wall_clock_that_is_ahead_after_a_boot_removes_nothing_within_a_day(
    desk, prune
):
    await ended(desk)
    desk.moments.reboot()
    desk.moments.jump(YEARS_S)
    for _ in range(24):
        assert await prune(90 * DAY_S) == 0
        desk.moments.advance(HOUR_S)
    assert await prune(90 * DAY_S) == 1


async def test_a_day_is_made_of_short_boots_as_far_as_passes_have_seen_them(desk, prune):
    await ended(desk)
    desk.moments.advance(DAY_S)
    desk.moments.reboot()
    passes = 0
    while await prune() == 0:
        passes += 1
        desk.moments.advance(HOUR_S)
        if passes % 5 == 0:  # four hours of each five lie between two passes of one boot
            desk.moments.reboot()
    assert passes == 24 + 24 / 4 - 1


async def test_machines_that_take_turns_do_not_count_each_others_time(desk, prune):
    await ended(desk)
    here, there = (Moment(desk.moments.now().wall + 9 * DAY_S, 1e7, each) for each in "xy")
    for hour in range(100):
        for each in (here, there):
            moment = each.plus(hour * HOUR_S)
            assert await desk.database.run(lambda s, m=moment: removed_old(s, HOUR_S, m)) == 0


async def test_standing_yeses_of_a_boot_before_stay_for_a_day_as_well(desk, prune):
    await desk.grant(ttl_s=60.0)
    desk.moments.reboot()
    desk.moments.jump(YEARS_S)
    rows = []
    for _ in range(25):
        await prune()
        rows.append(len(await desk.database.read(lambda s: s.rows("SELECT id FROM grants"))))
        desk.moments.advance(HOUR_S)
    assert rows == [1] * 24 + [0]


async def test_what_is_remembered_of_boots_goes_with_their_rows(desk, prune):
    async def noted():
        return await desk.database.read(
            lambda s: s.rows("SELECT value FROM meta WHERE name = 'boots'")
        )

    await ended(desk)
    await prune()
    assert await noted() == []
    desk.moments.advance(2 * DAY_S)
    desk.moments.reboot()
    for _ in range(25):
        await prune()
        desk.moments.advance(HOUR_S)
        assert len(await noted()) <= 1
    assert await ids(desk) == set()
    await prune()
    assert await noted() == []
