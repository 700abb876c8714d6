"""`limits`: what one session may do (U52, R46, R48)."""

import asyncio
from contextlib import asynccontextmanager
from typing import Any

import pytest

from toolrt.core.calls import Caller
from toolrt.opened import Runtime
from toolrt.pipeline import sessions
from toolrt.pipeline.sessions import Sessions
from toolrt.testing import ToolError, open_files, stubbed

pytestmark = pytest.mark.anyio

TOOLS = """
defaults: {effect: read, retry: none}
tools:
  a: {description: A., parameters: {x: {type: integer, default: 0}}, command: ["true"]}
  b: {description: B., parameters: {x: {type: integer, default: 0}}, command: ["true"], fallback: c}
  c: {description: C., parameters: {x: {type: integer, default: 0}}, command: ["true"]}
  bad: {description: Fails., parameters: {x: {type: integer, default: 0}}, command: ["true"]}
  pay: {description: Pays., effect: write, command: ["true"], hitl: confirm}
  probe: {description: Probes., command: ["true"]}
  job: {description: Starts., effect: write, command: ["true"], poll: {tool: probe, until: result == 'done', every: 1ms}}
"""
FAILS = {"bad": lambda _: failing("conflict")}


def failing(code: str) -> Any:
    raise ToolError("no", code=code)


def files(limits: str = "", settings: str = "", tools: str = TOOLS) -> dict[str, str]:
    policies = "\n".join(
        filter(None, [limits and f"limits: {limits}", settings and f"settings: {settings}"])
    )
    return {"tools.d/t.yaml": tools, "policies.d/p.yaml": policies or "default: allow"}


def opened(*given: str, answers: dict[str, Any] | None = None) -> Any:
    """A project with limits whose tools answer from here."""

    @asynccontextmanager
    async def project():
        async with open_files(files(*given)) as runtime:
            usual = {name: lambda _: "ok" for name in ("a", "b", "c", "pay", "probe", "job")}
            with stubbed(runtime, usual | FAILS | (answers or {})) as calls:
                yield runtime, calls

    return project()


async def ends(runtime: Runtime, *calls: Any, caller: Caller | None = None) -> list[str]:
    """What calls by tool, or by tool and argument, come to, one after the other."""
    found = []
    for each in calls:
        tool, *x = each if isinstance(each, tuple) else (each,)
        result = await runtime.call(tool, {"x": x[0]} if x else {}, caller)
        found.append(
            result.error.details.get("limit", result.error.code) if result.error else result.status
        )
    return found


OK, ALL, ALIKE, AGAIN = "success", "max_calls", "same_error", "same_call"


# -- max_calls --------------------------------------------------------------------------------


async def test_u52_a_session_makes_as_many_calls_as_it_may():
    async with opened("{max_calls: 3}") as (runtime, calls):
        assert await ends(runtime, "a", "c", "a", "a", "c") == [OK, OK, OK, ALL, ALL]
        refused = (await runtime.call("a", {})).error

    assert len(calls) == 3
    assert (refused.code, refused.retryable) == ("budget-exhausted", False)
    assert refused.message == "all 3 calls of this session are made, and there are no more"
    assert refused.hint == "nothing ran; answer with what there is, and say what is missing"
    assert dict(refused.details) == {"limit": "max_calls", "max": 3}


async def test_calls_that_are_refused_count():
    async with opened("{max_calls: 2}") as (runtime, _):
        assert await ends(runtime, ("a", "no number"), "a", "a") == ["invalid-arguments", OK, ALL]


async def test_u52_calls_of_no_tool_count_and_come_to_an_end():
    async with opened("{max_calls: 3}") as (runtime, _):
        made = await ends(runtime, *(f"made_up{number}" for number in range(5)), "a")

    assert made == ["unknown-tool"] * 3 + [ALL] * 3


