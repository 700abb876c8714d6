"""What becomes of a call whose answer was lost, where a read tool can be asked (E3, E5, E12; R45)."""

from collections.abc import Callable
from contextlib import asynccontextmanager
from random import Random
from typing import Any

import pytest

from tests.loopback import RESET, Heard, json_reply, loopback
from tests.pipeline.test_fallback import BROKEN, DOWN, LOST, fails
from toolrt.core.errors import AttemptTimeoutError, BindingError, ToolError
from toolrt.observe.journal_records import Filter, tallies
from toolrt.testing import ManualClock, open_files, stubbed

pytestmark = pytest.mark.anyio

TOOLS = """
tools:
  pay:
    description: Pays.
    parameters: {invoice: string, amount: number}
    http: {url: http://127.0.0.1:9/pay, method: POST, json: {invoice: "{{ invoice }}"}}
    retry: {attempts: 3}
    verify:
      tool: status
      args: {invoice: "{{ invoice }}"}
      applied_when: result.paid == true && result.amount == args.amount
  status:
    description: Says whether it was paid.
    parameters: {invoice: string}
    effect: read
    http: http://127.0.0.1:9/invoices/{{ invoice }}
    retry: none
  forgiving:
    description: Says something whatever happens.
    effect: read
    http: http://127.0.0.1:9/x
    retry: none
    fallback: {value: {paid: false, amount: 1}}
  trusting:
    description: Pays.
    http: {url: http://127.0.0.1:9/pay, method: POST}
    verify: {tool: forgiving, applied_when: result.paid}
"""
PAID, UNPAID = {"paid": True, "amount": 5}, {"paid": False, "amount": 5}
ARGUMENTS = {"invoice": "A1", "amount": 5}
TIMEOUT = AttemptTimeoutError("no answer within 10 s")


class Payments:
    """A service that fails as it is told, one step a call; None is a payment that answers."""

    def __init__(self, *steps: Exception | None) -> None:
        self.steps = list(steps)
        self.calls = 0

    def __call__(self, _arguments: dict[str, Any]) -> Any:
        self.calls += 1
        step = self.steps.pop(0) if self.steps else None
        if step is not None:
            raise step
        return {"receipt": self.calls}


@asynccontextmanager
async def opened(**answers: Callable[[dict[str, Any]], Any]):
    files = {"tools.d/t.yaml": TOOLS}
    async with open_files(files, clock=ManualClock(), random=Random(7)) as rt:
        with stubbed(rt, answers) as calls:
            yield rt, calls


async def paid(payments: Payments, status: Callable[[dict[str, Any]], Any]):
    async with opened(pay=payments, status=status) as (rt, calls):
        return await rt.call("pay", ARGUMENTS), [one.tool for one in calls]


@pytest.mark.parametrize("lost", [LOST, TIMEOUT, BROKEN], ids=["reset", "timeout", "5xx"])
async def test_e12_applied_ends_as_success_with_what_the_verify_tool_says(lost):
    payments = Payments(lost)

    result, calls = await paid(payments, lambda _: PAID)

    assert (result.status, result.data) == ("success", PAID)
    assert calls == ["pay", "status"]
    assert result.context["verify"] == {"tool": "status", "verdict": "applied"}
    assert "took effect" in result.context["notes"][0]


@pytest.mark.parametrize("lost", [LOST, TIMEOUT, BROKEN], ids=["reset", "timeout", "5xx"])
async def test_e12_only_what_was_not_applied_is_done_again(lost):
    result, calls = await paid(Payments(lost), lambda _: UNPAID)

    assert (result.status, result.data) == ("success", {"receipt": 2})
    assert calls == ["pay", "status", "pay"]


@pytest.mark.parametrize(
    "status",
    [fails(DOWN), fails(ToolError("no such invoice")), lambda _: {},
     lambda _: "paid", lambda _: None],
    ids=["down", "error", "no key", "a text", "nothing"],
)  # fmt: skip
async def test_e12_anything_else_is_an_unknown_outcome(status):
    payments = Payments(LOST)

    result, _ = await paid(payments, status)

    assert (result.error.code, payments.calls) == ("unknown-outcome", 1)
    assert result.error.details["outcome"] == "unknown"
    assert not result.error.retryable
    assert result.context["recovery"]["course"] == "escalate"


