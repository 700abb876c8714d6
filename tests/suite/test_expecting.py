"""What a test expects, held against a result."""

import pytest

from toolrt.core.decisions import Decision
from toolrt.core.results import Failure, ToolResult
from toolrt.manifest.cases import Expect
from toolrt.suite.expecting import differences, unmet

DONE = ToolResult("c1", "t", "success", text="21 degrees", data={"temp": 21, "wind": [1, 2]})
LOST = ToolResult("c1", "t", "error", error=Failure("not-found", "there is no such city"))
ASKED = Decision("ask", rule="big")


def said(expect, result=DONE, decision=None):
    return list(unmet(Expect.model_validate(expect), result, decision))


@pytest.mark.parametrize(
    ("expect", "result", "decision"),
    [
        ({}, DONE, None),
        ({"status": "success", "text": "21", "data": {"temp": 21}}, DONE, None),
        ({"code": "not-found"}, LOST, None),
        ({"status": "error", "text": "no such city"}, LOST, None),
        ({"decision": "ask"}, LOST, ASKED),
        ({"data": {"wind": [1, 2]}}, DONE, None),
    ],
)
def test_what_is_met_is_not_told(expect, result, decision):
    assert said(expect, result, decision) == []


@pytest.mark.parametrize(
    ("expect", "result", "told"),
    [
        ({}, LOST, "status: expected success, got error (not-found: there is no such city)"),
        ({"code": "not-found"}, DONE, "status: expected error, got success"),
        ({"code": "timeout"}, LOST, "code: expected timeout, got not-found (not-found: there is"),
        ({"text": "snow"}, DONE, 'text: "snow" is not in "21 degrees"'),
        ({"data": {"temp": 3}}, DONE, "data.temp: expected 3, got 21"),
        ({"data": {"rain": 3}}, DONE, "data.rain: expected 3, and it is not there"),
        ({"data": {"wind": [1]}}, DONE, "data.wind: expected 1 items, got 2"),
        ({"data": {"wind": [1, 3]}}, DONE, "data.wind[1]: expected 3, got 2"),
        ({"data": None}, DONE, 'data: expected null, got {"temp": 21, "wind": [1, 2]}'),
    ],
)
def test_what_is_not_met_is_told_with_its_place(expect, result, told):
    (sentence,) = said(expect, result)

    assert sentence.startswith(told)


def test_a_decision_that_is_another_names_its_rule():
    assert said({"decision": "deny"}, DONE, ASKED) == [
        "decision: expected deny, got ask by the rule `big`"
    ]


def test_a_decision_on_a_call_that_was_refused_before_is_none():
    (sentence,) = said({"decision": "allow"}, LOST)

    assert sentence.startswith("decision: expected allow, got none")


@pytest.mark.parametrize(
    ("expected", "found", "is_same"),
    [(1, 1.0, True), (1, True, False), (0, False, False), (None, None, True), ("1", 1, False)],
)
def test_values_are_compared_as_json_has_them(expected, found, is_same):
    assert (list(differences(expected, found, "data")) == []) is is_same
