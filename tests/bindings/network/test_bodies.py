import gzip
import zlib

import pytest

from toolrt.bindings.network.bodies import decoded
from toolrt.core.errors import BindingError

pytestmark = pytest.mark.anyio


async def pieces(*each):
    """A body that arrives in the given pieces."""
    for piece in each:
        yield piece


async def read(arriving, encodings, **cap):
    """The whole body, decoded."""
    return b"".join([piece async for piece in decoded(arriving, encodings, **cap)])


def split(data, size=7):
    return [data[start : start + size] for start in range(0, len(data), size)]


@pytest.mark.parametrize("encodings", [[], ["identity"], [""], ["Identity, identity"]])
async def test_a_plain_body_is_joined(encodings):
    assert await read(pieces(b"ab", b"cd", b"e"), encodings) == b"abcde"


async def test_an_empty_body_is_empty():
    assert await read(pieces(), []) == b""
    assert await read(pieces(), ["gzip"]) == b""


@pytest.mark.parametrize("encoding", ["gzip", "GZIP", "x-gzip", "identity, gzip"])
async def test_gzip_is_decoded_as_it_arrives(encoding):
    text = b"the same again " * 1000
    assert await read(pieces(*split(gzip.compress(text))), [encoding]) == text


@pytest.mark.parametrize(
    "encodings", [["br"], ["deflate"], ["zstd"], ["gzip, gzip"], ["gzip", "gzip"], ["gzip, br"]]
)
async def test_h7_any_other_encoding_is_a_bad_response(encodings):
    with pytest.raises(BindingError) as failed:
        await read(pieces(gzip.compress(b"x")), encodings)
    assert failed.value.code == "bad-response"


@pytest.mark.parametrize(
    "data",
    [
        b"not gzip",
        zlib.compress(b"zlib"),
        gzip.compress(b"cut off here" * 50)[:-9],
        gzip.compress(b"one") + gzip.compress(b"two"),
        gzip.compress(b"one") + b"more",
    ],
    ids=["no gzip", "zlib", "cut off", "two members", "more behind"],
)
async def test_gzip_that_is_not_whole_is_a_bad_response(data):
    with pytest.raises(BindingError) as failed:
        await read(pieces(*split(data)), ["gzip"])
    assert failed.value.code == "bad-response"


@pytest.mark.parametrize("size", [99, 100])
async def test_a_body_up_to_the_cap_is_whole(size):
    assert len(await read(pieces(*split(b"x" * size)), [], cap=100)) == size
    packed = pieces(*split(gzip.compress(b"x" * size)))
    assert len(await read(packed, ["gzip"], cap=100)) == size


@pytest.mark.parametrize("encodings", [[], ["gzip"]])
async def test_h7_a_body_over_the_cap_is_a_flood_and_the_rest_is_not_read(encodings):
    data = b"x" * 101 if not encodings else gzip.compress(b"x" * 101)
    arriving = pieces(data, b"never read")
    with pytest.raises(BindingError) as failed:
        await read(arriving, encodings, cap=100)
    assert failed.value.code == "output-flood"
    assert not failed.value.retryable
    assert await anext(arriving) == b"never read"
