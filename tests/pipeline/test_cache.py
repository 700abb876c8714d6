"""Kept answers: for whom, how long, how exactly, and what a hit still goes through (U20, M20)."""

import asyncio
import json
from collections.abc import Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.limits import AT_ONCE_S
from toolrt.core.calls import Caller
from toolrt.core.errors import BindingError, ToolError
from toolrt.core.redaction import Secret
from toolrt.pipeline import caching, copies
from toolrt.runtime import open as open_project
from toolrt.testing import ManualClock, open_files, stubbed, write_files

pytestmark = pytest.mark.anyio


def tool(
    cache: str = "5m", more: str = "", parameters: str = "{q: {type: string, default: a}}"
) -> str:
    return f"""
tools:
  look:
    description: Looks.
    parameters: {parameters}
    effect: read
    http: {{url: "http://127.0.0.1:9/x", args_in: query}}
    retry: none
    cache: {cache}
    {more}
"""


class Counted:
    """Answers with what it is given, or the number of the call, and counts."""

    def __init__(self, *answers: Any) -> None:
        self.answers = list(answers)
        self.calls = 0

    def __call__(self, _arguments: dict[str, Any]) -> Any:
        self.calls += 1
        answer = self.answers.pop(0) if self.answers else self.calls
        if isinstance(answer, Exception):
            raise answer
        return answer


@asynccontextmanager
async def opened(text: str, answer: Callable[[dict[str, Any]], Any], rules: str = ""):
    clock = ManualClock()
    files = {"tools.d/t.yaml": text} | ({"policies.d/p.yaml": rules} if rules else {})
    async with open_files(files, clock=clock) as rt:
        with stubbed(rt, {"look": answer}):
            yield rt, clock


async def test_the_same_question_is_answered_from_memory_and_says_so():
    source = Counted()
    async with opened(tool(), source) as (rt, _):
        first, again = [await rt.call("look", {"q": "x"}) for _ in range(2)]
        other = await rt.call("look", {"q": "y"})

    assert (first.data, again.data, other.data, source.calls) == (1, 1, 2, 2)
    assert (first.cached, again.cached) == (False, True)
    assert again.document()["stats"] == {**again.document()["stats"], "cached": True, "attempts": 0}


async def test_the_journal_says_cached():
    async with opened(tool(), Counted()) as (rt, _):
        for _ in range(2):
            await rt.call("look", {})
        await rt._state.memory.journal.flush()
        entries = await rt._state.memory.journal.records.entries()

    assert sorted(each.get("cached", False) for each in entries) == [False, True]


async def test_an_answer_is_too_old_after_its_time():
    source = Counted()
    async with opened(tool("1m"), source) as (rt, clock):
        await rt.call("look", {})
        clock.advance(59.9)
        just = await rt.call("look", {})
        clock.advance(0.2)
        late = await rt.call("look", {})

    assert (just.data, late.data) == (1, 2)


@pytest.mark.parametrize("value", [None, "", 0, False, [], {}, "2026-01-01", 1.0, 2**70, "é"])
async def test_every_value_is_kept_and_comes_back_as_it_was(value):
    source = Counted(value, "another")
    async with opened(tool(), source) as (rt, _):
        first, again = [await rt.call("look", {}) for _ in range(2)]

    assert source.calls == 1
    assert (again.data, type(again.data)) == (first.data, type(first.data)) == (value, type(value))


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


@given(JSON)
@settings(max_examples=60, deadline=None)
def test_what_is_kept_is_read_back_with_the_same_types(value):
    body = copies.written(value)

    if body is not None:
        assert json.dumps(copies.read(body)) == json.dumps(value)


async def test_nobody_can_change_what_others_get():
    async with opened(tool(), Counted({"a": [1]})) as (rt, _):
        for _ in range(3):
            result = await rt.call("look", {})
            assert result.data == {"a": [1]}
            result.data["a"].append(2)


@pytest.mark.parametrize(
    "failure", [ToolError("no"), BindingError("down", target_fault=True)], ids=["error", "down"]
)
async def test_failures_are_not_kept(failure):
    source = Counted(failure)
    async with opened(tool(), source) as (rt, _):
        results = [await rt.call("look", {}) for _ in range(2)]

    assert [each.status for each in results] == ["error", "success"]


