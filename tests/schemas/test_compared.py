"""What breaks calls that fitted an older schema (R17)."""

from typing import Any

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from vendor_schemas import arguments_schemas, fitting_schemas, values

from toolrt.schemas.compared import differences
from toolrt.schemas.validators import compile_validator


def of(**properties: Any) -> dict[str, Any]:
    """A closed schema; a name that ends in `_` is a required parameter."""
    required = [name[:-1] for name in properties if name.endswith("_")]
    named = {name.removesuffix("_"): each for name, each in properties.items()}
    return {"type": "object", "properties": named, "required": required,
            "additionalProperties": False}  # fmt: skip


TEXT, WHOLE, NUMBER = {"type": "string"}, {"type": "integer"}, {"type": "number"}


@pytest.mark.parametrize(
    ("old", "new", "path", "says"),
    [
        (of(a=TEXT), of(), "a", "it is gone"),
        (of(), of(a_=TEXT), "a", "it is required now"),
        (of(a=TEXT), of(a_=TEXT), "a", "it is required now"),
        (of(a=NUMBER), of(a=WHOLE), "a", "it takes no number any more"),
        (of(a={}), of(a=TEXT), "a", "it takes string only"),
        ({"type": "array"}, {"type": "array", "items": TEXT}, "[]", "it takes string only"),
        (of(a={"type": "object"}), of(a={"type": "object", "additionalProperties": TEXT}), "a.*",
         "it takes string only"),
        (of(a={"type": ["string", "null"]}), of(a=TEXT), "a", "it takes no null any more"),
        (of(a={"enum": ["x", "y"]}), of(a={"enum": ["x"]}), "a", "it takes fewer values"),
        (of(a={"enum": [1]}), of(a={"enum": [True]}), "a", "it takes fewer values"),
        (of(a=TEXT), of(a={**TEXT, "enum": ["x"]}), "a", "it takes certain values only"),
        (of(a=WHOLE), of(a={**WHOLE, "minimum": 1}), "a", "`minimum` is 1"),
        (of(a={**WHOLE, "maximum": 9}), of(a={**WHOLE, "maximum": 8}), "a", "`maximum` is 8"),
        (of(a=TEXT), of(a={**TEXT, "pattern": "^x"}), "a", "`pattern` is another"),
        (of(a=of(b=TEXT)), of(a=of(b_=TEXT)), "a.b", "it is required now"),
        (of(a={"type": "array", "items": TEXT}), of(a={"type": "array", "items": WHOLE}), "a[]",
         "it takes no string any more"),
        ({"type": "object", "properties": {}}, of(), "", "it takes no other names any more"),
    ],
    ids=str,
)  # fmt: skip
def test_what_breaks_calls_is_told_with_its_parameter(old, new, path, says):
    assert (path, says, True) in [tuple(each) for each in differences(old, new)]


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        (of(), of(a=TEXT), ["it is new, and may be left out"]),
        (of(a_=TEXT), of(a=TEXT), []),
        (of(a=WHOLE), of(a=NUMBER), ["it takes number, too"]),
        (of(a={"enum": ["x"]}), of(a={"enum": ["y", "x"]}), ["it takes more values"]),
        (of(a={**WHOLE, "minimum": 1}), of(a=WHOLE), ["`minimum` is gone"]),
        (of(a={**TEXT, "pattern": "x"}), of(a=TEXT), ["`pattern` is another"]),
        (of(a={**TEXT, "description": "A."}), of(a={**TEXT, "title": "B"}), []),
        (of(a=TEXT), of(a={}), ["it takes any value"]),
        ({**of(), "additionalProperties": False}, {**of(), "additionalProperties": TEXT}, []),
        ({"type": "object", "properties": {"a": TEXT}}, {"type": "object"}, ["it is gone"]),
        ({**of(a={"$ref": "#/$defs/A"}), "$defs": {"A": TEXT}}, of(a=TEXT), []),
    ],
    ids=str,
)
def test_what_breaks_no_call_is_told_as_such(old, new, told):
    found = differences(old, new)

    assert [each.says for each in found] == told
    assert not any(each.is_breaking for each in found)


@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(data=st.data(), old=fitting_schemas(), new=fitting_schemas())
def test_without_a_breaking_difference_every_old_call_still_fits(data, old, new):
    merged = {**new, "properties": {**new["properties"], **old["properties"]},
              "required": data.draw(st.sampled_from([old["required"], new["required"]]))}  # fmt: skip
    assume(not any(each.is_breaking for each in differences(old, merged)))
    arguments = data.draw(values(old, old))
    assume(compile_validator(old).is_valid(arguments))

    assert compile_validator(merged).is_valid(arguments)


@settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck))
@given(schema=arguments_schemas(), other=arguments_schemas())
def test_the_same_schema_has_no_difference_and_none_breaks_the_comparison(schema, other):
    assert differences(schema, schema) == []
    differences(schema, other)
