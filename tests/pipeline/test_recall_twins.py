"""Two runs of the same calls, one without `recall`: whatever happens around them, nothing differs."""

import asyncio
import sys
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import Any

import pytest

import toolrt
from toolrt.core.calls import Caller
from toolrt.core.redaction import Secret
from toolrt.pipeline import plan
from toolrt.pipeline.kept import Shelf
from toolrt.pipeline.stages.recall import recall
from toolrt.testing import ManualClock, write_files

MODULE = """
import asyncio, itertools
number = itertools.count()
async def look(q="1", n=99, b=None):
    await asyncio.sleep(0)
    if q == "boom":
        raise RuntimeError("boom")
    return {"number": next(number), "q": q} if n != 7 else next(number)
"""
TOOL = """
tools:
  look:
    description: Looks.
    effect: read
    python: "twin_kit:look"
    parameters: {Q, N, b: {type: [boolean, integer, "null", array], default: null}}
    cache: CACHE
    retry: none
    MORE
"""
CACHES = [
    "{ttl: 1m}", "{ttl: 5m, scope: global}", "{ttl: 5m, scope: tenant}",
    "{ttl: 5m, scope: session}", "{ttl: 2m, max_entries: 2}",
]  # fmt: skip
TEXTS = [
    'q: {type: string, default: "1", maxLength: 10}',
    'q: {type: string, default: "1", maxLength: 3}',
    'q: {type: [string, integer], default: "2"}',
    "q: {type: string, default_from: caller.tenant}",
    "q: {type: string, default: a, sensitive: true}",
]
NUMBERS = [
    "n: {type: integer, default: 99, maximum: 99}", "n: {type: number, default: 1}", "n: {}"
]  # fmt: skip
MORE = [
    *[""] * 6, "coerce: safe", "fallback: {stale: true}", "rate: 9/1m", "result: {max_size: 60B}",
]  # fmt: skip
POLICIES = [
    *["default: allow"] * 3,
    "{default: allow, limits: {max_calls: 40}}",
    "{default: allow, limits: {same_call: 2}}",
    "{default: allow, rules: [{id: no, tools: [look], decide: deny, when: 'args.q == \"y\"'}]}",
]
GIVEN: dict[str, list[Any]] = {
    "q": ["x", "x", "y", "1", "é", "xy", "\ud800", 1, "x" * 11, "boom", ["x"]],
    "n": [1, 2, 7, 99, 1.0, True, 100, -0.0, 2**70, float("nan"), "1", None],
    "b": [True, True, 1, 1, None, 0, [1]],
}
ONE = Caller("ann", tenant="t1", session="s1")
CALLERS = [
    ONE,
    Caller("ann", tenant="t1", session="s2"),
    Caller("ann", tenant="t1", session="s1", credentials={"key": Secret("hunter22")}),
    Caller("bob", tenant="t1"),
    Caller("eve"),
]


def a_tool(random: Random) -> str:
    made = TOOL
    for name, options in {"Q": TEXTS, "N": NUMBERS, "CACHE": CACHES, "MORE": MORE}.items():
        made = made.replace(name, random.choice(options), 1)
    return made


def a_question(random: Random) -> dict[str, Any]:
    names = random.sample(sorted(GIVEN), random.randint(0, 3))
    return {name: random.choice(GIVEN[name]) for name in names}


async def history(seed: int) -> list[Any]:
    """What came of some eighty calls: results, entries of the journal, counts."""
    random, clock, told = Random(seed), ManualClock(), list[Any]()
    tools, asked = [a_tool(random) for _ in range(2)], [a_question(random) for _ in range(4)]
    files = {"twin_kit.py": MODULE, "tools.d/t.yaml": tools[0]}
    files["policies.d/p.yaml"] = random.choice(POLICIES)
    with TemporaryDirectory() as folder:
        async with toolrt.open(write_files(Path(folder), files), clock=clock) as rt:
            for _ in range(80):
                match random.randint(0, 20):
                    case 0:
                        clock.advance(random.choice([1.0, 61.0, 400.0]))
                    case 1:
                        write_files(Path(folder), {"tools.d/t.yaml": random.choice(tools)})
                        assert (await rt.reload(accept_loss=True)).is_accepted
                    case few:
                        calls = [random.choice(asked)] * (1 + 3 * (few < 4))
                        each = [
                            rt.call("look", given, random.choice([ONE] * 9 + CALLERS))
                            for given in calls
                        ]
                        told += map(plainly, await asyncio.gather(*each))
            journal = rt._state.memory.journal
            await journal.flush()
            entries = await journal.records.entries(limit=None)
            told += sorted(repr(written(each)) for each in entries if each["kind"] == "call")
            told += (line for line in (await rt.metrics()).splitlines() if "calls_total{" in line)
            told += (line for line in (await rt.metrics()).splitlines() if "cache" in line)
    sys.modules.pop("twin_kit", None)
    return told


def plainly(result: Any) -> Any:
    """The document of a result without what differs between any two; the answer is then spoilt, as
    by a caller that works on with it.
    """
    told = {**result.document(), "call_id": "", "stats": result.cached}
    told["data"] = repr(result.data).partition("spill")[0]
    told["context"] = {**told["context"], "spilled": None}
    if isinstance(result.data, dict):
        result.data.clear()
    return told


def written(entry: Any) -> list[Any]:
    kept = ("arguments", "caller", "status", "code", "attempts", "cached", "generation", "decision")
    return [entry.get(name) for name in kept]


def runs(seed: int) -> tuple[list[Any], int]:
    """A history, and how many wordings were learnt in it."""
    learnt, learn = [0], Shelf.learn

    def counted(*given: Any) -> None:
        learnt[0] += 1
        learn(*given)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Shelf, "learn", counted)
        return asyncio.run(history(seed)), learnt[0]


@pytest.mark.parametrize("seed", range(12))
def test_a_history_is_the_same_with_and_without_it(seed, monkeypatch):
    soon, _ = runs(seed)
    monkeypatch.setattr(plan, "BEFORE", tuple(each for each in plan.BEFORE if each is not recall))

    assert (soon, 0) == runs(seed)


def test_it_has_a_part_in_some_of_these_histories():
    assert sum(runs(seed)[1] > 0 for seed in range(12)) >= 3
