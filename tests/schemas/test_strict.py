"""What becomes of each thing that a schema can say, and what is told of what is lost (R13, U29)."""

from collections.abc import Iterator
from typing import Any

import pytest

from toolrt.schemas.merging import merged
from toolrt.schemas.profiles import ANTHROPIC, GOOGLE, OPENAI
from toolrt.schemas.strict import cleaned, loosened, rewritten


def closed(required: tuple[str, ...] = (), **properties: Any) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": properties,
        "required": list(required),
        "additionalProperties": False,
    }


def one(schema: Any, profile: Any = OPENAI, **more: Any) -> Any:
    """What a required parameter `x` of that schema becomes; its obstacles, where there are any."""
    made = rewritten({**closed(("x",), x=schema), **more}, profile)
    return [each.says for each in made.obstacles] or made.schema["properties"]["x"]


def told(schema: Any, profile: Any = OPENAI) -> list[tuple[str, str]]:
    return [tuple(each) for each in rewritten(closed(("x",), x=schema), profile).changes]


TEXT = {"type": "string"}


@pytest.mark.parametrize(
    ("schema", "made"),
    [
        ({"type": "string", "title": "X"}, TEXT),
        ({"type": "string", "pattern": "^a"}, {"type": "string", "pattern": "^a"}),
        ({"type": "string", "format": "path", "root": "data"}, TEXT),
        ({"type": "string", "x-ours": 1, "readOnly": True, "$comment": "c"}, TEXT),
        ({"type": "string", "minimum": 3}, TEXT),
        ({"type": ["string", "null"]}, {"type": ["string", "null"]}),
        ({"type": ["integer", "string"]}, {"anyOf": [{"type": "integer"}, TEXT]}),
        ({"anyOf": [TEXT, {"type": "null"}]}, {"type": ["string", "null"]}),
        ({"anyOf": [TEXT, TEXT]}, TEXT),
        ({"allOf": [TEXT, {"pattern": "^a"}]}, {"type": "string", "pattern": "^a"}),
        ({"enum": ["a", "b"]}, {"type": "string", "enum": ["a", "b"]}),
        ({"enum": ["a", None]}, {"type": ["string", "null"], "enum": ["a", None]}),
        ({"enum": ["a", 1]},
         {"anyOf": [{"type": "string", "enum": ["a"]}, {"type": "integer", "enum": [1]}]}),
        ({"const": "a"}, {"type": "string", "const": "a"}),
        ({"const": None}, {"type": "null"}),
        ({"type": "string", "enum": ["a", None]}, {"type": "string", "enum": ["a"]}),
        ({"items": TEXT}, {"type": "array", "items": TEXT}),
        ({"type": "array", "prefixItems": [TEXT, {"type": "integer"}], "items": False},
         {"type": "array", "items": {"anyOf": [TEXT, {"type": "integer"}]}}),
        ({"type": "string", "contentEncoding": "base64"},
         {"type": "string", "description": "(encoding: base64)"}),
        ({"type": "string", "description": "A city.", "default": "Oslo"},
         {"type": "string", "description": "A city. (default: Oslo)"}),
        ({"$ref": "#/properties/y"}, {"$ref": "#/$defs/y"}),
    ],
    ids=str,
)  # fmt: skip
def test_what_can_be_said_is_said(schema, made):
    assert one(schema, properties={"x": schema, "y": TEXT}) == made


@pytest.mark.parametrize(
    ("schema", "why"),
    [
        ({}, "it takes any value"),
        (True, "it takes any value"),
        ({"description": "Anything."}, "it takes any value"),
        ({"type": "array"}, "it takes any value"),
        ({"type": "object"}, "it takes names that are not known beforehand"),
        ({**closed(a=TEXT), "additionalProperties": True}, "it takes names that are not known beforehand"),
        ({**closed(a=TEXT), "additionalProperties": TEXT}, "it takes names that are not known beforehand"),
        ({**closed(a=TEXT), "patternProperties": {"^z": TEXT}},
         "it takes names that are not known beforehand"),
        (closed(("b",), a=TEXT), "it requires `b`, of which nothing is said"),
        ({"allOf": [TEXT, {"type": "integer"}]}, "what its parts have in common cannot be told"),
        ({"enum": [{"a": 1}]}, "it takes names that are not known beforehand"),
    ],
    ids=str,
)  # fmt: skip
def test_what_cannot_be_said_is_an_obstacle(schema, why):
    assert one(schema)[0] == why


