"""What acts on a reader unseen: shown, removed, counted (O3)."""

import json
import sys
import unicodedata

import pytest

from toolrt.core.unseen import bare, harmless, harmless_value, is_harmless_json, removed_from

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


IGNORED = (
    *(0xAD, 0x34F, 0x61C, 0x115F, 0x1160, 0x17B4, 0x17B5, *range(0x180B, 0x1810)),
    *(*range(0x200B, 0x2010), *range(0x202A, 0x202F), *range(0x2060, 0x2070), 0x3164, 0xFEFF),
    *(0xFFA0, *range(0xFFF0, 0xFFFC), *range(0x1BCA0, 0x1BCA4), *range(0x1D173, 0x1D17B)),
    *(*range(0xE0000, 0xE0100), *range(0xE01F0, 0xE1000)),
)
"""Default_Ignorable_Code_Point of Unicode but for the selectors, and marks of annotations."""


def test_o3_whatever_nobody_sees_is_removed():
    assert [hex(code) for code in IGNORED if harmless(f"a{chr(code)}b") != "ab"] == []


@pytest.mark.parametrize(
    "text", ["\u2764\ufe0f", "\u2764\ufe0f and \u4e0e\U000e0100", "a\ufe0fb\ufe0e"]
)
def test_one_selector_behind_a_character_stays(text):
    assert harmless(text) is text
    assert is_harmless_json(json.dumps(text, ensure_ascii=False).encode())


@pytest.mark.parametrize(
    "hidden", ["\U000e0101\U000e0110", "\ufe01" * 40, "\ufe01\u200b\ufe02\u200d\U000e01ef"]
)
def test_o3_selectors_in_a_row_say_nothing_to_a_model(hidden):
    text = f"\u263a{hidden}!"

    assert len(harmless(text)) == 3
    assert removed_from(text) == len(hidden) - 1
    assert not is_harmless_json(json.dumps(text, ensure_ascii=False).encode())
    assert "\\" in next(iter(harmless_value({text: 1})[0]))


@pytest.mark.parametrize(
    ("text", "read"),
    [
        ("\x1b[01;31m\x1b[Kto\x1b[m\x1b[Kken", "token"),
        ("to\x1b]8;;http://x\x1b\\ken\x1b]8;;\x07", "token"),
        ("t\x00o\x00k\x00e\x00n\x00", "token"),
        ("to\u200bk\u00aden\ufe0f\x9b1m", "token"),
        ("to\x1b", "to"),
    ],
    ids=ascii,
)
def test_bare_text_is_what_a_reader_reads(text, read):
    assert bare(text) == read


@pytest.mark.parametrize("text", ["", "plain", "two\nlines\tand é 日本語\r\n"])
def test_text_that_is_bare_is_the_same_object(text):
    assert bare(text) is text
