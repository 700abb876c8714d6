import time
from collections import OrderedDict
from datetime import date
from enum import Enum, IntEnum, StrEnum
from types import MappingProxyType
from typing import NamedTuple

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from toolrt.core.errors import RefusedError
from toolrt.schemas.arguments import ArgumentChecker, parse_arguments
from toolrt.schemas.text import parse_json

FORECAST = {
    "type": "object",
    "properties": {
        "city": {"type": "string", "examples": ["Tokyo"]},
        "days": {"type": "integer", "minimum": 1, "maximum": 14, "default": 3},
        "units": {"enum": ["metric", "imperial"], "default": "metric"},
    },
    "required": ["city"],
    "additionalProperties": False,
}


def schema(**properties):
    return {"type": "object", "properties": properties, "additionalProperties": False}


def check(the_schema, arguments, **options):
    return ArgumentChecker(the_schema, **options).check(arguments)


def refused(the_schema, arguments, **options):
    with pytest.raises(RefusedError) as caught:
        check(the_schema, arguments, **options)
    return caught.value


def faults(the_schema, arguments):
    return {f["pointer"]: f for f in refused(the_schema, arguments).details["faults"]}


def test_defaults_are_filled_in():
    assert check(FORECAST, {"city": "Oslo"}) == {"city": "Oslo", "days": 3, "units": "metric"}


def test_the_result_is_a_new_value_down_to_the_leaves():
    sent = {"a": {"b": [1]}}

    checked = check(schema(a={"type": "object"}), sent)
    checked["a"]["b"].append(2)

    assert sent == {"a": {"b": [1]}}


def test_a_default_is_copied_for_every_call():
    checker = ArgumentChecker(schema(a={"type": "array", "default": []}))

    checker.check({})["a"].append(1)

    assert checker.check({}) == {"a": []}


def test_defaults_of_nested_objects_are_filled_in_where_the_object_is_given():
    nested = schema(a=schema(b={"default": 1}), c=schema(b={"default": 1}))

    assert check(nested, {"a": {}}) == {"a": {"b": 1}}


def test_defaults_are_found_behind_references_and_optional_objects():
    pagination = schema(size={"type": "integer", "default": 10})
    nested = schema(
        page={"anyOf": [{"$ref": "#/$defs/Page"}, {"type": "null"}]},
        pages={"type": "array", "items": {"allOf": [{"$ref": "#/$defs/Page"}]}},
    ) | {"$defs": {"Page": pagination}}

    checked = check(nested, {"page": {}, "pages": [{}, {"size": 2.0}]})

    assert checked == {"page": {"size": 10}, "pages": [{"size": 10}, {"size": 2}]}


def test_a_recursive_schema_is_followed_as_deep_as_the_value():
    tree = schema(size={"type": "integer", "default": 0}, child={"$ref": "#"})

    assert check(tree, {"child": {"child": {"size": 1.0}}}) == {
        "size": 0,
        "child": {"size": 0, "child": {"size": 1}},
    }


def test_null_counts_as_not_given():
    assert check(FORECAST, {"city": "Oslo", "days": None, "units": None})["days"] == 3


def test_null_for_a_required_argument_counts_as_missing():
    assert refused(FORECAST, {"city": None}).code == "missing-arguments"


@pytest.mark.parametrize(
    "allowing",
    [
        {"type": ["string", "null"]},
        {"anyOf": [{"type": "string"}, {"type": "null"}]},
        {"enum": ["a", None]},
        {"const": None},
        {},
    ],
)
def test_null_is_a_value_where_the_schema_allows_it(allowing):
    assert check(schema(a=allowing), {"a": None}) == {"a": None}


def test_null_in_an_array_is_never_dropped():
    assert refused(schema(a={"items": {"type": "string"}}), {"a": [None]})


def test_an_empty_text_is_a_value():
    assert check(FORECAST, {"city": ""})["city"] == ""


