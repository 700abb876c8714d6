"""A chain of rows, and how whatever was done to it without the key is found (A20)."""

import json

import pytest

from toolrt.stores.base import ForbiddenChangeError
from toolrt.stores.journal import Chain, Seals, Segment, number_of
from toolrt.stores.journal_checks import tamperings
from toolrt.stores.journal_retention import EVERY_S, prune
from toolrt.stores.tables import PRUNING

pytestmark = pytest.mark.anyio

KEY = b"k" * 32


def entry(at=1.0, text="x"):
    body = json.dumps({"kind": "call", "at": at, "text": text}).encode()
    return Segment("calls", at, at, 1, body)


@pytest.fixture
def book(database):
    return Book(database)


class Book:
    """A journal with writers as they are wanted."""

    def __init__(self, database):
        self.database = database

    async def write(self, *ats, chain=None):
        """One writer with a row for each time, after its first row."""
        chain = chain or Chain(lambda: KEY)

        def work(session):
            for at in ats:
                chain.append(session, entry(at))

        await self.database.run(work)
        return chain

    async def tamper(self, sql, *parameters):
        """A change that somebody with the file makes, who takes the guards off first."""

        def work(session):
            session.change("DROP TRIGGER IF EXISTS journal_same")
            session.change("DROP TRIGGER IF EXISTS journal_kept")
            assert session.change(sql, *parameters)

        await self.database.run(work)

    async def found(self, key=KEY):
        return await self.database.read(lambda session: tamperings(session, Seals(key)))

    async def reasons(self):
        return [(each.writer, each.seq, each.reason) for each in await self.found()]

    async def prune(self, chain, before, at=1000.0):
        return await self.database.run(lambda session: prune(session, chain, before, at))

    async def rows(self):
        return await self.database.read(
            lambda s: s.rows("SELECT writer, seq, kind FROM journal ORDER BY writer, seq")
        )


async def test_an_empty_journal_is_in_order(book):
    assert await book.found() == []


async def test_a20_what_was_only_appended_is_in_order(book):
    first = await book.write(1.0, 2.0)
    await book.write(3.0)
    await book.write(4.0, chain=first)

    assert await book.found() == []
    assert [kind for _, _, kind in await book.rows()] == [
        "opened",
        "calls",
        "calls",
        "calls",
        "opened",
        "calls",
    ]


async def test_a20_the_database_refuses_to_edit_or_delete_a_row(book):
    await book.write(1.0)

    for sql in ("UPDATE journal SET at = 0", "DELETE FROM journal"):
        with pytest.raises(ForbiddenChangeError):
            await book.database.run(lambda session, sql=sql: session.change(sql))


EDITS = {
    "body": "UPDATE journal SET body = replace(body, 'x', 'y') WHERE seq = 3",
    "time": "UPDATE journal SET at = 0.5 WHERE seq = 3",
    "end": "UPDATE journal SET until = 99 WHERE seq = 3",
    "count": "UPDATE journal SET count = 2 WHERE seq = 3",
    "kind": "UPDATE journal SET kind = 'intent' WHERE seq = 3",
    "mac": "UPDATE journal SET mac = '0' WHERE seq = 3",
}


@pytest.mark.parametrize("sql", EDITS.values(), ids=list(EDITS))
async def test_a20_an_edited_row_is_found(book, sql):
    chain = await book.write(1.0, 2.0, 3.0)
    await book.tamper(sql)

    assert (chain.writer, 3, "the row was edited, or moved here") in await book.reasons()


async def test_a20_a_deleted_row_is_found(book):
    chain = await book.write(1.0, 2.0, 3.0)
    await book.tamper("DELETE FROM journal WHERE seq = 3")

    assert await book.reasons() == [(chain.writer, 3, "row 3 was deleted")]


async def test_a20_a_deleted_beginning_is_found(book):
    chain = await book.write(1.0, 2.0, 3.0)
    await book.tamper("DELETE FROM journal WHERE seq < 3")

    assert await book.reasons() == [(chain.writer, 1, "rows 1 to 2 were deleted")]


async def test_a20_a_deleted_end_is_found(book):
    chain = await book.write(1.0, 2.0, 3.0)
    await book.tamper("DELETE FROM journal WHERE seq > 2")

    assert await book.reasons() == [(chain.writer, 3, "rows 3 to 4 were deleted")]


async def test_a20_a_deleted_end_is_found_though_the_head_was_moved_back(book):
    chain = await book.write(1.0, 2.0, 3.0)
    await book.tamper("DELETE FROM journal WHERE seq > 2")
    await book.tamper(
        "UPDATE journal_heads SET seq = 2, mac = (SELECT mac FROM journal WHERE seq = 2)"
    )

    assert await book.reasons() == [(chain.writer, 2, "the head of this writer was edited")]


