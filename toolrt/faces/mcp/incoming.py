"""Bytes to lines, a line a message: of one that is too long nothing is kept but whose it is.

Whoever waits for its answer would wait forever for one without the id.
"""

import re
from collections.abc import Iterator
from typing import Any, Final, NamedTuple

from pydantic_core import from_json

from toolrt.schemas.text import MAX_BYTES

NEAR: Final = 4096
"""Bytes at either end of a long message in which its id is looked for."""

_ID = rb'"id"\s*:\s*(-?\d{1,18}|"[^"\\]{0,256}")\s*'
_WORDS = rb'"(?:jsonrpc|method)"\s*:\s*"[^"\\]*"\s*'
_METHOD: Final = re.compile(rb'"method"\s*:\s*"')
_FIRST: Final = re.compile(rb'\s*\{\s*(?:%b,\s*)*%b,\s*+(?!"result"|"error")' % (_WORDS, _ID))
_BEGIN: Final = re.compile(rb"\s*\{\s*(?:%b,\s*)*" % _WORDS)
_LAST: Final = re.compile(rb",\s*%b(?:,\s*%b)*\}\s*$" % (_ID, _WORDS))


class TooLong(NamedTuple):
    """A message that is longer than any may be, and the id of the request that it is, if known."""

    id: Any


class Incoming:
    """What one client sends."""

    def __init__(self) -> None:
        self._buffer = bytearray()
        self._head: bytes | None = None

    def take(self, chunk: bytes) -> Iterator[bytes | TooLong]:
        """The lines that end in `chunk`; empty ones are none."""
        *lines, rest = chunk.split(b"\n")
        for line in lines:
            self._add(line)
            yield from self.rest()
        self._add(rest)

    def rest(self) -> Iterator[bytes | TooLong]:
        """The line that has not ended, at the end of it all."""
        whole, self._buffer = bytes(self._buffer), bytearray()
        head, self._head = self._head, None
        if head is not None:
            yield TooLong(id_near(head, whole))
        elif whole.strip():
            yield whole

    def _add(self, piece: bytes) -> None:
        self._buffer += piece
        if self._head is None and len(self._buffer) > MAX_BYTES:
            self._head = bytes(self._buffer[:NEAR])
        if self._head is not None:
            del self._buffer[:-NEAR]


def id_near(head: bytes, tail: bytes) -> Any:
    """The id of a request of which only both ends are read; None where it does not stand there, or
    the message may be a response.

    Between quotes that are escaped no quote stands alone: what looks like a member is one.
    """
    found = _FIRST.match(head)
    if found is None:
        found = _LAST.search(tail)
        begin = _BEGIN.match(head)
        known = (begin[0] if begin else b"") + (found[0] if found else b"")
        if found is None or not _METHOD.search(known):
            return None
    return from_json(found[1])
