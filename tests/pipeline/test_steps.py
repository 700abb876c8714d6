"""Plans: what runs when, what goes from step to step, and how they end (U78-U81, R29)."""

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from typing import Any

import pytest

from toolrt.core.calls import Caller
from toolrt.observe.journal_records import Filter
from toolrt.opened import Runtime
from toolrt.testing import StubCall, ToolError, open_files, stubbed

pytestmark = pytest.mark.anyio

TOOLS = """
tools:
  find: {description: F., parameters: {q: string}, effect: read, python: "stub:one"}
  list: {description: L., parameters: {q: {type: string, default: ""}}, effect: read, python: "stub:one"}
  make: {description: M., parameters: {name: string, size: {type: integer, default: 1}}, python: "stub:one"}
  secret: {description: S., parameters: {q: {type: string, sensitive: true}}, python: "stub:one"}
  inner: {description: I., parameters: {q: string}, effect: read, python: "stub:one", expose: false}
  own: {description: O., effect: read, python: "stub:one", result: {to: user}}
"""
STUB = "def one(**given):\n    return given\n"
ALL = {"policies.d/p.yaml": "rules: [{id: all, decide: allow, tools: ['*']}]\n"}

Answers = Mapping[str, Callable[[dict[str, Any]], Any]]


def plan(steps: str, more: str = "parameters: {q: {type: string, default: x}}") -> str:
    lines = "".join(f"\n      - {line}" for line in steps.strip().splitlines())
    return f"{TOOLS}  mine:\n    description: Mine.\n    {more}\n    steps:{lines}\n"


@asynccontextmanager
async def opened(
    text: str, answers: Answers | None = None, files: Mapping[str, str] | None = None
) -> AsyncIterator[tuple[Runtime, list[StubCall]]]:
    named = ("find", "list", "make", "secret", "inner", "own")
    all_ = {name: lambda given: {**given} for name in named} | dict(answers or {})
    async with open_files({"tools.d/t.yaml": text, "stub.py": STUB, **(files or {})}) as rt:
        with stubbed(rt, all_) as calls:
            yield rt, calls


def fails(code: str = "out-of-stock") -> Callable[[dict[str, Any]], Any]:
    def answer(_given: dict[str, Any]) -> Any:
        raise ToolError("there is none", code=code)

    return answer


async def test_a_step_gets_what_earlier_ones_gave_and_the_result_has_all_of_it_by_id():
    text = plan("""
{id: a, tool: find, args: {q: "{{ q }}"}}
{id: b, tool: make, args: {name: "{{ steps.a.data.q }}-{{ steps.a.status }}", size: 3}}
""")
    async with opened(text) as (rt, calls):
        result = await rt.call("mine", {"q": "tea"})

    assert result.status == "success"
    assert result.data == {"a": {"q": "tea"}, "b": {"name": "tea-success", "size": 3}}
    assert [each.tool for each in calls] == ["find", "make"]


async def test_a_value_keeps_its_type_on_its_way_to_the_next_step():
    text = plan("""
{id: a, tool: find, args: {q: x}}
{id: b, tool: make, args: {name: n, size: "{{ steps.a.data.n }}"}}
""")
    async with opened(text, {"find": lambda _: {"n": 7}}) as (rt, calls):
        await rt.call("mine", {})

    assert calls[1].arguments["size"] == 7


async def test_a_step_whose_condition_does_not_hold_is_skipped_and_vanishes_for_later_ones():
    text = plan("""
{id: a, tool: find, args: {q: x}, when: "args.q == 'y'"}
{id: b, tool: list, args: {q: "{{ steps.a.data.q }}"}}
{id: c, tool: make, args: {name: "{{ steps.a.status }}"}, when: "steps.a.status == 'skipped'"}
""")
    async with opened(text) as (rt, calls):
        result = await rt.call("mine", {})

    assert result.data == {"a": None, "b": {"q": ""}, "c": {"name": "skipped", "size": 1}}
    assert [each.tool for each in calls] == ["list", "make"]
    assert result.context["steps"] == {"a": "skipped", "b": "success", "c": "success"}


async def test_a_condition_that_cannot_be_looked_at_ends_the_plan():
    text = plan("""
{id: a, tool: find, args: {q: x}}
{id: b, tool: make, args: {name: n}, when: "steps.a.data.none > 3"}
""")
    async with opened(text) as (rt, calls):
        result = await rt.call("mine", {})

    assert result.error is not None
    assert "its `when` could not be looked at" in result.error.message
    assert [each.tool for each in calls] == ["find"]