@pytest.mark.parametrize("place", [{"a": 1.0}, {"b": [1.0, 2]}, {"c": {"d": 1.0}}, {"e": 1.0}])
def test_a_whole_number_becomes_an_integer(place):
    number = {"type": "integer"}
    anywhere = schema(
        a=number,
        b={"type": "array", "items": number},
        c={"type": "object", "additionalProperties": number},
        e={"enum": [1, 2]},
    )

    assert repr(check(anywhere, place)) == repr(place).replace("1.0", "1")


def test_a_float_stays_one_where_any_number_will_do():
    assert repr(check(schema(a={"type": "number"}), {"a": 1.0})) == "{'a': 1.0}"


def test_large_integers_stay_exact():
    assert check(schema(a={"type": "integer"}), {"a": 2**53 + 1}) == {"a": 9007199254740993}


@pytest.mark.parametrize(
    ("wanted", "sent"),
    [("integer", True), ("integer", "1"), ("integer", 1.5), ("string", 1), ("boolean", 1)],
)
def test_p10_types_are_strict(wanted, sent):
    assert refused(schema(a={"type": wanted}), {"a": sent}).code == "invalid-arguments"


class Colour(StrEnum):
    RED = "red"


class Level(IntEnum):
    HIGH = 3


class Plain(Enum):
    ONE = "one"


class Point(NamedTuple):
    x: int
    y: int


@pytest.mark.parametrize(
    ("sent", "plain"),
    [
        (Colour.RED, "red"),
        (Level.HIGH, 3),
        (Plain.ONE, "one"),
        (Point(1, 2), [1, 2]),
        ((1, (2,)), [1, [2]]),
        (OrderedDict(a=1), {"a": 1}),
        (MappingProxyType({"a": Colour.RED}), {"a": "red"}),
        ({Colour.RED: 1}, {"red": 1}),
    ],
)
def test_values_of_python_callers_become_plain(sent, plain):
    checked = check(schema(a={}), {"a": sent})["a"]

    assert checked == plain
    assert type(checked) is type(plain)
    assert all(type(key) is str for key in checked) if isinstance(checked, dict) else True


@pytest.mark.parametrize(
    "sent",
    [
        date(2026, 1, 1),
        object(),
        b"x",
        {1, 2},
        float("nan"),
        float("-inf"),
        {1: 2},
        {(): 1},
        10**4300,
        -(10**5000),
        "\ud800",
        {"\udfff": 1},
        ["x", {"y": "a\udc00b"}],
    ],
    ids=lambda sent: type(sent).__name__,
)
def test_values_that_json_does_not_have_are_refused(sent):
    error = refused(schema(a={}), {"a": sent})

    assert error.code == "invalid-arguments"
    assert error.details["faults"][0]["pointer"].startswith("/a")
    f"{error.message} {error.hint} {error.details}".encode()


def test_integers_of_4300_digits_pass():
    assert check(schema(a={}), {"a": 10**4300 - 1})["a"] == 10**4300 - 1


def test_arguments_nest_64_deep_and_no_deeper():
    deep = []
    for _ in range(62):
        deep = [deep]

    assert check(schema(a={}), {"a": deep})
    assert refused(schema(a={}), {"a": [deep]}).code == "invalid-arguments"


def test_a_value_that_holds_itself_is_refused():
    endless = []
    endless.append(endless)

    assert refused(schema(a={}), {"a": endless}).code == "invalid-arguments"


def test_hidden_names_are_refused_and_never_required():
    bound = schema(city={"type": "string"}, tenant={"type": "string"}) | {"required": ["tenant"]}
    hidden = frozenset({"tenant"})

    assert check(bound, {"city": "x"}, hidden=hidden) == {"city": "x"}
    error = refused(bound, {"tenant": "acme", "city": 1}, hidden=hidden)
    assert "`tenant` is filled in by the system, leave it out" in error.message
    assert "`city` must be a string" in error.message
    assert error.details["required"] == []


def test_a_hidden_name_is_refused_where_any_other_name_is_taken():
    open_schema = {"type": "object", "properties": {"tenant": {"type": "string"}}}
    error = refused(open_schema, {"tenant": "acme", "x": 1}, hidden=frozenset({"tenant"}))

    assert [fault["pointer"] for fault in error.details["faults"]] == ["/tenant"]