async def test_arguments_are_told_apart_by_value_and_not_by_how_they_are_written():
    source = Counted()
    text = tool(parameters="{a: {type: number, default: 1}, b: {type: string, default: x}}")
    async with opened(text, source) as (rt, _):
        same = [{}, {"a": 1}, {"a": 1.0, "b": "x"}, {"b": "x", "a": 1}]
        assert [(await rt.call("look", each)).data for each in same] == [1, 1, 1, 1]
        assert (await rt.call("look", {"b": "1"})).data == 2


ANNE = Caller("anne", tenant="A", session="s1", roles=("clerk",))


@pytest.mark.parametrize(
    ("scope", "other", "shares"),
    [
        ("caller", Caller("anne", tenant="A", session="s2", roles=("clerk",)), True),
        ("caller", Caller("bert", tenant="A", roles=("clerk",)), False),
        ("caller", Caller("anne", tenant="B", roles=("clerk",)), False),
        ("caller", Caller("anne", tenant="A", roles=("boss",)), False),
        ("tenant", Caller("bert", tenant="A"), True),
        ("tenant", Caller("anne", tenant="B"), False),
        ("tenant", Caller("bert"), False),
        ("session", Caller("anne", tenant="A", session="s1"), True),
        ("session", Caller("bert", tenant="A", session="s1"), False),
        ("session", Caller("anne", tenant="A", session="s2"), False),
        ("global", Caller("bert", tenant="B"), True),
    ],
)
async def test_an_answer_is_shared_within_its_scope_alone(scope, other, shares):
    async with opened(tool(f"{{ttl: 5m, scope: {scope}}}"), Counted()) as (rt, _):
        await rt.call("look", {}, ANNE)
        assert (await rt.call("look", {}, other)).cached is shares


SEES = """
import toolrt

def who(caller: toolrt.Context) -> str:
    '''Tells who asks.'''
    return caller.caller.credentials["key"].reveal()

def sign(caller, target):
    return caller.credentials["key"].reveal()
"""
SIGNED = """
targets: {t: {url: "http://127.0.0.1:9", auth: {python: "sees:sign"}}}
tools: {look: {description: Looks., effect: read, http: {target: t, url: /}, cache: CACHE}}
"""
CODED = """
tools: {look: {description: Looks., effect: read, python: "sees:who", cache: CACHE}}
"""


@pytest.mark.parametrize("text", [SIGNED, CODED], ids=["auth", "python"])
@pytest.mark.parametrize("scope", ["caller", "session", "tenant"])
async def test_answers_of_code_that_sees_credentials_are_for_these(text, scope):
    written = text.replace("CACHE", f"{{ttl: 5m, scope: {scope}}}")
    async with open_files({"tools.d/t.yaml": written, "sees.py": SEES}) as rt:
        with stubbed(rt, {"look": Counted()}):
            for key in ("one", "two"):
                caller = Caller("anne", session="s", credentials={"key": Secret(key)})
                assert not (await rt.call("look", {}, caller)).cached
                assert (await rt.call("look", {}, caller)).cached


async def test_callers_without_a_tenant_do_not_share_theirs():
    async with opened(tool("{ttl: 5m, scope: tenant}"), Counted()) as (rt, _):
        await rt.call("look", {}, Caller("anne"))
        assert not (await rt.call("look", {}, Caller("bert"))).cached
        assert (await rt.call("look", {}, Caller("anne"))).cached


async def test_those_asked_for_last_are_kept():
    async with opened(tool("{ttl: 5m, max_entries: 2}"), Counted()) as (rt, _):
        for q in "ab":
            await rt.call("look", {"q": q})
        await rt.call("look", {"q": "a"})
        await rt.call("look", {"q": "c"})
        assert (await rt.call("look", {"q": "a"})).cached
        assert not (await rt.call("look", {"q": "b"})).cached