async def test_a_step_for_each_item_gives_a_list_in_the_order_of_the_items():
    text = plan("""
{id: a, tool: list}
{id: b, tool: make, for_each: "{{ steps.a.data }}", args: {name: "{{ item.n }}"}, when: "item.n != 'no'"}
""")
    found = {"list": lambda _: [{"n": "x"}, {"n": "no"}, {"n": "z"}]}
    async with opened(text, found) as (rt, calls):
        result = await rt.call("mine", {})

    assert result.data["b"] == [{"name": "x", "size": 1}, None, {"name": "z", "size": 1}]
    assert [each.arguments.get("name") for each in calls[1:]] == ["x", "z"]


@pytest.mark.parametrize(("items", "said"), [("abc", "and got str"), ({"a": 1}, "and got dict")])
async def test_what_is_no_list_has_no_items(items, said):
    text = plan("""
{id: a, tool: list}
{id: b, tool: make, for_each: "{{ steps.a.data }}", args: {name: n}}
""")
    async with opened(text, {"list": lambda _: items}) as (rt, calls):
        result = await rt.call("mine", {})

    assert result.error is not None
    assert said in result.error.message
    assert result.error.code == "execution-failed"
    assert len(calls) == 1


@pytest.mark.parametrize("tool", ["make", "find"])
async def test_a_step_that_may_fail_may_get_no_list_and_the_others_run_all_the_same(tool):
    argument = {"make": "name", "find": "q"}[tool]
    text = plan(f"""
{{id: a, tool: list}}
{{id: b, tool: {tool}, for_each: "{{{{ steps.a.data }}}}", args: {{{argument}: n}}, on_error: {{value: none}}}}
{{id: c, tool: find, args: {{q: x}}}}
""")
    async with opened(text, {"list": lambda _: ["n"] * 1001}) as (rt, calls):
        result = await rt.call("mine", {})

    assert result.data["b"] == "none"
    assert result.data["c"] == {"q": "x"}
    assert result.context["steps"]["b"] == "error"
    assert len(calls) == 2


async def test_a_step_without_a_list_is_the_one_that_failed():
    text = plan("""
{id: a, tool: list}
{id: b, tool: make, for_each: "{{ steps.a.data }}", args: {name: n}}
""")
    async with opened(text, {"list": lambda _: "abc"}) as (rt, _):
        result = await rt.call("mine", {})

    assert result.error is not None
    assert result.error.details["steps"] == {"a": "success", "b": "error"}


async def test_nothing_to_go_through_is_an_empty_list():
    text = plan("""
{id: a, tool: list, when: "false"}
{id: b, tool: make, for_each: "{{ steps.a.data }}", args: {name: n}}
""")
    async with opened(text) as (rt, calls):
        result = await rt.call("mine", {})

    assert (result.data["b"], calls) == ([], [])


TOGETHER = """
import asyncio
now = most = 0

async def one(**_given) -> int:
    global now, most
    now += 1
    most = max(most, now)
    await asyncio.sleep(0.01)
    now -= 1
    return most
"""


@pytest.mark.parametrize(
    ("steps", "most"),
    [
        ("{id: a, tool: list}\n{id: b, tool: list}\n{id: c, tool: list}", 3),
        ("{id: a, tool: list}\n{id: b, tool: list, when: \"steps.a.status != ''\"}", 1),
        ("{id: a, tool: make, args: {name: a}}\n{id: b, tool: make, args: {name: b}}", 1),
        ("{id: a, tool: list, for_each: \"{{ ['x', 'y'] }}\"}", 2),
        ("{id: a, tool: make, for_each: \"{{ ['x', 'y'] }}\", args: {name: a}}", 1),
    ],
)
async def test_r29_reads_that_do_not_need_each_other_run_together_all_else_in_turn(steps, most):
    async with open_files({"tools.d/t.yaml": plan(steps, "effect: write"), "stub.py": TOGETHER.replace("**_given", "name: str = '', q: str = '', size: int = 1")}) as rt:  # fmt: skip
        result = await rt.call("mine", {})

    data = [result.data[key] for key in result.data]
    assert max(max(each) if isinstance(each, list) else each for each in data) == most


async def test_a_step_that_fails_ends_the_plan_and_says_what_was_done():
    text = plan("""
{id: a, tool: make, args: {name: a}}
{id: b, tool: find, args: {q: x}}
{id: c, tool: make, args: {name: c}}
""")
    async with opened(text, {"find": fails()}) as (rt, calls):
        result = await rt.call("mine", {})

    error = result.error
    assert error is not None
    assert (error.code, error.message) == ("out-of-stock", "the step `b` failed: there is none")
    assert error.hint is not None
    assert error.hint.startswith("what the steps before it did stays done")
    assert error.details["steps"] == {"a": "success", "b": "error"}
    assert (error.details["step"], error.details["because"]) == ("b", "out-of-stock")
    assert len(calls) == 2


