"""The work of checking one call is bounded, whatever schema and arguments come together."""

import time

import pytest

from toolrt.core.errors import RefusedError
from toolrt.schemas.arguments import ArgumentChecker
from toolrt.schemas.effort import LONG_NUMBERS, MANY_VALUES, Effort, excess

LONG = 10**4299


def of_array(items):
    return {
        "type": "object",
        "properties": {"a": {"type": "array", "items": items}},
        "additionalProperties": False,
    }


WIDE = of_array({"anyOf": [{"const": number} for number in range(900)]})
RECORDS = of_array(
    {"anyOf": [{"properties": {"k": {"const": number}}, "type": "object"} for number in range(900)]}
)


def recursive(*branches):
    return {
        "type": "object",
        "properties": {"a": {"$ref": "#/$defs/node"}},
        "$defs": {"node": {"anyOf": [*branches, {"type": "null"}]}},
    }


def node(**properties):
    return {
        "type": "object",
        "properties": {"n": {"$ref": "#/$defs/node"}, **properties},
        "required": list(properties),
        "additionalProperties": False,
    }


def nested(depth, leaf=None, **more):
    for _ in range(depth):
        leaf = {"n": leaf, **more}
    return leaf


TAGGED = recursive(node(t={"const": "and"}), node(t={"const": "or"}))
UNTAGGED = recursive(node(x={"type": "integer"}), node(y={"type": "string"}))
HUGE = {
    "the last of 900 constants": (WIDE, [899] * 200_000),
    "none of 900 constants": (WIDE, ["x"] * 200_000),
    "the last of 900 records": (RECORDS, [{"k": 899}] * 200_000),
    "forms in forms": (UNTAGGED, nested(60, {"x": 1, "n": 5}, x=1)),
    "a number of many digits": (WIDE, [LONG]),
    "a number of many digits, out of 900": (of_array({"enum": list(range(900))}), [LONG]),
    "a long text": (WIDE, ["y" * 4_000_000]),
    "many texts": (WIDE, ["y" * 1000] * 4_000),
}


@pytest.mark.parametrize(("schema", "value"), HUGE.values(), ids=HUGE)
def test_f109_many_forms_times_many_values_are_refused_well_below_a_second(schema, value):
    checker = ArgumentChecker(schema)
    began = time.process_time()

    with pytest.raises(RefusedError) as refused:
        checker.check({"a": value})

    assert time.process_time() - began < 2
    assert refused.value.code == "invalid-arguments"
    assert "`a` is too large to be checked" in refused.value.message
    assert "send less of `a`" in refused.value.hint


@pytest.mark.parametrize("forms", [2, 10, 100])
@pytest.mark.parametrize("value", [LONG, "y" * 4_000_000], ids=["number", "text"])
def test_what_is_wrong_with_something_long_is_not_told_once_for_each_form(forms, value):
    schema = of_array({"anyOf": [{"type": "integer", "maximum": each} for each in range(forms)]})
    began = time.process_time()

    with pytest.raises(RefusedError) as refused:
        ArgumentChecker(schema).check({"a": [value]})

    assert time.process_time() - began < 1
    assert refused.value.message.startswith("`a")


def test_names_that_are_missing_are_told_beside_a_long_text_without_repeating_it():
    names = [f"n{number}" for number in range(100)]
    schema = {"type": "object", "properties": {"a": {"type": "string"}}, "required": names}
    began = time.process_time()

    with pytest.raises(RefusedError) as refused:
        ArgumentChecker(schema).check({"a": "y" * 4_000_000})

    assert time.process_time() - began < 1
    assert refused.value.message.startswith("20 arguments are missing: `n0`, `n1`")


@pytest.mark.parametrize("items", [{}, {"type": "integer", "minimum": 0}, {"enum": [1]}], ids=str)
def test_many_long_numbers_are_refused_before_they_are_compared(items):
    checker = ArgumentChecker(of_array(items))
    began = time.process_time()

    with pytest.raises(RefusedError) as refused:
        checker.check({"a": [LONG] * 900})

    assert time.process_time() - began < 0.5
    assert refused.value.message == f"the arguments hold {LONG_NUMBERS}."
    assert refused.value.hint == "send fewer of them, or each as text"


def test_some_long_numbers_are_taken():
    numbers = ArgumentChecker(of_array({"type": "integer", "minimum": 0}))
    for given in ([LONG] * 20, [2**256] * 10_000):
        assert numbers.check({"a": given}) == {"a": given}


def test_many_forms_or_many_values_alone_are_taken():
    assert ArgumentChecker(WIDE).check({"a": [899] * 1_000}) == {"a": [899] * 1_000}
    numbers = list(range(200_000))
    assert ArgumentChecker(of_array({"type": "integer"})).check({"a": numbers}) == {"a": numbers}


def test_records_that_a_constant_tells_apart_may_be_nested_deeply():
    value = nested(40, t="or")

    assert ArgumentChecker(TAGGED).check({"a": value}) == {"a": value}


@pytest.mark.parametrize("schema", [TAGGED, UNTAGGED], ids=["tagged", "untagged"])
def test_the_faults_of_forms_in_forms_are_told_without_following_every_way(schema):
    began = time.process_time()

    with pytest.raises(RefusedError) as refused:
        ArgumentChecker(schema).check({"a": nested(16, t="neither")})

    assert time.process_time() - began < 2
    assert refused.value.message.startswith("`a` must be an object")


def _raises(*_):
    raise SystemExit


@pytest.mark.parametrize(("base", "content"), [(dict, {"a": [1]}), (list, [1, 1]), (tuple, (1, 1))])
def test_counting_asks_no_code_of_whoever_made_a_value(base, content):
    odd = {"__class__": property(_raises), "values": _raises, "__iter__": _raises}
    value = type("Odd", (base,), odd)(content)

    assert excess([value] * 50_001) == MANY_VALUES
    assert excess([value]) is excess([type("Odd", (), odd)()]) is None
    assert Effort(WIDE, tags=True).of({"a": [value]}, 10**6) == 903


def test_looks_are_counted_by_level():
    plain = {"type": "object", "properties": {"a": {"type": "array", "items": {"type": "string"}}}}

    assert Effort(plain, tags=True).by_level == [1, 1, 1, 0]
    assert Effort(WIDE, tags=True).by_level == [1, 1, 901, 0]
    assert Effort(TAGGED, tags=True).by_level[:4] == [1, 5, 5, 5]
    assert Effort(TAGGED, tags=False).by_level[:4] == [1, 5, 10, 20]
