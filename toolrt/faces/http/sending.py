"""How an answer goes out: head and body in one write, which is half of what two writes cost.

uvicorn writes them apart. What streams, and whatever is not a plain answer of known length, still
goes its way.
"""

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, Final

from uvicorn.protocols.http.httptools_impl import STATUS_LINE

if TYPE_CHECKING:
    from uvicorn.protocols.http.httptools_impl import RequestResponseCycle

    from toolrt.faces.http.wire import Message

_START: Final = "http.response.start"
_GOOD: Final = b"HTTP/1.1 200 OK\r\n%bcontent-type: application/json\r\ncontent-length: %d\r\n\r\n"
_CLOSE: Final = b"connection: close\r\n"


class Sending:
    """The `send` of one request: takes the place of uvicorn's, in front of it."""

    __slots__ = ("_cycle", "_further", "_start")

    def __init__(self, cycle: "RequestResponseCycle") -> None:
        self._cycle = cycle
        self._further = cycle.send
        self._start: Message | None = None

    def body(self) -> bytes | None:
        """The body, where all of it is there and nobody has read of it; else None."""
        cycle = self._cycle
        if cycle.more_body or cycle.disconnected or cycle.flow.read_paused:
            return None
        return bytes(cycle.body)

    def at_once(self, body: bytes) -> bool:
        """Answer with JSON and 200, if nothing stands in the way; whether that was so."""
        cycle = self._cycle
        if cycle.response_started or not cycle.keep_alive or cycle.flow.write_paused:
            return False
        if cycle.disconnected:
            return True
        cycle.response_started = cycle.response_complete = True
        head = _GOOD % (_usual(cycle.default_headers), len(body))
        cycle.transport.write(head + body)
        cycle.message_event.set()
        cycle.on_response()
        return True

    async def __call__(self, message: "Message") -> None:
        start = self._start
        if start is None and message["type"] == _START and not self._cycle.response_started:
            self._start = message
            return
        if start is None:
            await self._further(message)  # type: ignore[arg-type]  # the same shapes, less exactly
            return
        self._start = None
        body = message.get("body", b"")
        headers = list(start.get("headers", ()))
        if not message.get("more_body", False) and _is_plain(headers, body):
            await self.whole(start["status"], headers, body)
            return
        await self._further(start)  # type: ignore[arg-type]  # as above
        await self._further(message)  # type: ignore[arg-type]  # as above

    async def whole(self, status: int, headers: Iterable[tuple[bytes, bytes]], body: bytes) -> None:
        """A whole answer; the headers have its length."""
        cycle = self._cycle
        if cycle.response_started:
            raise RuntimeError("the answer has begun already")
        if cycle.flow.write_paused and not cycle.disconnected:
            await cycle.flow.drain()
        if cycle.disconnected:
            return
        cycle.response_started = cycle.response_complete = True
        cycle.waiting_for_100_continue = False
        parts = [STATUS_LINE[status], _usual(cycle.default_headers)]
        for name, value in headers:
            parts += (name, b": ", value, b"\r\n")
            if name == b"connection" and value == b"close":
                cycle.keep_alive = False
                parts[-4:] = ()
        if not cycle.keep_alive:
            parts.append(_CLOSE)
        parts += (b"\r\n", b"" if cycle.scope["method"] == "HEAD" else body)
        cycle.transport.write(b"".join(parts))
        cycle.message_event.set()
        if not cycle.keep_alive:
            cycle.transport.close()
        cycle.on_response()


def _is_plain(headers: list[tuple[bytes, bytes]], body: bytes) -> bool:
    """Whether the answer is as long as it says, and nothing in its head breaks a line."""
    length = next((value for name, value in headers if name.lower() == b"content-length"), None)
    whole = b"".join(part for pair in headers for part in pair)
    return length == b"%d" % len(body) and b"\r" not in whole and b"\n" not in whole


_known: Any = (None, b"")


def _usual(headers: list[tuple[bytes, bytes]]) -> bytes:
    """The headers of every answer, as they go out; uvicorn makes a new list each second."""
    global _known  # noqa: PLW0603 - one pair for all connections, put in place at once
    if _known[0] is not headers:
        _known = headers, b"".join(b"%b: %b\r\n" % pair for pair in headers)
    made: bytes = _known[1]
    return made