async def test_a_step_that_may_fail_leaves_nothing_or_what_stands_in_for_it():
    text = plan("""
{id: a, tool: find, args: {q: x}, on_error: continue}
{id: b, tool: find, args: {q: x}, on_error: {value: {stock: 0, of: "{{ q }}"}}}
{id: c, tool: make, args: {name: "{{ steps.a.text }}, {{ steps.b.data.of }}"}}
""")
    async with opened(text, {"find": fails()}) as (rt, _):
        result = await rt.call("mine", {})

    assert result.data == {
        "a": None,
        "b": {"stock": 0, "of": "x"},
        "c": {"name": "there is none, x", "size": 1},
    }
    assert result.context["steps"] == {"a": "error", "b": "error", "c": "success"}


async def test_arguments_that_a_step_does_not_take_are_no_fault_of_who_called_the_plan():
    text = plan('{id: a, tool: make, args: {name: "{{ q }}", size: "{{ q }}"}}')
    async with opened(text) as (rt, _):
        result = await rt.call("mine", {})

    assert result.error is not None
    assert result.error.code == "execution-failed"
    assert result.error.details["because"] == "invalid-arguments"


async def test_each_step_is_a_call_of_its_own_in_the_journal_with_the_plan_as_its_parent():
    text = plan("{id: a, tool: find, args: {q: x}}\n{id: b, tool: make, args: {name: b}}")
    async with opened(text) as (rt, _):
        result = await rt.call("mine", {})
        await rt._gateway.equipment.memory.journal.flush()
        found = await rt.records().entries(Filter(kinds=frozenset({"call"})), None)

    steps = {each["step"]: each for each in found if each["tool"] != "mine"}
    assert set(steps) == {"a", "b"}
    assert {each["parent"] for each in steps.values()} == {result.call_id}
    assert [each["tool"] for each in found if each["tool"] == "mine"] == ["mine"]


async def test_the_rules_decide_about_each_step_for_who_called_the_plan():
    rules = """
rules:
  - {id: all, decide: allow, tools: ["*"]}
  - {id: small, decide: deny, tools: [make], when: "args.size > 2", reason: too large}
"""
    text = plan("""
{id: a, tool: make, args: {name: a, size: 2}}
{id: b, tool: make, args: {name: b, size: 3}}
""")
    async with opened(text, files={"policies.d/p.yaml": rules}) as (rt, calls):
        result = await rt.call("mine", {}, Caller("ann"))

    assert result.error is not None
    assert result.error.code == "denied"
    assert "too large" in result.error.message
    assert len(calls) == 1


async def test_a_tool_that_is_not_exposed_is_not_there_but_for_other_tools():
    text = plan('{id: a, tool: inner, args: {q: "{{ q }}"}}')
    async with opened(text) as (rt, _):
        direct = await rt.call("inner", {"q": "x"})
        as_admin = await rt.call(
            "inner", {"q": "x"}, Caller("root", may=frozenset({"call", "admin"}))
        )
        by_plan = await rt.call("mine", {})
        listed = [each.name for each in await rt.listed()]

    assert direct.error is not None
    assert (direct.error.code, direct.error.hint) == (
        "unknown-tool",
        "list the tools to see what there is",
    )
    assert as_admin.error is not None
    assert by_plan.data == {"a": {"q": "x"}}
    assert "inner" not in listed
    assert "mine" in listed


async def test_a_tool_that_is_not_exposed_needs_no_rule_that_lets_it_through():
    rules = "rules: [{id: mine, decide: allow, tools: [mine]}]\n"
    text = plan('{id: a, tool: inner, args: {q: "{{ q }}"}}\n{id: b, tool: find, args: {q: x}}')
    async with opened(text, files={"policies.d/p.yaml": rules}) as (rt, calls):
        result = await rt.call("mine", {})

    assert [each.tool for each in calls] == ["inner"]
    assert result.error is not None
    assert (result.error.details["because"], result.error.details["step"]) == ("unknown-tool", "b")


@pytest.mark.parametrize("decide", ["deny", "ask"])
async def test_a_deny_and_an_ask_hold_for_what_is_not_exposed(decide):
    rules = f"default: allow\nrules: [{{id: no, decide: {decide}, tools: [inner]}}]\n"
    text = plan('{id: a, tool: inner, args: {q: "{{ q }}"}}')
    async with opened(text, files={"policies.d/p.yaml": rules}) as (rt, calls):
        result = await rt.call("mine", {})

    assert result.status == ("error" if decide == "deny" else "paused")
    assert calls == []


