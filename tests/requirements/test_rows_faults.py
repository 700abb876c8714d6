"""Faults of other systems that must not come back, where no other file shows that they do not."""

import asyncio
import json
import sys

import pytest
from click.testing import CliRunner
from mcp_project import lists, notes, tool, write_project

import toolrt
from toolrt.core.errors import RefusedError
from toolrt.faces.cli.main import cli
from toolrt.testing import ManualClock, open_files, write_files

pytestmark = pytest.mark.anyio

ANN = toolrt.Caller("ann", session="s")
BOSS = toolrt.Caller("boss", may=frozenset({"call", "approve"}))
CODE = """
RUNS = []

def pay(n: int) -> int:
    "Pay."
    RUNS.append(n)
    raise ValueError("no")

def count(n: int) -> int:
    "Count."
    RUNS.append(n)
    return n + 1

def broken(n: int) -> int:
    "Broken."
    return len(n)

def leaks(n: int) -> int:
    "Leaks."
    raise RuntimeError("secret of /etc/passwd\\nstack, line two")

def takes(data: set[int], pair: tuple[int, str], more: dict[str, int]) -> list:
    "Takes."
    return [type(data).__name__, type(pair).__name__, type(more).__name__]
"""
TOOLS = """
tools:
  pay: {python: "faults_kit:pay"}
  pay_null: {python: "faults_kit:pay", retry: {attempts: null, initial: null}}
  pay_often: {python: "faults_kit:pay", retry: {attempts: 10}, idempotent: true}
  count: {python: "faults_kit:count", hitl: {mode: input, fields: [n]}}
  ask: {python: "faults_kit:count", hitl: confirm}
  broken: {python: "faults_kit:broken", hitl: {mode: input, fields: [n]}}
  leaks: {python: "faults_kit:leaks", cache: 5m, effect: read}
  takes: {python: "faults_kit:takes", effect: read}
"""
FILES = {"faults_kit.py": CODE, "tools.d/t.yaml": TOOLS}


@pytest.fixture
async def runtime():
    async with open_files(FILES, clock=ManualClock(1e9)) as opened:
        yield opened
    sys.modules.pop("faults_kit", None)


def runs():
    return sys.modules["faults_kit"].RUNS


async def test_fault_1_two_objects_with_a_method_of_one_name_share_no_answers(folder):
    code = """
    import toolrt

    class Store(toolrt.Toolkit):
        def __init__(self, owner: str):
            self.owner = owner

        @toolrt.tool(effect="read", cache={"ttl": "5m", "scope": "global"})
        def get(self, key: str) -> str:
            "Get."
            return f"{self.owner} {key}"
    """
    sources = """
    sources:
      a: {python: {object: "stores_kit:Store", init: {owner: A}}}
      b: {python: {object: "stores_kit:Store", init: {owner: B}}}
    """
    async with toolrt.open(
        write_files(folder, {"stores_kit.py": code, "tools.d/s.yaml": sources})
    ) as runtime:
        results = [await runtime.call(name, {"key": "k"}) for name in ("a.get", "b.get") * 2]
    sys.modules.pop("stores_kit", None)

    assert [(each.data, each.cached) for each in results] == [
        ("A k", False), ("B k", False), ("A k", True), ("B k", True),
    ]  # fmt: skip


@pytest.mark.parametrize("name", ["pay", "pay_null", "pay_often"])
async def test_fault_2_a_payment_that_raises_is_made_once_and_nobody_waits(runtime, name):
    result = await runtime.call(name, {"n": 1})

    assert (result.error.code, result.attempts, runs()) == ("execution-failed", 1, [1])


async def test_fault_5_what_a_person_fills_in_has_its_type_or_is_refused(runtime):
    id_ = (await runtime.call("count", {}, ANN)).pause.approval_id
    with pytest.raises(RefusedError) as refused:
        await runtime.approvals.approve(id_, BOSS, edits={"n": "5"})
    await runtime.approvals.approve(id_, BOSS, edits={"n": 5})
    result = await runtime.call("count", {}, ANN)

    assert refused.value.code == "invalid-arguments"
    assert (result.data, runs()) == (6, [5])


async def test_fault_5_an_error_inside_is_no_success_of_the_person(runtime):
    id_ = (await runtime.call("broken", {}, ANN)).pause.approval_id
    await runtime.approvals.approve(id_, BOSS, edits={"n": 5})
    result = await runtime.call("broken", {}, ANN)

    assert (result.status, result.error.code) == ("error", "execution-failed")
    assert (await runtime.approvals.get(id_)).state != "succeeded"


