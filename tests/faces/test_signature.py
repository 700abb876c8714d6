import pytest

from toolrt.faces.cli.signature import fields, parameters, signature, type_text, types_of

ROOT = {
    "$defs": {"unit": {"enum": ["metric", "imperial"]}, "loop": {"$ref": "#/$defs/loop"}},
    "properties": {
        "days": {"type": "integer", "minimum": 1, "maximum": 14, "default": 3},
        "city": {"type": "string", "examples": ["Tokyo", "New York"], "description": "Where."},
    },
    "required": ["city"],
}


def test_a_signature_reads_like_a_function():
    assert signature("w.forecast", ROOT) == "w.forecast(city: string, days?: integer=3)"


def test_a_tool_without_parameters_takes_nothing():
    assert signature("now", {"type": "object"}) == "now()"


@pytest.mark.parametrize(
    ("spec", "text"),
    [
        ({"type": "string"}, "string"),
        ({}, "any"),
        (True, "any"),
        ({"type": ["string", "null"]}, "string|null"),
        ({"anyOf": [{"type": "integer"}, {"type": "null"}]}, "integer|null"),
        ({"type": "array", "items": {"type": "integer"}}, "integer[]"),
        ({"type": "array", "items": {"enum": ["a", "b"]}}, "(a|b)[]"),
        ({"type": "array"}, "array"),
        ({"$ref": "#/$defs/unit"}, "metric|imperial"),
        ({"$ref": "#/$defs/loop"}, "any"),
        ({"$ref": "#/$defs/absent"}, "any"),
        ({"const": "two words"}, '"two words"'),
        ({"enum": [1, None]}, "1|null"),
    ],
)
def test_a_type_in_words(spec, text):
    assert type_text(spec, ROOT) == text


@pytest.mark.parametrize(
    ("spec", "types"),
    [
        ({"type": "integer"}, {"integer"}),
        ({"type": ["number", "null"]}, {"number", "null"}),
        ({"enum": [1, 2.5]}, {"integer", "number"}),
        ({"enum": [1, "auto"]}, {"integer", "string"}),
        ({"const": True}, {"boolean"}),
        ({"$ref": "#/$defs/unit"}, {"string"}),
        ({"oneOf": [{"type": "integer"}, {"type": "boolean"}]}, {"integer", "boolean"}),
        ({"allOf": [{"type": ["integer", "string"]}, {"type": "integer"}]}, {"integer"}),
    ],
)
def test_the_types_a_schema_takes(spec, types):
    assert types_of(spec, ROOT) == types


@pytest.mark.parametrize("spec", [{}, True, {"$ref": "#/$defs/loop"}, {"minimum": 3}])
def test_a_schema_that_does_not_say_takes_text_too(spec):
    assert "string" in types_of(spec, ROOT)


def test_limits_are_told_in_words():
    city, days = parameters(ROOT)

    assert (city.limits, city.default) == ('e.g. Tokyo, "New York"', None)
    assert (days.limits, days.default) == (">= 1, <= 14", "3")


NESTED = {
    "$defs": {
        "Place": {
            "type": "object",
            "properties": {
                "zip": {"type": "integer", "minimum": 1},
                "next": {"$ref": "#/$defs/Place"},
            },
            "required": ["zip"],
        }
    },
    "properties": {
        "to": {"anyOf": [{"$ref": "#/$defs/Place"}, {"type": "null"}]},
        "stops": {"type": "array", "items": {"$ref": "#/$defs/Place"}},
    },
}


def test_fields_of_objects_follow_their_parameter():
    names = [each.name for each in fields(NESTED)]

    assert names[:4] == ["to", "to.zip", "to.next", "to.next.zip"]
    assert "stops[].zip" in names
    assert len(names) < 20


def test_a_field_has_its_limits():
    found = {each.name: each for each in fields(NESTED)}

    assert (found["to.zip"].limits, found["to.zip"].is_required) == (">= 1", True)


@pytest.mark.parametrize(
    ("spec", "limits"),
    [
        ({"anyOf": [{"type": "string", "format": "date"}, {"type": "null"}]}, "format date"),
        (
            {"type": "array", "items": {"type": "string", "minLength": 2}},
            "each at least 2 characters",
        ),
        ({"enum": ["a" * 30, "b" * 30]}, f"one of {'a' * 30}, {'b' * 30}"),
        ({"enum": ["a", "b"]}, ""),
        (True, ""),
    ],
)
def test_limits_stand_wherever_the_schema_has_them(spec, limits):
    [found] = parameters({"properties": {"x": spec}})

    assert found.limits == limits
