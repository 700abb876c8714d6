"""Runs of plans as they are kept: one owner at a time, sealed, and not for ever."""

from dataclasses import replace

import pytest

from toolrt.stores.base import StoreError
from toolrt.stores.moments import ManualMoments
from toolrt.stores.plans import KEPT_S, LEASE_S, KeptStep, PlanRun, PlanRuns

pytestmark = pytest.mark.anyio

RUN = PlanRun("key", "like", "shop.order", "{}", '{"a": 1}')
DONE = KeptStep("a", "done", None, b"[1]")


@pytest.fixture
def moments():
    return ManualMoments()


@pytest.fixture
def runs(database, moments):
    return PlanRuns(database, lambda: b"a key of the tests", moments)


async def test_a_run_is_taken_once_and_given_on_with_what_was_done(runs):
    assert (await runs.begin(RUN, "one")).standing == "new"
    assert await runs.keep(RUN.key, "one", DONE, KeptStep("b", "waiting", "approval"))
    assert (await runs.begin(RUN, "two")).standing == "running"
    await runs.let_go(RUN.key, "one")
    begun = await runs.begin(RUN, "two")

    assert (begun.standing, begun.run) == ("resumed", RUN)
    assert list(begun.steps) == [DONE, KeptStep("b", "waiting", "approval")]


async def test_who_has_lost_a_run_keeps_nothing_in_it(runs, moments):
    await runs.begin(RUN, "one")
    moments.advance(LEASE_S + 1)
    assert (await runs.begin(RUN, "two")).standing == "resumed"

    assert not await runs.keep(RUN.key, "one", DONE)
    assert not await runs.renew(RUN.key, "one")
    await runs.end(RUN.key, "one")
    assert await runs.keep(RUN.key, "two", DONE)


async def test_a_lease_that_is_renewed_holds(runs, moments):
    await runs.begin(RUN, "one")
    for _ in range(5):
        moments.advance(LEASE_S - 1)
        assert await runs.renew(RUN.key, "one")

    assert (await runs.begin(RUN, "two")).standing == "running"


async def test_the_same_call_of_another_tool_ends_what_waits(runs):
    await runs.begin(RUN, "one")
    await runs.let_go(RUN.key, "one")

    assert (await runs.begin(replace(RUN, key="other"), "two")).standing == "changed"
    assert await runs.find(RUN.key) is None


async def test_the_same_call_of_another_tool_waits_for_who_runs_and_ends_what_broke_off(
    runs, moments
):
    other = replace(RUN, key="other")
    await runs.begin(RUN, "one")
    assert (await runs.begin(other, "two")).standing == "running"
    moments.advance(LEASE_S + 1)

    assert (await runs.begin(other, "two")).standing == "changed"
    assert (await runs.begin(other, "two")).standing == "new"


async def test_a_run_is_found_by_the_approval_that_it_waits_for(runs):
    await runs.begin(RUN, "one")
    await runs.keep(RUN.key, "one", KeptStep("b", "waiting", "x1"))
    assert await runs.waiting_for("x1") == RUN
    await runs.keep(RUN.key, "one", KeptStep("b", "done", None, b"[]"))

    assert await runs.waiting_for("x1") is None


async def test_old_runs_are_forgotten(runs, moments):
    await runs.begin(RUN, "one")
    moments.advance(KEPT_S + 1)
    await runs.begin(replace(RUN, key="b", likeness="b"), "two")

    assert await runs.find(RUN.key) is None


@pytest.mark.parametrize(
    "change",
    [
        "UPDATE plan_runs SET arguments = '{}'",
        "UPDATE plan_runs SET approval = 'mine'",
        "UPDATE plan_steps SET state = 'begun'",
        "UPDATE plan_steps SET body = x'5b5d'",
        "UPDATE plan_steps SET slot = 'z'",
    ],
)
async def test_rows_that_others_changed_are_none_of_ours(runs, database, change):
    await runs.begin(RUN, "one")
    await runs.keep(RUN.key, "one", DONE)
    await runs.let_go(RUN.key, "one")
    await database.run(lambda session: session.change(change))

    with pytest.raises(StoreError):
        await runs.begin(RUN, "two")


async def test_of_plans_that_call_each_other_the_outermost_is_found_by_an_approval(runs):
    bodies = {"inner": b"[2]", "outer": b'[0, "x1"]', "middle": b'[1, "x1"]'}
    for key, body in bodies.items():
        await runs.begin(replace(RUN, key=key, likeness=key), key)
        waits = [KeptStep(slot, "waiting", "x1", body) for slot in ("b[0]", "b[1]")]
        await runs.keep(key, key, *waits)

    found = await runs.waiting_for("x1")
    assert found is not None
    assert found.key == "outer"


async def test_what_waits_for_an_approval_is_forgotten_but_for_who_runs(runs):
    for key in ("mine", "free", "other"):
        await runs.begin(replace(RUN, key=key, likeness=key), "one")
        await runs.keep(key, "one", KeptStep("b", "waiting", "x2" if key == "other" else "x1"))
    for key in ("free", "other"):
        await runs.let_go(key, "one")
    await runs.forget_waiting("x1")

    assert [await runs.find(key) is None for key in ("mine", "free", "other")] == [False, True, False]  # fmt: skip
