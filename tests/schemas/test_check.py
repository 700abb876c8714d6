import math
import socket
import threading
import time
from datetime import date

import pytest

from toolrt.schemas.arguments import ArgumentChecker
from toolrt.schemas.check import schema_faults
from toolrt.schemas.keywords import FORMATS
from toolrt.schemas.validators import DRAFTS, compile_validator

PLAIN = {
    "type": "object",
    "properties": {
        "city": {"type": "string", "description": "City", "examples": ["Tokyo"]},
        "days": {"type": "integer", "minimum": 1, "maximum": 14, "default": 3},
        "units": {"enum": ["metric", "imperial"], "default": "metric"},
        "tenant": {"type": "string", "from": "caller.tenant"},
    },
    "required": ["city"],
    "additionalProperties": False,
}


def only(schema):
    (fault,) = schema_faults(schema)
    return fault


def codes(schema):
    return [fault.code for fault in schema_faults(schema)]


def parameter(**words):
    return {"type": "object", "properties": {"a": words}}


@pytest.mark.parametrize(
    "schema",
    [
        {},
        PLAIN,
        parameter(anyOf=[{"type": "integer"}, {"type": "null"}], default=None),
        {"properties": {"child": {"$ref": "#"}}},
        {"properties": {"a": {"$ref": "#/$defs/A~1b%20c"}}, "$defs": {"A/b c": {}}},
        {"$anchor": "here", "properties": {"a": {"$ref": "#here"}}},
        {
            "$id": "http://example.com/",
            "properties": {"a": {"$ref": "b.json"}},
            "$defs": {"b": {"$id": "b.json", "type": "integer"}},
        },
        {"$ref": "https://json-schema.org/draft/2020-12/schema"},
        {
            "$schema": "http://json-schema.org/draft-07/schema#",
            "definitions": {"a": {"type": "string"}},
            "dependencies": {"x": ["y"]},
            "items": [{"$ref": "#/definitions/a"}],
        },
        {"allOf": [{"properties": {"base": {}}}], "properties": {"x": {}}, "required": ["base"]},
        {"anyOf": [{"required": ["a"]}, {"required": ["b"]}], "properties": {"a": {}, "b": {}}},
        parameter(default={"x": 1}, type="object", additionalProperties={"type": "integer"}),
        parameter(type="string", format="path", root=".", allow_dash=True, sensitive=True),
        parameter(**{"x-order": 1, "$comment": "é", "default_from": "caller.tenant"}),
        parameter(properties={"b": {"sensitive": True}}),
        parameter(enum=["a", 1, None]),
        parameter(type=["string", "null"], enum=["a", None]),
        parameter(type="number", enum=[1, 1.5], default=1),
        parameter(pattern=r"^\d{4}-\p{L}+$"),
    ],
)
def test_what_can_be_used_has_no_fault(schema):
    assert schema_faults(schema) == []
    compile_validator(schema)


@pytest.mark.parametrize(
    ("word", "hint"),
    [
        ("strin", "did you mean `string`?"),
        ("int", "write `integer`"),
        ("list", "write `array`"),
        ("frobnicate", None),
    ],
)
def test_an_unknown_type_is_told_once_with_the_nearest_right_name(word, hint):
    fault = only(parameter(type=word))

    assert (fault.code, fault.path, fault.hint) == (
        "unknown-type",
        ("properties", "a", "type"),
        hint,
    )


@pytest.mark.parametrize(
    ("word", "hint"),
    [
        ("minumum", "did you mean `minimum`?"),
        ("Pattern", "did you mean `pattern`?"),
        ("nullable", 'write `type: [string, "null"]`'),
        ("max", "did you mean `maximum`?"),
    ],
)
def test_a_misspelt_keyword_is_an_error_because_it_checks_nothing(word, hint):
    fault = only(parameter(**{word: 1}))

    assert (fault.code, fault.severity, fault.hint) == ("unknown-keyword", "error", hint)
    assert fault.path == ("properties", "a", word)
    assert fault.on_key