@pytest.mark.parametrize(
    ("schema", "says"),
    [
        ({"type": "string", "minLength": 3}, "`minLength` is told in the description"),
        ({"type": "array", "items": TEXT, "contains": TEXT}, "`contains` is checked by toolrt alone"),
        ({"oneOf": [TEXT, {"type": "integer"}]},
         "that just one alternative holds is checked by toolrt alone"),
        ({"type": "string", "anyOf": [{"minLength": 3}, {"const": ""}]},
         "`anyOf` is checked by toolrt alone"),
        ({"type": "string", "not": {"const": "x"}}, "`not` is checked by toolrt alone"),
        ({"type": "array", "prefixItems": [TEXT]}, "which item stands where is checked by toolrt alone"),
        ({"type": "string", "enum": [["a"], "a"]}, "`one of` is told in the description"),
        ({"type": "object", "properties": {"a": TEXT}, "required": ["a"]}, "it takes no names but these"),
    ],
    ids=str,
)  # fmt: skip
def test_r13_what_is_lost_is_told_once_with_its_parameter(schema, says):
    found = [each for each in told(schema) if each[1] == says]

    assert len(found) == 1
    assert found[0][0].startswith("x")


def test_what_is_lost_deep_inside_has_its_whole_path():
    inner = closed(("stops",), stops={"type": "array", "items": {"type": "string", "maxLength": 3}})

    assert told(inner) == [("x.stops[]", "`maxLength` is told in the description")]


def test_who_leaves_out_sends_null_and_it_is_told_where_null_means_something_else():
    schema = closed(a=TEXT, b={"type": ["string", "null"], "default": "b"})

    made = rewritten(schema, OPENAI)

    assert made.schema["required"] == ["a", "b"]
    assert made.schema["properties"]["a"] == {"type": ["string", "null"]}
    assert [tuple(each) for each in made.changes] == [
        ("b", "it cannot be left out, for null is a value of its own here")
    ]


def test_anthropic_has_alternatives_in_place_of_lists_of_types_and_optional_parameters():
    made = rewritten(closed(a={"type": ["string", "null"]}, b=TEXT), ANTHROPIC).schema

    assert made["properties"]["a"] == {"anyOf": [TEXT, {"type": "null"}]}
    assert made["required"] == []


@pytest.mark.parametrize(("count", "is_kept"), [(0, True), (1, True), (2, False)])
def test_anthropic_knows_two_least_numbers_of_items(count, is_kept):
    made = one({"type": "array", "items": TEXT, "minItems": count}, ANTHROPIC)

    assert ("minItems" in made) == is_kept
    assert ("minItems: 2" in made.get("description", "")) == (not is_kept)


def test_for_google_what_cannot_be_said_is_said_more_generally():
    made = rewritten(closed(("x",), x={}, y={"type": "object"}), GOOGLE)

    assert made.schema["properties"] == {
        "x": {},
        "y": {"type": "object"},
    }
    assert made.obstacles == ()


def test_alternatives_at_the_top_are_checked_by_toolrt_alone():
    schema = {**closed(a=TEXT, b=TEXT), "anyOf": [{"required": ["a"]}, {"required": ["b"]}]}

    for made in (rewritten(schema, OPENAI), loosened(schema, OPENAI)):
        assert "anyOf" not in made.schema
        assert ("", "`anyOf` at the top is checked by toolrt alone") in [
            tuple(each) for each in made.changes
        ]


def test_a_schema_that_is_a_reference_is_what_it_leads_to():
    schema = {"$ref": "#/$defs/A", "$defs": {"A": closed(("x",), x=TEXT)}}

    assert rewritten(schema, OPENAI).schema == closed(("x",), x=TEXT)
    assert loosened(schema, OPENAI).schema["properties"] == {"x": TEXT}


