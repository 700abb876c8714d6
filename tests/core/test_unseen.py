"""What acts on a reader unseen: shown, removed, counted (O3)."""

import json
import sys
import unicodedata

import pytest

from toolrt.core.unseen import harmless, harmless_value, is_harmless_json

TAGS = "\U000e0041\U000e007f"


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain, ünï, 日本語 and 🙂\tin\ntwo lines\r\n", None),
        ("\x1b[2J\x1b]0;pwn\x07", "\\x1b[2J\\x1b]0;pwn\\x07"),
        ("\x9b31m\x7f\x00", "\\x9b31m\\x7f\\x00"),
        ("over\rwritten", "over\\rwritten"),
        (f"a\u202eb\u200bc{TAGS}d\ufeff", "abcd"),
        ("x\u2028y", "x\\u2028y"),
    ],
    ids=ascii,
)
def test_o3_of_a_text_what_acts_is_shown_and_what_hides_is_removed(text, shown):
    assert harmless(text) == (text if shown is None else shown)


def test_o3_a_text_without_any_is_the_same_object():
    text = "plain\n" * 100

    assert harmless(text) is text


def test_o3_every_character_that_acts_or_hides_is_known():
    for code in range(sys.maxunicode + 1):
        if 0xD800 <= code < 0xE000:
            continue
        sign = chr(code)
        kind = unicodedata.category(sign)
        is_control = kind == "Cc" and sign not in "\t\n"
        if is_control or unicodedata.bidirectional(sign) in {"LRO", "RLO", "LRE", "RLE", "PDF"}:
            assert harmless(sign) != sign, hex(code)
        if 0xE0000 <= code < 0xE0080:
            assert harmless(sign) == "", hex(code)


def test_o3_in_values_removals_are_counted_and_names_stay_apart():
    value, removed = harmless_value({"a": 1, "a\u200b": ["x\u202e\u202d", 2, None], "b": "\x1b"})

    assert value == {"a": 1, "a\\u200b": ["x", 2, None], "b": "\\x1b"}
    assert removed == 2


@pytest.mark.parametrize("text", ["a\x1b", "\x7f", "\x9b", "\u202e", TAGS, "a\rb", "\x08", "\x0c"])
def test_o3_json_that_holds_one_is_never_called_harmless(text):
    written = json.dumps([{"k": text}], ensure_ascii=False).encode()

    assert not is_harmless_json(written)
    assert is_harmless_json(json.dumps(["日本語, é", 'a\n"b"\t'], ensure_ascii=False).encode())
