"""The short way of telling a call says the same as the long one."""

from types import SimpleNamespace
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from toolrt.core.calls import Caller, Invocation
from toolrt.core.clock import ManualClock
from toolrt.core.decisions import Decision
from toolrt.core.redaction import Redactor
from toolrt.core.results import Attempt, Failure, ToolResult
from toolrt.observe.journal_entries import PerTool, Scribe
from toolrt.observe.journal_values import entries_of
from toolrt.observe.meters import MOST_RECENT, Meters
from toolrt.observe.telling import Telling

TOOLS = [PerTool("plain"), PerTool("secretive", sensitive=frozenset({"a"})), None]
CALLERS = [Caller("ann"), Caller("bob", roles=("x",))]
CLOCK = ManualClock()

CALLS = st.fixed_dictionaries(
    {"tool": st.sampled_from(TOOLS), "caller": st.sampled_from(CALLERS)},
    optional={
        "status": st.sampled_from(["error", "partial"]),
        "attempts": st.sampled_from([0, 2]),
        "generation": st.sampled_from([1, 2]),
        "marks": st.sampled_from([{"fallback": ["tool"]}, {"batch": "b"}]),
        "is_cached": st.booleans(),
        "shown_bytes": st.sampled_from([5, 400]),
        "decision": st.just(Decision("allow", "rule")),
        "approval": st.just(SimpleNamespace(id="a1")),
        "failed": st.just((Attempt(1, "timeout"),)),
    },
)


def ended(number: int, case: dict[str, Any]) -> tuple[Invocation, ToolResult, PerTool | None]:
    """The call of a case: one that went well at the first try, but for what the case says."""
    tool, told = case["tool"], dict(case)
    name = tool.name if tool else "unheard-of"
    ids = f"call-{number + 1}"
    invocation = Invocation(ids, name, {"a": number}, told.pop("caller"), CLOCK, 1.0, 9.0)
    invocation.number, invocation.attempts = number + 1, 1
    status = told.pop("status", "success")
    for each in told.keys() - {"tool"}:
        setattr(invocation, each, told[each])
    error = Failure("timeout", "late") if status == "error" else None
    result = ToolResult(ids, name, status, "", None, error, number / 64)
    return invocation, result, tool


@settings(max_examples=300)
@given(st.lists(CALLS, max_size=12), st.booleans())
def test_what_is_told_in_one_go_is_what_is_told_one_by_one(cases, is_kept):
    long, short = Scribe(Redactor(), CLOCK), Scribe(Redactor(), CLOCK)
    counted, told = Meters(), Meters()
    journal = SimpleNamespace(batch=short, mode="batched", is_behind=lambda _: False)
    telling = Telling(journal, "call-")
    for number, case in enumerate(cases):
        invocation, result, tool = ended(number, case)
        long.note(invocation, result, tool)
        counted.of(result.tool, is_kept=is_kept).note(invocation, result)
        telling.tell(invocation, result, tool, told.of(result.tool, is_kept=is_kept))

    assert entries(short) == entries(long)
    assert list(told.readings()) == list(counted.readings())


def test_many_calls_in_a_row_are_all_counted():
    scribe, meters = Scribe(Redactor(), CLOCK), Meters()
    journal = SimpleNamespace(batch=scribe, mode="batched", is_behind=lambda _: False)
    telling, meter = Telling(journal, "call-"), meters.of("plain", is_kept=False)
    for number in range(MOST_RECENT + 7):
        telling.tell(*ended(number, {"tool": TOOLS[0], "caller": CALLERS[0]}), meter)

    total = [each.value for each in meters.readings() if each.name == "toolrt_calls_total"]
    assert total == [MOST_RECENT + 7]
    assert len(meter.recent) <= MOST_RECENT
    assert scribe.count == MOST_RECENT + 7


def test_an_id_that_begins_otherwise_is_kept_whole():
    scribe, meters = Scribe(Redactor(), CLOCK), Meters()
    journal = SimpleNamespace(batch=scribe, mode="batched", is_behind=lambda _: False)
    tellings, meter = [Telling(journal, ids) for ids in ("call-", "other-")], meters.other
    case = {"tool": TOOLS[0], "caller": CALLERS[0]}
    for number in range(6):
        invocation, result, tool = ended(number, case)
        if number % 2:
            invocation.call_id = f"other-{number + 1}"
        tellings[number % 2].tell(invocation, result, tool, meter)

    ids = [each["call_id"] for each in entries(scribe)]
    assert ids == ["call-1", "other-2", "call-3", "other-4", "call-5", "other-6"]


def entries(scribe: Scribe) -> list[dict[str, Any]]:
    return [each for segment in scribe.calls() for each in entries_of("calls", segment.body)]
