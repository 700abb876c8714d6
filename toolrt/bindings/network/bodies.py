"""The body of an answer, read and decompressed under a cap while it arrives."""

import zlib
from collections.abc import Awaitable, Iterable
from typing import Protocol

from toolrt.core.errors import BindingError

MOST_BYTES = 5 * 1024 * 1024
"""The most that a body may come to, as it arrives and decoded."""

_GZIP = zlib.MAX_WBITS | 16


class Arriving(Protocol):
    """Bytes on their way: each read gives what is there, and nothing at the end."""

    def readany(self) -> Awaitable[bytes]: ...


async def read_body(arriving: Arriving, encodings: Iterable[str], cap: int = MOST_BYTES) -> bytes:
    """The whole body, decoded by its `Content-Encoding`: identity or one layer of gzip.

    Raises BindingError: `output-flood` over `cap`, `bad-response` for any other encoding.
    """
    layers = [
        layer
        for layer in (part.strip().lower() for line in encodings for part in line.split(","))
        if layer not in {"", "identity"}
    ]
    if not layers:
        return await _plain(arriving, cap)
    if layers not in (["gzip"], ["x-gzip"]):
        raise _bad("the answer is encoded in a way that was not asked for")
    return await _gunzipped(arriving, cap)


async def _plain(arriving: Arriving, cap: int) -> bytes:
    first = await arriving.readany()
    chunks, size = [first], len(first)
    while size <= cap and (chunk := await arriving.readany()):
        chunks.append(chunk)
        size += len(chunk)
    if size > cap:
        raise _flood(cap)
    return first if len(chunks) == 1 else b"".join(chunks)


async def _gunzipped(arriving: Arriving, cap: int) -> bytes:
    decoder, decoded = zlib.decompressobj(_GZIP), bytearray()
    has_begun = False
    while chunk := await arriving.readany():
        has_begun = True
        _decode(decoder, chunk, decoded, cap)
    if has_begun and not decoder.eof:
        raise _bad("the answer's gzip encoding breaks off")
    return bytes(decoded)


def _decode(decoder: "zlib._Decompress", chunk: bytes, decoded: bytearray, cap: int) -> None:
    try:
        decoded += decoder.decompress(chunk, cap + 1 - len(decoded))
    except zlib.error:
        raise _bad("the answer is not the gzip that it says it is") from None
    if len(decoded) > cap:
        raise _flood(cap)
    if decoder.unused_data:
        raise _bad("the answer's gzip encoding has more after its end")


def _flood(cap: int) -> BindingError:
    return BindingError(
        f"the answer is larger than {cap // (1024 * 1024)} MiB",
        code="output-flood",
        hint="ask for less, such as one page or fewer fields",
        details={"limit_bytes": cap},
    )


def _bad(message: str) -> BindingError:
    return BindingError(message, code="bad-response", target_fault=True)
