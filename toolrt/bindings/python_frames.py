"""Frames between this process and a worker of `run_in: process`: a length, then JSON.

A call has a `number`, and so has each frame that speaks of it: who reads drops those of others.
"""

import json
import socket
import struct
from typing import Any

_LENGTH = struct.Struct(">I")

LARGEST = 64 * 1024**2
"""Bytes of one frame; a value that is larger belongs in a file."""


def write_frame(channel: socket.socket, document: dict[str, Any]) -> None:
    """Send a document. Raises OSError when nobody is left to read, ValueError when too large."""
    try:
        data = json.dumps(document).encode()
    except ValueError as error:  # by default Python writes no more digits
        raise ValueError("a number of more than 4300 digits") from error
    if len(data) > LARGEST:
        raise ValueError(f"more than {LARGEST // 1024**2} MiB")
    channel.sendall(_LENGTH.pack(len(data)) + data)


def read_frame(channel: socket.socket) -> dict[str, Any] | None:
    """The next document; None when the other side has gone."""
    head = _read(channel, _LENGTH.size)
    data = _read(channel, _LENGTH.unpack(head)[0]) if head else None
    if data is None:
        return None
    document: dict[str, Any] = json.loads(data)
    return document


def _read(channel: socket.socket, size: int) -> bytes | None:
    parts: list[bytes] = []
    while size:
        try:
            part = channel.recv(min(size, 1024**2))
        except OSError:
            return None
        if not part:
            return None
        parts.append(part)
        size -= len(part)
    return b"".join(parts)
