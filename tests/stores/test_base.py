"""The contract of every back end: durable transactions, whole or not at all."""

import asyncio

import pytest

from toolrt.stores.base import ForbiddenChangeError, StoreError

pytestmark = pytest.mark.anyio

INSERT = "INSERT INTO meta (name, value) VALUES (?, ?)"
COUNT = "SELECT count(*) FROM meta"


async def count(database):
    return (await database.read(lambda session: session.row(COUNT)))[0]


async def test_what_was_changed_is_there_for_the_next(database):
    assert await database.run(lambda session: session.change(INSERT, "a", "1")) == 1

    found = await database.read(lambda session: session.rows("SELECT name, value FROM meta"))
    assert found == [("a", "1")]


async def test_no_row_is_none(database):
    assert await database.read(lambda s: s.row("SELECT * FROM meta WHERE name = ?", "x")) is None


async def test_one_statement_takes_many_rows(database):
    await database.run(lambda s: s.many(INSERT, [("a", "1"), ["b", "2"]]))

    assert await count(database) == 2


async def test_an_error_undoes_all_of_it(database):
    def work(session):
        session.change(INSERT, "a", "1")
        raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        await database.run(work)

    assert await count(database) == 0


async def test_work_that_runs_out_is_an_error_and_nothing_hangs(database):
    def work(session):
        session.change(INSERT, "a", "1")
        next(iter(()))

    with pytest.raises(RuntimeError):
        await asyncio.wait_for(database.run(work), 2)

    assert await count(database) == 0


async def test_reading_changes_nothing(database):
    with pytest.raises(ForbiddenChangeError):
        await database.read(lambda session: session.change(INSERT, "a", "1"))
    with pytest.raises(ForbiddenChangeError):
        await database.read(lambda session: session.many(INSERT, [("a", "1")]))

    assert await count(database) == 0


async def test_what_a_rule_of_the_tables_forbids_is_a_forbidden_change(database):
    await database.run(lambda session: session.change(INSERT, "a", "1"))

    with pytest.raises(ForbiddenChangeError):
        await database.run(lambda session: session.change(INSERT, "a", "2"))


async def test_many_at_once_are_done_one_after_another(database):
    def add(session):
        (value,) = session.row("SELECT coalesce(max(value), '000') FROM meta")
        session.change(INSERT, f"n{value}", f"{int(value) + 1:03}")

    await asyncio.gather(*(database.run(add) for _ in range(50)))

    assert await count(database) == 50


async def test_a_cancelled_caller_leaves_the_store_usable(database):
    waiting = asyncio.create_task(database.run(lambda s: s.change(INSERT, "a", "1")))
    await asyncio.sleep(0)
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting

    await database.run(lambda session: session.change(INSERT, "b", "1"))
    assert await count(database) in {1, 2}


async def test_closing_twice_is_fine_and_a_closed_one_says_so(database):
    await database.run(lambda session: session.change(INSERT, "a", "1"))
    await asyncio.gather(database.close(), database.close())
    await database.close()

    with pytest.raises(StoreError, match="closed"):
        await database.read(lambda session: session.row(COUNT))
