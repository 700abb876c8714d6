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
        body = _body(held, shown)
        after = os.fstat(held)
        if marks(before) == marks(after):
            return Sight(body, after)
    raise refusal(shown, "conflict", "changes all the time", "try again when nobody writes to it")


def check_size(body: bytes) -> bytes:
    """The bytes of a file that is to be written. Raises ToolError where nobody could read it."""
    if len(body) > MOST_BYTES:
        message = f"the file would be larger than {MOST_BYTES >> 20} MiB"
        raise ToolError(message, code="invalid-arguments")
    return body


def marks(of: os.stat_result) -> tuple[int, ...]:
    """What changes with every write to a file."""
    return of.st_dev, of.st_ino, of.st_size, of.st_mtime_ns, of.st_ctime_ns


def _body(held: int, shown: str) -> bytes:
    pieces: list[bytes] = []
    size = 0
    while piece := os.pread(held, _PIECE, size):
        pieces.append(piece)
        size += len(piece)
        if size > MOST_BYTES:
            why = f"is larger than {MOST_BYTES >> 20} MiB, the most that is read"
            raise refusal(shown, "unsupported", why, "search in its folder for what you need")
    return b"".join(pieces)
