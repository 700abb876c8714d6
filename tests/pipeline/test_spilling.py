"""What was too long for a result: kept for its caller, read on in parts, bounded (M29 to M31)."""

import json
import random
import stat

import pytest
from pydantic_core import to_json

from toolrt.core.calls import Caller
from toolrt.core.errors import RefusedError
from toolrt.core.results import Failure, ToolResult
from toolrt.pipeline.fitting import fitted
from toolrt.stores import spills as store
from toolrt.testing import ManualClock, open_files, stubbed

pytestmark = pytest.mark.anyio

FILES = {
    "tools.d/t.yaml": """\
tools:
  t:
    description: T.
    parameters: {}
    http: {url: "http://127.0.0.1:9/x", headers: {X-Key: "${env:KEY}"}}
    effect: read
    retry: none
    result: {max_size: 1KB, redact: [card]}
"""
}
KEY = "s3cret/value+1"
ANN = Caller("ann", tenant="acme", session="s1")
LONG = "line é\n" * 5000


async def told(rt, answer, caller=ANN):
    with stubbed(rt, {"t": lambda _: answer}):
        return await rt.call("t", {}, caller)


async def read_on(rt, handle, length, caller=ANN):
    parts, offset = [], 0
    while offset is not None:
        part = await rt.read_output(handle, offset, length, caller)
        assert part.offset == offset
        parts.append(part.text)
        offset = part.next_offset
    return "".join(parts)


@pytest.fixture
async def rt(anyio_backend):
    async with open_files(FILES, environ={"KEY": KEY}) as runtime:
        yield runtime


async def test_m29_all_of_a_long_text_can_be_read_on(rt):
    result = await told(rt, LONG)
    handle = result.data["spilled"]

    assert result.status == "partial"
    assert result.data["bytes"] == len(LONG.encode())
    assert await read_on(rt, handle, 7777) == LONG
    assert await read_on(rt, result.call_id, 100_000) == LONG


@pytest.mark.parametrize("length", [1, 2, 3, 4, 5])
async def test_the_smallest_parts_end_between_characters_and_come_to_an_end(rt, length):
    text = "aé日🙂" * 300

    assert await read_on(rt, (await told(rt, text)).context["spilled"], length) == text


async def test_a_part_that_begins_inside_a_character_begins_after_it(rt):
    handle = (await told(rt, "🙂" * 1000)).context["spilled"]
    part = await rt.read_output(handle, 1, 4, ANN)

    assert (part.offset, part.text, part.next_offset) == (4, "🙂", 8)


async def test_m29_long_data_are_kept_as_json(rt):
    value = {"rows": [{"n": n, "card": n} for n in range(500)]}
    result = await told(rt, value)

    assert json.loads(await read_on(rt, result.data["spilled"], 1000)) == {
        "rows": [{"n": n, "card": "***"} for n in range(500)]
    }
    assert result.data["preview"].startswith('{"rows":[{"n":0')


@pytest.mark.parametrize(
    "other",
    [
        Caller("bob", tenant="acme", session="s1"),
        Caller("ann", tenant="other", session="s1"),
        Caller("ann", tenant="acme", session="s2"),
        Caller("ann"),
        Caller(),
    ],
    ids=str,
)
async def test_an_output_is_not_there_for_anybody_else(rt, other):
    handle = (await told(rt, LONG)).context["spilled"]
    with pytest.raises(RefusedError) as mine:
        await rt.read_output("no-such-handle", caller=ANN)
    with pytest.raises(RefusedError) as refused:
        await rt.read_output(handle, caller=other)

    assert (refused.value.code, refused.value.message) == ("not-found", mine.value.message)


async def test_who_may_admin_reads_every_output(rt):
    handle = (await told(rt, LONG)).context["spilled"]
    admin = Caller("root", may=frozenset({"admin"}))

    assert (await rt.read_output(handle, 0, 5, admin)).text == "line "


async def test_o1_o3_what_is_kept_has_no_secret_and_what_is_read_on_is_harmless(rt):
    await told(rt, 1)
    rt._gateway._redactor.learn(KEY)
    result = await told(rt, f"{KEY} \x1b[2J\u202e" * 200)

    kept = await rt._state.database.read(lambda s: s.rows("SELECT body FROM spill_parts"))
    raw = b"".join(bytes(body) for (body,) in kept).decode()
    assert raw == "*** \x1b[2J\u202e" * 200
    assert await read_on(rt, result.context["spilled"], 100_000) == "*** \\x1b[2J" * 200
    assert result.context["removed_characters"] == 200


async def test_o1_a_secret_that_is_learnt_later_is_masked_when_read_on(rt):
    handle = (await told(rt, "x" * 2000 + "later-secret")).context["spilled"]
    rt._gateway._redactor.learn("later-secret")

    part = await rt.read_output(handle, 0, 2008, ANN)
    assert part.text == "x" * 2000 + "***"
    assert await read_on(rt, handle, 3000) == "x" * 2000 + "***"


async def test_handles_are_128_random_bits_and_the_file_is_its_owners_alone(rt):
    handles = {(await told(rt, LONG)).context["spilled"] for _ in range(20)}
    state = rt.project / ".toolrt" / "state.db"

    assert len(handles) == 20
    assert {len(each) for each in handles} == {26}
    assert stat.S_IMODE(state.stat().st_mode) == 0o600


