"""Bytes among the values of tools: base64 in JSON, a description for whoever reads (R38)."""

import base64
from typing import Any

_SIGNATURES = (
    (b"\x89PNG\r\n\x1a\n", "image/png"),
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"GIF8", "image/gif"),
    (b"%PDF-", "application/pdf"),
    (b"PK\x03\x04", "application/zip"),
    (b"\x1f\x8b", "application/gzip"),
    (b"ID3", "audio/mpeg"),
    (b"OggS", "audio/ogg"),
)
_RIFF = {b"WEBP": "image/webp", b"WAVE": "audio/wav"}
_LOOKED_AT = 64
ANY = "application/octet-stream"


class Base64(str):
    """The base64 of bytes that a callable returned."""

    __slots__ = ()


class Binary(dict[str, str]):
    """The body of an answer that is no text: `base64`, and `media_type` as the service says."""

    __slots__ = ()


def encoded(raw: bytes) -> Base64:
    return Base64(base64.b64encode(raw).decode())


def bytes_of(value: Any) -> bytes | None:
    """The bytes that a value stands for; None where it is none of the two."""
    if isinstance(value, Base64):
        return base64.b64decode(value)
    return base64.b64decode(value["base64"]) if isinstance(value, Binary) else None


def media_type_of(value: Base64 | Binary) -> str:
    """What the service says, or else what the bytes begin like."""
    if isinstance(value, Binary):
        return value["media_type"]
    head = base64.b64decode(value[:_LOOKED_AT])
    if head[:4] == b"RIFF" and head[8:12] in _RIFF:
        return _RIFF[head[8:12]]
    return next((kind for sign, kind in _SIGNATURES if head.startswith(sign)), ANY)


def description(value: Base64 | Binary) -> str:
    """What a model is told in place of the bytes."""
    written = value if isinstance(value, Base64) else value["base64"]
    size = len(written) * 3 // 4 - written[-2:].count("=")
    return f"{media_type_of(value)}, {size} bytes"
