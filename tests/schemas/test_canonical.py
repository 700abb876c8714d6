import json
import math
import struct

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from toolrt.schemas.canonical import canonical_json
from toolrt.schemas.plain import NotJsonError

json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(exclude_categories=["Cs"])),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(st.characters(exclude_categories=["Cs"])), inner),
    max_leaves=15,
)  # fmt: skip


def number(bits):
    return struct.unpack(">d", bytes.fromhex(bits))[0]


@pytest.mark.parametrize(
    ("bits", "text"),
    [  # RFC 8785, appendix B
        ("0000000000000000", "0"),
        ("8000000000000000", "0"),
        ("0000000000000001", "5e-324"),
        ("8000000000000001", "-5e-324"),
        ("4340000000000000", "9007199254740992"),
        ("4430000000000000", "295147905179352825856"),  # exactly: a change of our own
        ("3eb0c6f7a0b5ed8c", "9.999999999999997e-7"),
        ("3eb0c6f7a0b5ed8d", "0.000001"),
        ("41b3de4355555553", "333333333.3333332"),
        ("becbf647612f3696", "-0.0000033333333333333333"),
        ("43143ff3c1cb0959", "1424953923781206.2"),
    ],
)
def test_numbers_are_written_as_the_rfc_says(bits, text):
    assert canonical_json(number(bits)).decode() == text


def test_keys_are_sorted_by_utf_16():
    # RFC 8785, section 3.2.3
    keys = ["\u20ac", "\r", "\ufb33", "1", "\U0001f600", "\u0080", "\u00f6"]
    expected = ["\r", "1", "\u0080", "\u00f6", "\u20ac", "\U0001f600", "\ufb33"]

    assert list(json.loads(canonical_json(dict.fromkeys(keys)))) == expected


def test_strings_are_escaped_as_little_as_possible():
    # RFC 8785, section 3.2.2.2
    text = "\u20ac$\u000f\u000aA'\u0042\u0022\u005c\\\"/"

    assert canonical_json(text).decode() == '"€$\\u000f\\nA\'B\\"\\\\\\\\\\"/"'


@pytest.mark.parametrize(
    ("one", "other"),
    [(1, 1.0), (0, -0.0), (10**21, 1e21), ({"a": 1, "b": [2.0]}, {"b": [2], "a": 1}), ((1,), [1])],
)
def test_a4_equal_values_have_one_text(one, other):
    assert canonical_json(one) == canonical_json(other)


@pytest.mark.parametrize(
    ("one", "other"), [(1, True), (0, False), ("1", 1), (None, "null"), ([], {})]
)
def test_p10_different_values_have_different_texts(one, other):
    assert canonical_json(one) != canonical_json(other)


def test_a4_integers_are_exact():
    assert canonical_json(2**53 + 1) == b"9007199254740993"


NO_JSON = [math.nan, math.inf, "\ud800", {1: 2}, object(), 10**5000]


@pytest.mark.parametrize("value", NO_JSON, ids=lambda value: type(value).__name__)
def test_what_is_no_json_is_refused(value):
    with pytest.raises(NotJsonError):
        canonical_json([value])


@settings(deadline=None)
@given(json_values)
def test_the_text_is_json_of_the_same_value(value):
    assert json.loads(canonical_json(value)) == value
    assert canonical_json(json.loads(canonical_json(value))) == canonical_json(value)
