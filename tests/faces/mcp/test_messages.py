"""Messages: whatever bytes come in, they are one message or one error."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from toolrt.faces.mcp.messages import Message, Wrong, answer, id_of, read

KEYS = st.text(alphabet='ab:"\\é\n', max_size=4)
STYLES = [{}, {"indent": 1}, {"separators": (",", ":")}]
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(alphabet='x:{["\\\u003a é', max_size=6),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=3),
    max_leaves=8,
)


def envelope(params: str) -> bytes:
    return f'{{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{params}}}'.encode()


@settings(max_examples=300, deadline=None)
@given(st.binary(max_size=80))
def test_any_bytes_are_a_message_or_an_error(body):
    try:
        assert isinstance(read(body), Message)
    except Wrong as wrong:
        written = json.loads(wrong.written(id_of(wrong)))
        assert written["error"]["code"] in {-32700, -32600}


@settings(max_examples=300, deadline=None)
@given(st.dictionaries(KEYS, VALUES, max_size=4), st.booleans(), st.sampled_from(STYLES))
def test_what_is_whole_comes_through_as_it_is(params, is_ascii, style):
    text = json.dumps(params, ensure_ascii=is_ascii, **style)

    assert read(envelope(text)).params == params


@settings(max_examples=300, deadline=None)
@given(
    st.dictionaries(KEYS, VALUES, min_size=1, max_size=3),
    VALUES,
    st.booleans(),
    st.sampled_from(STYLES),
    st.data(),
)
def test_a_key_that_stands_twice_is_always_seen(params, value, is_escaped, style, data):
    key = data.draw(st.sampled_from(list(params)))
    written = json.dumps(key)
    if is_escaped:
        written = '"' + "".join(f"\\u{ord(each):04x}" for each in key) + '"'
    space = "" if "separators" in style else " "
    again = f",{space}{written}{space}:{json.dumps(value, **style)}}}"
    text = json.dumps(params, **style)[:-1] + again

    with pytest.raises(Wrong) as refused:
        read(envelope(text))
    assert id_of(refused.value) == 7


@pytest.mark.parametrize("number", ["1e999", "-1e999", "Infinity", "NaN", "[[1e999]]"])
def test_a_number_without_an_end_is_refused_however_it_is_written(number):
    for space in ("", " "):
        with pytest.raises(Wrong):
            read(envelope(f'{{{space}"x":{number}}}'))


@settings(max_examples=100, deadline=None)
@given(st.integers() | st.text(max_size=20), VALUES)
def test_an_answer_is_read_as_it_was_meant(id_, value):
    made = json.loads(answer(id_, {"value": value}))

    assert made == {"jsonrpc": "2.0", "id": id_, "result": {"value": value}}


def test_an_id_that_nobody_could_use_is_refused():
    for id_ in ("null", "[]", "true", f'"{"x" * 300}"'):
        with pytest.raises(Wrong):
            read(f'{{"jsonrpc":"2.0","id":{id_},"method":"ping"}}'.encode())
