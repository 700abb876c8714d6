"""A call that is answered ahead of its checks is answered as it would be behind them."""

import asyncio
from collections.abc import Sequence
from datetime import date
from itertools import permutations
from pathlib import PurePosixPath
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from toolrt.core.calls import Caller
from toolrt.pipeline import plan
from toolrt.pipeline.stages.recall import recall, words_of
from toolrt.testing import ManualClock, open_files, stubbed

LOOK = """
tools:
  look:
    description: Looks.
    input_schema:
      type: object
      additionalProperties: false
      properties:
        q: {type: string, default: "1", maxLength: 10}
        n: {type: integer, default: 99, maximum: 99}
        "1": {type: [boolean, integer, "null"], default: null}
    effect: read
    http: {url: "http://127.0.0.1:9/x", args_in: query}
    retry: none
    cache: 5m
    MORE
"""


class Text(str):
    """A text that is not quite one."""

    __slots__ = ()


TEXTS = ["x", Text("x"), b"x", PurePosixPath("x"), "2026-01-01", date(2026, 1, 1), "\ud800", "1"]
SIMPLE = st.fixed_dictionaries({}, optional={"q": st.sampled_from(TEXTS)})
ASKED = st.fixed_dictionaries(
    {},
    optional={
        "q": st.sampled_from([*TEXTS, "x" * 20, 1, []]),
        "n": st.sampled_from([1, 1.0, True, 2, 2**70, 99, 100, "1"]),
        "1": st.sampled_from([True, 1, None, float("inf"), {}]),
        1: st.sampled_from([True, None]),
    },
)
QUESTIONS = SIMPLE | ASKED | st.sampled_from([{"q": "x", "n": 2}, {"n": 2, "q": "x"}, "{}", 400.0])
"""What is asked, and now and then a number: so many seconds go by."""
CALLERS = ANN, _ = [Caller("ann"), Caller("bob")]


async def told(questions: Sequence[Any], more: str = "") -> list[Any]:
    """What came of each question, and what the journal says of it."""
    clock, answers, said = ManualClock(), iter(range(10**6)), []
    files = {"tools.d/t.yaml": LOOK.replace("MORE", more)}
    async with open_files(files, clock=clock) as rt:
        with stubbed(rt, {"look": lambda _: next(answers)}):
            for number, question in enumerate(questions):
                if isinstance(question, float):
                    clock.advance(question)
                    continue
                result = await rt.call("look", question, CALLERS[number % 7 == 0])
                said.append((result.status, result.data, result.text, result.error, result.cached))
        await rt._state.memory.journal.flush()
        entries = await rt._state.memory.journal.records.entries()
    kept = ("arguments", "caller", "status", "code", "attempts", "cached")
    return [*said, *({name: each.get(name) for name in kept} for each in entries)]


@given(st.lists(QUESTIONS, max_size=16))
@example([{"q": each} for each in TEXTS])
@example([{}, {"1": None}, {1: None}, {"1": float("inf")}, {"n": 1}, {"n": True}, {"n": 1.0}])
@settings(max_examples=40, deadline=None)
def test_it_is_not_to_be_noticed(questions):
    questions = [*questions, *questions, *questions]
    soon = asyncio.run(told(questions))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(plan, "BEFORE", tuple(each for each in plan.BEFORE if each is not recall))
        late = asyncio.run(told(questions))

    assert soon == late


def test_what_is_written_like_something_else_has_no_words():
    odd = [b"x", Text("x"), date(2026, 1, 1), 1.0, [], {}, "\ud800"]

    assert [words_of({"q": each}) for each in odd] == [None] * len(odd)
    assert [words_of(each) for each in ({1: "x"}, {None: "x"}, {Text("q"): "x"}, [], "{}")] == (
        [None] * 5
    )
    assert words_of({"q": "x", "n": 1, "b": True, "z": None}) == (
        b'{"q":"x","n":1,"b":true,"z":null}'
    )


@pytest.mark.anyio
async def test_an_answer_that_was_forgotten_is_not_found_by_its_words():
    files = {"tools.d/t.yaml": LOOK.replace("cache: 5m", "cache: {ttl: 5m, max_entries: 1}")}
    async with open_files({k: v.replace("MORE", "") for k, v in files.items()}) as rt:
        with stubbed(rt, {"look": lambda given: given["q"]}):
            for question in ("x", "x", "x", "y", "y", "y"):
                result = await rt.call("look", {"q": question})
                assert result.data == question
        (shelf,) = rt._gateway.equipment.answers._shelves.values()

    assert len(shelf.kept) == len(shelf.quick) == len(shelf.said) == 1


@pytest.mark.anyio
async def test_only_so_many_wordings_of_a_question_are_known():
    text = LOOK.replace("MORE", "").replace(
        '"1": {type: [boolean, integer, "null"]', "z: {type: boolean"
    )
    async with open_files({"tools.d/t.yaml": text.replace("default: null", "default: true")}) as rt:
        with stubbed(rt, {"look": lambda _: 1}):
            for order in permutations({"q": "x", "n": 1, "z": True}.items()):
                for _ in range(3):
                    await rt.call("look", dict(order))
        (shelf,) = rt._gateway.equipment.answers._shelves.values()

    assert len(shelf.kept) == 1
    assert len(shelf.said) == 4


@pytest.mark.anyio
async def test_a_wording_that_comes_many_times_at_once_is_one():
    release = asyncio.Event()

    async def slowly(invocation: Any) -> Any:
        await release.wait()
        return await call(invocation)

    async with open_files({"tools.d/t.yaml": LOOK.replace("MORE", "")}) as rt:
        with stubbed(rt, {"look": lambda _: 1}):
            await rt.call("look", {}, ANN)
            binding = rt.snapshot.tools["look"].binding
            call, binding.call = binding.call, slowly
            calls = [asyncio.create_task(rt.call("look", {"q": "x"}, ANN)) for _ in range(9)]
            await asyncio.sleep(0)
            release.set()
            assert sum([(await each).cached for each in calls]) == 8
        (shelf,) = rt._gateway.equipment.answers._shelves.values()

    assert [len(each.said) for each in shelf.kept.values()] == [0, 1]


@pytest.mark.parametrize(
    ("more", "is_there"),
    [
        ("", True),
        ("coerce: safe", False),
        ("reject: [{when: args.n > 98, reason: too many}]", False),
        ("fallback: {value: 1}", False),
        ("rate: 10/1m", False),
    ],
)
@pytest.mark.anyio
async def test_it_is_absent_where_more_than_the_arguments_decides(more, is_there):
    async with open_files({"tools.d/t.yaml": LOOK.replace("MORE", more)}) as rt:
        entry, equipment = rt._gateway.entry("look"), rt._gateway.equipment

        async def following(_invocation: Any) -> Any:
            raise AssertionError

        assert (recall(entry, equipment, following) is not following) == is_there
