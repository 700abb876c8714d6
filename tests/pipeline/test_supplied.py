"""Results of calls that people make: refused when they are broken, and kept without what is
sensitive (A4, O1)."""

import json
import sqlite3
from contextlib import closing

import pytest

import toolrt
from toolrt.core.calls import Caller
from toolrt.core.errors import RefusedError
from toolrt.pipeline.answering import Supplied
from toolrt.testing import write_files

pytestmark = pytest.mark.anyio

TOOLS = """\
tools:
  ring:
    description: Ask by telephone.
    parameters: {who: string, pin: {type: string, sensitive: true, required: false}}
    hitl: external
  count:
    description: Count by hand.
    parameters: {what: string}
    hitl: external
    result: {select: "length(@)"}
"""
ANN = Caller("ann", may=frozenset({"call", "approve"}))
PIN = "kid-pin-4411"


@pytest.fixture
async def runtime(anyio_backend, tmp_path):
    async with toolrt.open(write_files(tmp_path, {"tools.d/t.yaml": TOOLS})) as opened:
        yield opened


async def asked(runtime, tool="ring", **arguments):
    call = arguments or {"who": "Ann", "pin": PIN}
    return (await runtime.call(tool, call, ANN)).pause.approval_id


def kept(tmp_path):
    with closing(sqlite3.connect(tmp_path / ".toolrt" / "state.db")) as connection:
        [(text,)] = connection.execute("SELECT outcome FROM approvals")
    return json.loads(text)


def nested(depth):
    made = {}
    for _ in range(depth):
        made = {"a": made}
    return made


BROKEN = [
    (Supplied("\ud800"), "the result holds \\ud800, half a character (a lone surrogate)"),
    (Supplied(float("nan")), "the result is nan, which JSON does not have"),
    (Supplied([1, float("inf")]), "`[1]` of the result is inf, which JSON does not have"),
    (Supplied(10**5000), "the result is a number of more than 4300 digits"),
    (Supplied(nested(100_000)), "is nested deeper than 64 levels"),
    (Supplied({"a": {1}}), "`a` of the result is of type set, which JSON does not have"),
    (Supplied({1: 2}), "the result has a key of type int; keys are text"),
    (Supplied(error="\ud800"), "the error holds \\ud800, half a character (a lone surrogate)"),
    (Supplied(error=5), "the error must be a text"),
    (Supplied(1, error="no"), "a call has a result or an error, not both"),
]


@pytest.mark.parametrize(("supplied", "why"), BROKEN)
async def test_a_broken_result_is_refused_when_it_is_given(runtime, supplied, why):
    approval = await asked(runtime)
    with pytest.raises(RefusedError) as refused:
        await runtime.approvals.approve(
            approval, ANN, supplied=supplied, edits={"who": "somebody else"}
        )

    assert refused.value.code == "invalid-arguments"
    assert why in refused.value.message
    assert refused.value.hint
    record = await runtime.approvals.get(approval)
    assert (record.state, record.edited_by) == ("pending", None)


async def test_a_result_that_the_tool_cannot_read_is_refused_when_it_is_given(runtime):
    approval = await asked(runtime, "count", what="sheep")
    with pytest.raises(RefusedError) as refused:
        await runtime.approvals.approve(approval, ANN, supplied=Supplied(5))

    assert "does not have the shape that `length(@)` expects" in refused.value.message
    await runtime.approvals.approve(approval, ANN, supplied=Supplied([1, 2]))
    assert (await runtime.approvals.run(approval, by=ANN)).data == 2


@pytest.mark.parametrize(
    ("supplied", "key", "said"),
    [
        (Supplied({"pin": PIN, "n": 1}), "data", {"pin": "***", "n": 1}),
        (Supplied(f"it was {PIN}."), "data", "it was ***."),
        (Supplied(error=f"{PIN} is wrong"), "error", "*** is wrong"),
    ],
)
async def test_a4_what_is_sensitive_is_gone_from_a_result_once_it_is_over(
    runtime, tmp_path, supplied, key, said
):
    approval = await asked(runtime)
    await runtime.approvals.approve(approval, ANN, supplied=supplied)
    [viewed] = await runtime.approvals.viewed(await runtime.approvals.get(approval))
    await runtime.approvals.run(approval, by=ANN)

    for told in (json.loads(viewed.record.outcome)[key], kept(tmp_path)[key]):
        assert (told if key == "data" else told["message"]) == said


async def test_a4_what_is_sensitive_is_gone_from_a_result_that_was_never_fetched(runtime, tmp_path):
    approval = await asked(runtime)
    await runtime.approvals.approve(approval, ANN, supplied=Supplied({"pin": PIN}))
    await runtime.approvals.cancel(approval, ANN)

    assert kept(tmp_path) == {"data": {"pin": "***"}}


async def test_the_caller_gets_the_result_as_it_was_given(runtime):
    approval = await asked(runtime)
    await runtime.approvals.approve(approval, ANN, supplied=Supplied({"said": "yes", "n": [1.5]}))

    assert (await runtime.approvals.run(approval, by=ANN)).data == {"said": "yes", "n": [1.5]}


TWO = """\
rules: [{id: two, decide: ask, tools: [ring], approval: {count: 2}}]
default: allow
"""
BOB = Caller("bob", may=frozenset({"approve"}))
CYD = Caller("cyd", may=frozenset({"approve"}))


async def test_a10_two_people_bring_the_same_result(tmp_path):
    files = {"tools.d/t.yaml": TOOLS, "policies.d/p.yaml": TWO}
    async with toolrt.open(write_files(tmp_path, files)) as runtime:
        approval = await asked(runtime, who="Ann")
        answers = runtime.approvals
        await answers.approve(approval, BOB, supplied=Supplied({"a": 1, "b": [2.0]}))
        for other in (Supplied({"a": True, "b": [2]}), Supplied(error="nobody was there")):
            moved = await answers.approve(approval, CYD, supplied=other)
            assert (moved.code, moved.record.state) == ("conflict", "pending")
            assert moved.message == "bob has given another result"
        moved = await answers.approve(approval, CYD, supplied=Supplied({"b": [2], "a": 1}))
        assert moved.record.state == "approved"
        assert (await answers.run(approval)).data == {"a": 1, "b": [2.0]}


async def test_a4_a_result_that_was_written_by_hand_is_nobodys(runtime, tmp_path):
    approval = await asked(runtime, who="Ann")
    await runtime.approvals.approve(approval, ANN, supplied=Supplied({"answer": "no"}))
    with closing(sqlite3.connect(tmp_path / ".toolrt" / "state.db")) as connection:
        connection.execute("UPDATE approvals SET outcome = replace(outcome, 'no', 'yes')")
        connection.commit()
    assert (await runtime.approvals.run(approval)).error.code == "approval-mismatch"
    found = await runtime._state.memory.journal.records.verify()
    assert [each.reason for each in found.faults] == ["its result is not what ann gave"]