def test_a_reference_with_something_beside_it_is_told_together():
    made = one({"$ref": "#/$defs/A", "pattern": "^a"}, **{"$defs": {"A": TEXT}})

    assert made == {"type": "string", "pattern": "^a"}


def test_a_reference_keeps_its_description_at_its_place():
    made = one({"$ref": "#/$defs/A", "description": "This one."}, **{"$defs": {"A": TEXT}})

    assert made == {"anyOf": [{"$ref": "#/$defs/A"}], "description": "This one."}


def test_nothing_stands_beside_a_reference_that_alternatives_come_down_to():
    made = one({"anyOf": [{"$ref": "#/$defs/A"}], "examples": ["x"]}, **{"$defs": {"A": TEXT}})

    assert made == {"anyOf": [{"$ref": "#/$defs/A"}], "description": "(for example: x)"}


def test_definitions_that_nobody_uses_are_left_out():
    assert "$defs" not in rewritten({**closed(), "$defs": {"A": TEXT}}, OPENAI).schema


def test_definitions_of_one_name_keep_apart():
    schema = closed(("a", "b"), a={"$ref": "#/$defs/A"}, b={"$ref": "#/definitions/A"})

    made = rewritten(
        {**schema, "$defs": {"A": TEXT}, "definitions": {"A": {"type": "null"}}}, OPENAI
    )

    assert made.schema["$defs"] == {"A": TEXT, "A_2": {"type": "null"}}


def test_references_that_lead_to_more_and_more_are_too_large():
    defs = {f"D{n}": closed(("a", "b"), a={"$ref": f"#/$defs/D{n + 1}"}, b={"$ref": f"#/$defs/D{n + 1}"})
            for n in range(20)}  # fmt: skip
    schema = {**closed(x={"$ref": "#/$defs/D0"}), "$defs": {**defs, "D20": TEXT}}

    inlined, kept = rewritten(schema, GOOGLE), rewritten(schema, OPENAI)

    assert inlined.schema is None
    assert "more than 10,000 parts" in inlined.obstacles[0].says
    assert "21 levels" in kept.obstacles[0].says


@pytest.mark.parametrize(
    ("pattern", "is_kept"),
    [
        (r"^[A-Z]{2}\d+(?:-\w*)?$", True),
        (r"^a\.b\/c$", True),
        (r"(?i)^a", False),
        (r"(?P<year>\d{4})", False),
        (r"^\p{L}+$", False),
        (r"\Aa\z", False),
    ],
)
def test_patterns_of_our_own_syntax_are_told(pattern, is_kept):
    made = one({"type": "string", "pattern": pattern})

    assert ("pattern" in made) == is_kept
    assert (f"pattern: {pattern}" in made.get("description", "")) == (not is_kept)


def test_an_enum_of_many_long_values_is_more_than_openai_takes():
    long, short = ([f"{n:0{size}}" for n in range(251)] for size in (60, 50))

    assert (
        one({"enum": long})[0] == "it has 15,060 characters in a long enum, and openai takes 15,000"
    )
    assert one({"enum": short})["enum"] == short


def test_a_long_enum_is_more_than_openai_takes():
    assert "1,001 values of enums" in one({"enum": [f"v{n}" for n in range(1001)]})[0]


ANY_LISTS = [
    {"type": "array"},
    {"type": ["array", "null"]},
    {"type": "array", "items": True},
    {"type": "array", "items": {}},
    {"type": "object", "properties": {"deep": {"type": "array"}}},
    {"type": "object", "additionalProperties": {"type": "array"}},
    {"anyOf": [{"type": "array"}, {"type": "string"}]},
    {"type": "array", "items": {"type": "array"}},
    {"type": "array", "prefixItems": [{"type": "array"}]},
    {"$ref": "#/$defs/list"},
]
"""Lists of anything, as people write them."""


def lists_in(schema: Any) -> Iterator[dict[str, Any]]:
    """Every schema of a list, at any depth."""
    if isinstance(schema, list):
        for each in schema:
            yield from lists_in(each)
    if not isinstance(schema, dict):
        return
    if "array" in schema.get("type", ()):
        yield schema
    for each in schema.values():
        yield from lists_in(each)


