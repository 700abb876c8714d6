"""How the journal is read: in order, by filters, while it grows."""

import asyncio
import json
from dataclasses import replace

import pytest
from journal_desk import ADD, call, closed, journal_in

from toolrt.core.calls import Caller, Reach
from toolrt.core.clock import ManualClock
from toolrt.observe.journal_entries import SPAN_S
from toolrt.observe.journal_records import Filter

pytestmark = pytest.mark.anyio


class Book:
    """Several writers on one clock."""

    def __init__(self, folder):
        self.folder = folder
        self.clock = ManualClock()
        self.journals = {}

    def journal(self, name="one"):
        if name not in self.journals:
            self.journals[name] = journal_in(self.folder, clock=self.clock)
        return self.journals[name]

    def note(self, number, name="one", **more):
        invocation, result = call(number, **more)
        invocation.started = self.clock.monotonic()
        self.journal(name).note(invocation, result, replace(ADD, name=result.tool))

    async def flush(self):
        for journal in self.journals.values():
            await journal.flush()

    async def ids(self, limit=None, **wanted):
        entries = await self.journal().records.entries(Filter(**wanted), limit)
        return [entry["call_id"].removeprefix("call-") for entry in entries]


@pytest.fixture
async def book(anyio_backend, folder):
    book = Book(folder)
    yield book
    for journal in book.journals.values():
        await closed(journal)


async def test_entries_of_all_writers_come_in_order_of_time(book):
    for number in range(60):
        book.note(number, "one" if number % 3 else "two")
        book.clock.advance(0.5)
        if number % 7 == 0:
            await book.flush()
    await book.flush()

    assert await book.ids() == [str(number) for number in reversed(range(60))]
    assert await book.ids(limit=3) == ["59", "58", "57"]
    exported = [each async for each in book.journal().records.export()]
    assert [each["call_id"] for each in exported] == [f"call-{number}" for number in range(60)]


async def test_order_holds_over_many_pages(book):
    for number in range(250):
        book.note(number, "one" if number % 2 else "two")
        book.clock.advance(SPAN_S / 3)
        if number % 4 == 3:
            await book.flush()
    await book.flush()

    assert await book.ids() == [str(number) for number in reversed(range(250))]


async def test_filters(book):
    book.note(1, tool="a.x")
    book.note(2, tool="a.y", code="timeout")
    book.clock.advance(100)
    between = book.clock.wall() - 50
    book.note(3, tool="b.x", caller=Caller("ann"))
    await book.flush()

    assert await book.ids(tool="a.*") == ["2", "1"]
    assert await book.ids(tool="a.x") == ["1"]
    assert await book.ids(caller="ann") == ["3"]
    assert await book.ids(status="error") == ["2"]
    assert await book.ids(status="timeout") == ["2"]
    assert await book.ids(since=between) == ["3"]
    assert await book.ids(until=between) == ["2", "1"]
    assert await book.ids(id="call-2") == ["2"]
    assert await book.ids(id="nothing") == []


async def test_an_approval_and_its_calls_are_found_by_its_id(book):
    journal = book.journal()

    def work(session):
        for at, event in ((1.0, "asked"), (2.0, "decided")):
            entry = {
                "kind": "approval",
                "at": at,
                "event": event,
                "approval": "abc",
                "actor": "ann",
            }
            journal.audit(session, {**entry, "state": "approved"})

    await journal._database.run(work)
    book.note(1)
    await book.flush()

    entries = await journal.records.entries(Filter(id="abc"))
    assert [entry["event"] for entry in entries] == ["decided", "asked"]
    assert await journal.records.entries(Filter(caller="ann")) == entries
    assert await journal.records.entries(Filter(status="approved")) == entries


async def test_p15_a_caller_is_shown_a_failure_that_a_tool_itself_names_like_an_unknown_tool(book):
    book.note(1, code="unknown-tool", attempts=0)
    book.note(2, code="unknown-tool")
    await book.flush()

    ran, hidden = await book.journal().records.entries(Filter(only_of=Reach("acme", "bot")))
    assert (hidden["call_id"], hidden["arguments"], hidden["decision"]) == (
        "call-1",
        {"a": "***"},
        None,
    )
    assert (ran["arguments"], ran["decision"]["rule"]) == ({"a": 2}, "everything")


async def test_what_is_recorded_from_now_on_comes_as_it_comes(book):
    book.note("old")
    await book.flush()
    told = []

    async def listen():
        async for entry in book.journal().records.tail(poll_s=0.01):
            told.append(entry["call_id"])  # noqa: PERF401 - it never ends

    task = asyncio.create_task(listen())
    await asyncio.sleep(0.1)
    book.note(1)
    await book.flush()
    await asyncio.sleep(0.05)
    book.note(2, "two")
    await book.flush()
    await asyncio.sleep(0.1)
    task.cancel()

    assert told == ["call-1", "call-2"]


ROW = {"since": 0.0, "ids": "a-", "shared": [{"tool": "t"}], "values": [0, 1, 1.0, 0.1, {}]}
EDITED = [
    {"values": [[0, float("inf"), "success", None], 1, 1.0, 0.1, {}]},
    {"values": [[0, 1, "success", None, {"at": 10**400}], 1, 1.0, 0.1, {}]},
    {"values": [0, 1, 1.0, 10**400, {}]},
    {"values": [5, 1, 1.0, 0.1, {}]},
    {"values": ["0", 1, 1.0, 0.1, {}]},
    {"values": [[], 1, 1.0, 0.1, {}]},
    {"values": [0, 1, 1.0, 0.1]},
    {"values": None},
    {"since": None},
    {"shared": [1]},
    {"shared": {}},
]


@pytest.mark.parametrize("body", ["nothing", *({**ROW, **each} for each in EDITED)], ids=str)
async def test_a_row_that_somebody_edited_is_told_as_unreadable(book, body):
    book.note(1)
    await book.flush()

    def work(session):
        session.change("DROP TRIGGER journal_same")
        edited = json.dumps(body) if isinstance(body, dict) else body
        session.change("UPDATE journal SET body = ? WHERE kind = 'calls'", edited)

    await book.journal()._database.run(work)

    (entry,) = await book.journal().records.entries()
    assert (entry["kind"], entry["seq"]) == ("unreadable", 2)
    guard, row = (await book.journal().records.verify()).faults
    assert "`journal_same` is gone" in guard.reason
    assert row.seq == 2
