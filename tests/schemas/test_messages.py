"""What a model reads when its arguments do not fit."""

import pytest

from toolrt.core.errors import RefusedError
from toolrt.schemas.arguments import ArgumentChecker
from toolrt.schemas.explanations import EXPLAINED
from toolrt.schemas.validators import KINDS

FORECAST = {
    "type": "object",
    "properties": {
        "city": {"type": "string", "examples": ["Tokyo"]},
        "days": {"type": "integer", "minimum": 1, "maximum": 14},
        "units": {"enum": ["metric", "imperial"]},
    },
    "required": ["city"],
    "additionalProperties": False,
}


def refused(schema, arguments):
    with pytest.raises(RefusedError) as caught:
        ArgumentChecker(schema).check(arguments)
    return caught.value


def fault(schema, value):
    """The one fault of a value for the argument `a`."""
    error = refused({"properties": {"a": schema}}, {"a": value})
    (only,) = error.details["faults"]
    return only


def test_every_kind_of_violation_has_its_words():
    assert EXPLAINED.keys() == KINDS


def test_all_faults_are_told_at_once():
    error = refused(FORECAST, {"days": "three", "unit": "metric"})

    assert error.code == "invalid-arguments"
    assert error.message == (
        "3 things are wrong with the arguments: "
        '`days` must be an integer between 1 and 14, not "three"; '
        "there is no `unit` (did you mean `units`?); "
        "`city` is missing."
    )
    assert error.hint == "rename `unit` to `units`, correct `days`, add `city` and call again"
    assert error.details == {
        "faults": [
            {
                "pointer": "/days",
                "expected": "integer between 1 and 14",
                "got": '"three"',
                "message": '`days` must be an integer between 1 and 14, not "three"',
            },
            {
                "pointer": "/unit",
                "expected": "one of `city`, `days`, `units`",
                "got": "a value",
                "message": "there is no `unit` (did you mean `units`?)",
                "nearest": "units",
            },
            {
                "pointer": "/city",
                "expected": "string",
                "got": "nothing",
                "message": "`city` is missing",
                "example": '"Tokyo"',
            },
        ],
        "required": ["city"],
    }


def test_r47_one_fault_comes_with_an_action_and_an_example():
    error = refused(FORECAST, {"city": 5})

    assert error.message == "`city` must be a string, not 5."
    assert error.hint == 'correct `city` and call again (an example: "Tokyo")'


def test_a_misspelt_name_is_one_remedy_even_when_it_was_required():
    error = refused(FORECAST, {"ctiy": "Oslo"})

    assert error.code == "invalid-arguments"
    assert error.hint == "rename `ctiy` to `city` and call again"


@pytest.mark.parametrize("sent", ["MaxItems", "max-items", "maxItems", "max_item"])
def test_the_nearest_name_is_found_in_other_spellings(sent):
    schema = {"properties": {"max_items": {}, "city": {}}, "additionalProperties": False}

    assert refused(schema, {sent: 1}).details["faults"][0]["nearest"] == "max_items"


def test_u55_missing_arguments_have_their_own_code_and_name_all_that_are_required():
    schema = {"properties": {"a": {}, "b": {}, "c": {}}, "required": ["a", "b"]}
    error = refused(schema, {})

    assert error.code == "missing-arguments"
    assert error.message == "2 arguments are missing: `a`, `b`."
    assert error.hint == "the call was probably cut off (max tokens): send all of: `a`, `b`"
    assert error.details["required"] == ["a", "b"]


@pytest.mark.parametrize(
    ("sent", "looks_cut_off"),
    [({"a": 1}, True), ({"a": 1, "b": 2}, True), ({"a": 1, "d": 4}, False), ({"e": 5}, False)],
)
def test_u55_a_call_that_stops_short_is_told_from_an_omission(sent, looks_cut_off):
    schema = {"properties": dict.fromkeys("abcd", True), "required": ["a", "c"]}
    error = refused(schema, sent)

    assert ("cut off" in error.hint) is looks_cut_off
    assert error.hint.endswith("send all of: `a`, `c`")


def test_an_argument_missing_further_inside_is_missing_too():
    schema = {"properties": {"a": {"properties": {"b": {}}, "required": ["b"]}}}
    error = refused(schema, {"a": {}})

    assert error.code == "missing-arguments"
    assert error.message == "`a.b` is missing."


def test_at_most_20_faults_are_listed_and_5_are_told():
    schema = {"properties": {"a": {"items": {"type": "integer"}}}}
    error = refused(schema, {"a": ["x"] * 500})

    assert len(error.details["faults"]) == 20
    assert error.message.count("must be") == 5
    assert error.message.startswith("20 or more things are wrong")
    assert len(error.message) + len(error.hint) < 600