def test_a_keyword_that_is_like_no_other_is_a_warning():
    assert only(parameter(discriminator={"propertyName": "kind"})).severity == "warning"


def test_the_words_of_parameters_are_unknown_elsewhere():
    assert codes({"from": "caller.tenant"}) == ["unknown-keyword"]
    assert codes(parameter(items={"root": "."})) == ["unknown-keyword"]


def test_a_path_anywhere_has_words_of_ours():
    items = {"type": "string", "format": "path", "root": "d", "allow_dash": True, "sensitive": True}
    assert codes(parameter(type="array", items=items)) == []
    assert codes(parameter(type="array", items={**items, "from": "x"})) == ["unknown-keyword"]
    assert codes(parameter(items={"items": items})) == []
    assert codes(parameter(properties={"p": items}, anyOf=[items])) == []


@pytest.mark.parametrize(
    ("schema", "path", "message"),
    [
        ({"required": True}, ("required",), "`required` must be an array, not true"),
        ({"minimum": "x"}, ("minimum",), '`minimum` must be a number, not "x"'),
        ({"maxLength": -1}, ("maxLength",), "`maxLength` must be a value of at least 0, not -1"),
        ({"properties": []}, ("properties",), "`properties` must be an object, not []"),
        ({"items": {"not": 3}}, ("items", "not"), "`not` must be a boolean or object, not 3"),
        ({"anyOf": []}, ("anyOf",), "`anyOf` must be a value of at least 1 item, not []"),
        ({"type": 3}, ("type",), None),
        ({"enum": "abc"}, ("enum",), '`enum` must be an array, not "abc"'),
        ({"$ref": 3}, ("$ref",), "`$ref` must be a string, not 3"),
    ],
)
def test_what_breaks_the_draft_is_told_at_its_place(schema, path, message):
    fault = only(schema)

    assert (fault.code, fault.path) == ("bad-schema", path)
    assert message in {None, fault.message}


def test_all_faults_are_told_at_once():
    broken = {
        "properties": {
            "a": {"type": "strin", "minimum": "x"},
            "b": {"pattern": "["},
            "c": {"$ref": "#/$defs/none"},
        }
    }

    assert codes(broken) == ["unknown-type", "bad-pattern", "bad-schema", "bad-ref"]


@pytest.mark.parametrize("schema", [None, 3, True, [], "string"])
def test_a_schema_is_a_mapping(schema):
    assert only(schema).code == "bad-schema"


NO_JSON = [date(2026, 1, 1), math.nan, "\ud800", {1: 2}, [object()], 10**5000]


@pytest.mark.parametrize("value", NO_JSON, ids=lambda value: type(value).__name__)
def test_what_is_no_json_is_told_at_its_place(value):
    assert only(parameter(default=value)).path[:3] == ("properties", "a", "default")


@pytest.mark.parametrize(
    "schema", [{1: 2}, {"properties": {1: {}}}, {"properties": {"\ud800": {}}}]
)
def test_names_that_are_no_text_are_faults(schema):
    assert only(schema).code == "bad-schema"


@pytest.mark.parametrize(
    ("words", "value"),
    [
        ({"type": "integer", "maximum": 14}, 20),
        ({"type": "integer"}, "3"),
        ({"type": "integer"}, True),
        ({"enum": ["a"]}, "b"),
        ({"minLength": 2}, "a"),
        ({"pattern": "^a$"}, "b"),
        ({"format": "date"}, "today"),
        ({"type": "array", "items": {"type": "string"}}, [1]),
        ({"$ref": "#/$defs/A"}, "b"),
        ({"anyOf": [{"type": "integer"}, {"type": "null"}]}, "x"),
    ],
)
def test_a_default_fits_its_own_schema(words, value):
    schema = parameter(**words, default=value) | {"$defs": {"A": {"const": "a"}}}
    fault = only(schema)

    assert (fault.code, fault.severity) == ("bad-default", "error")
    assert fault.path == ("properties", "a", "default")