async def test_all_answers_together_have_a_bound(monkeypatch):
    monkeypatch.setattr(caching, "MOST_BYTES", 20_000)
    async with opened(tool(), lambda _: "x" * 4000) as (rt, _):
        for number in range(30):
            await rt.call("look", {"q": str(number)})
        answers = rt._gateway._equipment.answers
        assert answers._size == sum(each.size for each in answers._order) <= 20_000
        assert len(answers._order) == len(
            answers.of(
                rt.snapshot.tools["look"], rt.snapshot.tools["look"].manifest.cache
            ).shelf.quick
        )


async def test_long_arguments_are_not_kept_beside_their_answers(monkeypatch):
    monkeypatch.setattr(caching, "MOST_BYTES", 20_000)
    async with opened(tool(), Counted(1)) as (rt, _):
        for number in range(30):
            for _ in range(3):
                results = [
                    await rt.call("look", {"q": str(number) * length}) for length in (450, 9000)
                ]
        assert [each.cached for each in results] == [True, True]
        (shelf,) = rt._gateway._equipment.answers._shelves.values()
        words = [*shelf.quick, *shelf.said]

    assert max(len(asked) for _, asked in words) < 1000
    assert sum(len(asked) for _, asked in words) <= 20_000


async def test_a_hit_still_passes_rules_select_redaction_and_final():
    text = tool(more="result: {select: inner, redact: [card], final: true}")
    rules = "rules:\n  - {id: a, decide: allow, tools: ['*']}\n  - {id: no, decide: deny, tools: [look], when: 'caller.principal == \"bert\" && args.q == \"a\"'}"
    cached = text.replace("cache: 5m", "cache: {ttl: 5m, scope: global}")
    async with opened(cached, Counted({"inner": {"card": "4000"}}), rules) as (rt, _):
        first, again = [await rt.call("look", {}) for _ in range(2)]
        denied = await rt.call("look", {}, Caller("bert"))

    assert again.cached
    assert again.data == first.data
    assert "4000" not in str(again.data)
    assert again.final
    assert denied.error.code == "denied"


async def test_equal_calls_at_the_same_time_are_one():
    source, gate = Counted(), asyncio.Event()

    async with held(source, gate) as rt:
        calls = [asyncio.ensure_future(rt.call("look", {})) for _ in range(20)]
        await asyncio.sleep(0.01)
        gate.set()
        results = await asyncio.gather(*calls)

    assert source.calls == 1
    assert sorted(each.cached for each in results) == [False] + [True] * 19


async def test_when_the_first_one_gives_up_another_one_goes_on():
    source, gate = Counted(), asyncio.Event()

    async with held(source, gate) as rt:
        first, *others = [asyncio.ensure_future(rt.call("look", {})) for _ in range(5)]
        await begun(source, 1)
        first.cancel()
        await begun(source, 2)
        gate.set()
        results = await asyncio.gather(*others)

    assert source.calls == 2
    assert {each.data for each in results} == {2}


async def test_a_failure_of_the_target_is_told_to_all_who_wait():
    source, gate = Counted(ToolError("gone", code="not-found")), asyncio.Event()

    async with held(source, gate) as rt:
        calls = [asyncio.ensure_future(rt.call("look", {})) for _ in range(4)]
        await asyncio.sleep(0.01)
        gate.set()
        results = await asyncio.gather(*calls)

    assert source.calls == 1
    assert {each.error.code for each in results} == {"not-found"}


async def test_who_waits_waits_no_longer_than_its_own_time():
    source, gate = Counted(), asyncio.Event()

    async with held(source, gate, "timeout: 200ms") as rt:
        first = asyncio.ensure_future(rt.call("look", {}))
        await asyncio.sleep(0.01)
        second = await rt.call("look", {})
        gate.set()
        await first

    assert second.error.code == "timeout"


async def begun(source: Counted, calls: int) -> None:
    """Come back once so many calls have begun."""
    async with asyncio.timeout(AT_ONCE_S):
        while source.calls < calls:  # noqa: ASYNC110 - nobody tells of it
            await asyncio.sleep(0.001)


