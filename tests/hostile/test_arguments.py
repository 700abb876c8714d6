"""Hostile arguments and hostile JSON: refused before anything else looks, or passed on literally."""

import json
import time
import traceback

import pytest

from tests.limits import Memory
from toolrt.core.errors import RefusedError
from toolrt.schemas.arguments import ArgumentChecker, parse_arguments
from toolrt.schemas.canonical import canonical_json

SECRET = "hunter2-hunter2"
READ = {
    "type": "object",
    "properties": {
        "path": {"type": "string"},
        "count": {"type": "integer"},
        "word": {"type": "string", "pattern": "^ok$"},
        "anything": {},
        "password": {"type": "string", "maxLength": 3, "sensitive": True},
    },
    "additionalProperties": False,
}
OPEN = {"type": "object"}

INVALID = {
    "17 lone surrogate": {"path": "a\ud800b"},
    "17 lone surrogate deep": {"anything": [{"x": ["\udfff"]}]},
    "17 lone surrogate as a name": {"anything": {"\ud800": 1}},
    "85 integer of 5,000 digits": {"count": 10**4999},
    "87 depth": {"anything": json.loads("[" * 900 + "]" * 900)},
    "89 text for an integer": {"count": "1"},
    "90 true for an integer": {"count": True},
    "90 false for an integer": {"count": False},
    "93 newline at the end": {"word": "ok\n"},
    "93 newline before": {"word": "\nok"},
    "95 null": None,
    "95 list": [{"path": "/safe"}],
    "95 text": "path",
    "95 number": 1,
    "95 JSON text": '{"path": "/safe"}',
    "million items": {"count": ["x"] * 1_000_000},
    "200,000 names": {f"n{n}": SECRET for n in range(200_000)},
    "one long name": {"n" * 1_000_000: SECRET},
    "escape sequences": {"\x1b]0;pwn\x07": "\x1b[2J\u202e"},
    "a secret that is too long": {"password": SECRET},
    "a secret in the wrong shape": {"password": {"value": SECRET}},
    "a secret under the wrong name": {"pasword": SECRET},
}
INVALID_TEXT = {
    "17 lone surrogate": r'{"path": "\ud800"}',
    "17 lone surrogate reversed": r'{"path": "\ude00\ud83d"}',
    "83 duplicate key": '{"path": "/safe", "path": "/etc"}',
    "83 duplicate key inside": '{"anything": [{"a": 1, "b": 2, "a": 1}]}',
    "83 duplicate key by escapes": r'{"path": "/safe", "p\u0061th": "/etc"}',
    "85 integer of 5,000 digits": f'{{"count": {"9" * 5000}}}',
    "85 integer of a million digits": f'{{"count": -{"9" * 1_000_000}}}',
    "87 depth 100k, objects": '{"a":' * 100_000,
    "87 depth 100k, arrays": '{"a":' + "[" * 100_000 + "]" * 100_000 + "}",
    "87 depth 100k, cut off": "[{" * 100_000,
    "94 JSON text in JSON text": json.dumps('{"path": "/safe"}'),
    "94 twice": json.dumps(json.dumps('{"path": "/safe"}')),
    "95 null": "null",
    "95 list": '[{"path": "/safe"}]',
    "95 nothing": "",
    "not a number": '{"count": NaN}',
    "infinity": '{"count": 1e999}',
    "comments": '{"count": 1 /* one */}',
    "not UTF-8": b'{"path": "\xff"}',
    "NUL bytes": b'{\0"path": 1}',
    "half a megabyte of quotes": '{"path": "' + '\\"' * 250_000,
    "too large": '{"path": "' + "x" * 5_000_000 + f'", "password": "{SECRET}"}}',
    "a secret cut off": f'{{"password": "{SECRET}',
}


@pytest.fixture(autouse=True)
def modest():
    """Every case is over soon and takes no more than a few times what came in."""
    started, memory = time.process_time(), Memory()
    yield
    assert time.process_time() - started < 3
    assert memory.grown() < 160 * 1024 * 1024


def assert_refused(error):
    told = json.dumps([error.message, error.hint, error.details], ensure_ascii=False)

    assert error.code == "invalid-arguments"
    assert error.hint
    assert not error.retryable
    assert error.message.isprintable()
    assert len(error.message) < 1000
    assert SECRET not in told
    assert "Traceback" not in told
    assert "jsonschema" not in told
    assert told.encode().count(b"\n") == 0
    assert error.__suppress_context__ or error.__context__ is None
    assert "".join(traceback.format_exception(error)).count("RefusedError") == 1


@pytest.mark.parametrize("name", INVALID)
def test_hostile_arguments_are_refused(name):
    with pytest.raises(RefusedError) as caught:
        ArgumentChecker(READ).check(INVALID[name])

    assert_refused(caught.value)


@pytest.mark.parametrize("name", INVALID_TEXT)
def test_hostile_json_is_refused(name):
    with pytest.raises(RefusedError) as caught:
        parse_arguments(INVALID_TEXT[name])

    assert_refused(caught.value)


def test_e83_the_duplicate_is_named():
    with pytest.raises(RefusedError, match="`path` is given twice"):
        parse_arguments(INVALID_TEXT["83 duplicate key"])


def test_e86_integers_beyond_2_to_the_53_stay_exact():
    checked = ArgumentChecker(READ).check(parse_arguments('{"count": 9007199254740993}'))

    assert checked == {"count": 9007199254740993}


def test_e91_one_point_zero_is_the_integer_one_with_the_same_hash():
    checker = ArgumentChecker(READ)
    one, other = checker.check({"count": 1.0}), checker.check({"count": 1})

    assert repr(one) == repr(other) == "{'count': 1}"
    assert canonical_json({"count": 1.0}) == canonical_json(other)


@pytest.mark.parametrize("inner", ['{"path": "/etc"}', '"text"', "[1]"])
def test_e94_text_that_looks_like_json_is_parsed_once_only(inner):
    checked = ArgumentChecker(READ).check(parse_arguments(json.dumps({"path": inner})))

    assert checked == {"path": inner}


@pytest.mark.parametrize("name", ["__class__", "constructor", "$ref", "__proto__", "$schema", ""])
@pytest.mark.parametrize("schema", [OPEN, {"properties": {"anything": {}}}])
def test_e97_odd_names_are_names_like_any_other(name, schema):
    sent = {name: "#", "anything": {name: {name: 1}}}

    assert ArgumentChecker(schema).check(sent) == sent
    assert parse_arguments(json.dumps(sent)) == sent


@pytest.mark.parametrize("name", ["__class__", "constructor", "$ref"])
def test_e97_odd_names_are_unknown_where_names_are_closed(name):
    with pytest.raises(RefusedError) as caught:
        ArgumentChecker(READ).check({name: 1})

    assert_refused(caught.value)
