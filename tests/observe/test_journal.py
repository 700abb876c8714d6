"""The journal takes calls, writes them together, and does without its store where that may be."""

import asyncio
import logging
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest
from journal_desk import ADD, call, closed, journal_in

from toolrt.core.clock import ManualClock
from toolrt.core.redaction import Redactor
from toolrt.observe import journal as journal_module
from toolrt.observe.journal import MOST_WAITING
from toolrt.observe.journal_records import Filter
from toolrt.stores.base import StoreError

pytestmark = pytest.mark.anyio

ROOT = Path(__file__).parent.parent.parent


class Stubborn:
    """A database that fails until it is told to work."""

    def __init__(self, database):
        self.database = database
        self.fails = True
        self.tries = 0

    async def run(self, work):
        self.tries += 1
        if self.fails:
            raise StoreError("locked", "it is locked", hint="unlock it")
        return await self.database.run(work)

    async def read(self, work):
        return await self.database.read(work)

    async def close(self):
        await self.database.close()


@pytest.fixture
async def stubborn(journal):
    journal._database = Stubborn(journal._database)
    return journal._database


async def ids(journal, **wanted):
    return [entry["call_id"] for entry in await journal.records.entries(Filter(**wanted), None)]


async def test_an_entry_tells_all_of_a_call_but_its_value(journal):
    invocation, result = call(1, {"a": 1, "b": ["x"]})
    journal.note(invocation, result, ADD)
    await journal.flush()

    (entry,) = await journal.records.entries()
    assert abs(entry.pop("at") - time.time()) < 5
    assert entry.pop("writer").startswith("000001-")
    assert entry == {
        "kind": "call", "call_id": "call-1", "tool": "t.add",
        "caller": {"principal": "bot", "roles": ["agents"], "tenant": "acme", "session": "s1"},
        "arguments": {"a": 1, "b": ["x"]}, "decision": {"decision": "allow", "rule": "everything"},
        "status": "success", "code": None, "attempts": 1, "time_ms": 1.5, "generation": 3,
        "policy_hash": "hash-1", "seq": 2,
    }  # fmt: skip


async def test_calls_are_written_soon_by_themselves(journal):
    for number in range(3):
        journal.note(*call(number), ADD)
    assert not journal._database.path.exists()
    await asyncio.sleep(0.4)

    assert await ids(journal) == ["call-2", "call-1", "call-0"]


async def test_a_batch_is_one_row(journal):
    for number in range(300):
        journal.note(*call(number), ADD)
    await journal.flush()

    rows = await journal._database.read(lambda s: s.rows("SELECT kind, count FROM journal"))
    assert rows == [("opened", 1), ("calls", 300)]


async def test_nothing_is_opened_before_there_is_something_to_record(folder):
    journal = journal_in(folder)
    await journal.flush()
    await closed(journal)

    assert list(folder.iterdir()) == []


async def test_what_is_left_is_written_at_the_end(folder):
    journal = journal_in(folder)
    journal.note(*call(1), ADD)
    await closed(journal)

    again = journal_in(folder)
    assert await ids(again) == ["call-1"]
    await closed(again)


async def test_a_value_that_the_call_came_to_is_kept_nowhere(journal, folder):
    journal.note(*call(1), ADD)
    await closed(journal)

    assert not found(folder, b"much")


async def test_in_mode_sync_a_call_is_written_when_its_result_is_given(folder):
    journal = journal_in(folder, mode="sync")
    await asyncio.gather(*(journal.kept(*call(number), ADD) for number in range(20)))

    assert not journal.batch.count
    assert len(await ids(journal)) == 20
    rows = await journal._database.read(lambda s: s.rows("SELECT count FROM journal"))
    assert len(rows) <= 4  # those that came while one was written went together
    await closed(journal)


async def test_a_caller_that_goes_away_takes_no_entries_along(journal):
    task = asyncio.ensure_future(journal.kept(*call(1), ADD))
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    await journal.flush()

    assert await ids(journal) == ["call-1"]


async def test_an_effect_that_cannot_be_undone_is_written_before_it_is_made(journal):
    invocation, _ = call(1)
    await journal.intend(invocation, ADD)

    (entry,) = await journal.records.entries()
    assert (entry["kind"], entry["call_id"], entry["arguments"]) == ("intent", "call-1", {"a": 1})
    assert entry["decision"] == {"decision": "allow", "rule": "everything"}


async def test_an_effect_that_cannot_be_written_is_refused(journal, stubborn):
    with pytest.raises(StoreError):
        await journal.intend(call(1)[0], ADD)


