"""The work of checking one call is bounded, whatever schema and arguments come together."""

import time

import pytest

from toolrt.core.errors import RefusedError
from toolrt.schemas.arguments import ArgumentChecker
from toolrt.schemas.effort import Effort, holds_more


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

    assert holds_more([value], 2)
    assert not holds_more([value], 3)
    assert not holds_more([type("Odd", (), odd)()], 1)
    assert Effort(WIDE, tags=True).of({"a": [value]}, 10**6) == 903


def test_looks_are_counted_by_level():
    plain = {"type": "object", "properties": {"a": {"type": "array", "items": {"type": "string"}}}}

    assert Effort(plain, tags=True).by_level == [1, 1, 1, 0]
    assert Effort(WIDE, tags=True).by_level == [1, 1, 901, 0]
    assert Effort(TAGGED, tags=True).by_level[:4] == [1, 5, 5, 5]
    assert Effort(TAGGED, tags=False).by_level[:4] == [1, 5, 10, 20]
