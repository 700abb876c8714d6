"""Whether a kept connection may carry another request.

Whatever has come over it since its last answer was complete would be read as the answer to the next
request, which would then seem done without ever having been looked at. aiohttp notices some of it
and hands out the connection all the same. What is already on its way when the request leaves cannot
be told from its answer; nobody can who speaks HTTP/1.1.
"""

import asyncio
import select
from typing import Any

from aiohttp.http import HttpProcessingError

_PROBE = b"HTTP/1.1 204 Spotless\r\nProbe: 1\r\n\r\n"
_READ = (204, "Spotless", ((b"Probe", b"1"),))


class _Idle(asyncio.Protocol):
    """Stands in for aiohttp's end while nothing is asked: the first bytes end the connection."""

    def __init__(self, protocol: Any) -> None:
        self._protocol = protocol

    def data_received(self, data: bytes) -> None:
        del data
        self._protocol.abort()

    def pause_writing(self) -> None:
        self._protocol.pause_writing()

    def resume_writing(self) -> None:
        self._protocol.resume_writing()

    def connection_lost(self, exc: Exception | None) -> None:
        self._protocol.connection_lost(exc)


def take_up(connection: Any) -> None:
    """Let aiohttp hear what comes over its `connection` until that is released, and no longer."""
    protocol = connection.protocol
    _give(protocol.transport, protocol)
    connection.add_callback(lambda: _give(protocol.transport, _Idle(protocol)))


def _give(transport: Any, protocol: asyncio.BaseProtocol) -> None:
    if transport is not None:  # as that of a connection is that was lost
        transport.set_protocol(protocol)


def is_spotless(protocol: Any) -> bool:
    """Whether nothing is waiting at `protocol`, aiohttp's end of a connection.

    A new connection is spotless, since nothing has been asked over it. One that cannot be looked
    into is not.
    """
    transport = protocol.transport
    if transport is None or not isinstance(transport.get_protocol(), _Idle):
        return True
    parser = getattr(protocol, "_parser", None)  # there is no public way to what it has read
    if parser is None or protocol.should_close:
        return False
    return not _has_unread(transport) and _is_between_answers(parser)


def _has_unread(transport: Any) -> bool:
    """Whether the system holds bytes, the end or an error of the connection for us to read."""
    readable = select.poll()
    readable.register(transport.get_extra_info("socket").fileno(), select.POLLIN)
    return bool(readable.poll(0))


def _is_between_answers(parser: Any) -> bool:
    """Whether an answer fed to the parser of the last one comes out as it is, and alone.

    It is the only way to see that the parser holds the beginning of something. The parser is not
    used again: each request has a new one.
    """
    try:
        answers, _, rest = parser.feed_data(_PROBE)
    except HttpProcessingError:
        return False
    read = [(answer.code, answer.reason, answer.raw_headers) for answer, _ in answers]
    return read == [_READ] and not rest