async def test_a_plan_has_the_effect_of_its_strongest_step():
    text = (
        TOOLS.replace("  make: {", "  make: {effect: irreversible, hitl: none, ")
        + """
  reads: {description: R., steps: [{id: a, tool: find, args: {q: x}}]}
  inside: {description: I., steps: [{id: a, tool: reads}, {id: b, tool: make, args: {name: b}}]}
  outside: {description: O., steps: [{id: a, tool: inside}]}
"""
    )
    async with opened(text) as (rt, _):
        tools = rt.snapshot.tools
        result = await rt.call("outside", {})

    effects = {name: tools[name].effect for name in ("reads", "inside", "outside")}
    assert effects == {"reads": "read", "inside": "irreversible", "outside": "irreversible"}
    assert tools["reads"].is_idempotent
    assert result.status == "success"  # it is not asked about itself: each step is


async def test_a_plan_has_no_more_time_than_it_says_and_neither_has_a_step():
    stub = "import asyncio\nasync def one(**given):\n    await asyncio.sleep(20)\n"
    text = plan(
        '{id: a, tool: slow, on_error: continue}\n'
        '{id: b, tool: find, args: {q: "{{ steps.a.text }}"}}',
        "timeout: 300ms",
    ) + '  slow: {description: S., effect: read, retry: none, python: "slow:one"}\n'  # fmt: skip
    files = {"tools.d/t.yaml": text, "stub.py": STUB, "slow.py": stub.replace("**given", "")}
    async with open_files(files) as rt:
        with stubbed(rt, {"find": lambda given: given}) as calls:
            result = await asyncio.wait_for(rt.call("mine", {}), 5)

    assert result.error is not None
    assert (result.error.code, result.error.details["step"]) == ("timeout", "b")
    assert calls == []


async def test_what_a_step_shows_to_the_user_alone_is_not_told_to_the_model():
    text = plan("{id: a, tool: own}", "result: {to: user}")
    async with opened(text, {"own": lambda _: {"pin": 1234}}) as (rt, _):
        result = await rt.call("mine", {})

    assert result.data is None
    assert "1234" not in result.text
    assert result.for_user is not None
    assert result.for_user.data == {"a": {"pin": 1234}}


async def test_a_plan_in_a_batch_and_below_a_plan_is_a_tool_like_any_other():
    text = (
        plan("{id: a, tool: find, args: {q: x}}")
        + """
  outer: {description: O., steps: [{id: a, tool: mine, args: {q: y}}, {id: b, tool: mine}]}
"""
    )
    async with opened(text) as (rt, _):
        [one, two] = await rt.call_many([{"tool": "mine"}, {"tool": "outer"}])

    assert one.data == {"a": {"q": "x"}}
    assert two.data == {"a": {"a": {"q": "x"}}, "b": {"a": {"q": "x"}}}


async def test_a_bug_in_a_step_ends_the_plan_and_not_the_process(monkeypatch):
    text = plan("{id: a, tool: find, args: {q: x}}\n{id: b, tool: make, args: {name: b}}")
    async with opened(text) as (rt, calls):
        await rt.call("mine", {})
        monkeypatch.setattr(rt._gateway._plans["find"], "chain", None)
        result = await rt.call("mine", {})

    assert result.error is not None
    assert result.error.code == "internal"
    assert [each.tool for each in calls] == ["find", "make"]


async def test_steps_are_counted_as_calls_of_tools():
    text = plan("{id: a, tool: find, args: {q: x}}\n{id: b, tool: find, args: {q: y}}\n{id: c, tool: make, args: {name: c}}")  # fmt: skip
    async with opened(text) as (rt, _):
        for _ in range(3):
            await rt.call("mine", {})
        page = await rt.metrics()

    assert 'toolrt_calls_total{by="tool",code="",status="success",tool="find"} 6' in page.replace(".0", "")  # fmt: skip
    assert 'toolrt_attempts_total{tool="make"} 3' in page.replace(".0", "")


@pytest.mark.parametrize("is_final", [True, False])
async def test_a_run_of_a_model_ends_with_a_plan_that_is_final_and_not_with_a_step(is_final):
    tools = TOOLS.replace("  make: {", "  make: {result: {final: true}, ", 1)
    text = plan("{id: a, tool: make, args: {name: x}}\n{id: b, tool: find, args: {q: y}}")
    text = text.replace(TOOLS, tools)
    own = "    result: {final: true}\n    steps:"
    async with opened(text.replace("    steps:", own) if is_final else text) as (rt, calls):
        result = await rt.call("mine", {})

    assert [each.tool for each in calls] == ["make", "find"]
    assert result.final is is_final
