"""Escaping per place: whatever the value, it stays where it was put."""

import json
import re
import xml.etree.ElementTree as ET
from urllib.parse import parse_qsl, unquote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolrt.core.errors import RefusedError
from toolrt.expressions.slots import (
    ARGUMENT,
    ENV,
    FORM,
    HEADER,
    JSON_TEXT,
    PATH_SEGMENT,
    QUERY,
    TEXT,
    XML,
    Slot,
)

TEXTS = st.text(st.characters(exclude_categories=["Cs"]))
SEGMENTS = TEXTS.filter(lambda text: text not in {"", ".", ".."})


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("as it is", "as it is"),
        ("", ""),
        (True, "true"),
        (None, "null"),
        (3, "3"),
        (2.5, "2.5"),
        (2**70, str(2**70)),
        ({"a": [1, "é"]}, '{"a":[1,"é"]}'),
    ],
)
def test_values_become_the_text_that_people_write(value, text):
    assert TEXT.escape(value) == text


@pytest.mark.parametrize(
    ("value", "sent"),
    [
        ("../../admin", "..%2F..%2Fadmin"),
        ("a/../b", "a%2F..%2Fb"),
        ("%2e%2e%2f", "%252e%252e%252f"),
        ("a?admin=1", "a%3Fadmin%3D1"),
        ("a#b", "a%23b"),
        ("//evil.com/x", "%2F%2Fevil.com%2Fx"),
        ("...", "..."),
        ("a\\b", "a%5Cb"),
    ],
)
def test_h4_path_value_is_one_segment(value, sent):
    assert PATH_SEGMENT.escape(value) == sent


@pytest.mark.parametrize("value", [".", "..", ""])
def test_h4_path_value_that_is_a_relative_segment_is_refused_by_name(value):
    with pytest.raises(RefusedError, match="`city`") as caught:
        PATH_SEGMENT.escape(value, "city")
    assert caught.value.code == "invalid-arguments"


@given(SEGMENTS)
def test_h4_path_value_decodes_to_itself_and_holds_no_delimiter(value):
    sent = PATH_SEGMENT.escape(value)

    assert unquote(sent) == value
    assert re.fullmatch(r"(?:[A-Za-z0-9._~-]|%[0-9A-F]{2})+", sent)
    assert unquote(sent) not in {".", ".."}


@given(TEXTS, TEXTS)
def test_query_and_form_values_round_trip(left, right):
    for slot in (QUERY, FORM):
        sent = f"a={slot.escape(left)}&b={slot.escape(right)}"
        pairs = parse_qsl(sent, keep_blank_values=True, strict_parsing=True)
        assert pairs == [("a", left), ("b", right)]


@given(TEXTS)
def test_json_text_round_trips_inside_quotes(value):
    assert json.loads(f'["{JSON_TEXT.escape(value)}"]') == [value]


@given(TEXTS)
def test_xml_value_round_trips_as_text_and_as_attribute(value):
    try:
        escaped = XML.escape(value)
    except RefusedError:
        assert re.search(r"[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]", value)
        return
    element = ET.fromstring(f'<a b="{escaped}">{escaped}</a>')
    assert element.get("b") == value
    assert (element.text or "") == value


@pytest.mark.parametrize("value", ["a\r\nX: 1", "a\nb", "\0", "\x7f", "é", "🙂", "\t", "\ud800"])
def test_h5_header_value_is_one_line_of_ascii(value):
    with pytest.raises(RefusedError) as caught:
        HEADER.escape(value, "token")
    assert caught.value.code == "invalid-arguments"
    assert "`token`" in caught.value.message


def test_h5_printable_header_value_passes_as_it_is():
    assert HEADER.escape("Bearer a.b-c~d+/=") == "Bearer a.b-c~d+/="


@pytest.mark.parametrize("slot", [ARGUMENT, ENV], ids=["argument", "environment"])
@pytest.mark.parametrize("value", ["a\0b", "\ud800"])
def test_s4_nul_and_lone_surrogates_are_refused_before_anything_runs(slot, value):
    with pytest.raises(RefusedError):
        slot.escape(value)


@pytest.mark.parametrize("value", ["; id", "$(id)", "`id`", "a\nid", "a\rid", "*", "~root", "‐rf"])
def test_s1_arguments_are_literal(value):
    assert ARGUMENT.escape(value) == value


@pytest.mark.parametrize("slot", [PATH_SEGMENT, QUERY, FORM, JSON_TEXT, XML, HEADER])
def test_half_a_surrogate_pair_is_refused_wherever_text_leaves_as_bytes(slot: Slot):
    with pytest.raises(RefusedError):
        slot.escape("\ud83d")


@pytest.mark.parametrize("value", [float("nan"), float("inf"), [float("-inf")]])
def test_numbers_without_a_json_form_are_refused(value):
    with pytest.raises(RefusedError, match="cannot be written"):
        QUERY.escape(value)


def test_refusal_shows_no_value():
    with pytest.raises(RefusedError) as caught:
        HEADER.escape("hunter2\n", "password")
    assert "hunter2" not in str(caught.value)