async def test_u52_calls_of_tools_that_cannot_run_count():
    tools = (
        TOOLS
        + '  out: {description: Out., command: {argv: [cat], stdin: "${env:NOT_THERE}"}, effect: read}\n'
    )
    async with open_files(files("{max_calls: 2}", tools=tools)) as runtime:
        assert await ends(runtime, "out", "out", "out") == ["unavailable", "unavailable", ALL]


async def test_u52_calls_whose_arguments_cannot_be_read_count():
    broken = {"tool": "a", "arguments": "{"}
    async with opened("{max_calls: 2}") as (runtime, _):
        results = await runtime.call_many([broken, broken, broken])
        assert await ends(runtime, "a") == [ALL]

    assert [each.error.code for each in results] == ["invalid-arguments"] * 2 + ["budget-exhausted"]


async def test_calls_that_a_batch_does_not_make_are_not_counted():
    calls = [{"id": "1", "tool": "bad"}, *[{"tool": "a", "depends_on": ["1"]}] * 3]
    async with opened("{max_calls: 2}") as (runtime, _):
        await runtime.call_many(calls)
        assert await ends(runtime, "a", "a") == [OK, ALL]


async def test_sessions_are_apart_and_so_are_callers_and_tenants():
    callers = [
        None, Caller("ann"), Caller("ann", session="1"), Caller("ann", session="2"),
        Caller("bob", session="1"), Caller("ann", tenant="t"),
    ]  # fmt: skip
    async with opened("{max_calls: 1}") as (runtime, _):
        for caller in callers:
            assert await ends(runtime, "a", "a", caller=caller) == [OK, ALL]


@pytest.mark.parametrize("count", [1, 5, 40])
async def test_u52_the_limit_is_exact_however_many_call_at_once(count):
    async with opened("{max_calls: 5}") as (runtime, calls):
        results = await runtime.call_many(
            [{"tool": "a", "arguments": {"x": x}} for x in range(count)]
        )
        more = await asyncio.gather(*(runtime.call("c", {}) for _ in range(20)))

    assert len(calls) == 5
    assert sum(each.status == "success" for each in (*results, *more)) == 5


async def test_the_smallest_limit_of_several_files_holds():
    given = files("{max_calls: 5}") | {"policies.d/q.yaml": "limits: {max_calls: 2}"}
    async with open_files(given) as runtime:
        assert await ends(runtime, "a", "a", "a") == [OK, OK, ALL]


async def test_a_setting_limits_the_calls_of_its_tools_each_by_itself():
    async with opened("{max_calls: 4}", "[{tools: [a, c], limits: {max_calls: 1}}]") as (
        runtime,
        _,
    ):
        assert await ends(runtime, "a", "a", "c", "c", "b") == [OK, ALL, OK, ALL, OK]
        refused = (await runtime.call("a", {})).error

    assert refused.message == "a session may make 1 call of `a`, and has made them"


async def test_a_setting_for_some_callers_holds_for_these():
    settings = """[{tools: [a], when: '"guest" in caller.roles', limits: {max_calls: 1}}]"""
    guest = Caller("bob", roles=("guest",))
    async with opened("", settings) as (runtime, _):
        assert await ends(runtime, "a", "a", caller=guest) == [OK, ALL]
        assert await ends(runtime, "a", "a") == [OK, OK]


async def test_counts_survive_a_reload():
    async with opened("{max_calls: 2}") as (runtime, _):
        assert await ends(runtime, "a") == [OK]
        (runtime.project / "policies.d" / "p.yaml").write_text(
            "limits: {max_calls: 2, same_call: 9}"
        )
        assert (await runtime.reload()).is_new
        assert await ends(runtime, "a", "a") == [OK, ALL]


async def test_a_paused_call_counts_when_it_runs():
    async with opened("{max_calls: 2, same_call: 1}") as (runtime, calls):
        first = await runtime.call("pay", {})
        assert await ends(runtime, "pay", "pay", "a") == ["paused", "paused", OK]
        await runtime.approvals.approve(first.pause.approval_id, approver())
        assert await ends(runtime, "pay", "pay") == [OK, ALL]

    assert [each.tool for each in calls] == ["a", "pay"]