async def test_an_audit_entry_is_undone_with_its_transaction(journal):
    def work(session):
        journal.audit(session, {"kind": "approval", "at": 1.0, "event": "asked"})

    def undone(session):
        work(session)
        raise InterruptedError

    with pytest.raises(InterruptedError):
        await journal._database.run(undone)
    await journal._database.run(work)

    assert [entry["event"] for entry in await journal.records.entries()] == ["asked"]
    assert (await journal.records.verify()).faults == []


async def test_calls_go_on_while_the_store_fails_and_nothing_is_lost(journal, stubborn, caplog):
    for number in range(3):
        journal.note(*call(number), ADD)
        await journal.flush()
    stubborn.fails = False
    journal.note(*call(3), ADD)
    await journal.flush()

    assert await ids(journal) == ["call-3", "call-2", "call-1", "call-0"]
    assert [each.getMessage() for each in caplog.records] == [
        "the journal waits: it is locked (unlock it)",
        "the journal is written again; 0 of its entries are lost",
    ]


async def test_entries_that_wait_are_written_by_themselves(journal, stubborn, monkeypatch):
    monkeypatch.setattr(journal_module, "AGAIN_S", 0.1)
    journal.note(*call(1), ADD)
    await journal.flush()
    stubborn.fails = False
    await asyncio.sleep(0.5)

    assert await ids(journal) == ["call-1"]


async def test_what_there_is_no_room_for_is_counted_and_told(
    journal, stubborn, monkeypatch, caplog
):
    monkeypatch.setattr(journal_module, "MOST_WAITING", 1000)
    monkeypatch.setattr(journal_module, "BATCH", 500)
    for number in range(3000):
        if journal.note(*call(number), ADD):
            await journal.relief()
    assert journal.batch.count <= 1000
    await journal.flush()
    stubborn.fails = False
    await journal.flush()

    entries = await journal.records.entries(Filter(kinds=frozenset({"call", "lost"})), None)
    calls = [entry for entry in entries if entry["kind"] == "call"]
    (lost,) = [entry for entry in entries if entry["kind"] == "lost"]
    assert len(calls) + lost["count"] == 3000
    assert len(calls) <= 1000
    assert f"{lost['count']} of its entries are lost" in caplog.text
    assert (journal.lost, journal.waiting) == (lost["count"], 0)


async def test_a_loop_that_never_rests_gives_a_store_that_failed_its_turn(
    journal, stubborn, monkeypatch
):
    monkeypatch.setattr(journal_module, "MOST_WAITING", 1000)
    monkeypatch.setattr(journal_module, "AGAIN_S", 0.0)
    monkeypatch.setattr(journal_module, "INTERVAL_S", 0.0)
    monkeypatch.setattr(journal_module, "BATCH", 500)
    for number in range(5000):
        stubborn.fails = number < 4000
        if journal.note(*call(number), ADD):
            await journal.relief()

    assert stubborn.tries > 5
    await journal.flush()
    assert "call-0" in await ids(journal)


async def test_a_bug_costs_its_batch_and_is_told(journal, monkeypatch, caplog):
    with monkeypatch.context() as broken:
        broken.setattr(journal._chain, "append", None)
        journal.note(*call(1), ADD)
        await journal.flush()
    journal.note(*call(2), ADD)
    await journal.flush()

    entries = await journal.records.entries(Filter(kinds=frozenset({"call", "lost"})))
    assert {each.get("count", each.get("call_id")) for each in entries} == {1, "call-2"}
    assert "a bug kept entries from the journal" in caplog.text


async def test_what_cannot_be_written_at_the_end_is_told_by_its_number(journal, stubborn, caplog):
    for number in range(5):
        journal.note(*call(number), ADD)
    await journal.close()

    assert "5 entries of the journal are lost" in caplog.text


async def test_a_loop_that_never_rests_does_not_fill_the_memory(journal):
    most = 0
    for number in range(2 * MOST_WAITING):
        if journal.note(*call(number), ADD):
            await journal.relief()
        most = max(most, journal.batch.count)
    await journal.flush()

    assert most <= MOST_WAITING
    assert len(await ids(journal)) == 2 * MOST_WAITING


async def test_20000_calls_are_recorded_at_5000_a_second_or_more(journal):
    started = time.perf_counter()
    for number in range(20_000):
        if journal.note(*call(number), ADD):
            await journal.relief()
    await journal.flush()

    assert 20_000 / (time.perf_counter() - started) > 5000
    assert (await journal.records.verify()).faults == []