@asynccontextmanager
async def held(source: Counted, gate: asyncio.Event, more: str = ""):
    """A tool whose answer waits for `gate`."""

    class Held:
        async def call(self, invocation):
            from toolrt.core.results import Answer

            number = source.calls + 1
            answer = source.answers[0] if source.answers else None
            source.calls += 1
            await gate.wait()
            if isinstance(answer, Exception):
                raise answer
            return Answer(number)

        def preview(self, invocation):
            return {}

    from dataclasses import replace

    async with open_files({"tools.d/t.yaml": tool(more=more)}) as rt:
        snapshot = rt.snapshot
        tools = {"look": snapshot.tools["look"].answered_by(Held())}
        rt.swap(replace(snapshot, tools=tools))
        yield rt


SCRIPT = """
tools:
  count:
    description: Counts.
    parameters: {q: {type: string, default: a}}
    effect: read
    shell: {script: 'printf x >> calls; wc -c < calls', argv: ["{{ q }}"]}
    cache: CACHE
"""


async def run(folder: Path, arguments: dict[str, Any] | None = None) -> Any:
    async with open_project(folder) as rt:
        return await rt.call("count", arguments or {})


@pytest.mark.parametrize(
    ("cache", "found"), [("5m", True), ("{ttl: 5m, scope: session}", False), ("1ms", False)]
)
async def test_the_next_process_finds_the_answers_of_this_one(folder, cache, found):
    project = write_files(folder, {"tools.d/t.yaml": SCRIPT.replace("CACHE", cache)})

    first, again, other = await run(project), await run(project), await run(project, {"q": "b"})

    assert (first.cached, again.cached, other.cached) == (False, found, False)
    assert (again.data == first.data) is found
    assert (project / ".toolrt/state.db").stat().st_mode & 0o777 == 0o600


async def test_an_answer_that_others_wrote_into_the_store_is_not_believed(folder):
    import sqlite3

    project = write_files(folder, {"tools.d/t.yaml": SCRIPT.replace("CACHE", "5m")})
    await run(project)
    with sqlite3.connect(project / ".toolrt/state.db") as database:
        assert database.execute("UPDATE kept_answers SET body = '[null,99]'").rowcount == 1

    assert not (await run(project)).cached


async def test_what_is_sensitive_stays_in_memory(folder):
    text = SCRIPT.replace("CACHE", "5m").replace("default: a", "default: a, sensitive: true")
    project = write_files(folder, {"tools.d/t.yaml": text})

    assert not (await run(project)).cached
    assert not (await run(project)).cached


async def test_a_stale_answer_stands_in_and_tells_its_age():
    source = Counted(1, BindingError("down", sent="never", target_fault=True))
    async with opened(tool("1m", "fallback: {stale: true}"), source) as (rt, clock):
        await rt.call("look", {})
        clock.advance(90)
        result = await rt.call("look", {})
        other = await rt.call("look", {"q": "never asked"})

    assert (result.status, result.data) == ("success", 1)
    assert result.context["fallback"] == {
        "stale": True,
        "age_s": 90.0,
        "because": "execution-failed",
    }
    assert "90 s old" in result.context["notes"][0]
    assert other.status == "success"


async def test_nothing_stale_is_there_for_a_question_that_was_never_answered():
    source = Counted(BindingError("down", sent="never", target_fault=True))
    async with opened(tool("1m", "fallback: {stale: true}"), source) as (rt, _):
        result = await rt.call("look", {})

    assert result.error.message == "down"


@pytest.mark.parametrize(
    ("written", "code"),
    [
        (tool("0s"), "out-of-range"),
        (tool().replace("effect: read", "effect: write"), "unfit-cache"),
        (tool("{ttl: 5m, scope: global}").replace("/x", "/{{ caller.tenant }}"), "unfit-cache"),
        (tool("{ttl: 5m, scope: tenant}").replace("/x", "/{{ caller.principal }}"), "unfit-cache"),
        (tool("{ttl: 5m, scope: caller}").replace("/x", "/{{ caller.session }}"), "unfit-cache"),
    ],
)
async def test_what_must_not_be_kept_is_refused_at_load(tmp_path, written, code):
    from toolrt.runtime import load

    compiled = load(write_files(tmp_path, {"tools.d/t.yaml": written}), environ={})

    assert [one.code for one in compiled.diagnostics if one.severity == "error"] == [code]
    assert not compiled.ok