async def test_e12_an_ask_there_is_an_unknown_outcome():
    rules = "rules:\n  - {id: a, decide: allow, tools: ['*']}\n  - {id: b, decide: ask, tools: [status]}"
    files = {"tools.d/t.yaml": TOOLS, "policies.d/p.yaml": rules}
    async with open_files(files, clock=ManualClock()) as rt:
        with stubbed(rt, {"pay": Payments(LOST), "status": lambda _: PAID}) as calls:
            result = await rt.call("pay", ARGUMENTS)

    assert result.error.code == "unknown-outcome"
    assert [one.tool for one in calls] == ["pay"]


async def test_e12_what_a_fallback_of_the_verify_tool_makes_up_counts_for_nothing():
    async with opened(trusting=Payments(LOST), forgiving=fails(DOWN)) as (rt, _):
        result = await rt.call("trusting", {})

    assert result.error.code == "unknown-outcome"


async def test_e12_a_condition_that_is_neither_true_nor_false_is_an_unknown_outcome():
    async with opened(trusting=Payments(LOST), forgiving=lambda _: {"paid": "yes"}) as (rt, _):
        result = await rt.call("trusting", {})

    assert result.error.code == "unknown-outcome"


async def test_e5_what_was_never_sent_needs_no_question():
    result, calls = await paid(Payments(DOWN), lambda _: PAID)

    assert result.data == {"receipt": 2}
    assert calls == ["pay", "pay"]


async def test_e9_a_failure_that_would_come_again_is_asked_about_and_not_repeated():
    """As a TypeError in the middle of the callable: nobody knows how far it came."""
    broken = BindingError("TypeError", target_fault=True)

    applied, _ = await paid(Payments(broken), lambda _: PAID)
    not_applied, calls = await paid(Payments(broken), lambda _: UNPAID)

    assert applied.data == PAID
    assert not_applied.error.code == "execution-failed"
    assert not_applied.error.details["verify"] == "not-applied"
    assert calls == ["pay", "status"]


async def test_e12_the_last_failure_is_asked_about_too():
    payments = Payments(LOST, LOST, LOST)

    result, calls = await paid(payments, lambda _: UNPAID)

    assert calls == ["pay", "status"] * 3
    assert result.error.code == "execution-failed"
    assert "outcome" not in result.error.details
    assert result.error.retryable


async def test_e12_verify_runs_within_what_is_left_of_the_time():
    async with opened() as (rt, _):
        clock = rt._gateway._clock

        def slow(_arguments: dict[str, Any]) -> Any:
            clock.advance(60.0)
            raise LOST

        with stubbed(rt, {"pay": slow, "status": lambda _: PAID}) as calls:
            result = await rt.call("pay", ARGUMENTS)

    assert [one.tool for one in calls] == ["pay"]
    assert result.error.details["outcome"] == "unknown"


@pytest.mark.parametrize("applies", [True, False], ids=["applied", "not applied"])
async def test_a_payment_whose_answer_is_lost_is_paid_exactly_once(applies):
    """A real service, which does it (or not) and cuts the connection."""
    ledger: list[str] = []

    def serve(heard: Heard) -> Any:
        if heard.method == "GET":
            return json_reply('{"paid": true, "amount": 5}' if ledger else '{"paid": false}')
        is_first = sum(line.startswith("POST") for line in server.lines) == 1
        if applies or not is_first:
            ledger.append("A1")
        return RESET if is_first else json_reply('{"receipt": 2}')

    async with loopback(serve) as server:
        text = TOOLS.replace("http://127.0.0.1:9", server.url)
        async with open_files({"tools.d/t.yaml": text}, random=Random(7)) as rt:
            result = await rt.call("pay", ARGUMENTS)

    assert result.status == "success"
    assert ledger == ["A1"]
    again = [] if applies else ["POST /pay"]
    assert server.lines == ["POST /pay", "GET /invoices/A1", *again]


@pytest.mark.parametrize(("said", "retries"), [(PAID, 0), (UNPAID, 1), ("?", 0)])
async def test_only_what_was_made_again_counts_as_a_retry(said, retries):
    async with opened(pay=Payments(LOST), status=lambda _: said) as (rt, _):
        await rt.call("pay", ARGUMENTS)
        records = rt._state.memory.journal.records
        await rt._state.memory.journal.flush()
        tally = (await tallies(records, Filter()))["pay"]
        [entry] = [each for each in await records.entries() if each.get("tool") == "pay"]

    assert tally.retries == retries
    assert [each["error"] for each in entry["failed"]] == ["execution-failed"]
    assert ["delay_s" in each for each in entry["failed"]] == [bool(retries)]