async def test_an_approved_call_keeps_its_yes_where_the_session_is_at_its_end():
    async with opened("{max_calls: 1}") as (runtime, calls):
        paused = await runtime.call("pay", {})
        id_ = paused.pause.approval_id
        await runtime.approvals.approve(id_, approver())
        assert await ends(runtime, "a") == [OK]
        refused = await runtime.approvals.run(id_)

        assert refused.error.details["limit"] == ALL
        assert (await runtime.approvals.get(id_)).state == "approved"
    assert [each.tool for each in calls] == ["a"]


def approver() -> Caller:
    return Caller("eve", may=frozenset({"call", "approve", "admin"}))


async def test_calls_that_other_calls_make_do_not_count():
    told = iter([*["busy"] * 5, "done"])
    answers = {"probe": lambda _: next(told)}
    async with opened("{max_calls: 2, same_call: 1}", answers=answers) as (runtime, calls):
        assert await ends(runtime, "job", "a", "a") == [OK, OK, ALL]

    assert [each.tool for each in calls].count("probe") == 6


async def test_nothing_stands_in_for_a_call_that_is_too_many():
    async with opened("{max_calls: 1}") as (runtime, calls):
        assert await ends(runtime, "a", "b") == [OK, ALL]

    assert [each.tool for each in calls] == ["a"]


# -- same_error -------------------------------------------------------------------------------


async def test_r46_a_tool_that_fails_alike_too_often_is_not_called_again():
    async with opened("{same_error: 3}") as (runtime, calls):
        made = [("bad", x) for x in range(5)]
        assert await ends(runtime, *made) == ["conflict"] * 3 + [ALIKE] * 2
        refused = await runtime.call("bad", {})

    assert len(calls) == 3
    assert refused.error.code == "budget-exhausted"
    assert refused.error.message == (
        "`bad` failed 3 times in a row with `conflict`: it is not called again"
    )
    assert refused.error.hint == (
        "nothing ran; use another tool, or answer with what there is; "
        "once another call has been answered, this one may be tried again"
    )
    assert refused.context["recovery"]["course"] == "return-error"


async def test_r46_a_name_that_is_no_tool_is_not_asked_for_again_and_again():
    async with opened("{same_error: 2}") as (runtime, _):
        assert await ends(runtime, *["made_up"] * 4) == ["unknown-tool"] * 2 + [ALIKE] * 2
        assert await ends(runtime, "other", "a", "made_up") == ["unknown-tool", OK, "unknown-tool"]
        await ends(runtime, "made_up")
        refused = (await runtime.call("made_up", {})).error

    assert refused.message == (
        "`made_up` failed 2 times in a row with `unknown-tool`: it is not called again"
    )


async def test_r46_made_up_names_take_no_room():
    async with opened("{same_error: 2}") as (runtime, _):
        await ends(runtime, *(f"made_up{number}" for number in range(50)))
        session = runtime._gateway._equipment.sessions.of(Caller())

    assert len(session.rows) == 1


async def test_r46_after_another_answer_it_is_tried_once_more():
    async with opened("{same_error: 2}") as (runtime, _):
        made = await ends(runtime, "bad", "bad", "bad", "a", "bad", "bad", "bad")

    assert made == ["conflict", "conflict", ALIKE, OK, "conflict", ALIKE, ALIKE]


async def test_another_code_or_an_answer_begins_a_new_row():
    codes = iter(["conflict", "not-found", "conflict", None, "conflict", "conflict"])
    answers = {"bad": lambda _: code and failing(code) if (code := next(codes)) else "ok"}
    async with opened("{same_error: 2}", answers=answers) as (runtime, _):
        made = await ends(runtime, *["bad"] * 7)

    assert made == ["conflict", "not-found", "conflict", OK, "conflict", "conflict", ALIKE]


async def test_r46_refused_arguments_are_failures_too():
    async with opened("{same_error: 2}") as (runtime, _):
        assert await ends(runtime, *[("a", "no number")] * 3) == ["invalid-arguments"] * 2 + [ALIKE]