async def test_a20_a_head_put_back_to_an_older_one_is_found_by_what_others_saw(book):
    chain = await book.write(1.0)
    ((older, mac, seal),) = await book.database.read(
        lambda s: s.rows("SELECT seq, mac, seal FROM journal_heads")
    )
    await book.write(2.0, 3.0, chain=chain)
    other = await book.write(4.0)
    await book.tamper("DELETE FROM journal WHERE writer = ? AND seq > ?", chain.writer, older)
    await book.tamper(
        "UPDATE journal_heads SET seq = ?, mac = ?, seal = ? WHERE writer = ?",
        *(older, mac, seal, chain.writer),
    )

    assert await book.reasons() == [(chain.writer, 4, f"{other.writer} has seen another row here")]


async def test_a20_swapped_rows_are_found(book):
    chain = await book.write(1.0, 2.0, 3.0)
    for old, new in ((2, 99), (3, 2), (99, 3)):
        await book.tamper("UPDATE journal SET seq = ? WHERE seq = ?", new, old)

    assert {seq for _, seq, _ in await book.reasons()} >= {2, 3}
    assert {writer for writer, _, _ in await book.reasons()} == {chain.writer}


async def test_a20_a_row_of_another_writer_is_found(book):
    one, other = await book.write(1.0, 2.0), await book.write(3.0)
    await book.tamper(
        "UPDATE journal SET writer = ?, seq = 3 WHERE writer = ? AND seq = 3",
        *(other.writer, one.writer),
    )

    assert {(writer, seq) for writer, seq, _ in await book.reasons()} >= {
        (one.writer, 3), (other.writer, 3),
    }  # fmt: skip


@pytest.mark.parametrize("number", [1, 2, 3])
async def test_a20_a_writer_that_was_deleted_with_all_its_rows_is_found(book, number):
    chains = [await book.write(1.0), await book.write(2.0), await book.write(3.0)]
    gone = chains[number - 1].writer
    await book.tamper("DELETE FROM journal WHERE writer = ?", gone)
    await book.tamper("DELETE FROM journal_heads WHERE writer = ?", gone)

    found = await book.reasons()
    assert (f"{number:06d}", None, "all rows of this writer were deleted") in found


async def test_a20_a_deleted_head_is_found(book):
    chain = await book.write(1.0)
    await book.tamper("DELETE FROM journal_heads")

    assert await book.reasons() == [
        (chain.writer, None, "its last row is not known: its head was deleted")
    ]


@pytest.mark.parametrize(
    "sql",
    [
        "DELETE FROM meta WHERE name = 'journal'",
        "UPDATE meta SET value = replace(value, '2', '1') WHERE name = 'journal'",
        "UPDATE meta SET value = '[]' WHERE name = 'journal'",
        "UPDATE meta SET value = '{' WHERE name = 'journal'",
    ],
)
async def test_a20_an_edited_count_of_writers_is_found_and_stays_so(book, sql):
    await book.write(1.0)
    await book.write(2.0)
    await book.tamper(sql)
    told = "the count of writers was edited or deleted"

    assert told in [reason for _, _, reason in await book.reasons()]
    third = await book.write(3.0)
    assert told in [reason for _, _, reason in await book.reasons()]
    assert number_of(third.writer) == 3


async def test_a20_the_wrong_key_is_told_as_such(book):
    await book.write(1.0, 2.0)

    (only,) = await book.found(b"another key of 32 bytes and more")
    assert (only.writer, only.seq) == (None, None)
    assert only.reason == "it was sealed with another key than the one there is now"


async def test_a_transaction_that_is_undone_leaves_no_gap(book):
    chain = Chain(lambda: KEY)

    def broken(session):
        chain.append(session, entry(1.0))
        chain.append(session, entry(2.0))
        raise InterruptedError

    for ats in ((), (3.0,), (4.0, 5.0)):
        with pytest.raises(InterruptedError):
            await book.database.run(broken)
        await book.write(*ats, chain=chain)

    assert await book.found() == []
    assert [seq for _, seq, _ in await book.rows()] == [1, 2, 3, 4]


async def test_a_writer_that_was_tampered_with_is_not_written_on(book):
    chain = await book.write(1.0, 2.0)
    before = chain.writer
    await book.tamper("DELETE FROM journal WHERE seq = 3")
    await book.tamper(
        "UPDATE journal_heads SET seq = 2, mac = (SELECT mac FROM journal WHERE seq = 2)"
    )
    await book.write(3.0, chain=chain)

    assert chain.writer != before
    assert before in [writer for writer, _, _ in await book.reasons()]


