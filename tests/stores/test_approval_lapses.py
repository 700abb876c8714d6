"""What the clock ends."""

import pytest

from toolrt.stores import approval_lapses

pytestmark = pytest.mark.anyio


async def test_a_sweep_ends_all_that_is_due_and_nothing_else(desk):
    ids = [(await desk.ask(call)).id for call in "12345"]
    await desk.decide(ids[1])
    for number in (2, 3):
        await desk.decide(ids[number])
        await desk.claim(ids[number], final_hash=f"final-{number + 1}")
    await desk.settle(ids[3])
    desk.moments.advance(30)
    assert [each.id for each in await desk.sweep()] == [ids[2]]
    desk.moments.advance(270)
    assert [each.id for each in await desk.sweep()] == [ids[1]]
    desk.moments.advance(300)
    assert {each.id for each in await desk.sweep()} == {ids[0], ids[4]}

    states = [await desk.state(which) for which in ids]
    assert states == ["expired", "expired", "unknown", "succeeded", "expired"]
    assert await desk.sweep() == []


async def test_a7_the_end_is_when_time_was_up_not_when_somebody_looked(desk):
    asked = await desk.ask()
    desk.moments.advance(5000)
    await desk.sweep()

    assert (await desk.get(asked.id)).ended == asked.expires


async def test_whether_something_is_due_is_seen_without_a_change(desk):
    async def is_due():
        moment = desk.moments.now()
        return await desk.database.read(lambda s: approval_lapses.is_due(s, moment))

    assert not await is_due()
    await desk.ask()
    desk.moments.advance(599.9)
    assert not await is_due()
    desk.moments.advance(0.1)
    assert await is_due()
    await desk.sweep()
    assert not await is_due()

    await desk.ask("2")
    desk.moments.jump(10_000)
    desk.moments.reboot()
    assert await is_due()