def test_a_hidden_default_is_not_filled_in():
    bound = schema(tenant={"default": "none"})

    assert check(bound, {}, hidden=frozenset({"tenant"})) == {}


def test_coercion_is_off_unless_asked_for():
    assert refused(FORECAST, {"city": "Oslo", "days": "3"})


def test_coercion_happens_before_the_second_look_and_is_noted():
    checker = ArgumentChecker(FORECAST, coerce=True)

    checked, notes = checker.check_with_notes({"city": "Oslo", "days": "5"})

    assert checked == {"city": "Oslo", "days": 5, "units": "metric"}
    assert notes == ['`days` was sent as "5" and taken as 5']


def test_valid_arguments_are_never_coerced():
    assert ArgumentChecker(FORECAST, coerce=True).check_with_notes({"city": "3"})[1] == []


def test_what_coercion_leaves_wrong_is_refused():
    error = refused(FORECAST, {"city": "Oslo", "days": "50"}, coerce=True)

    assert error.message == "`days` must be an integer between 1 and 14, not 50."


def test_making_a_checker_does_no_work():
    started = time.process_time()
    for _ in range(1000):
        ArgumentChecker(FORECAST)

    assert time.process_time() - started < 0.5


def test_a_schema_at_fault_makes_the_tool_unavailable():
    error = refused({"properties": {"a": {"type": "strin"}}}, {})

    assert error.code == "unavailable"


def test_a_remote_reference_is_never_fetched():
    assert refused({"$ref": "http://127.0.0.1:9/schema.json"}, {}).code == "unavailable"


def test_patterns_run_in_linear_time():
    started = time.process_time()
    error = refused(schema(a={"pattern": "(a+)+$"}), {"a": "a" * 50_000 + "!"})

    assert time.process_time() - started < 2
    assert len(error.message) < 300


@pytest.mark.parametrize("sent", ["ok\n", "\nok", "ok\r"])
def test_p11_the_end_of_a_pattern_is_the_end_of_the_text(sent):
    assert check(schema(a={"pattern": "^ok$"}), {"a": "ok"})
    assert refused(schema(a={"pattern": "^ok$"}), {"a": sent})


def test_formats_are_checked():
    assert check(schema(a={"format": "date"}), {"a": "2026-01-31"})
    assert refused(schema(a={"format": "date"}), {"a": "2026-02-31"})


def test_older_drafts_are_read_as_what_they_are():
    old = schema(a={"items": [{"type": "integer"}]}) | {
        "$schema": "http://json-schema.org/draft-07/schema#"
    }

    assert check(old, {"a": [1.0, "x"]}) == {"a": [1, "x"]}
    assert list(faults(old, {"a": ["x"]})) == ["/a/0"]


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)


@settings(deadline=None)
@given(json_values)
def test_anything_is_either_checked_or_refused(value):
    checker = ArgumentChecker(FORECAST | {"additionalProperties": {"type": "integer"}})
    try:
        checked = checker.check(value)
    except RefusedError as error:
        f"{error.message} {error.hint} {error.details}".encode()
        return
    assert checker.check(checked) == checked


WRONG = [
    "", "   ", "nope", '{"a": NaN}', '{"a": -Infinity}', '{"a": 1e400}', '{"a": 1,}', "{'a': 1}",
    '{"a": "\\ud800"}', '{"\\udc00": 1}', '{"a": "\ud800"}', '{"a":' + "9" * 4301 + "}",
    b"\xff\xfe{}", '{"a": 1}'.encode("utf-16"), b'{"a": "\xff"}', "\ufeff{}", '{"a": 1} x',
]  # fmt: skip
CUT_OFF = [
    "{", '{"a"', '{"a": ', '{"a": 1', '{"a": 1,', '{"a": tru', '{"a": "x', '{"a": "x\\',
    '{"a": "\\u12', '{"a": [1, {"b": "]}', '{"a": -', '{"a": 1.', b'{"a": "\xe6\x9d',
]  # fmt: skip


