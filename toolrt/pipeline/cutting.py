"""Cuts what is longer than a model should get, at line ends where there are any (O7).

What is cut is cut the same way every time. Sizes are bytes of UTF-8.
"""

from collections.abc import Mapping
from typing import Any

from toolrt.catalog.results import Keep

_PREVIEW_BYTES = 2000


def cut_text(text: str, max_bytes: int, keep: Keep = "head") -> str:
    """The part of `text` to keep, within `max_bytes`, with a note of what was left out; `text`
    itself when it fits.
    """
    if len(text) * 4 <= max_bytes:
        return text
    raw = text.encode("utf-8", "replace")
    if len(raw) <= max_bytes:
        return text
    if keep == "both":
        head, tail = _head(raw, max_bytes // 2), _tail(raw, max_bytes - max_bytes // 2)
        left = len(raw) - len(head) - len(tail)
        return f"{_read(head)}\n[... {left} bytes left out ...]\n{_read(tail)}"
    if keep == "tail":
        tail = _tail(raw, max_bytes)
        return f"… {len(raw) - len(tail)} bytes before this were cut off\n{_read(tail)}"
    head = _head(raw, max_bytes)
    return f"{_read(head)}\n… {len(raw) - len(head)} more bytes were cut off"


def preview(written: bytes, size: int, max_bytes: int, keep: Keep = "head") -> dict[str, Any]:
    """What stands in place of data of `size` bytes that is too long; `written` is its JSON."""
    most = min(_PREVIEW_BYTES, max_bytes)
    shown = {
        "head": written[:most],
        "tail": written[-most:],
        "both": written[: most // 2] + "…".encode() + written[-(most // 2) :],
    }
    return {"spilled": None, "bytes": size, "preview": _read(shown[keep])}


def measures(whole: str, kept: str) -> Mapping[str, int]:
    """How much there was, and how much of it is shown."""
    return {
        "bytes": len(whole.encode("utf-8", "replace")),
        "lines": len(whole.splitlines()),
        "shown_bytes": len(kept.encode("utf-8", "replace")),
    }


def _head(raw: bytes, size: int) -> bytes:
    """The start, up to the last end of a line in its second half, if there is one."""
    end = raw.rfind(b"\n", size // 2, size)
    return _whole_start(raw[: end if end >= 0 else size])


def _tail(raw: bytes, size: int) -> bytes:
    """The end, from the first start of a line in its first half, if there is one."""
    start = len(raw) - size
    end = raw.find(b"\n", start, start + size // 2)
    tail = raw[end + 1 :] if end >= 0 else raw[start:]
    while tail and tail[0] & 0xC0 == 0x80:  # noqa: PLR2004 - the inside of a character
        tail = tail[1:]
    return tail


def _whole_start(raw: bytes) -> bytes:
    return raw.decode("utf-8", "ignore").encode()


def _read(raw: bytes) -> str:
    return raw.decode("utf-8", "ignore")
