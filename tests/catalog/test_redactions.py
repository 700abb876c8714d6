"""`result.redact` in texts that are JSON: a field is one there, too."""

import json
import time

import pytest

from toolrt.catalog.redactions import compile_redactions
from toolrt.runtime import load
from toolrt.testing import write_files

ACCOUNT = {"pin": 1234, "owner": {"mail": "a@b.c", "name": "Ann"}, "mail": "c@d", "n": [1, "x"]}
MASKED = {"pin": "***", "owner": {"mail": "***", "name": "Ann"}, "mail": "c@d", "n": [1, "x"]}
LEFT_OUT = "\n[... 17 bytes left out ...]\n"


def text(written, *redact):
    found = compile_redactions(redact or ("pin", "owner.mail"), [])
    assert found is not None
    return found.text(written)


@pytest.mark.parametrize("indent", [None, 2])
@pytest.mark.parametrize(
    "around", ["{}", "[{},\n {}]", "{}\n{}\n", "INFO [7] got {} in 3 s", 'say "x {}']
)
def test_r39_a_field_of_json_in_a_text_is_masked(indent, around):
    shown = text(around.replace("{}", json.dumps(ACCOUNT, indent=indent)), "pin")

    assert shown == around.replace("{}", json.dumps({**ACCOUNT, "pin": "***"}, indent=indent))


@pytest.mark.parametrize("times", [1, 2, 3])
def test_r39_a_path_is_one_in_json_within_json_within_a_text(times):
    written, masked = ACCOUNT, MASKED
    for _ in range(times):
        written, masked = json.dumps({"is": written}), json.dumps({"is": masked})

    assert json.loads(text(written)) == json.loads(masked)


def test_r39_a_path_leads_into_a_text_that_is_json():
    redactions = compile_redactions(["owner.mail"], [])
    inner = json.dumps({"mail": "a@b", "name": "Ann"})
    masked = json.dumps({"mail": "***", "name": "Ann"})
    answer = {"owner": inner, "other": inner, "all": json.dumps({"owner": [inner], "b": inner})}

    shown = redactions.value(answer)

    assert (shown["owner"], shown["other"]) == (masked, inner)
    assert json.loads(shown["all"]) == {"owner": [masked], "b": inner}


@pytest.mark.parametrize(
    ("written", "shown"),
    [
        ('{"Pin" : "a\\"b", "x": "pin"}', '{"Pin" : "***", "x": "pin"}'),
        ('{"p\\u0069n": {"a": ["}", 1]}, "b": 1}', '{"p\\u0069n": "***", "b": 1}'),
        ('{"p\u200bin": 1}', '{"p\u200bin": "***"}'),
        ('{"pin": 12', '{"pin": "***"'),
        ('{"pin": "ab', '{"pin": "***"'),
        ('{"pin": {"a": [1, ', '{"pin": "***"'),
        ('"a"}], "pin": 12, "x": 1}', '"a"}], "pin": "***", "x": 1}'),
        ('"name": "x", "mail": "a@b"}}', '"name": "x", "mail": "***"}}'),
        ('{"pin":', '{"pin":'),
        ('{"a": 1, "pin": [2, 3' + LEFT_OUT + '4], "b": 5}', '{"a": 1, "pin": "***"' + LEFT_OUT + "***"),
        ('{"a": 1, "p' + LEFT_OUT + '4, "b": 5}', '{"a": 1, "p' + LEFT_OUT + '***"b": 5}'),
        ('{"a": "x' + LEFT_OUT + 'y"}', '{"a": "x' + LEFT_OUT + "***"),
    ],
)  # fmt: skip
def test_r39_a_field_is_masked_however_it_is_written_and_wherever_it_was_cut(written, shown):
    assert text(written) == shown


@pytest.mark.parametrize(
    "written",
    [
        "pin: 99",
        "the pin of a@b",
        '{"a": "pin", "pins": 3}',
        '"pin" is a word',
        json.dumps([1, "a"]),
    ],
)
def test_text_without_such_a_field_stays(written):
    assert text(written) == written


def test_r39_what_a_pattern_finds_in_json_is_masked_as_well():
    assert text('{"pin": 1, "x": "4111"}', "pin", "[0-9]{4}") == '{"pin": "***", "x": "***"}'


@pytest.mark.parametrize(
    "piece", ['{"pin": ', '"', "[", '{"a":"pin\\"', '"pin":{', '\\"pin\\":', '\\"', '"x" ', '{"a":']
)
def test_looking_for_fields_takes_no_longer_than_reading(piece):
    spent = []
    for count in (2_000, 20_000):
        before = time.process_time()
        text(piece * count)
        spent.append(time.process_time() - before)

    assert spent[1] < max(40 * spent[0], 1.0)


SCHEMA = """
tools:
  t:
    description: T.
    command: [/bin/true]
    effect: read
    result: {redact: [card, owner.pin, '/[0-9]{16}/']}
    output_schema:
      type: object
      properties:
        card: %s
        pin: {type: integer}
        owner: {type: object, properties: {pin: {type: [integer, string]}}}
        cards: {type: array, items: {type: object, properties: {card: {type: string}}}}
"""


@pytest.mark.parametrize(
    ("card", "places"),
    [
        ("{type: integer}", ["tools.t.output_schema.properties.card"]),
        ("{type: [integer, 'null']}", ["tools.t.output_schema.properties.card"]),
        ("{type: string}", []),
        ("{}", []),
        ("{type: [integer, string]}", []),
    ],
)
def test_a_mask_that_the_output_schema_does_not_take_is_found(folder, card, places):
    found = load(write_files(folder, {"tools.d/t.yaml": SCHEMA % card})).diagnostics

    assert [(each.code, each.path, each.severity) for each in found] == [
        ("unfit-redact", place, "warning") for place in places
    ]
