"""Breakers that several processes share: what each step makes of a row, and that none is lost."""

import asyncio
from functools import partial

import pytest

from toolrt.stores import breakers
from toolrt.stores.breakers import Key

pytestmark = pytest.mark.anyio

KEY = Key("target", "billing", "3/300/0.5/60")


class Row:
    """The one breaker of a test."""

    def __init__(self, database, moments):
        self.database, self.moments = database, moments

    async def change(self, step):
        work = partial(breakers.change, key=KEY, wall=1.0, step=step)
        return (await self.database.run(work))[1]

    async def open(self, owner="a", recovery_s=10.0, reopened=0):
        now = self.moments.now()
        return await self.change(breakers.opened(now, recovery_s, reopened, owner, "timeout"))

    async def try_(self, owner, lease_s=5.0):
        return await self.change(breakers.tried(self.moments.now(), lease_s, owner))

    async def passes(self, owner):
        return await self.change(breakers.passed(self.moments.now(), owner))

    async def release(self, owner):
        return await self.change(breakers.released(self.moments.now(), owner))

    async def count(self, failures, *, anew=False):
        now = self.moments.now()
        return await self.change(breakers.counted(now, failures, 3, 300.0, "timeout", anew=anew))


@pytest.fixture
def row(database, moments):
    return Row(database, moments)


async def test_nothing_is_stored_of_what_changes_nothing(row, database):
    await row.change(lambda before: before)

    assert await database.read(breakers.listed) == []


async def test_b5_an_open_one_refuses_until_its_moment(row, moments):
    stored = await row.open()
    assert (stored.state, stored.revision, stored.why) == ("open", 1, "timeout")
    assert stored.refusal_s(moments.now()) == 10.0
    moments.advance(4.0)
    moments.jump(-3600.0)

    found = await row.database.read(partial(breakers.find, key=KEY))
    assert found == stored
    assert found.refusal_s(moments.now()) == 6.0


async def test_b4_b5_one_of_many_gets_the_trial_and_only_once_it_is_time(row, moments):
    await row.open()
    assert (await row.try_("a")).state == "open"
    moments.advance(10.0)
    after = [await row.try_(name) for name in "abc"]

    assert [each.owner for each in after] == ["a", "a", "a"]
    assert after[0].state == "half-open"


async def test_b4_a_trial_that_never_ends_is_given_to_the_next(row, moments):
    await row.open()
    moments.advance(10.0)
    await row.try_("a")
    moments.advance(5.0)
    assert (await row.try_("b")).owner == "b"

    assert (await row.passes("a")).owner == "b"
    assert (await row.passes("b")).state == "closed"


async def test_b4_a_trial_without_a_verdict_lets_the_next_one_try_at_once(row, moments):
    await row.open()
    moments.advance(10.0)
    await row.try_("a")
    assert (await row.release("b")).owner == "a"
    await row.release("a")

    assert (await row.try_("b")).owner == "b"


async def test_b5_a_trial_that_fails_opens_it_again_for_longer(row, moments):
    await row.open()
    moments.advance(10.0)
    await row.try_("a")
    again = await row.open(recovery_s=20.0, reopened=1)

    assert (again.state, again.reopened, again.owner) == ("open", 1, None)
    assert again.refusal_s(moments.now()) == 20.0


async def test_one_that_is_open_is_not_opened_for_longer_by_those_who_come_late(row, moments):
    await row.open()
    moments.advance(4.0)
    assert (await row.open("b")).refusal_s(moments.now()) == 6.0
    moments.advance(7.0)
    assert (await row.open("b")).refusal_s(moments.now()) == 10.0


async def test_failures_of_processes_that_end_add_up_and_open_it(row):
    assert (await row.count(1)).failures == 1
    assert (await row.count(1)).failures == 2
    assert (await row.count(1, anew=True)).failures == 1
    opened = await row.count(2)

    assert (opened.state, opened.failures) == ("open", 0)


async def test_reset_closes_it_whatever_it_was(row):
    await row.open()
    closed = await row.change(breakers.reset)

    assert (closed.state, closed.until, closed.why, closed.revision) == ("closed", None, None, 2)


async def test_changes_from_many_sides_are_all_made(row):
    await asyncio.gather(*[row.count(0) for _ in range(5)], *[row.count(1) for _ in range(2)])
    (found,) = await row.database.read(partial(breakers.listed, name="billing"))

    assert found.failures == 2
    assert await row.database.read(partial(breakers.listed, name="other")) == []


async def test_a_change_that_another_one_overtakes_is_made_again(row, database):
    await row.open()
    overtaken = []

    def work(session):
        def step(before):
            if not overtaken:
                overtaken.append(before.revision)
                session.change("UPDATE breakers SET revision = revision + 1")
            return breakers.reset(before)

        return breakers.change(session, KEY, 1.0, step)[1]

    stored = await database.run(work)
    assert (stored.state, stored.revision, overtaken) == ("closed", 3, [1])
