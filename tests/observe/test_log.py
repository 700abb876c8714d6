"""The line of a call: one line of JSON, whatever the call was."""

import json
import logging

import pytest

from toolrt.core.calls import Caller, Invocation
from toolrt.core.clock import ManualClock
from toolrt.core.redaction import Redactor
from toolrt.core.results import Failure, ToolResult
from toolrt.observe.log import log_call


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
