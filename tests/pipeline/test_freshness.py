"""`freshness`: nobody changes what they have not seen, or what has changed since (M19, F4)."""

import asyncio
import os
from contextlib import asynccontextmanager

import pytest

import toolrt
from toolrt.core.clock import ManualClock
from toolrt.pipeline import sightings
from toolrt.testing import ToolError, open_files, stubbed, write_files

pytestmark = pytest.mark.anyio

ANN = toolrt.Caller("ann", session="s-1")
BOB = toolrt.Caller("bob", session="s-2")

FILES = """
namespace: files
defaults: {python: {object: "toolrt.packs.files:Files", init: {root: ws}}}
tools:
  read: {python: {call: read}}
  edit: {python: {call: edit}, freshness: {resource: "{{ path }}", read_by: [files.read]}}
  write: {python: {call: write}, freshness: {resource: "{{ path }}", read_by: [files.read]}}
  create: {python: {call: create}}
"""
PLAIN = """
tools:
  look:
    description: Look at a shelf.
    parameters: {shelf: string}
    command: [printf, "%s", "{{ shelf }}"]
    effect: read
  fill:
    description: Fill a shelf.
    parameters: {shelf: string}
    command: [printf, "%s", "{{ shelf }}"]
    freshness: {resource: "shelf {{ shelf }}", read_by: [look]}
"""


@asynccontextmanager
async def opened(text=FILES, **options):
    files = {"tools.d/t.yaml": text, "ws/f": "one two", "ws/g": "one", "kit.py": KIT}
    async with open_files(files, **options) as runtime:
        yield runtime


KIT = '''
import time

import toolrt

shelves = {}


def look(shelf: str, call: toolrt.Context) -> str:
    """Look."""
    call.saw(shelves.get(shelf, "0"))
    return shelf


def fill(shelf: str, call: toolrt.Context, pause_s: float = 0) -> str:
    """Fill."""
    seen = shelves.get(shelf, "0")
    if call.expected != seen:
        raise toolrt.ToolError("somebody was faster", code="conflict")
    time.sleep(pause_s)
    assert shelves.get(shelf, "0") == seen
    shelves[shelf] = str(int(seen) + 1)
    call.saw(shelves[shelf])
    return shelves[shelf]


def spill(shelf: str, call: toolrt.Context) -> str:
    """Spill."""
    shelves[shelf] = "spilt"
    raise ValueError("spilt")
'''
SHELVES = """
defaults: {timeout: {attempt: 5s}}
tools:
  look: {python: "kit:look", effect: read}
  fill: {python: "kit:fill", freshness: {resource: "{{ shelf }}", read_by: [look]}}
  spill: {python: "kit:spill", freshness: {resource: "{{ shelf }}", read_by: [look]}}
"""


def code(result):
    return result.error.code if result.error else result.status


async def read(runtime, path="f", by=ANN):
    assert code(await runtime.call("files.read", {"path": path}, by)) == "success"


async def edit(runtime, old, new, path="f", by=ANN):
    return await runtime.call("files.edit", {"path": path, "old": old, "new": new}, by)


def body(runtime, name="f"):
    return (runtime.project / "ws" / name).read_text()


async def test_m19_what_was_never_read_is_not_edited():
    async with opened() as runtime:
        result = await edit(runtime, "two", "2")
        unread = body(runtime)

    assert (code(result), unread) == ("conflict", "one two")
    assert result.error.hint == "nothing was changed; read it first, with `files.read`"
    assert result.attempts == 0


async def test_m19_what_was_read_is_edited_again_and_again():
    async with opened() as runtime:
        await read(runtime)
        results = [
            code(await edit(runtime, *pair))
            for pair in ("12", ("two", "2"), ("2", "3"), ("3", "4"))
        ]
        after = body(runtime)
        again = await runtime.call("files.write", {"path": "f", "text": "new"}, ANN)

    assert results == ["not-found", "success", "success", "success"]
    assert (after, code(again)) == ("one 4", "success")


async def test_m19_h37_what_somebody_else_changed_since_is_a_conflict_until_it_is_read_again():
    async with opened() as runtime:
        await read(runtime)
        (runtime.project / "ws" / "f").write_text("one two three")
        stale = [code(await edit(runtime, "two", "2")) for _ in range(2)]
        between = body(runtime)
        await read(runtime)
        fresh = await edit(runtime, "two", "2")
        after = body(runtime)

    assert (stale, between) == (["conflict", "conflict"], "one two three")
    assert (code(fresh), after) == ("success", "one 2 three")


