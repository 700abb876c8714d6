"""What is counted of calls, and under which labels."""

import pytest

from toolrt.core.calls import Caller, Invocation
from toolrt.core.clock import ManualClock
from toolrt.core.results import Attempt, Failure, ToolResult
from toolrt.observe import meters
from toolrt.observe.meters import MOST_SERIES, OTHER, UNKNOWN, Meters, NoMeters
from toolrt.observe.metrics import METRICS, Distribution, page


def ended(tool="t", code=None, status=None, time_s=0.02, **more):
    """A call that has ended: its invocation and its result."""
    invocation = Invocation("c", tool, {}, Caller(), ManualClock(), 0.0, 30.0)
    invocation.attempts = 1
    for name, value in more.items():
        setattr(invocation, name, value)
    error = None if code is None else Failure(code, "no")
    status = status or ("success" if code is None else "error")
    return invocation, ToolResult("c", tool, status, "text", None, error, time_s)


def told(counted, name):
    """The values of a metric by its labels, joined by spaces."""
    return {" ".join(each.labels): each.value for each in counted.readings() if each.name == name}


def of(*calls, is_kept=False):
    """Meters of the tool `t` that have counted these calls."""
    counted = Meters()
    meter = counted.of("t", is_kept=is_kept)
    for invocation, result in calls:
        meter.note(invocation, result)
    return counted


def test_calls_are_counted_by_tool_status_code_and_who_made_them():
    counted = of(ended(), ended(), ended(code="timeout"), ended(status="paused", attempts=0))
    counted.of("t", is_kept=False).add(*ended(), "tool")
    counted.of("t", is_kept=False).add(*ended(), "approval")

    assert told(counted, "toolrt_calls_total") == {
        "t success  caller": 2,
        "t error timeout caller": 1,
        "t paused  caller": 1,
        "t success  tool": 1,
        "t success  approval": 1,
    }


def test_codes_of_tools_authors_are_one():
    counted = of(ended(code="out-of-paper"), ended(code="out-of-ink"))

    assert told(counted, "toolrt_calls_total") == {"t error other caller": 2}


def test_o1_a_name_that_is_no_tool_is_no_label():
    counted = Meters()
    counted.unknown.note(*ended("s3cret", "unknown-tool", attempts=0))
    counted.of("hidden", is_kept=False).note(*ended("hidden", "unknown-tool", attempts=0))

    assert told(counted, "toolrt_calls_total") == {f"{UNKNOWN} error unknown-tool caller": 2}
    assert told(counted, "toolrt_unknown_tool_calls_total") == {"": 2}


def test_a_tool_that_was_tried_is_known_whatever_it_says():
    counted = of(ended("t", "unknown-tool"))

    assert told(counted, "toolrt_calls_total") == {"t error unknown-tool caller": 1}
    assert told(counted, "toolrt_unknown_tool_calls_total") == {"": 0}


def test_what_failed_without_a_tool_is_no_unknown_tool():
    counted = Meters()
    counted.unknown.note(*ended(code="internal"))

    assert told(counted, "toolrt_unknown_tool_calls_total") == {"": 0}


def test_times_are_a_histogram_for_each_status():
    counted = of(ended(time_s=0.001), ended(time_s=0.03), ended(code="timeout", time_s=90.0))

    times = told(counted, "toolrt_call_duration_seconds")
    assert times["t success"].within == (1, 1, 1, 1, *[2] * 11)
    assert times["t success"].total == pytest.approx(0.031)
    assert times["t error"].within == (*[0] * 14, 1)


def test_many_times_are_counted_once_each():
    counted = of(*[ended(time_s=0.02)] * 2500, *[ended(time_s=0.02, attempts=2)] * 1500)

    time = told(counted, "toolrt_call_duration_seconds")["t success"]
    assert (time.within[2], time.within[3], time.within[-1]) == (0, 4000, 4000)
    assert told(counted, "toolrt_call_duration_seconds")["t success"] == time
    assert told(counted, "toolrt_attempts_total") == {"t": 2500 + 3000}


