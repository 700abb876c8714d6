import pytest

from toolrt.faces.cli.signature import parameters, signature, type_text, types_of

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
