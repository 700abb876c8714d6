import pytest

from toolrt.bindings.answers import decode
from toolrt.core.errors import BindingError


@pytest.mark.parametrize(
    ("output", "data", "value"),
    [
        ("text", b"a\n", "a\n"),
        ("text", b"\xff", "\ufffd"),
        ("lines", b"a\r\nb\n\nc", ["a", "b", "", "c"]),
        ("lines", b"", []),
        ("lines", "a\u2028b\n".encode(), ["a\u2028b"]),
        ("json", b'\xef\xbb\xbf{"a": [1, 2.5, null]}\n', {"a": [1, 2.5, None]}),
        ("json", b"9007199254740993", 9007199254740993),
        ("json", rb'{"\ud800": "\udfff", "b": "\ud83d\ude00"}', {"\ufffd": "\ufffd", "b": "😀"}),
        ("jsonl", b'{"a": 1}\n\n[2]\r\n', [{"a": 1}, [2]]),
        ("jsonl", b"", []),
    ],
)
def test_bytes_are_read_as_the_manifest_says(output, data, value):
    assert decode(output, data) == value


@pytest.mark.parametrize(
    ("output", "data", "message"),
    [
        ("json", b"<html>", "not JSON: Expecting value at line 1 column 1"),
        ("json", b" \n", "not JSON: it is empty"),
        ("json", b'{"a": 1}x', "not JSON: Extra data at line 1 column 9"),
        ("json", b'"\xff"', "not JSON: byte 1 is not UTF-8"),
        ("json", b"NaN", "a number in it is out of range"),
        ("json", b"1e999", "a number in it is out of range"),
        ("json", b"9" * 5000, "a number in it is out of range"),
        ("json", b"[" * 100_000, "nested too deeply"),
        ("jsonl", b"1\n{\n", "not JSON in line 2"),
    ],
)
def test_what_cannot_be_read_is_a_bad_response(output, data, message):
    with pytest.raises(BindingError, match=message) as caught:
        decode(output, data)
    assert caught.value.code == "bad-response"
    assert caught.value.sent == "answered"
    assert not caught.value.retryable


def test_the_excerpt_of_a_bad_response_is_short():
    with pytest.raises(BindingError) as caught:
        decode("json", b"x" * 10_000)
    assert caught.value.details == {"excerpt": "x" * 200, "bytes": 10_000}
