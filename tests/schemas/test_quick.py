"""The quick check and the whole one say the same of everything: it is sooner, and no other."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from toolrt.core.errors import RefusedError
from toolrt.schemas.arguments import ArgumentChecker
from toolrt.schemas.quick import quick_check
from toolrt.schemas.settling import Settling
from toolrt.schemas.shapes import Shapes
from toolrt.schemas.validators import compile_validator


class Text(str):
    """A text of somebody's own."""

    __slots__ = ()


TEXTS = st.sampled_from(
    ["", "a", "ab", "metric", "ä", "\x00", "\ud800", "x" * 9, "日本", Text("a")]
)
NUMBERS = st.sampled_from(
    [0, 1, -1, 3, 14, 15, 2**63, -(2**63) - 1, 2**80, 1.0, 1.5, 0.0, -0.0, float("nan"), 1e300]
)
VALUES = st.one_of(
    TEXTS,
    NUMBERS,
    st.booleans(),
    st.none(),
    st.just([]),
    st.just(["a"]),
    st.just({}),
    st.just(b"a"),
)
MEMBERS = st.one_of(
    st.fixed_dictionaries(
        {"type": st.just("string")},
        optional={
            "minLength": st.sampled_from([0, 1, 2, 2**70]),
            "maxLength": st.sampled_from([0, 1, 8]),
            "format": st.just("date"),
            "default": st.sampled_from(["a", None]),
        },
    ),
    st.fixed_dictionaries(
        {"type": st.just("integer")},
        optional={
            "minimum": st.sampled_from([0, 1, -5, 0.5, 2**64]),
            "maximum": st.sampled_from([14, 3, 2**64, 1.5]),
            "default": st.sampled_from([1, 2]),
        },
    ),
    st.sampled_from(
        [
            {"type": "boolean"},
            {"type": "boolean", "default": True},
            {"type": "number"},
            {"type": ["string", "null"]},
            {"type": "string", "enum": ["metric", "ä"], "default": "metric"},
            {"enum": ["a", "ab"]},
            {"enum": ["a", 1]},
            {"type": "integer", "enum": ["a"]},
            {"type": "string", "pattern": "^a"},
            {"const": "a"},
            {},
            True,
        ]
    ),
)


@st.composite
def cases(draw: st.DrawFn) -> tuple[dict[str, Any], Any]:
    members = MEMBERS.map(_with_fitting_default)
    properties = draw(st.dictionaries(st.sampled_from(["a", "b", "ü"]), members, max_size=3))
    schema = {
        "type": "object",
        "properties": properties,
        "required": [name for name in properties if draw(st.booleans())],
        "additionalProperties": False,
    }
    names = st.sampled_from(["a", "b", "ü", "other"])
    arguments = draw(st.one_of(st.dictionaries(names, VALUES, max_size=3), VALUES))
    return schema, arguments


def _with_fitting_default(member: Any) -> Any:
    """As it is written, but for a default that does not fit: that is an error of the file."""
    if member is True or "default" not in member:
        return member
    if compile_validator(member).is_valid(member["default"]):
        return member
    return {name: value for name, value in member.items() if name != "default"}


@settings(max_examples=300)
@given(cases())
def test_whoever_checks_a_call_is_checked_alike(case: tuple[dict[str, Any], Any]) -> None:
    schema, arguments = case
    whole = _outcome(lambda given: ArgumentChecker(schema).check_with_notes(given)[0], arguments)
    assert _outcome(ArgumentChecker(schema).soonest, arguments) == whole
    assert _outcome(ArgumentChecker(schema).check, arguments) == whole


@pytest.mark.parametrize(
    "schema",
    [
        {"a": {"type": "string", "minLength": 1, "description": "A."}, "b": {"type": "boolean"}},
        {"a": {"enum": ["x", "y"], "default": "x"}},
        {"a": {"type": "integer", "minimum": 1, "maximum": 14, "default": 3}},
    ],
)
def test_what_most_tools_take_never_needs_the_whole_check(schema: dict[str, Any]) -> None:
    root = {"type": "object", "properties": schema, "additionalProperties": False}
    shapes = Shapes(root)
    settling = Settling(shapes)
    check = quick_check(shapes, compile_validator(root), settling.defaults, _never)
    assert check is not None
    given = {"string": "x", "boolean": True, "integer": 3}
    arguments = {name: given.get(each.get("type", ""), "x") for name, each in schema.items()}
    assert check(arguments) == arguments
    assert check(arguments) is not arguments


@pytest.mark.parametrize("text", ["\ud800", "a\udfffb", "\ude00\ud83d"])
def test_s4_half_a_character_is_refused_whatever_the_schema_says_of_texts(text: str) -> None:
    for member in (
        {"type": "string"},
        {"type": "string", "default": "x"},
        {"type": "string", "maxLength": 9},
    ):
        schema = {"type": "object", "properties": {"a": member}, "additionalProperties": False}
        for check in (ArgumentChecker(schema).soonest, ArgumentChecker(schema).check):
            with pytest.raises(RefusedError, match="half a character"):
                check({"a": text})


def _never(arguments: Any) -> dict[str, Any]:
    raise AssertionError(f"{arguments!r} was looked at twice")


def _outcome(check: Any, arguments: Any) -> Any:
    try:
        made = check(arguments)
    except RefusedError as error:
        return error.code, error.message, error.hint
    return [(name, type(made[name]), repr(made[name])) for name in sorted(made)]
