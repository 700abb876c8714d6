"""What stands in for a tool that fails, when, and when not (R31, R33, R44; E14)."""

from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from typing import Any

import pytest

from toolrt.core.errors import AttemptTimeoutError, BindingError, ToolError
from toolrt.core.results import ToolResult
from toolrt.opened import Runtime
from toolrt.testing import ManualClock, StubCall, open_files, stubbed

pytestmark = pytest.mark.anyio

TOOLS = """
tools:
  quote:
    description: The price.
    parameters: {symbol: string, days: {type: integer, default: 1}}
    effect: read
    http: http://127.0.0.1:9/{{ symbol }}/{{ days }}
    retry: none
    fallback: last_close
  last_close:
    description: The price of yesterday.
    parameters: {symbol: string}
    effect: read
    http: http://127.0.0.1:9/{{ symbol }}
    retry: none
  rate:
    description: The rate.
    parameters: {pair: {type: string, required: false}}
    effect: read
    http: {url: http://127.0.0.1:9/rate, query: {pair: "{{ pair }}"}}
    retry: none
    result: {select: rate}
    fallback: {value: {rate: 1.0, pair: "{{ pair }}"}}
  pay:
    description: Pays.
    parameters: {invoice: string}
    http: {url: http://127.0.0.1:9/pay, method: POST, json: {invoice: "{{ invoice }}"}}
    retry: none
    fallback: queue
  queue:
    description: Pays later.
    parameters: {invoice: string}
    http: {url: http://127.0.0.1:9/queue, method: POST, json: {invoice: "{{ invoice }}"}}
    retry: none
  sensible:
    description: Is out for now.
    parameters: {symbol: string}
    effect: read
    http: {url: http://127.0.0.1:9/x, query: {s: "{{ symbol }}"}, headers: {K: "${secret:nowhere}"}}
    fallback: last_close
"""
RULES = """
rules:
  - {id: all, decide: allow, tools: ["*"]}
  - {id: ask, decide: ask, tools: [last_close]}
"""
DOWN = BindingError("down", sent="never", retryable=True, target_fault=True)
BROKEN = BindingError("500", status=500, retryable=True, target_fault=True)
LOST = BindingError("reset", sent="maybe", retryable=True, target_fault=True)


def fails(error: Exception) -> Callable[[dict[str, Any]], Any]:
    def answer(_arguments: dict[str, Any]) -> Any:
        raise error

    return answer


@asynccontextmanager
async def opened(
    answers: Mapping[str, Callable[[dict[str, Any]], Any]], rules: str | None = None
) -> AsyncIterator[tuple[Runtime, list[StubCall]]]:
    files = {"tools.d/t.yaml": TOOLS} | ({"policies.d/p.yaml": rules} if rules else {})
    async with open_files(files, clock=ManualClock()) as rt:
        with stubbed(rt, answers) as calls:
            yield rt, calls


async def called(
    tool: str, arguments: dict[str, Any], rules: str | None = None, **answers: Any
) -> tuple[ToolResult, list[StubCall]]:
    async with opened(answers, rules) as (rt, calls):
        return await rt.call(tool, arguments), calls


CLOSE = {"last_close": lambda _: {"close": 3}}


async def test_another_tool_stands_in_with_the_arguments_that_it_takes():
    result, calls = await called("quote", {"symbol": "X"}, quote=fails(BROKEN), **CLOSE)

    assert (result.status, result.data, result.tool) == ("success", {"close": 3}, "quote")
    assert calls[-1] == StubCall("last_close", {"symbol": "X"})
    assert result.context["fallback"] == {"tool": "last_close", "because": "execution-failed"}
    assert result.context["recovery"]["course"] == "fallback"


@pytest.mark.parametrize(
    "error",
    [DOWN, BROKEN, LOST, AttemptTimeoutError("slow"), ToolError("later", retryable=True),
     BindingError("odd", code="bad-response"), ToolError("much", code="rate-limited")],
    ids=["down", "5xx", "reset", "timeout", "author", "bad-response", "rate-limited"],
)  # fmt: skip
async def test_every_failure_of_the_target_of_a_read_is_stood_in_for(error):
    result, _ = await called("quote", {"symbol": "X"}, quote=fails(error), **CLOSE)

    assert result.status == "success"


@pytest.mark.parametrize(
    "error",
    [BindingError("no", status=404, code="not-found"), BindingError("no", status=400),
     ToolError("no such symbol"), ToolError("no", code="denied")],
    ids=["404", "400", "author", "denied"],
)  # fmt: skip
async def test_what_the_arguments_are_to_blame_for_stays_a_failure(error):
    result, calls = await called("quote", {"symbol": "X"}, quote=fails(error), **CLOSE)

    assert result.status == "error"
    assert [one.tool for one in calls] == ["quote"]
    assert result.context["recovery"]["course"] == "return-error"


