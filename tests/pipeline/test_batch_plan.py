"""Which calls of a batch are made together, in which order, and what is no batch (M6-M8, M11)."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from toolrt.core.calls import Caller
from toolrt.core.errors import RefusedError
from toolrt.opened import Runtime
from toolrt.pipeline import batch_plan
from toolrt.testing import open_files

pytestmark = pytest.mark.anyio

TOOLS = """
tools:
  read: {description: Reads., effect: read, command: ["true"]}
  grep: {description: Reads., effect: read, command: ["true"]}
  edit: {description: Writes., command: ["true"]}
  wide: {description: Writes., command: ["true"], concurrency: 4}
  alone: {description: Reads alone., effect: read, command: ["true"], concurrency: serial}
  few: {description: Reads., effect: read, command: ["true"], concurrency: 2}
  hidden: {description: Reads., effect: read, command: ["true"]}
"""
RULES = """
default: allow
rules:
  - {id: hides, decide: deny, tools: [hidden], when: '"guest" in caller.roles'}
settings:
  - {tools: [grep], when: '"slow" in caller.roles', concurrency: serial}
"""


def groups(runtime: Runtime, calls: Any, caller: Caller | None = None, **more: Any) -> list[Any]:
    return runtime.plan_many(calls, caller, **more).document()["groups"]


def of(*tools: str) -> list[dict[str, Any]]:
    return [{"id": f"{tool}{at}", "tool": tool} for at, tool in enumerate(tools, 1)]


@pytest.fixture
async def runtime():
    async with open_files({"tools.d/t.yaml": TOOLS, "policies.d/p.yaml": RULES}) as opened:
        yield opened


async def test_m8_neighbours_that_read_run_together_and_others_by_themselves(runtime):
    plan = groups(runtime, of("read", "read", "edit", "grep"))

    assert plan == [["read1", "read2"], ["edit3"], ["grep4"]]


@pytest.mark.parametrize("tool", ["edit", "wide", "alone", "unknown"])
async def test_m7_what_is_not_known_to_be_safe_runs_by_itself(runtime, tool):
    assert len(groups(runtime, of("read", tool, "read"))) == 3


async def test_m7_arguments_that_cannot_be_read_run_by_themselves(runtime):
    calls = [{"tool": "read"}, {"tool": "read", "arguments": "{"}, {"tool": "read"}]

    assert groups(runtime, calls) == [["1"], ["2"], ["3"]]


async def test_m11_a_serial_batch_has_one_call_a_group(runtime):
    assert groups(runtime, of("read", "read"), serial=True) == [["read1"], ["read2"]]


async def test_the_form_that_a_tool_has_for_its_caller_counts(runtime):
    slow = Caller("ann", roles=("slow",))

    assert len(groups(runtime, of("grep", "grep"))) == 1
    assert len(groups(runtime, of("grep", "grep"), slow)) == 2


async def test_a_hidden_tool_is_planned_like_an_unknown_one(runtime):
    guest = Caller("bob", roles=("guest",))

    assert len(groups(runtime, of("hidden", "hidden"))) == 1
    assert len(groups(runtime, of("hidden", "hidden"), guest)) == 2


async def test_r29_who_depends_on_another_waits_for_its_group(runtime):
    calls = of("read", "grep", "read")
    calls[1]["depends_on"] = ["read1"]

    assert groups(runtime, calls) == [["read1"], ["grep2", "read3"]]


async def test_r29_a_call_may_depend_on_a_later_one(runtime):
    calls = of("read", "grep", "edit")
    calls[0]["depends_on"] = ["edit3"]

    assert groups(runtime, calls) == [["grep2"], ["edit3"], ["read1"]]


async def test_calls_without_an_id_get_their_number(runtime):
    plan = runtime.plan_many([{"tool": "read"}, {"id": "x", "tool": "read"}, {"tool": "edit"}])

    assert [each.id for each in plan.calls] == ["1", "x", "3"]


NO_BATCH = {
    "no list": ({"tool": "read"}, "a batch is a list of calls", None),
    "a text": ('[{"tool": "read"}]', "a batch is a list of calls", None),
    "no object": ([{"tool": "read"}, 1], "call 2 is no object", 2),
    "a wrong key": ([{"tol": "read"}], "call 1 has no key `tol`", 1),
    "no list of ids": ([{"tool": "read", "depends_on": "a"}], "`depends_on` of call 1 is no list of ids", 1),
    "no id": ([{"tool": "read", "id": 7}], "the `id` of call 1 is no text of 1 to 200", 1),
    "an empty id": ([{"tool": "read", "id": ""}], "the `id` of call 1 is no text of 1 to 200", 1),
    "twins": ([{"id": "a", "tool": "read"}] * 2, "calls 1 and 2 have the same `id`, `a`", 2),
    "a number taken": ([{"id": "2", "tool": "read"}, {"tool": "read"}], "calls 1 and 2 have the same `id`, `2`", 2),
    "nobody there": ([{"tool": "read", "depends_on": ["x"]}], "call 1 (`1`) depends on `x`, which is no call here", 1),
    "itself": ([{"id": "a", "tool": "read", "depends_on": ["a"]}], "call 1 (`a`) depends on itself", 1),
    "a circle": (
        [{"tool": "read", "depends_on": ["3"]}, {"tool": "read"}, {"tool": "read", "depends_on": ["1"]}],
        "calls wait for each other: `1` -> `3` -> `1`", 1,
    ),
}  # fmt: skip


@pytest.mark.parametrize(("calls", "message", "number"), NO_BATCH.values(), ids=NO_BATCH)
async def test_what_is_no_batch_is_refused_before_anything_runs(runtime, calls, message, number):
    with pytest.raises(RefusedError) as refused:
        await runtime.call_many(calls)

    assert refused.value.message == message
    assert refused.value.code == "invalid-arguments"
    assert refused.value.details.get("call") == number
    assert refused.value.hint


async def test_the_nearest_key_and_id_are_told(runtime):
    with pytest.raises(RefusedError) as key:
        runtime.plan_many([{"tol": "read"}])
    with pytest.raises(RefusedError) as id_:
        runtime.plan_many(
            [{"id": "first", "tool": "read"}, {"tool": "read", "depends_on": ["fist"]}]
        )

    assert key.value.hint == "did you mean `tool`?"
    assert id_.value.hint == "did you mean `first`?"


async def test_a_batch_of_too_many_calls_is_refused(runtime, monkeypatch):
    monkeypatch.setattr(batch_plan, "MOST_CALLS", 2)

    with pytest.raises(RefusedError, match="at most 2 calls, this one 3"):
        runtime.plan_many(of("read", "read", "read"))


@st.composite
def batches(draw: st.DrawFn) -> list[dict[str, Any]]:
    """Calls in any order, whose dependencies go round in no circle."""
    count = draw(st.integers(0, 12))
    calls = [
        {
            "id": f"c{at}",
            "tool": draw(st.sampled_from(["read", "grep", "edit", "alone"])),
            "depends_on": [f"c{each}" for each in range(at) if draw(st.integers(0, 5)) == 0],
        }
        for at in range(count)
    ]
    return draw(st.permutations(calls))


async def test_every_call_is_in_one_group_behind_all_that_it_depends_on(runtime):
    @settings(max_examples=60, deadline=None)
    @given(batches())
    def check(calls):
        plan = runtime.plan_many(calls)
        seen: set[str] = set()
        for group in plan.groups:
            assert len(group) == 1 or all(each.tool in {"read", "grep"} for each in group)
            assert all(set(each.depends_on) <= seen for each in group)
            assert seen.isdisjoint(each.id for each in group)
            seen |= {each.id for each in group}
        assert seen == {each["id"] for each in calls}
        assert [each.id for each in plan.calls] == [each["id"] for each in calls]

    check()
