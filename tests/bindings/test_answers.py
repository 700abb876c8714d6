import json
import sys

import httpx
import pytest

from toolrt.bindings.answers import MOST_VALUES, decode
from toolrt.core.errors import BindingError
from toolrt.testing import open_files


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
        ("json", b"[" * 100_000, "nested deeper than 200 levels"),
        ("json", b"[" * 201 + b"]" * 201, "nested deeper than 200 levels"),
        ("json", b"[" + b"[]," * MOST_VALUES + b"1]", "it has more than 1,000,000 values"),
        ("json", b'{"\\ud800":' * 900 + b"1" + b"}" * 900, "nested deeper than 200 levels"),
        ("jsonl", b"1\n" + b"[" * 500 + b"]" * 500, "nested deeper than 200 levels"),
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


def test_width_is_not_depth():
    flat = [{"a": ["[" * 300]}] * 300
    assert decode("json", json.dumps(flat).encode()) == flat


DEEP = {
    "deep.py": """
        def nested(depth: int, mapped: bool = False):
            value = "sesame-open"
            for _ in range(depth):
                value = {"sesame-open": value} if mapped else [value]
            return value
        """,
    "write.py": """
        import json, sys
        from deep import nested
        sys.stdout.write(json.dumps(nested(int(sys.argv[1]), sys.argv[2] == "true")))
        """,
    "tools.d/t.yaml": """
        tools:
          by_python: {description: Nest., python: "deep:nested"}
          by_http:
            description: Ask.
            parameters: {depth: integer, mapped: {type: boolean, default: false}}
            http:
              url: "https://api.example.com/{{ depth }}/{{ mapped }}"
              headers: {X-Key: "${env:KEY}"}
          by_command:
            description: Write.
            parameters: {depth: integer, mapped: {type: boolean, default: false}}
            command:
              argv: [PYTHON, write.py, "{{ depth }}", "{{ mapped }}"]
              output: json
        """.replace("PYTHON", sys.executable),
}


def deep_answer(request):
    _, depth, mapped = request.url.path.split("/")
    start, end = ('{"sesame-open":', "}") if mapped == "true" else ("[", "]")
    text = start * int(depth) + '"sesame-open"' + end * int(depth)
    return httpx.Response(200, text=text, headers={"Content-Type": "application/json"})


@pytest.mark.anyio
@pytest.mark.parametrize("mapped", [False, True], ids=["lists", "mappings"])
@pytest.mark.parametrize("tool", ["by_http", "by_command", "by_python"])
async def test_answers_of_every_kind_may_be_200_levels_deep_and_no_more(tool, mapped):
    environ = {"KEY": "sesame-open"}
    mock = httpx.MockTransport(deep_answer)
    async with open_files(DEEP, environ=environ, transport=mock) as rt:
        await rt.call("by_http", {"depth": 0})  # now the secret is known
        most = await rt.call(tool, {"depth": 200, "mapped": mapped})
        one_more = await rt.call(tool, {"depth": 201, "mapped": mapped})
        many_more = await rt.call(tool, {"depth": 700, "mapped": mapped})

    assert most.status == "success"
    assert json.dumps(most.document()).count("***") == (201 if mapped else 1)
    for failed in (one_more, many_more):
        assert failed.error.code == "bad-response"
        assert "nested deeper than 200 levels" in failed.error.message


def test_signs_of_json_in_a_text_are_no_values():
    text = "[,{" * (MOST_VALUES // 2)
    assert decode("json", json.dumps({"a": text}).encode()) == {"a": text}
