import pytest

from toolrt.core.errors import RefusedError
from toolrt.schemas.arguments import ArgumentChecker

INTEGER = {"type": "integer"}
NUMBER = {"type": "number"}
BOOLEAN = {"type": "boolean"}
TEXT = {"type": "string"}
MAYBE_INTEGER = {"anyOf": [INTEGER, {"type": "null"}]}
LIST = {"type": "array", "items": INTEGER}
OBJECT = {"type": "object", "properties": {"n": INTEGER}, "required": ["n"]}


def coerce(schema, value):
    checker = ArgumentChecker({"properties": {"a": schema}}, coerce=True)
    checked, notes = checker.check_with_notes({"a": value})
    return checked["a"], notes


@pytest.mark.parametrize(
    ("schema", "sent", "taken"),
    [
        (INTEGER, "3", 3),
        (INTEGER, "-3", -3),
        (INTEGER, "0", 0),
        (INTEGER, "9007199254740993", 9007199254740993),
        (INTEGER, "3.0", 3),
        ({"enum": [1, 2]}, "2", 2),
        (MAYBE_INTEGER, "3", 3),
        (NUMBER, "3", 3),
        (NUMBER, "1.5", 1.5),
        (NUMBER, "-1e-3", -0.001),
        (BOOLEAN, "true", True),
        (BOOLEAN, "false", False),
        (LIST, 3, [3]),
        (LIST, "3", [3]),
        (LIST, "[1, 2]", [1, 2]),
        (LIST, ["1", 2], [1, 2]),
        ({"type": "array", "items": TEXT}, "x", ["x"]),
        ({"type": "array", "items": TEXT}, "[x", ["[x"]),
        (OBJECT, '{"n": 1}', {"n": 1}),
        (OBJECT, '{"n": "1"}', {"n": 1}),
        ({"type": "array", "items": OBJECT}, {"n": "1"}, [{"n": 1}]),
        ({"type": "array", "items": OBJECT}, '{"n": 1}', [{"n": 1}]),
    ],
)
def test_what_loses_nothing_is_taken_and_noted(schema, sent, taken):
    value, notes = coerce(schema, sent)

    assert value == taken
    assert type(value) is type(taken)
    assert notes
    assert all(note.startswith("`a") for note in notes)


@pytest.mark.parametrize(
    ("schema", "sent"),
    [
        (INTEGER, "3.5"),
        (INTEGER, "three"),
        (INTEGER, ""),
        (INTEGER, " 3"),
        (INTEGER, "3\n"),
        (INTEGER, "+3"),
        (INTEGER, "007"),
        (INTEGER, "1_000"),
        (INTEGER, "0x10"),
        (INTEGER, "٣"),
        (INTEGER, "9" * 4301),
        (INTEGER, "null"),
        (INTEGER, True),
        (NUMBER, "1e400"),
        (NUMBER, "1.00000000000000000001"),
        (NUMBER, "nan"),
        (NUMBER, "Infinity"),
        (NUMBER, "1."),
        (BOOLEAN, "True"),
        (BOOLEAN, "yes"),
        (BOOLEAN, "1"),
        (BOOLEAN, 1),
        (TEXT, 3),
        (TEXT, True),
        (OBJECT, "[1]"),
        (OBJECT, '{"n": 1, "n": 2}'),
        (OBJECT, '{"n": 1'),
        (OBJECT, "[" * 100_000),
        (LIST, {"n": 1}),
        ({"anyOf": [INTEGER, BOOLEAN]}, "3"),
    ],
)
def test_everything_else_stays_refused(schema, sent):
    with pytest.raises(RefusedError, match="must be"):
        coerce(schema, sent)


@pytest.mark.parametrize("schema", [TEXT, {}, {"type": ["string", "integer"]}, {"enum": ["3", 3]}])
def test_text_stays_text_where_text_is_taken(schema):
    checker = ArgumentChecker({"properties": {"a": schema, "b": INTEGER}}, coerce=True)
    checked, notes = checker.check_with_notes({"a": "3", "b": "4"})

    assert checked == {"a": "3", "b": 4}
    assert notes == ['`b` was sent as "4" and taken as 4']


def test_a_note_on_a_sensitive_value_shows_nothing_of_it():
    value, notes = coerce(INTEGER | {"sensitive": True}, "123456")

    assert value == 123456
    assert notes == ["`a` was sent as *** and taken as ***"]


def test_what_was_sent_is_left_as_it_is():
    sent = {"a": ["1"]}
    ArgumentChecker({"properties": {"a": LIST}}, coerce=True).check(sent)

    assert sent == {"a": ["1"]}


def test_defaults_inside_what_was_text_are_filled_in():
    nested = {"type": "object", "properties": {"n": {"type": "integer", "default": 7}}}

    assert coerce(nested, "{}")[0] == {"n": 7}