async def test_fault_6_an_error_of_a_server_is_kept_by_no_cache_and_counts_as_failed(tmp_path):
    lists(tmp_path, tool("fail"))
    write_project(tmp_path, "overrides: {fail: {cache: 5m}}")
    async with toolrt.open(tmp_path) as runtime:
        results = [await runtime.call("odd.fail", {}) for _ in range(2)]
        page = await runtime.metrics()

    assert [each.error.message for each in results] == ["no such book"] * 2
    assert [each.cached for each in results] == [False, False]
    assert 'status="error",tool="odd.fail"} 2' in page
    assert notes(tmp_path)


async def test_fault_7_what_a_tool_raises_is_a_failure_of_one_line_without_its_places(runtime):
    results = [await runtime.call("leaks", {"n": 1}) for _ in range(2)]
    page = await runtime.metrics()

    assert [each.status for each in results] == ["error", "error"]
    assert "line two" not in str(results[0].document())
    assert "/etc" not in str(results[0].document())
    assert 'status="error",tool="leaks"} 2' in page
    assert 'status="success",tool="leaks"' not in page


async def test_fault_10_arguments_that_do_not_fit_are_refused_before_a_person_is_asked(runtime):
    result = await runtime.call("ask", {"n": "5"}, ANN)

    assert result.error.code == "invalid-arguments"
    assert await runtime.approvals.listed() == []


async def test_fault_10_one_of_several_questions_may_be_answered_and_what_was_done_stays(runtime):
    calls = [{"tool": "ask", "arguments": {"n": n}} for n in (1, 2)]
    first, second = await runtime.call_many(calls, ANN)
    await runtime.approvals.approve(first.pause.approval_id, BOSS)
    half = await runtime.call_many(calls, ANN)
    await runtime.approvals.approve(second.pause.approval_id, BOSS)
    ended = await runtime.approvals.run(second.pause.approval_id)
    again = await runtime.approvals.run(first.pause.approval_id)

    assert [each.status for each in half] == ["success", "paused"]
    assert half[1].pause.approval_id == second.pause.approval_id
    assert (ended.data, again.error.code) == (3, "conflict")
    assert runs() == [1, 2]


async def test_fault_10_arguments_that_are_refused_and_calls_that_fail_have_counts_of_their_own():
    limits = {"policies.d/p.yaml": "default: allow\nlimits: {same_error: 2}"}
    async with open_files(FILES | limits) as runtime:
        given = [{"n": "x"}, {"n": 1}, {"n": "x"}, {"n": 1}, {"n": 1}, {"n": 1}]
        ends = [(await runtime.call("pay", each, ANN)).error.code for each in given]
    sys.modules.pop("faults_kit", None)

    assert ends == [
        "invalid-arguments", "execution-failed", "invalid-arguments", "execution-failed",
        "execution-failed", "budget-exhausted",
    ]  # fmt: skip


async def test_fault_11_a_model_reads_why_a_call_failed_and_sets_and_tuples_arrive(runtime):
    asked = {"id": "c", "type": "function", "function": {"name": "pay", "arguments": '{"n": 1}'}}
    turn = await runtime.turn({"role": "assistant", "tool_calls": [asked]})
    given = {"data": [1, 2], "pair": [1, "a"], "more": {"a": 1}}
    result = await runtime.call("takes", given)

    assert "ValueError: no" in turn.messages[0]["content"]
    assert result.data == ["set", "tuple", "dict"]


def test_fault_15_no_exception_of_a_tool_leaves_its_call(folder):
    write_files(folder, FILES)
    shown = CliRunner().invoke(cli, ["-p", str(folder), "run", "leaks", "n=1", "-o", "json"])

    async def many():
        async with toolrt.open(folder) as runtime:
            return await runtime.call_many(
                [{"tool": name, "arguments": {"n": 1}} for name in ("leaks", "pay", "nothing")]
            )

    codes = [each.error.code for each in asyncio.run(many())]
    sys.modules.pop("faults_kit", None)

    assert (shown.exit_code, json.loads(shown.stdout)["status"]) == (1, "error")
    assert codes == ["execution-failed", "execution-failed", "unknown-tool"]