def test_a_huge_value_is_refused_without_a_word_on_each_part():
    schema = {"properties": {"a": {"type": "array", "items": {"type": "integer"}}, "b": {}}}
    schema["required"] = ["b"]

    huge = refused(schema, {"a": ["x"] * 90_000, "b": 1})
    assert huge.details["faults"][0]["pointer"] == "/a"
    assert "an array whose items are each an integer" in huge.message

    both = refused(schema, {"a": ["x"] * 90_000})
    assert [fault["pointer"] for fault in both.details["faults"]] == ["/b"]


@pytest.mark.parametrize(
    ("schema", "value", "message"),
    [
        ({"type": "integer"}, "x", '`a` must be an integer, not "x"'),
        ({"type": ["integer", "null"]}, "x", '`a` must be an integer or null, not "x"'),
        ({"type": "integer", "minimum": 1}, 0, "`a` must be an integer of at least 1, not 0"),
        ({"maximum": 1}, 2, "`a` must be a value of at most 1, not 2"),
        (
            {"type": "number", "exclusiveMinimum": 0, "maximum": 9},
            0,
            "`a` must be a number greater than 0 and at most 9, not 0",
        ),
        ({"exclusiveMaximum": 1}, 1, "`a` must be a value less than 1, not 1"),
        ({"multipleOf": 5}, 3, "`a` must be a value that is a multiple of 5, not 3"),
        ({"const": 3}, 4, "`a` must be exactly 3, not 4"),
        (
            {"enum": ["metric", "imperial"]},
            "Metric",
            '`a` must be one of "metric", "imperial", not "Metric" (did you mean "metric"?)',
        ),
        ({"enum": [1, "1"]}, 2, '`a` must be one of 1, "1", not 2'),
        (
            {"type": "string", "minLength": 2, "maxLength": 3},
            "x",
            '`a` must be a string of 2 to 3 characters, not "x"',
        ),
        ({"minLength": 2}, "x", '`a` must be a value of at least 2 characters, not "x"'),
        ({"maxLength": 1}, "xy", '`a` must be a value of at most 1 character, not "xy"'),
        ({"pattern": "^a$"}, "b", '`a` must be a value that matches ^a$, not "b"'),
        (
            {"type": "string", "format": "date"},
            "today",
            '`a` must be a string in the form of a date like 2026-01-31, not "today"',
        ),
        ({"minItems": 1}, [], "`a` must be a value of at least 1 item, not []"),
        ({"maxItems": 1}, [1, 2], "`a` must be a value of at most 1 item, not an array of 2"),
        (
            {"type": "array", "uniqueItems": True},
            [1, 1],
            "`a` must be an array without repeated items, not one with repeated items",
        ),
        (
            {"contains": {"type": "integer"}, "minContains": 2},
            ["x", 1],
            "`a` must be a value with at least 2 of an integer, not an array of 2",
        ),
        ({"prefixItems": [{}], "items": False}, [1, 2], "`a[1]` is not taken here"),
        (
            {"prefixItems": [{}], "unevaluatedItems": False},
            [1, 2],
            "`a` has more items than are taken",
        ),
        ({"minProperties": 1}, {}, "`a` must be a value of at least 1 member, not {}"),
        (
            {"maxProperties": 1},
            {"b": 1, "c": 2},
            "`a` must be a value of at most 1 member, not an object with b, c",
        ),
        ({"additionalProperties": False}, {"b": 1}, "there is no `b` in `a`"),
        (
            {"properties": {"bc": {}}, "unevaluatedProperties": False},
            {"bd": 1},
            "there is no `bd` in `a`",
        ),
        (
            {"propertyNames": {"pattern": "^x"}},
            {"b": 1},
            "the name `b` in `a` must be a value that matches ^x",
        ),
        (
            {"dependentRequired": {"b": ["c"]}},
            {"b": 1},
            "`a.c` is missing: `b` cannot go without it",
        ),
        (
            {"dependentSchemas": {"b": {"required": ["c"]}}},
            {"b": 1},
            "`a.c` is missing",
        ),
        (False, 1, "`a` is not taken here"),
        ({"not": {"type": "string"}}, "x", "`a` must not be a string"),
        (
            {"if": {"type": "string"}, "then": {"minLength": 3}},
            "x",
            '`a` must be a value of at least 3 characters, not "x"',
        ),
        (
            {"items": {"properties": {"b": {"type": "integer"}}}},
            [{"b": 1}, {"b": "x"}],
            '`a[1].b` must be an integer, not "x"',
        ),
    ],
)
def test_r22_every_message_says_what_is_expected(schema, value, message):
    assert fault(schema, value)["message"] == message


def test_contents_of_older_drafts_are_checked_and_told():
    schema = {
        "$schema": "http://json-schema.org/draft-07/schema#",
        "properties": {
            "a": {"contentEncoding": "base64"},
            "b": {"contentMediaType": "application/json"},
            "c": {"items": [{}], "additionalItems": False},
        },
    }
    error = refused(schema, {"a": "??", "b": "{", "c": [1, 2]})

    assert [fault["message"] for fault in error.details["faults"]] == [
        '`a` must be a value encoded as base64, not "??"',
        '`b` must be a value of media type application/json, not "{"',
        "`c` has more items than are taken",
    ]