async def test_what_is_too_old_is_removed_now_and_then(folder):
    clock = ManualClock()
    journal = journal_in(folder, clock=clock, retention_s=86400.0)
    for number in range(4):
        invocation, result = call(number)
        invocation.started = clock.monotonic()
        journal.note(invocation, result, ADD)
        await journal.flush()
        clock.advance(50_000)

    assert await ids(journal) == ["call-3", "call-2"]
    assert (await journal.records.verify()).faults == []
    await closed(journal)


def found(folder, text):
    """Whether any file below the folder holds the text."""
    return any(text in path.read_bytes() for path in folder.rglob("*") if path.is_file())


async def test_o1_no_secret_comes_into_the_file(folder):
    redactor = Redactor()
    redactor.learn("hunter2hunter2")
    redactor.learn('quo"ted\\secret')
    journal = journal_in(folder, redactor=redactor)
    for arguments in (
        {"text": "it is hunter2hunter2"},
        {"nested": [{"hunter2hunter2": 1}]},
        {"text": 'quo"ted\\secret', "again": 'say quo\\"ted\\\\secret'},
        {"text": "aHVudGVyMmh1bnRlcjI="},
        {"text": "aHVudGVy\nMmh1bnRlcjI="},
    ):
        journal.note(*call(1, arguments), ADD)
        journal.note(*call(1, arguments, code="invalid-arguments"), ADD)
        await journal.intend(call(1, arguments)[0], ADD)
    journal.note(*call(1, tool="t.hunter2hunter2"))
    await journal._database.run(
        lambda s: journal.audit(s, {"kind": "approval", "note": "hunter2hunter2", "at": 1.0})
    )
    await journal.flush()
    entries = await journal.records.entries(limit=None)
    await closed(journal)

    assert "***" in str(entries)
    for text in (
        b"hunter2hunter2",
        b"ted\\\\secret",
        b"ted\\\\\\\\secret",
        b"aHVudGVyMmh1",
        b"Mmh1bnRlcjI",
    ):
        assert not found(folder, text), text


async def test_a_folder_that_cannot_be_written_is_told_once_and_calls_go_on(folder, caplog):
    (folder / ".toolrt").write_text("not a folder")
    journal = journal_in(folder)
    for number in range(3):
        journal.note(*call(number), ADD)
        await journal.flush()
    await closed(journal)

    warnings = [each for each in caplog.records if each.levelno == logging.WARNING]
    assert len(warnings) == 1
    assert "cannot be used" in warnings[0].getMessage()


def writer(folder, name, count):
    script = ROOT / "tests" / "journal_process.py"
    command = [sys.executable, script, folder, name, str(count)]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    return subprocess.Popen(command, stdout=subprocess.PIPE, env=environment, text=True)


async def test_four_processes_write_at_once_and_all_is_in_order(folder):
    processes = [writer(folder, name, 700) for name in "abcd"]
    for process in processes:
        process.communicate(timeout=30)

    journal = journal_in(folder)
    assert [process.returncode for process in processes] == [0, 0, 0, 0]
    assert (await journal.records.verify()).faults == []
    entries = await journal.records.entries(limit=None)
    assert len([entry for entry in entries if entry["kind"] == "call"]) == 4 * 700
    assert len([entry for entry in entries if entry["kind"] == "intent"]) == 4 * 14
    assert len({entry["writer"] for entry in entries}) == 4
    await closed(journal)


async def test_a_process_that_is_killed_leaves_all_in_order(folder):
    for _ in range(3):
        process = writer(folder, "x", 0)
        told = [process.stdout.readline() for _ in range(10)]
        process.kill()
        process.communicate(timeout=30)
        assert told[-1] == "450\n"

    journal = journal_in(folder)
    assert (await journal.records.verify()).faults == []
    intents = await journal.records.entries(Filter(kinds=frozenset({"intent"})), None)
    assert len(intents) >= 30
    await closed(journal)


async def test_what_is_mentioned_is_written_before_the_calls_that_come_after(journal):
    journal.mention("batch", {"batch": "b", "calls": []})
    journal.note(*call(1, {}), ADD)
    await journal.flush()
    journal.mention("batch", {"batch": "c", "calls": []})
    await journal.flush()

    entries = [
        each async for each in journal.records.export(Filter(kinds=frozenset({"batch", "call"})))
    ]
    rows = sorted(entries, key=lambda each: each["seq"])
    assert [each["kind"] for each in rows] == ["batch", "call", "batch"]


async def test_what_is_mentioned_while_the_store_fails_waits_for_it(journal, stubborn):
    journal.mention("batch", {"batch": "b"})
    await journal.flush()
    journal.mention("batch", {"batch": "c"})
    stubborn.fails = False
    await journal.flush()

    entries = await journal.records.entries(Filter(kinds=frozenset({"batch"})))
    assert {each["batch"] for each in entries} == {"b", "c"}
