"""Encodings and line ends are found out and kept; what is no text is not shown."""

import codecs

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolrt.core.errors import ToolError
from toolrt.packs.texts import decoded, text_of

BODIES = {
    "utf-8": ("größe €", "größe €".encode()),
    "utf-8 with BOM": ("größe", codecs.BOM_UTF8 + "größe".encode()),
    "utf-16-le with BOM": ("größe", codecs.BOM_UTF16_LE + "größe".encode("utf-16-le")),
    "utf-16-be with BOM": ("größe", codecs.BOM_UTF16_BE + "größe".encode("utf-16-be")),
    "utf-32-le with BOM": ("größe", codecs.BOM_UTF32_LE + "größe".encode("utf-32-le")),
    "unknown, read as latin-1": ("größe", "größe".encode("latin-1")),
}


@pytest.mark.parametrize("told", BODIES)
def test_an_encoding_is_told_and_kept_by_an_edit(desk, told):
    text, body = BODIES[told]
    desk.put("f", body)

    read = desk.call("read", "f")
    desk.call("edit", "f", old="ö", new="oe")
    edited = desk.call("read", "f")

    assert (read["text"], read["encoding"]) == (text, told)
    assert (edited["text"], edited["encoding"]) == (text.replace("ö", "oe"), told)
    assert desk.body("f") == body.replace(*(
        each.encode(_codec(told)) for each in ("ö", "oe")
    ))  # fmt: skip


def _codec(told):
    return "latin-1" if "latin-1" in told else told.split()[0]


def test_a_character_that_the_encoding_lacks_is_refused(desk):
    desk.put("f", "größe".encode("latin-1"))

    code, message = desk.refused("edit", "f", old="ö", new="€")

    assert (code, "'\\u20ac'" in message) == ("invalid-arguments", True)
    assert desk.body("f") == "größe".encode("latin-1")


@pytest.mark.parametrize("body", [b"\0", b"a\0b", b"\x7fELF\x02\x01\x01\0", b"\xff\xfe\x00"])
def test_what_is_binary_is_told_as_such(desk, body):
    desk.put("f", body)

    for tool, more in {"read": {}, "edit": {"old": "a", "new": "b"}}.items():
        code, message = desk.refused(tool, "f", **more)
        assert (code, f"binary ({len(body)} bytes)" in message) == ("unsupported", True)
    assert desk.call("write", "f", text="now it is text")["is_new"] is False


@pytest.mark.parametrize(
    ("before", "after", "told"),
    [
        ("a\nb\nc\n", "a\nx\ny\nc\n", "lf"),
        ("a\r\nb\r\nc\r\n", "a\r\nx\r\ny\r\nc\r\n", "crlf"),
        ("a\r\nb\r\nc\n", "a\r\nx\r\ny\r\nc\n", "mixed"),
        ("a\r\nb\nc\n", "a\r\nx\ny\nc\n", "mixed"),
        ("a\rb\rc", "a\rx\ny\rc", "lf"),
        ("b", "x\ny", "lf"),
    ],
)
def test_line_ends_are_kept(desk, before, after, told):
    desk.put("f", before)

    assert desk.call("read", "f")["line_ends"] == told
    desk.call("edit", "f", old="b", new="x\ny")
    assert desk.body("f").decode() == after


@pytest.mark.parametrize("old", ["a\nb", "a\r\nb"])
def test_a_text_over_several_lines_is_found_whatever_their_ends(desk, old):
    desk.put("f", "0\r\na\r\nb\r\n1\n")

    desk.call("edit", "f", old=old, new="c")

    assert desk.body("f") == b"0\r\nc\r\n1\n"


LINES = st.lists(st.tuples(st.text(alphabet="ab", max_size=4), st.sampled_from(["\n", "\r\n"])))
NEW = st.text(alphabet="xy\n", max_size=4)


@given(LINES, st.text(alphabet="ab\n", min_size=1, max_size=4), NEW)
def test_an_edit_is_one_of_the_plain_text_and_touches_nothing_else(lines, old, new):
    raw = "".join(f"{line}{end}" for line, end in lines)
    text = text_of(raw.encode(), "f")
    at = text.plain.find(old)
    if at < 0:
        return

    made = text.replaced([(at, at + len(old))], new)

    assert made.plain == text.plain[:at] + new + text.plain[at + len(old) :]
    assert made.written("f").decode() == made.raw


@given(st.binary(max_size=200))
def test_every_text_comes_back_as_the_bytes_that_it_was(body):
    text = decoded(body)

    assert text is None or text.written("f") == body


def test_half_a_surrogate_pair_is_no_character(desk):
    for tool, more in {"write": {"text": "\ud800"}, "edit": {"old": "a", "new": "\ud800"}}.items():
        assert desk.refused(tool, "f", **more)[0] == "invalid-arguments"
    with pytest.raises(ToolError):
        desk.call("edit", "f", old="\udfff", new="a")