@pytest.mark.parametrize("schema", ANY_LISTS, ids=str)
@pytest.mark.parametrize("profile", [OPENAI, ANTHROPIC], ids=["openai", "anthropic"])
def test_m3_a_list_says_something_of_its_items_where_a_model_is_held_to_nothing(schema, profile):
    whole = {**closed(x=schema), "$defs": {"list": {"type": "array"}}}

    found = list(lists_in(loosened(whole, profile).schema))

    assert found
    assert all(isinstance(each.get("items"), dict) for each in found)


@pytest.mark.parametrize("schema", ANY_LISTS, ids=str)
def test_m3_a_list_of_anything_is_one_of_named_types_for_google_and_it_is_told(schema):
    whole = {**closed(x=schema), "$defs": {"list": {"type": "array"}}}

    made = rewritten(whole, GOOGLE)

    found = list(lists_in(made.schema))
    assert found
    assert all(each.get("items") for each in found)
    assert "its items are told as texts, numbers, truth values or objects" in [
        each.says for each in made.changes
    ]


def test_m3_a_list_that_holds_itself_has_items_for_google():
    loop = {"type": "array", "items": {"$ref": "#/$defs/loop"}}

    made = rewritten({**closed(x={"$ref": "#/$defs/loop"}), "$defs": {"loop": loop}}, GOOGLE)

    assert all(each.get("items") for each in lists_in(made.schema))


def test_m3_what_a_list_says_of_its_items_stays():
    schema = {"type": "array", "items": TEXT}

    assert loosened(closed(x=schema), OPENAI).schema["properties"]["x"] == schema
    assert one(schema, GOOGLE) == schema


def test_m3_a_property_that_is_called_type_makes_no_list():
    schema = closed(type={"const": "array"}, x={"type": "string", "default": {"type": "array"}})

    assert loosened(schema, OPENAI).schema == schema


def test_u29_titles_go_and_properties_called_title_stay_at_every_depth():
    deep = {"title": "A", "properties": {"title": {"title": "B", "type": "string"}},
            "$defs": {"title": {"title": "C"}}, "x-ours": 1, "$schema": "s",
            "items": [{"title": "D"}], "default": {"title": "a value"}}  # fmt: skip

    assert cleaned(deep) == {
        "properties": {"title": TEXT},
        "$defs": {"title": {}},
        "items": [{}],
        "default": {"title": "a value"},
    }


@pytest.mark.parametrize(
    ("parts", "whole"),
    [
        ([{"minimum": 1}, {"minimum": 3}], {"minimum": 3}),
        ([{"maxLength": 1}, {"maxLength": 3}], {"maxLength": 1}),
        ([{"type": "number"}, {"type": ["integer", "string"]}], {"type": "integer"}),
        ([{"enum": [1, True, "a"]}, {"enum": ["a", 1]}], {"enum": [1, "a"]}),
        ([{"required": ["a"]}, {"required": ["b", "a"]}], {"required": ["a", "b"]}),
        ([{"properties": {"a": {"minimum": 1}}}, {"properties": {"a": {"maximum": 2}, "b": True}}],
         {"properties": {"a": {"minimum": 1, "maximum": 2}, "b": True}}),
        ([{"description": "one"}, {"description": "two"}], {"description": "one"}),
        ([{"additionalProperties": False}, {"additionalProperties": TEXT}],
         {"additionalProperties": False}),
        ([True, TEXT], TEXT),
        ([{"type": "string"}, {"type": "integer"}], None),
        ([{"enum": [1]}, {"enum": [True]}], None),
        ([{"pattern": "a"}, {"pattern": "b"}], None),
        ([{"not": {}}, {"not": TEXT}], None),
        ([False, TEXT], None),
        ([{"items": TEXT}, {"items": {"type": "null"}}], None),
    ],
    ids=str,
)  # fmt: skip
def test_parts_that_hold_together_are_one_schema_or_none(parts, whole):
    assert merged(parts) == whole