def test_a_bad_default_is_told_in_words():
    fault = only(parameter(type="integer", minimum=1, maximum=14, default=20))

    assert fault.message == "the default must be an integer between 1 and 14, not 20"


def test_a_default_of_null_is_not_a_way_to_make_it_optional():
    assert only(parameter(type="integer", default=None)).hint == (
        "leave it out: `required: false` makes it optional"
    )


def test_an_example_that_does_not_fit_is_a_warning():
    fault = only(parameter(type="string", examples=["a", 1]))

    assert (fault.code, fault.severity) == ("bad-example", "warning")
    assert fault.path == ("properties", "a", "examples", 1)


@pytest.mark.parametrize(
    ("words", "path"),
    [
        ({"enum": ["a", 1]}, ("enum", 1)),
        ({"const": 1}, ("const",)),
    ],
)
def test_an_option_that_can_never_be_taken_is_a_fault(words, path):
    fault = only(parameter(type="string", **words))

    assert (fault.code, fault.path[2:]) == ("bad-option", path)
    assert fault.hint == 'write it in quotes: "1"'


def test_a_required_name_is_a_property():
    closed = {"properties": {"city": {}}, "required": ["ctiy"], "additionalProperties": False}
    fault = only(closed)

    assert (fault.code, fault.path, fault.severity) == (
        "unknown-required",
        ("required", 0),
        "error",
    )
    assert fault.hint == "did you mean `city`?"
    assert only(closed | {"additionalProperties": True}).severity == "warning"


def test_an_unknown_format_is_a_warning():
    fault = only(parameter(format="emial"))

    assert (fault.code, fault.severity) == ("unknown-format", "warning")
    assert fault.hint == "did you mean `email`?"


@pytest.mark.parametrize("name", sorted(FORMATS))
def test_every_known_format_is_checked(name):
    garbage = {"a": "\\ %zz {"}

    assert compile_validator(parameter(format=name)).is_valid(garbage) is False


@pytest.mark.parametrize(
    ("pattern", "why"),
    [
        (r"(a)\1", "back-reference"),
        (r"(?<x>a)\k<x>", "back-reference"),
        ("(?=a)b", "look-around"),
        ("(?<!a)b", "look-around"),
        ("[", "no regular expression: unclosed character class"),
        ("a\n(", "no regular expression: unclosed group"),
        ("a{1000}{1000}", "too large"),
    ],
)
def test_p11_patterns_run_in_linear_time_or_not_at_all(pattern, why):
    fault = only(parameter(pattern=pattern))

    assert (fault.code, fault.path) == ("bad-pattern", ("properties", "a", "pattern"))
    assert why in fault.message


def test_names_of_pattern_properties_are_patterns():
    assert only({"patternProperties": {"[": {}}}).path == ("patternProperties", "[")


@pytest.mark.parametrize(
    "schema",
    [
        {"$ref": "#"},
        {"allOf": [{"$ref": "#"}]},
        {"if": {"$ref": "#"}},
        {"dependentSchemas": {"a": {"$ref": "#"}}},
        {"$ref": "#/$defs/a", "$defs": {"a": {"$ref": "#/$defs/b"}, "b": {"$ref": "#/$defs/a"}}},
        {"properties": {"x": {"$ref": "#/properties/x"}}},
    ],
)
def test_a_reference_that_leads_only_to_itself_is_a_fault(schema):
    assert only(schema).code == "ref-loop"


def test_references_that_multiply_are_a_fault():
    doubling = {
        f"a{n}": {"allOf": [{"$ref": f"#/$defs/a{n + 1}"}, {"$ref": f"#/$defs/a{n + 1}"}]}
        for n in range(40)
    }

    assert codes({"$ref": "#/$defs/a0", "$defs": doubling | {"a40": {}}}) == ["schema-too-large"]


def test_a_very_long_chain_of_references_is_a_fault():
    chain = {f"a{n}": {"$ref": f"#/$defs/a{n + 1}"} for n in range(5000)}

    assert codes({"$ref": "#/$defs/a0", "$defs": chain | {"a5000": {}}}) == ["schema-too-large"]