INVOICE = {
    "type": "object",
    "properties": {"kind": {"const": "invoice"}, "nr": {"type": "integer"}},
}
REFUND = {"type": "object", "properties": {"kind": {"const": "refund"}, "why": {"type": "string"}}}


@pytest.mark.parametrize(
    ("schema", "value", "message"),
    [
        (
            {"anyOf": [{"type": "integer", "minimum": 3}, {"type": "null"}]},
            1,
            "`a` must be an integer of at least 3, not 1",
        ),
        (
            {"anyOf": [{"type": "integer"}, {"type": "null"}]},
            "x",
            '`a` must be an integer or null, not "x"',
        ),
        (
            {"oneOf": [INVOICE, REFUND]},
            {"kind": "invoice", "nr": "x"},
            '`a.nr` must be an integer, not "x"',
        ),
        (
            {"oneOf": [{"type": "integer"}, {"type": "number"}]},
            1,
            "`a` fits more than one of its forms: make it exactly one of: integer or number",
        ),
    ],
)
def test_of_alternatives_the_one_that_was_meant_is_explained(schema, value, message):
    assert fault(schema, value)["message"] == message


def test_references_are_followed():
    schema = {
        "properties": {"a": {"$ref": "#/$defs/Days"}},
        "$defs": {"Days": {"type": "integer", "maximum": 14}},
    }

    assert refused(schema, {"a": 15}).message == "`a` must be an integer of at most 14, not 15."


def test_sensitive_values_are_masked():
    secret = {"type": "object", "properties": {"pin": {"type": "string", "sensitive": True}}}
    schema = {
        "properties": {
            "key": {"type": "string", "maxLength": 3, "sensitive": True},
            "nested": {"items": secret},
            "one_of": {"oneOf": [secret | {"minProperties": 2}, secret | {"maxProperties": 0}]},
        },
        "minProperties": 9,
    }
    error = refused(
        schema,
        {"key": "hunter2", "nested": [{"pin": 12345}], "one_of": {"pin": 67890}, "kye": "hunter3"},
    )

    told = f"{error.message} {error.hint} {error.details}"
    assert "***" in told
    assert not [secret for secret in ("hunter", "12345", "67890") if secret in told]


def test_values_are_shown_short_and_with_nothing_invisible():
    shown = fault({"type": "integer"}, "\x1b[2J\u202e\U000e0041 \u200b東京" + "x" * 1000)["got"]

    assert shown.startswith('"\\u001b[2J\\u202e\\U000e0041 \\u200b東京')
    assert len(shown) <= 60
    assert shown.isprintable()


def test_names_are_shown_short_and_with_nothing_invisible():
    schema = {"properties": {}, "additionalProperties": False}
    error = refused(schema, {"\x1b]0;pwn\x07" + "x" * 100_000: 1})

    assert error.message.isprintable()
    assert len(error.message) < 200


def test_a_pattern_that_is_too_long_to_read_is_cut():
    assert len(fault({"pattern": "^(" + "a|" * 500 + "b)$"}, "c")["message"]) < 150


def test_many_options_are_cut():
    message = fault({"enum": [f"option {n}" for n in range(100)]}, "other")["message"]

    assert "and 80 more" in message


PERSON = {
    "type": "object",
    "properties": {"name": {"type": "string"}, "email": {"type": "string"}},
    "required": ["name", "email"],
    "additionalProperties": False,
}
COMPANY = {
    "type": "object",
    "properties": {"name": {"type": "string"}, "number": {"type": "string"}},
    "required": ["name", "number"],
    "additionalProperties": False,
}


@pytest.mark.parametrize("word", ["anyOf", "oneOf"])
@pytest.mark.parametrize("is_by_reference", [True, False])
def test_a_misspelt_name_in_one_of_two_models_is_named_with_the_right_one(word, is_by_reference):
    references = [{"$ref": "#/$defs/Person"}, {"$ref": "#/$defs/Company"}]
    schema = {
        "type": "object",
        "properties": {"who": {word: references if is_by_reference else [PERSON, COMPANY]}},
        "$defs": {"Person": PERSON, "Company": COMPANY},
    }

    with pytest.raises(RefusedError) as refused:
        ArgumentChecker(schema).check({"who": {"name": "Ada", "emial": "ada@example.com"}})

    assert "there is no `emial` in `who` (did you mean `email`?)" in refused.value.message
    assert "number" not in refused.value.message


def test_an_object_that_is_like_none_of_two_models_gets_the_general_message():
    schema = {"type": "object", "properties": {"who": {"anyOf": [PERSON, COMPANY]}}}

    with pytest.raises(RefusedError) as refused:
        ArgumentChecker(schema).check({"who": {"xyz": 1}})

    assert refused.value.message.startswith("`who` must be an object with name, email or object")