async def test_h38_the_same_size_and_time_hide_nothing():
    async with opened() as runtime:
        await read(runtime)
        path = runtime.project / "ws" / "f"
        at = path.stat()
        path.write_text("1 2 3 4")
        os.utime(path, ns=(at.st_atime_ns, at.st_mtime_ns))
        result = await runtime.call("files.write", {"path": "f", "text": "mine"}, ANN)

    assert code(result) == "conflict"


async def test_what_one_session_has_seen_is_not_what_another_has():
    async with opened() as runtime:
        await read(runtime, by=ANN)
        strangers = [
            BOB,
            toolrt.Caller("ann", session="s-2"),
            toolrt.Caller("ann", session="s-1", tenant="t"),
            toolrt.Caller("bob", session="s-1"),
            toolrt.Caller("ann"),
        ]
        codes = [code(await edit(runtime, "two", "2", by=each)) for each in strangers]
        own = await edit(runtime, "two", "2", by=toolrt.Caller("ann", ("cook",), session="s-1"))

    assert codes == ["conflict"] * len(strangers)
    assert code(own) == "success"


async def test_of_two_sessions_that_have_read_the_second_one_is_told():
    async with opened() as runtime:
        await read(runtime, by=ANN)
        await read(runtime, by=BOB)
        codes = [code(await edit(runtime, *words, by=by)) for by, *words in (
            (ANN, "two", "2"), (BOB, "one", "1"), (ANN, "one", "1"),
        )]  # fmt: skip
        after = body(runtime)

    assert (codes, after) == (["success", "conflict", "success"], "1 2")


async def test_two_spellings_of_one_path_are_the_same():
    async with opened() as runtime:
        await read(runtime, "./f")
        result = await edit(runtime, "two", "2", "f")

    assert code(result) == "success"


async def test_another_file_is_another_thing():
    async with opened() as runtime:
        await read(runtime, "g")

        assert code(await edit(runtime, "two", "2", "f")) == "conflict"


async def test_a_read_that_failed_has_shown_nothing():
    async with opened() as runtime:
        with stubbed(runtime, {"files.read": _fail}):
            await runtime.call("files.read", {"path": "f"}, ANN)
        result = await edit(runtime, "two", "2")

    assert code(result) == "conflict"


def _fail(_):
    raise ToolError("no")


async def test_what_was_made_in_the_session_need_not_be_read():
    text = FILES.replace("read_by: [files.read]", "read_by: [files.read, files.create]")
    async with opened(text) as runtime:
        await runtime.call("files.create", {"path": "new", "text": "a b"}, ANN)
        result = await edit(runtime, "a", "c", "new")
        strange = await edit(runtime, "b", "c", "new", by=BOB)

    assert (code(result), code(strange)) == ("success", "conflict")


async def test_edits_of_one_session_at_the_same_time_all_count():
    async with opened() as runtime:
        await read(runtime)
        results = await asyncio.gather(edit(runtime, "one", "1"), edit(runtime, "two", "2"))
        after = body(runtime)

    assert ([code(each) for each in results], after) == (["success", "success"], "1 2")


async def test_calls_that_change_one_thing_go_one_after_the_other():
    async with opened(SHELVES) as runtime:
        await runtime.call("look", {"shelf": "a"}, ANN)
        calls = [runtime.call("fill", {"shelf": "a", "pause_s": 0.01}, ANN) for _ in range(5)]
        results = await asyncio.gather(*calls)

    assert [each.data for each in results] == ["1", "2", "3", "4", "5"]
    assert runtime._gateway._equipment.sightings._queues == {}


@pytest.mark.realtime
async def test_who_waits_for_others_does_so_within_its_time():
    text = SHELVES.replace('"kit:fill",', '"kit:fill", timeout: {total: 0.2s},')
    async with opened(text) as runtime:
        await runtime.call("look", {"shelf": "b"}, ANN)
        calls = [runtime.call("fill", {"shelf": "b", "pause_s": 0.5}, ANN) for _ in range(2)]
        results = await asyncio.gather(*calls)

    assert all(each.error.code in {"timeout", "unknown-outcome"} for each in results)
    assert results[1].error.message in {
        "other calls were changing the same thing all the time",
        "there was no time left to try",  # its turn came in the last moment
    }
    assert results[1].error.retryable


async def test_a_change_that_failed_halfway_has_to_be_looked_at():
    async with opened(SHELVES) as runtime:
        await runtime.call("look", {"shelf": "c"}, ANN)
        codes = [code(await runtime.call(name, {"shelf": "c"}, ANN)) for name in ("spill", "fill")]

    assert codes == ["execution-failed", "conflict"]