class TestText:
    def test_numbers_stay_exact(self):
        assert parse_arguments('{"a": 9007199254740993}') == {"a": 9007199254740993}

    def test_bytes_are_read_as_utf_8(self):
        assert parse_arguments('{"a": "é"}'.encode()) == {"a": "é"}

    def test_whole_characters_may_be_written_in_halves(self):
        assert parse_arguments(r'{"a": "\ud83d\ude00"}') == {"a": "😀"}

    def test_any_value_may_be_read(self):
        assert parse_json("[1, null]") == [1, None]

    @pytest.mark.parametrize(
        ("text", "pointer"),
        [
            ('{"a": 1, "a": 2}', "/a"),
            ('{"x": [{}, {"b/c": {"k": 1, "k": 1}}]}', "/x/1/b~1c/k"),
        ],
    )
    def test_a_name_given_twice_is_refused_with_its_place(self, text, pointer):
        error = self.refused(text)

        assert error.details["faults"][0]["pointer"] == pointer
        assert "twice" in error.message

    @pytest.mark.parametrize("text", WRONG)
    def test_what_is_no_json_is_refused(self, text):
        error = self.refused(text)

        assert "cut off" not in error.hint
        f"{error.message} {error.hint} {error.details}".encode()

    @pytest.mark.parametrize("text", CUT_OFF)
    def test_u55_json_that_stops_short_is_told_from_json_that_is_wrong(self, text):
        assert "cut off" in self.refused(text).hint

    @pytest.mark.parametrize("text", ["null", "[]", "3", '"x"', "true"])
    def test_arguments_are_an_object(self, text):
        assert "must be a JSON object" in self.refused(text).message

    @pytest.mark.parametrize("text", ["[" * 100_000, '{"a":' * 100_000, "[" * 65 + "]" * 65])
    def test_deep_nesting_is_refused_quickly(self, text):
        started = time.process_time()
        with pytest.raises(RefusedError, match="deeper than 64"):
            parse_json(text)

        assert time.process_time() - started < 0.5

    def test_64_levels_are_read(self):
        assert parse_json("[" * 64 + "]" * 64)

    @pytest.mark.parametrize("text", ['"' + "x" * 4_194_304, '"' + "é" * 2_097_152 + '"'])
    def test_more_than_4_mib_are_refused(self, text):
        assert "larger than" in self.refused(text).message

    def refused(self, text):
        with pytest.raises(RefusedError) as caught:
            parse_arguments(text)
        assert caught.value.code == "invalid-arguments"
        return caught.value

    @pytest.mark.parametrize("rest", ["nope", "[" * 100_000])
    def test_a_name_given_twice_is_told_even_when_the_rest_is_wrong(self, rest):
        assert "`a` is given twice" in self.refused('{"x": {"a": 1, "a": 2}, ' + rest).message


@pytest.mark.parametrize(
    "sent",
    [
        {"a": 1, **{f"k{number}": 1 for number in range(100_001)}},
        {"a": 1, "b": [{}] * 100_001},
        {"a": "no", "many": list(range(100_001))},
    ],
)
def test_more_values_than_can_be_explained_in_a_moment_are_refused_in_one_sentence(sent):
    schema = {
        "type": "object",
        "properties": {"a": {"type": "integer"}, "many": {"type": "array"}},
        "additionalProperties": False,
    }
    checker = ArgumentChecker(schema, coerce=True)

    with pytest.raises(RefusedError, match="more than 100,000 values") as refused:
        checker.check(sent)

    assert refused.value.code == "invalid-arguments"
    assert checker.check({"many": list(range(100_001))}) == {"many": list(range(100_001))}


@pytest.mark.parametrize(
    ("text", "is_many"),
    [
        ("[" + "{}," * 100_000 + "1]", True),
        ("[" + "{}," * 100_000, True),
        ("[" + "0," * 99_990 + "0]", False),
        ('["' + ",[{" * 100_000 + '"]', False),
    ],
)
def test_more_values_than_are_read_in_a_moment_are_refused_by_their_text(text, is_many):
    try:
        value, told = parse_json(text), ""
    except RefusedError as error:
        value, told = None, error.message

    assert ("more than 100,000 values" in told) is is_many
    assert (value is None) is is_many
