"""Quotas that several processes share: tokens by the chunk, and never too many."""

from functools import partial

import pytest

from toolrt.stores.quotas import Chunk, give_back, take

pytestmark = pytest.mark.anyio


@pytest.fixture
def taken(database, moments):
    """Takes tokens of a limit of ten; they count for so many seconds."""

    async def take_(wanted, counts_s=60.0, name="t"):
        work = partial(
            take, name=name, moment=moments.now(), limit=10, wanted=wanted, counts_s=counts_s
        )
        return await database.run(work)

    return take_


async def test_no_more_is_given_than_there_is(taken):
    given = [(await taken(4)).tokens for _ in range(4)]

    assert given == [4, 4, 2, 0]


async def test_each_name_has_its_own_limit(taken):
    assert (await taken(10)).tokens == 10
    assert (await taken(10, name="u")).tokens == 10


async def test_without_any_it_is_told_how_long_there_is_none(taken, moments):
    await taken(6)
    moments.advance(20.0)
    await taken(4)
    moments.advance(10.0)

    assert (await taken(1)).wait_s == 30.0


async def test_tokens_are_free_again_when_they_no_longer_count(taken, moments):
    await taken(6)
    moments.advance(30.0)
    await taken(4)
    moments.advance(30.0)

    assert (await taken(10)).tokens == 6


async def test_what_was_not_used_is_given_back_once(taken, database):
    chunk = await taken(10)
    unused = [Chunk(chunk.id, 4)]
    await database.run(lambda session: give_back(session, unused))
    assert (await taken(10)).tokens == 4
    await database.run(lambda session: give_back(session, [Chunk(chunk.id, 7)]))

    assert (await taken(10)).tokens == 0


async def test_a_clock_that_is_set_back_or_forward_frees_nothing(taken, moments):
    await taken(10)
    moments.jump(3600.0)
    assert (await taken(1)).tokens == 0
    moments.jump(-7200.0)
    moments.advance(60.0)
    assert (await taken(1)).tokens == 1


async def test_after_a_restart_of_the_machine_the_wall_clock_counts(taken, moments):
    await taken(10)
    moments.reboot()
    assert (await taken(1)).tokens == 0
    moments.advance(60.0)
    assert (await taken(1)).tokens == 1