async def test_a20_retention_removes_what_is_old_and_all_is_in_order(book):
    one = await book.write(1.0, 2.0, 30.0)
    old = await book.write(3.0, 4.0)
    young = await book.write(31.0)

    assert await book.prune(young, 10.0) == 6
    assert await book.found() == []
    kept = await book.rows()
    assert [seq for writer, seq, _ in kept if writer == one.writer] == [4]
    assert old.writer not in [writer for writer, _, _ in kept]
    assert kept[-1][2] == "retention"


async def test_a20_retention_goes_on_where_it_ended(book):
    one = await book.write(1.0, 2.0)
    other = await book.write(3.0)
    await book.prune(one, 10.0, at=20.0)
    await book.write(21.0, 22.0, chain=one)
    third = await book.write(23.0)

    assert await book.prune(third, 22.5, at=20.0 + EVERY_S) == 3
    assert await book.found() == []
    assert await book.prune(third, 22.5, at=20.0 + 2 * EVERY_S) == 0
    await book.write(1001.0, chain=one)
    await book.write(1002.0, chain=other)
    assert await book.found() == []


DAY_S = 86400.0
YEAR_S = 365 * DAY_S


async def test_a20_a_clock_that_leaps_ahead_makes_nothing_old(book):
    chain = await book.write(*(hour * 3600.0 for hour in range(72)))
    leapt = YEAR_S + 72 * 3600.0
    await book.write(leapt, chain=chain)

    assert await book.prune(chain, leapt - 30 * DAY_S, at=leapt + 1) == 0
    again = 2 * YEAR_S
    assert await book.prune(chain, again - 30 * DAY_S, at=again) == 0
    assert len(await book.rows()) == 74  # one says that the writer began


async def test_a20_a_time_is_believed_once_the_journal_went_on_by_it_for_a_day(book):
    chain = await book.write(0.0, 3600.0)
    later = [YEAR_S + hour * 3600.0 for hour in range(26)]
    await book.write(*later, chain=chain)

    assert await book.prune(chain, later[-1] - 30 * DAY_S, at=later[-1]) == 3


async def test_retention_holds_where_somebody_calls_once_a_week(book):
    weeks = [week * 7 * DAY_S for week in range(12)]
    chain = await book.write(*weeks)

    assert await book.prune(chain, weeks[-1] - 30 * DAY_S, at=weeks[-1]) == 5


async def test_retention_is_at_work_once_in_a_while_whoever_asks(book):
    chain = await book.write(1.0, 2.0)
    await book.prune(chain, 1.5, at=20.0)
    other = await book.write(3.0)

    assert await book.prune(other, 10.0, at=20.0 + EVERY_S - 1) == 0
    assert await book.prune(other, 10.0, at=20.0 + EVERY_S) > 0


async def test_a_writer_of_which_nothing_is_left_begins_anew(book):
    idle = await book.write(1.0)
    await book.prune(await book.write(30.0), 10.0)
    before = idle.writer
    await book.write(40.0, chain=idle)

    assert idle.writer != before
    assert await book.found() == []


async def test_retention_of_a_writers_own_rows_goes_on_with_its_chain(book):
    chain = await book.write(1.0, 2.0)
    writer = chain.writer
    assert await book.prune(chain, 10.0) == 3
    await book.write(30.0, chain=chain)

    assert chain.writer == writer
    assert [(seq, kind) for _, seq, kind in await book.rows()] == [(4, "retention"), (5, "calls")]
    assert await book.found() == []


async def test_a20_after_retention_a_deleted_row_is_still_found(book):
    chain = await book.write(1.0, 2.0, 30.0, 31.0)
    await book.prune(chain, 10.0)
    await book.tamper("DELETE FROM journal WHERE seq = 4")

    assert await book.reasons() == [(chain.writer, 4, "row 4 was deleted")]


async def test_a20_a_row_that_retention_wrote_is_found_when_it_is_edited(book):
    await book.write(1.0)
    chain = await book.write(30.0)
    await book.prune(chain, 10.0)
    await book.tamper("UPDATE journal SET body = replace(body, '[1, 1]', '[1, 9]')"
                      " WHERE kind = 'retention'")  # fmt: skip

    assert (None, None, "what says which rows grew too old was edited or deleted") in (
        await book.reasons()
    )


async def test_retention_leaves_alone_where_something_is_missing_already(book):
    chain = await book.write(1.0, 2.0, 3.0, 30.0)
    await book.tamper("DELETE FROM journal WHERE seq = 2")

    assert await book.prune(chain, 10.0) == 0
    assert await book.reasons() == [(chain.writer, 2, "row 2 was deleted")]


async def test_retention_ends_with_its_transaction(book):
    chain = await book.write(1.0)
    await book.prune(chain, 10.0)

    assert await book.database.read(lambda s: s.rows(f"SELECT 1 WHERE {PRUNING}")) == []