async def test_a_tool_without_versions_asks_for_a_look_and_notices_what_is_done_here():
    async with opened(PLAIN) as runtime:
        fill = [
            code(await runtime.call(name, {"shelf": "x"}, by))
            for name, by in (
                ("fill", ANN), ("look", ANN), ("look", BOB), ("fill", ANN), ("fill", ANN),
                ("fill", BOB), ("look", BOB), ("fill", BOB), ("fill", ANN),
            )
        ]  # fmt: skip

    assert fill == [
        "conflict", "success", "success", "success", "success",
        "conflict", "success", "success", "conflict",
    ]  # fmt: skip


async def test_a_version_that_is_not_told_again_is_worth_nothing_any_more():
    async with opened(SHELVES) as runtime:
        await runtime.call("look", {"shelf": "d"}, ANN)
        with stubbed(runtime, {"fill": lambda _: "done"}):
            first = await runtime.call("fill", {"shelf": "d"}, ANN)
        second = await runtime.call("fill", {"shelf": "d"}, ANN)

    assert (code(first), code(second)) == ("success", "conflict")


async def test_it_holds_for_processes_too():
    text = FILES.replace("{call: edit}", "{call: edit, run_in: process}")
    text = text.replace("{call: read}", "{call: read, run_in: process}")
    async with opened(text) as runtime:
        await read(runtime)
        codes = [code(await edit(runtime, *pair)) for pair in (("two", "2"), ("2", "3"))]
        (runtime.project / "ws" / "f").write_text("one 3 ")
        codes.append(code(await edit(runtime, "3", "4")))

    assert codes == ["success", "success", "conflict"]


async def test_what_was_seen_outlives_the_process_where_a_version_was_told(folder):
    write_files(folder, {"tools.d/t.yaml": FILES, "tools.d/p.yaml": PLAIN, "ws/f": "one two"})
    async with toolrt.open(folder) as runtime:
        await read(runtime)
        await runtime.call("look", {"shelf": "x"}, ANN)
    async with toolrt.open(folder) as runtime:
        codes = [code(await edit(runtime, "two", "2", by=by)) for by in (BOB, ANN)]
        codes.append(code(await runtime.call("fill", {"shelf": "x"}, ANN)))
    async with toolrt.open(folder) as runtime:
        codes.append(code(await edit(runtime, "2", "3")))
        (runtime.project / "ws" / "f").write_text("mine")
        codes.append(code(await edit(runtime, "mine", "3")))

    assert codes == ["conflict", "success", "conflict", "success", "conflict"]


async def test_a_store_that_is_out_of_reach_is_done_without(caplog, monkeypatch):
    from toolrt.stores.base import StoreError
    from toolrt.stores.sightings import KeptSightings

    async def gone(*_):
        raise StoreError("unreachable", "it is gone")

    monkeypatch.setattr(KeptSightings, "of", gone)
    async with opened() as runtime:
        await read(runtime)
        result = await edit(runtime, "two", "2")

    assert code(result) == "success"
    assert [each for each in caplog.messages if "kept in memory only" in each] == [
        "what callers have seen is kept in memory only: it is gone"
    ]


async def test_what_sessions_have_seen_is_bounded(monkeypatch):
    monkeypatch.setattr(sightings, "MOST_EACH", 2)
    monkeypatch.setattr(sightings, "MOST_SESSIONS", 2)
    text = SHELVES
    async with opened(text) as runtime:
        for shelf in "efg":
            await runtime.call("look", {"shelf": shelf}, ANN)
        codes = [code(await runtime.call("fill", {"shelf": each}, ANN)) for each in "efg"]
        for number in range(3):
            await runtime.call("look", {"shelf": "h"}, toolrt.Caller(f"p{number}"))
        memory = runtime._gateway._equipment.sightings._sessions

    assert codes == ["conflict", "success", "success"]
    assert len(memory) == 2


async def test_a_resume_of_an_approved_edit_is_held_to_it_too():
    rules = "rules:\n  - {id: ask, decide: ask, tools: [files.edit]}\ndefault: allow\n"
    clock = ManualClock()
    files = {"tools.d/t.yaml": FILES, "policies.d/p.yaml": rules, "ws/f": "one two"}
    async with open_files(files, clock=clock) as runtime:
        await read(runtime)
        asked = [await edit(runtime, *pair) for pair in (("one", "1"), ("two", "2"))]
        who = toolrt.Caller("boss", may=frozenset({"approve"}))
        for each in asked:
            await runtime.approvals.approve(each.pause.approval_id, who)
        first = await runtime.approvals.run(asked[0].pause.approval_id)
        (runtime.project / "ws" / "f").write_text("1 two!")
        second = await runtime.approvals.run(asked[1].pause.approval_id)
        after = body(runtime)

    assert (code(first), code(second), after) == ("success", "conflict", "1 two!")
