"""The body of an answer, read and decompressed under a cap while it arrives."""

import zlib
from collections.abc import AsyncIterable, AsyncIterator, Iterable

from toolrt.core.errors import BindingError

MOST_BYTES = 5 * 1024 * 1024
"""The most that a body may come to, as it arrives and decoded."""

_GZIP = zlib.MAX_WBITS | 16


async def decoded(
    arriving: AsyncIterable[bytes], encodings: Iterable[str], cap: int = MOST_BYTES
) -> AsyncIterator[bytes]:
    """The body piece by piece, decoded by its `Content-Encoding`: identity or one layer of gzip.

    Raises BindingError: `output-flood` over `cap`, `bad-response` for any other encoding.
    """
    decoder = _decoder(encodings)
    size, has_begun = 0, False
    async for piece in arriving:
        has_begun = True
        plain = _decode(decoder, piece, cap + 1 - size) if decoder else piece
        size += len(plain)
        if size > cap:
            raise _flood(cap)
        if decoder and decoder.unused_data:
            raise _bad("the answer's gzip encoding has more after its end")
        yield plain
    if decoder and has_begun and not decoder.eof:
        raise _bad("the answer's gzip encoding breaks off")


def _decoder(encodings: Iterable[str]) -> "zlib._Decompress | None":
    layers = [
        layer
        for layer in (part.strip().lower() for line in encodings for part in line.split(","))
        if layer not in {"", "identity"}
    ]
    if not layers:
        return None
    if layers not in (["gzip"], ["x-gzip"]):
        raise _bad("the answer is encoded in a way that was not asked for")
    return zlib.decompressobj(_GZIP)


def _decode(decoder: "zlib._Decompress", piece: bytes, most: int) -> bytes:
    try:
        return decoder.decompress(piece, most)
    except zlib.error:
        raise _bad("the answer is not the gzip that it says it is") from None


def _flood(cap: int) -> BindingError:
    return BindingError(
        f"the answer is larger than {cap // (1024 * 1024)} MiB",
        code="output-flood",
        hint="ask for less, such as one page or fewer fields",
        details={"limit_bytes": cap},
    )


def _bad(message: str) -> BindingError:
    return BindingError(message, code="bad-response", target_fault=True)