def test_retries_are_attempts_that_were_repeated():
    failed = (Attempt(1, "timeout"), Attempt(2, "timeout"))
    asked = (*failed, Attempt(3, "timeout", None))

    assert told(of(ended(attempts=3, failed=failed)), "toolrt_retries_total") == {"t": 2}
    assert told(of(ended(attempts=3, failed=asked)), "toolrt_retries_total") == {"t": 2}


def test_arguments_that_do_not_fit_are_violations_and_a_tools_own_code_is_not():
    own = ended(code="invalid-arguments", attempts=1)
    refused = [ended(code=f"{why}-arguments", attempts=0) for why in ("invalid", "missing")]

    assert told(of(own, *refused), "toolrt_schema_violations_total") == {"t": 2}


def test_a_fallback_that_answers_is_told_by_its_kind():
    stale = ended(marks={"fallback": {"stale": True, "because": "timeout"}})
    other = ended(marks={"fallback": {"tool": "u", "because": "timeout"}})

    counted = of(stale, other, other, ended(marks={"parent": "c0"}))
    assert told(counted, "toolrt_degraded_calls_total") == {"t stale": 1, "t tool": 2}


def test_hits_and_misses_are_those_of_tools_with_a_cache():
    hit, miss = ended(attempts=0, is_cached=True), ended()
    refused = ended(code="denied", attempts=0)

    kept = of(hit, hit, miss, ended(code="timeout"), refused, is_kept=True)
    assert told(kept, "toolrt_cache_hits_total") == {"t": 2}
    assert told(kept, "toolrt_cache_misses_total") == {"t": 2}
    assert told(kept, "toolrt_attempts_total") == {"t": 2}
    assert told(of(miss), "toolrt_cache_misses_total") == {}


def test_a_token_is_four_bytes_of_what_the_model_gets():
    counted = of(ended(shown_bytes=4000), ended(shown_bytes=42), ended(code="denied", attempts=0))

    assert told(counted, "toolrt_result_tokens_total") == {"t": (4000 + 42 + len("text")) // 4}


def test_a_tool_that_was_never_called_has_no_series():
    assert told(of(), "toolrt_attempts_total") == {}


def test_series_are_bounded_and_nothing_is_lost(monkeypatch):
    monkeypatch.setattr(meters, "MOST_SERIES", 5)
    counted = Meters()
    for number in range(10):
        counted.of(f"t{number}", is_kept=True).note(*ended())
    for code in ("timeout", "denied"):
        counted.of("t0", is_kept=True).note(*ended(code=code))

    calls = told(counted, "toolrt_calls_total")
    assert calls == {
        **{f"t{number} success  caller": 1 for number in range(5)},
        f"{OTHER} success  caller": 5,
        f"{OTHER} error timeout caller": 1,
        f"{OTHER} error denied caller": 1,
    }
    assert MOST_SERIES == 2000


def test_a_tool_keeps_its_meter():
    counted = Meters()

    assert counted.of("t", is_kept=True) is counted.of("t", is_kept=False)


def test_without_metrics_nothing_is_counted():
    counted = NoMeters()
    counted.of("t", is_kept=True).note(*ended())
    counted.unknown.add(*ended(code="unknown-tool"), "caller")

    assert {each.value for each in counted.readings()} == {0}


def test_every_reading_fits_the_table():
    counted = of(ended(marks={"fallback": {"value": True}}), is_kept=True)
    readings = list(counted.readings())

    assert all(len(each.labels) == len(METRICS[each.name].labels) for each in readings)
    kinds = {each.name: isinstance(each.value, Distribution) for each in readings}
    assert {name for name, is_histogram in kinds.items() if is_histogram} == {
        name for name in kinds if METRICS[name].kind == "histogram"
    }
    assert page(readings, str)
