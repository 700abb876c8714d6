"""Earlier approvals of the very same call that run, or ended without anybody knowing how (A2, A4)."""

import pytest

from toolrt.stores.approval_twins import Twin, twin_of

pytestmark = pytest.mark.anyio


async def approved(desk, call="1", **more):
    asked = await desk.ask(call, **more)
    await desk.decide(asked.id)
    return asked.id


async def twin(desk, which):
    record = await desk.get(which)
    return await desk.database.read(lambda session: twin_of(session, record))


async def test_a_call_that_runs_and_then_ended_unknown_is_told(desk):
    first = await approved(desk)
    await desk.claim(first)
    desk.moments.advance(5)
    second = (await desk.ask("1")).id
    assert second != first

    found = await twin(desk, second)
    assert (found.id, found.state, found.how) == (first, "claimed", "is running now")
    await desk.settle(first, "unknown")
    found = await twin(desk, second)
    assert found == Twin(first, "unknown", (await desk.get(first)).created)
    assert found.document()["state"] == "unknown"


@pytest.mark.parametrize("end", ["succeeded", "failed"])
async def test_one_whose_end_is_known_is_not_told(desk, end):
    first = await approved(desk)
    await desk.claim(first)
    await desk.settle(first, end)

    assert await twin(desk, (await desk.ask("1")).id) is None


async def test_another_call_and_what_is_over_have_no_twin(desk):
    first = await approved(desk)
    await desk.claim(first)
    await desk.settle(first, "unknown")

    assert await twin(desk, (await desk.ask("2")).id) is None
    assert await twin(desk, first) is None