@pytest.mark.parametrize(
    ("ref", "message", "hint"),
    [
        ("#/$defs/Citty", "there is no `#/$defs/Citty`", "did you mean `#/$defs/City`?"),
        ("#/properties/0", "there is no", None),
        ("#nowhere", "there is no", None),
        ("./city.json", "nothing is fetched", "copy it under `$defs` and write `#/$defs/NAME`"),
    ],
)
def test_a_reference_leads_to_a_place_in_the_schema(ref, message, hint):
    fault = only({"properties": {"a": {"$ref": ref}}, "$defs": {"City": {}}})

    assert (fault.code, fault.path) == ("bad-ref", ("properties", "a", "$ref"))
    assert message in fault.message
    assert fault.hint == hint


def test_among_many_identified_schemas_the_dangling_reference_is_told():
    schema = {
        "$id": "http://example.com/",
        "properties": {"a": {"$ref": "b.json"}, "c": {"$ref": "d.json"}},
        "$defs": {"b": {"$id": "b.json"}},
    }

    assert only(schema).path == ("properties", "c", "$ref")


@pytest.fixture
def listener():
    """A loopback server that takes no connection; gives its URL, and whether one came."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(0.2)
        came = []

        def wait():
            try:
                came.append(server.accept()[0])
            except TimeoutError:
                return

        thread = threading.Thread(target=wait)
        thread.start()
        yield f"http://127.0.0.1:{server.getsockname()[1]}/schema.json", came
        thread.join()
        for connection in came:
            connection.close()
        assert came == []


@pytest.mark.parametrize("word", ["$schema", "$ref", "$dynamicRef", "$id", "$vocabulary"])
def test_nothing_is_ever_fetched(listener, word):
    url, _ = listener
    value = {url: True} if word == "$vocabulary" else url
    schema_faults({word: value, "properties": {"a": {word: value, "$ref": "other"}}})


def test_an_unknown_draft_is_a_fault():
    assert codes({"$schema": "http://example.com/draft"}) == ["unknown-draft"]


@pytest.mark.parametrize("draft", DRAFTS)
def test_every_known_draft_is_taken(draft):
    assert schema_faults({"$schema": draft, "type": "object"}) == []
    assert codes({"$schema": f"{draft}#", "properties": 3}) == ["bad-schema"]
    assert ArgumentChecker({"$schema": draft, "required": ["a"]}).check({"a": 1}) == {"a": 1}


def deep(levels):
    schema = {}
    for _ in range(levels):
        schema = {"not": schema}
    return schema


@pytest.mark.parametrize(
    ("schema", "code"),
    [
        ({"anyOf": [{}] * 10_000}, "schema-too-large"),
        ({"properties": {f"p{n}": {} for n in range(20_001)}}, "schema-too-large"),
        ({"enum": list(range(20_001))}, "schema-too-large"),
        (deep(65), "schema-too-deep"),
        ({"default": [[[[deep(65)]]]]}, "bad-schema"),
    ],
    ids=["branches", "properties", "enum", "deep", "deep default"],
)
def test_r6_size_and_depth_are_limited(schema, code):
    started = time.process_time()

    assert codes(schema) == [code]
    assert time.process_time() - started < 2


def test_places_can_be_seen_from_further_out():
    (fault,) = schema_faults({"type": "strin"}, ("input_schema",))

    assert fault.path == ("input_schema", "type")


def test_a_thousand_tools_are_checked_in_a_moment():
    schema_faults(PLAIN)
    started = time.process_time()
    for _ in range(1000):
        schema_faults(PLAIN)

    assert time.process_time() - started < 2


def test_null_without_quotes_and_short_items_are_told_what_to_write():
    (fault,) = schema_faults({"properties": {"a": {"type": ["string", None]}}})
    assert fault.hint == 'write "null" in quotes; YAML reads it as no value without them'
    both = {"properties": {"a": {"type": ["string", None]}, "b": {"items": "string"}}}
    _, fault = schema_faults(both)
    assert fault.hint == "write `items: {type: string}`"
