"""JMESPath over answers."""

import pytest

from toolrt.core.errors import CallError
from toolrt.core.faults import FaultError
from toolrt.expressions.select import compile_select

ANSWER = {"current": {"temp": 21}, "items": [{"id": 1}, {"id": 2}], "error": None}


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("current.temp", 21),
        ("items[].id", [1, 2]),
        ("items[?id > `1`].id | [0]", 2),
        ("nothing.at.all", None),
        ("length(items)", 2),
        ("@", ANSWER),
    ],
)
def test_select_finds_a_part(text, found):
    assert compile_select(text).search(ANSWER) == found


@pytest.mark.parametrize(
    ("text", "offset", "message"),
    [
        ("", 0, "the expression is empty"),
        ("current.", 8, "the expression ends too early"),
        ("current.temp )", 13, "unexpected `)`"),
        ("current..temp", 8, "unexpected `.`"),
        ("current # x", 8, "unexpected `#`"),
        ("items[", 6, "the expression ends too early"),
        ("items[?id == 'a", 13, "`'` is never closed"),
        ("foo(bar", 7, "the expression ends too early"),
        ("nofunction(items)", 0, "there is no function `nofunction`"),
        ("items | lenght(@)", 8, "there is no function `lenght`"),
    ],
)
def test_fault_is_found_at_its_character(faults, text, offset, message):
    (fault,) = faults(lambda: compile_select(text))

    assert (fault.code, fault.offset, fault.message) == ("invalid-select", offset, message)


def test_misspelt_function_has_a_suggestion(faults):
    (fault,) = faults(lambda: compile_select("lenght(items)"))

    assert fault.hint == "did you mean `length`?"


@pytest.mark.parametrize("text", ["[" * 5000, "!" * 50_000 + "a", "!" * 150 + "a"])
def test_monstrous_expression_is_one_fault(faults, text):
    assert len(faults(lambda: compile_select(text))) == 1


@pytest.mark.parametrize("text", ["length(`1`)", "sort(items)", "max_by(items, &nothing)"])
def test_answer_of_another_shape_is_a_bad_response(text):
    with pytest.raises(CallError, match="shape") as caught:
        compile_select(text).search(ANSWER)
    assert caught.value.code == "bad-response"


def test_deep_answer_does_not_break_the_search():
    deep = {}
    for _ in range(100_000):
        deep = {"a": deep}

    assert compile_select("a.a.b").search(deep) is None


@pytest.mark.parametrize(
    ("text", "offset", "message"),
    [
        ("a 1", 2, "unexpected `1`"),
        ("a 0", 2, "unexpected `0`"),
        ("a[" + "1" * 4_400 + "]", 2, "a number of more than 4,300 digits"),
        ("a.b[0:" + "9" * 4_400 + "]", 6, "a number of more than 4,300 digits"),
    ],
)
def test_numbers_that_the_parser_was_not_made_for_are_faults_at_their_place(text, offset, message):
    with pytest.raises(FaultError) as raised:
        compile_select(text)

    [fault] = raised.value.faults
    assert (fault.code, fault.offset, fault.message) == ("invalid-select", offset, message)


def test_an_old_literal_is_taken_without_a_warning():
    assert compile_select("`abc`").search({}) == "abc"


@pytest.mark.parametrize(
    ("text", "right"), [("$.items[*]", "items[*]"), ("$", None), ("a.$", None), ("$.", None)]
)
def test_jsonpath_is_told_how_it_is_written_here(text, right):
    with pytest.raises(FaultError) as caught:
        compile_select(text)

    hint = caught.value.faults[0].hint
    assert hint == (f"that is JSONPath; in JMESPath write `{right}`" if right else None)