async def test_e9_arguments_that_do_not_fit_and_denials_are_never_stood_in_for():
    denied = """
    rules: [{id: no, decide: deny, tools: [quote], when: args.symbol == "X"}]
    default: allow
    """

    wrong, wrong_calls = await called("quote", {}, quote=fails(BROKEN), **CLOSE)
    refused, refused_calls = await called(
        "quote", {"symbol": "X"}, denied, quote=fails(BROKEN), **CLOSE
    )

    assert (wrong.error.code, wrong_calls) == ("missing-arguments", [])
    assert (refused.error.code, refused_calls) == ("denied", [])


@pytest.mark.parametrize("error", [LOST, AttemptTimeoutError("slow"), BROKEN], ids=["a", "b", "c"])
async def test_what_may_have_taken_effect_is_never_done_again_in_another_way(error):
    result, calls = await called("pay", {"invoice": "A"}, pay=fails(error), queue=lambda _: "ok")

    assert result.status == "error"
    assert [one.tool for one in calls] == ["pay"]


async def test_an_earlier_attempt_that_may_have_taken_effect_counts_too():
    """A 500 first, and then nobody listens: the 500 may have done it."""
    errors = [BROKEN, DOWN, DOWN]

    def answer(_arguments: dict[str, Any]) -> Any:
        raise errors.pop(0)

    text = TOOLS.replace(
        'http: {url: http://127.0.0.1:9/pay, method: POST, json: {invoice: "{{ invoice }}"}}\n    retry: none',
        'http: {url: http://127.0.0.1:9/pay, method: PUT, json: {invoice: "{{ invoice }}"}}',
    )
    async with open_files({"tools.d/t.yaml": text}, clock=ManualClock()) as rt:
        with stubbed(rt, {"pay": answer, "queue": lambda _: "ok"}) as calls:
            result = await rt.call("pay", {"invoice": "A"})

    assert [one.tool for one in calls] == ["pay"] * 3
    assert result.status == "error"


async def test_what_was_never_sent_is_done_in_another_way():
    result, calls = await called("pay", {"invoice": "A"}, pay=fails(DOWN), queue=lambda _: "later")

    assert (result.data, result.text) == ("later", "later")
    assert [one.tool for one in calls] == ["pay", "queue"]


async def test_a_value_stands_in_as_it_is_written_and_nothing_is_selected_from_it():
    result, _ = await called("rate", {"pair": "EUR"}, rate=fails(DOWN))
    without, _ = await called("rate", {}, rate=fails(DOWN))

    assert (result.status, result.data) == ("success", {"rate": 1.0, "pair": "EUR"})
    assert without.data == {"rate": 1.0}
    assert result.context["fallback"] == {"value": True, "because": "execution-failed"}


async def test_a_tool_that_cannot_be_called_now_is_stood_in_for():
    async with open_files({"tools.d/t.yaml": TOOLS}, environ={}) as rt:
        with stubbed(rt, CLOSE):
            result = await rt.call("sensible", {"symbol": "X"})

    assert (result.status, result.data) == ("success", {"close": 3})
    assert result.context["fallback"]["because"] == "unavailable"


async def test_e14_a_paused_fallback_pauses_the_call():
    result, calls = await called("quote", {"symbol": "X"}, RULES, quote=fails(DOWN), **CLOSE)

    assert result.status == "paused"
    assert result.pause.approval_id
    assert [one.tool for one in calls] == ["quote"]


async def test_a_fallback_that_fails_too_leaves_the_first_failure_and_says_so():
    result, _ = await called(
        "quote", {"symbol": "X"}, quote=fails(DOWN), last_close=fails(ToolError("closed"))
    )

    assert (result.error.message, result.error.code) == ("down", "execution-failed")
    assert result.error.details["fallback"] == {"tool": "last_close", "error": "execution-failed"}


async def test_a_fallback_whose_outcome_is_unknown_is_what_the_call_comes_to():
    result, _ = await called("pay", {"invoice": "A"}, pay=fails(DOWN), queue=fails(LOST))

    assert result.error.code == "unknown-outcome"
    assert result.context["recovery"]["course"] == "fallback"


async def test_the_journal_tells_of_the_fallback_and_of_the_call_above():
    async with opened({"quote": fails(DOWN), **CLOSE}) as (rt, _):
        await rt.call("quote", {"symbol": "X"})
        await rt._state.memory.journal.flush()
        entries = await rt._state.memory.journal.records.entries()

    by_tool = {each["tool"]: each for each in entries if each["kind"] == "call"}
    assert by_tool["quote"]["fallback"]["tool"] == "last_close"
    assert by_tool["last_close"]["parent"] == by_tool["quote"]["call_id"]


@pytest.mark.parametrize(
    ("code", "course"),
    [("missing-credential", "escalate"), ("budget-exhausted", "terminate"),
     ("not-found", "return-error")],
)  # fmt: skip
async def test_r44_each_failure_says_what_is_to_be_done_about_it(code, course):
    result, _ = await called("queue", {"invoice": "A"}, queue=fails(ToolError("no", code=code)))

    assert result.context["recovery"]["course"] == course
    assert result.context["recovery"]["reason"]