async def test_r48_the_tool_that_may_do_instead_is_named():
    answers = {"b": lambda _: failing("conflict")}
    async with opened("{same_error: 1}", answers=answers) as (runtime, _):
        await runtime.call("b", {})
        refused = (await runtime.call("b", {})).error

    assert refused.hint.startswith("nothing ran; use `c` instead, or answer with what there is")
    assert refused.details["alternative"] == "c"


async def test_what_says_when_to_come_back_is_no_failure_in_a_row():
    tools = 'tools: {r: {description: R., effect: read, command: ["true"], rate: 1/1h}}'
    async with open_files(files("{same_error: 2}", tools=tools)) as runtime:
        assert await ends(runtime, *["r"] * 6) == [OK, *["rate-limited"] * 5]


async def test_a_setting_of_a_tool_stands_in_place_of_the_files_number():
    settings = "[{tools: [bad], limits: {same_error: 4}}]"
    async with opened("{same_error: 1}", settings) as (runtime, _):
        assert await ends(runtime, *["bad"] * 5) == ["conflict"] * 4 + [ALIKE]


# -- same_call --------------------------------------------------------------------------------


async def test_r46_the_same_call_too_often_in_a_row_is_refused():
    async with opened("{same_call: 2}") as (runtime, calls):
        assert await ends(runtime, *[("a", 1)] * 4) == [OK, OK, AGAIN, AGAIN]
        refused = (await runtime.call("a", {"x": 1})).error

    assert len(calls) == 2
    assert refused.message == "`a` was called 2 times in a row with the same arguments"
    assert refused.hint == (
        "nothing ran; use what it gave, change the arguments, or use another tool"
    )


@pytest.mark.parametrize("between", [("a", 2), ("c", 1)], ids=["other arguments", "another tool"])
async def test_anything_else_in_between_ends_the_row(between):
    async with opened("{same_call: 1}") as (runtime, _):
        assert await ends(runtime, ("a", 1), between, ("a", 1)) == [OK, OK, OK]


async def test_the_same_is_what_comes_to_the_same():
    async with opened("{same_call: 1}") as (runtime, _):
        assert await ends(runtime, "a", ("a", 0), ("a", 0.0)) == [OK, AGAIN, AGAIN]


async def test_r46_the_row_is_exact_however_many_call_at_once():
    async with opened("{same_call: 3}") as (runtime, calls):
        results = await asyncio.gather(*(runtime.call("a", {"x": 1}) for _ in range(30)))

    assert len(calls) == 3
    assert sum(each.status == "success" for each in results) == 3


async def test_a_setting_counts_calls_of_other_tools_in_between():
    async with opened("", "[{tools: [a], limits: {same_call: 1}}]") as (runtime, _):
        made = await ends(runtime, "a", "a", "c", "a", "c", "c")

    assert made == [OK, AGAIN, OK, OK, OK, OK]


async def test_settings_limit_the_questions_of_their_tools():
    async with opened("", "[{tools: [pay], limits: {pending: 1}}]") as (runtime, _):
        assert await ends(runtime, "pay") == ["paused"]
        other = await runtime.call("pay", {}, Caller("ann"))

    assert other.pause is not None


# -- what it costs ----------------------------------------------------------------------------


async def test_without_limits_no_stage_of_them_is_in_the_chain():
    async with opened() as (runtime, _):
        await ends(runtime, "a")
        assert runtime._gateway._equipment.sessions._sessions == {}


def test_sessions_that_rest_longest_are_forgotten_first(monkeypatch):
    monkeypatch.setattr(sessions, "MOST_SESSIONS", 2)
    kept = Sessions()
    first = kept.of(Caller("a"))
    second = kept.of(Caller("b"))
    assert kept.of(Caller("a")) is first

    kept.of(Caller("c"))

    assert kept.of(Caller("a")) is first
    assert kept.of(Caller("b")) is not second
