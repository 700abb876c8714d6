"""A file as it is at one moment: its bytes, and the version that tells it from any other (F4)."""

import hashlib
import os
from dataclasses import dataclass
from typing import Final

from toolrt.core.errors import ToolError
from toolrt.packs.refusals import refusal

MOST_BYTES: Final = 16 << 20
"""Of a file that is read whole."""
_PIECE: Final = 1 << 20
_MOST_TRIES: Final = 5


@dataclass(frozen=True, slots=True)
class Sight:
    """What a file holds, and how the system knows it."""

    body: bytes
    status: os.stat_result

    @property
    def version(self) -> str:
        """SHA-256 of the bytes, and device, inode, size and time of change of the same file."""
        of = self.status
        digest = hashlib.sha256(self.body).hexdigest()
        return f"{digest}-{of.st_dev}-{of.st_ino}-{of.st_size}-{of.st_mtime_ns}"


def seen(held: int, shown: str) -> Sight:
    """The open file, all of it. Raises ToolError where it is too large, or never keeps still."""
    for _ in range(_MOST_TRIES):
        before = os.fstat(held)
        if before.st_size > MOST_BYTES:
            raise _too_large(shown)
        body = _body(held, shown, before.st_size)
        after = os.fstat(held)
        if marks(before) == marks(after):
            return Sight(body, after)
    raise refusal(shown, "conflict", "changes all the time", "try again when nobody writes to it")


def check_size(body: bytes) -> bytes:
    """The bytes of a file that is to be written. Raises ToolError where nobody could read it."""
    check_length(len(body))
    return body


def check_length(count: int) -> None:
    """Raise ToolError (invalid-arguments) for more than a file may have."""
    if count > MOST_BYTES:
        message = f"the file would be larger than {MOST_BYTES >> 20} MiB"
        raise ToolError(message, code="invalid-arguments")


def marks(of: os.stat_result) -> tuple[int, ...]:
    """What changes with every write to a file."""
    return of.st_dev, of.st_ino, of.st_size, of.st_mtime_ns, of.st_ctime_ns


def _body(held: int, shown: str, size: int) -> bytes:
    """As many bytes as it had a moment ago, so that nobody who adds to it keeps us here; what says
    that it has none, as files of the system do, is read to its end.
    """
    most = size or MOST_BYTES + 1
    pieces: list[bytes] = []
    at = 0
    while at < most and (piece := os.pread(held, min(_PIECE, most - at), at)):
        pieces.append(piece)
        at += len(piece)
        if at > MOST_BYTES:
            raise _too_large(shown)
    return b"".join(pieces)


def _too_large(shown: str) -> ToolError:
    why = f"is larger than {MOST_BYTES >> 20} MiB, the most that is read"
    return refusal(shown, "unsupported", why, "search in its folder for what you need")
