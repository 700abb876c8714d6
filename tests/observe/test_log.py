"""The line of a call: one line of JSON, whatever the call was."""

import json
import logging

import pytest

from toolrt.core.calls import Caller, Invocation
from toolrt.core.clock import ManualClock
from toolrt.core.redaction import Redactor
from toolrt.core.results import Failure, ToolResult
from toolrt.observe.journal_entries import PerTool
from toolrt.observe.log import CallLog, log_call

TOOL = PerTool("t.x", sensitive=frozenset({"pin"}), parameters=frozenset({"pin", "city"}))


def line_of(caplog, *, tool="t.x", principal="ann", code="conflict", time_s=0.5, attempts=1):
    invocation = Invocation("c1", tool, {}, Caller(principal), ManualClock(), 0.0, 30.0)
    failure = Failure(code, "no")
    result = ToolResult("c1", tool, "error", "no", None, failure, time_s, attempts)
    with caplog.at_level(logging.INFO, "toolrt.calls"):
        log_call(invocation, result)
    [line] = caplog.messages
    assert line.isascii()
    assert line.isprintable()

    def no_number(word):
        raise AssertionError(word)

    return json.loads(line, parse_constant=no_number)


ODD = ["\u2028\u2029\x85\n\r", "\ud800", '"}\n{"a": "', None, 5, float("nan"), {1: 2}, ["x"]]


@pytest.mark.parametrize("odd", ODD)
def test_o4_any_name_is_a_text_in_one_line(caplog, odd):
    line = line_of(caplog, tool=odd, principal=odd, code=odd)

    assert line["tool"] == line["caller"] == line["code"] == str(odd)


def test_o4_long_names_are_cut(caplog):
    line = line_of(caplog, tool="x" * 10**6, principal="y" * 10**6, code="z" * 10**6)

    assert len(json.dumps(line)) < 1000


@pytest.mark.parametrize("time_s", [float("nan"), float("inf")])
def test_o4_what_is_no_json_number_is_null(caplog, time_s):
    assert line_of(caplog, time_s=time_s)["time_ms"] is None


def test_o4_numbers_beyond_64_bits_stay_numbers(caplog):
    assert line_of(caplog, attempts=2**80)["attempts"] == 2**80


def test_o1_names_are_masked_before_they_are_cut(caplog):
    redactor = Redactor()
    redactor.learn("s3cret-value")
    line = line_of(caplog, tool="t.s3cret-value", principal="x" * 195 + "s3cret-value")

    assert line["tool"] == "t.***"
    assert "s3" not in line["caller"]


def arguments_of(caplog, arguments, *, mode="redacted", tool=TOOL, code=None, key=b"k" * 32):
    """What the line of a call tells of its arguments."""
    caplog.clear()
    invocation = Invocation("c1", "t.x", arguments, Caller(), ManualClock(), 0.0, 30.0)
    error = Failure(code, "no") if code else None
    result = ToolResult("c1", "t.x", "error" if code else "success", "", None, error)
    with caplog.at_level(logging.INFO, "toolrt.calls"):
        CallLog(arguments=mode, key=lambda: key).write(invocation, result, tool)
    [line] = caplog.messages
    assert line.isascii()
    assert line.isprintable()
    told = json.loads(line)
    return told.get("arguments", told.get("arguments_hash"))


def test_arguments_are_told_with_what_is_sensitive_masked(caplog):
    redactor = Redactor()
    redactor.learn("s3cret-value")
    given = {"city": "Bern", "pin": "1234", "note": "a s3cret-value", "url": "https://u:p@host/"}

    assert arguments_of(caplog, given) == {
        "city": "Bern",
        "pin": "***",
        "note": "a ***",
        "url": "https://***/",
    }


def test_arguments_that_were_refused_are_masked_whole_where_some_are_sensitive(caplog):
    told = arguments_of(caplog, {"pni": "1234"}, code="invalid-arguments")

    assert told == {"pni": "***"}
    assert arguments_of(caplog, {"a": "1234"}, tool=None, code="unknown-tool") == {"a": "***"}


DEEP: list = []
for _ in range(100_000):
    DEEP = [DEEP]


@pytest.mark.parametrize(
    "odd",
    [*ODD, {"a": float("nan")}, {"a": "\ud800\n"}, {"a": object()}, {"a": DEEP}, {"a": 10**5000}],
)
@pytest.mark.parametrize("mode", ["redacted", "hash"])
def test_o4_any_arguments_are_one_line(caplog, odd, mode):
    arguments_of(caplog, odd, mode=mode, code="invalid-arguments")


def test_o4_long_arguments_are_told_by_their_length(caplog):
    assert arguments_of(caplog, {"a": "x" * 10**6}) == {"bytes": 10**6 + 8}


def test_hashes_are_equal_for_equal_arguments_under_the_same_key_alone(caplog):
    def hashed(arguments, key=b"k" * 32):
        return arguments_of(caplog, arguments, mode="hash", key=key)

    assert hashed({"a": 1, "b": 2}) == hashed({"b": 2, "a": 1})
    assert len({hashed({"a": 1}), hashed({"a": 2}), hashed({"a": 1}, b"z" * 32)}) == 3
    assert hashed({"a": 1}, None) is None


def test_lines_that_nobody_wants_are_not_written(caplog):
    invocation = Invocation("c1", "t.x", {}, Caller(), ManualClock(), 0.0, 30.0)
    with caplog.at_level(logging.INFO, "toolrt.calls"):
        CallLog(is_on=False).write(invocation, ToolResult("c1", "t.x", "success"), None)

    assert caplog.messages == []