async def test_the_time_of_a_call_holds_that_of_keeping_what_was_too_long(
    anyio_backend, monkeypatch
):
    clock = ManualClock()
    async with open_files(FILES, environ={"KEY": KEY}, clock=clock) as rt:
        spills = rt._state.memory.spills
        keep = spills.keep

        async def slowly(*kept):
            clock.advance(3.0)
            return await keep(*kept)

        monkeypatch.setattr(spills, "keep", slowly)
        result = await told(rt, LONG)
        await rt._state.memory.journal.flush()
        (entry,) = await rt._state.memory.journal.records.entries()

    assert result.time_s == 3.0
    assert (entry["time_ms"], entry["at"]) == (3000.0, round(clock.wall(), 6))


async def test_without_a_store_the_result_is_cut_and_says_so(tmp_path):
    files = {**FILES, "toolrt.yaml": f"state: {tmp_path}/none/there/it.db\n"}
    async with open_files(files, environ={"KEY": KEY}) as rt:
        result = await told(rt, LONG)

    assert (result.status, result.data["spilled"], result.context["spilled"]) == (
        "partial", None, None,
    )  # fmt: skip
    assert result.context["notes"] == ["the rest could not be kept"]
    assert len(result.text) < 1100


async def test_what_is_too_long_even_for_the_store_is_cut_and_says_so(rt, monkeypatch):
    monkeypatch.setattr(store, "MOST_BYTES", 2000)
    result = await told(rt, LONG)

    assert (result.data["spilled"], "notes" in result.context) == (None, True)


def spill(number, wall, size=10):
    return store.Spill(
        id=f"s{number}", call_id=f"c{number}", tool="t", principal="p", tenant=None, session=None,
        media_type="text/plain", bytes=size, created_wall=wall,
    )  # fmt: skip


async def test_m31_spills_grow_old_and_the_oldest_make_room(rt):
    database = rt._state.database

    async def kept():
        return [row[0] for row in await database.read(
            lambda s: s.rows("SELECT id FROM spills ORDER BY created_wall"))]  # fmt: skip

    for number in range(6):
        one = spill(number, 1000.0 + number)
        await database.run(lambda s, one=one: store.add(s, one, b"x" * 10, most_together=40))
    assert await kept() == ["s2", "s3", "s4", "s5"]

    late = spill(9, 1004.5 + store.KEPT_S)
    await database.run(lambda s: store.add(s, late, b"x" * 10))
    assert await kept() == ["s5", "s9"]
    parts = await database.read(lambda s: s.rows("SELECT DISTINCT spill_id FROM spill_parts"))
    assert {part for (part,) in parts} == {"s5", "s9"}
    now = late.created_wall + store.KEPT_S + 1
    assert await database.read(lambda s: store.find(s, "s9", now)) is None


async def test_any_range_is_what_a_slice_of_the_whole_is(rt):
    body = random.Random(7).randbytes(3 * store.PART_BYTES + 11)
    database, one = rt._state.database, spill(1, 1.0, 3 * store.PART_BYTES + 11)
    await database.run(lambda s: store.add(s, one, body))
    edges = [0, 1, store.PART_BYTES - 1, store.PART_BYTES, store.PART_BYTES + 1, len(body), 10**9]

    for start in edges:
        for end in edges:
            found = await database.read(lambda s, a=start, b=end: store.read(s, one, a, b))
            assert found == body[start:end]


async def test_m30_of_a_batch_the_biggest_are_cut_until_it_fits(rt):
    sizes = [90_000, 1000, 120_000, 80_000]
    results = [ToolResult(f"c{n}", "t", "success", "x" * n, None) for n in sizes]
    made = await fitted(results, ANN, rt._state.memory.spills)

    assert [each.status for each in made] == ["success", "success", "partial", "success"]
    assert made[2].text == "x" * 512 + "\n… 119488 more bytes were cut off"
    assert await read_on(rt, made[2].context["spilled"], 200_000) == "x" * 120_000
    assert made == await fitted(made, ANN, rt._state.memory.spills)


def bytes_of(results):
    return sum(
        len(each.text.encode())
        + (0 if each.data is each.text or each.data is None else len(to_json(each.data)))
        + (len(to_json(each.error.details)) if each.error else 0)
        for each in results
    )


@pytest.mark.parametrize("count", [450, 999])
@pytest.mark.parametrize("kind", ["text", "data", "failures", "details"])
async def test_o7_many_small_results_fit_as_well(rt, count, kind):
    text = "é" * 250
    of = {
        "text": lambda n: ToolResult(f"c{n}", "t", "success", text, text),
        "data": lambda n: ToolResult(f"c{n}", "t", "success", "", {"of": text}),
        "failures": lambda n: ToolResult(
            f"c{n}", "t", "error", text * 9, error=Failure("conflict", text * 9, text)
        ),
        "details": lambda n: ToolResult(
            f"c{n}", "t", "error", "no", error=Failure("conflict", "no", None, False, {"of": text})
        ),
    }
    results = [of[kind](number) for number in range(count)]
    made = await fitted(results, ANN, rt._state.memory.spills)

    assert bytes_of(results) > 200_000 >= bytes_of(made)
    assert bytes_of(made) > 80_000
    assert made == await fitted(made, ANN, rt._state.memory.spills)
    assert all(each.text == each.error.message for each in made if each.error)
    if kind in {"text", "data"}:
        whole = await read_on(rt, made[0].context["spilled"], 1000)
        assert whole == (text if kind == "text" else to_json({"of": text}).decode())


async def test_m30_a_pause_of_a_batch_stays_as_it_is(rt):
    results = [ToolResult("c", "t", "paused", "x" * 300_000)]

    assert await fitted(results, ANN, rt._state.memory.spills) == results


async def test_m31_what_has_a_handle_keeps_it_in_a_batch(rt):
    result = await told(rt, LONG)
    [made] = await fitted([result], ANN, rt._state.memory.spills, 600)

    assert made.data["spilled"] == result.data["spilled"]
    assert len(made.data["preview"]) <= 512
