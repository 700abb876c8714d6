"""How an answer goes out: head and body in one write, and the answers of one turn of the loop
together.

uvicorn writes head and body apart. What streams, and whatever is not a plain answer of known
length, still goes its way.
"""

import asyncio
from collections.abc import Iterable, Sized
from typing import TYPE_CHECKING, Any, Final

from uvicorn.protocols.http.httptools_impl import STATUS_LINE

if TYPE_CHECKING:
    from uvicorn.protocols.http.httptools_impl import RequestResponseCycle

    from toolrt.faces.http.wire import Message

_START: Final = "http.response.start"
_GOOD: Final = b"HTTP/1.1 200 OK\r\n%bcontent-type: application/json\r\ncontent-length: %d\r\n\r\n"
_CLOSE: Final = b"connection: close\r\n"


class Outbox:
    """Sends the answers of one server; `tasks` are the requests that run.

    Each write wakes who reads it, which costs as much as a part of a call, and takes a core that
    others could use: where several answers are ready, one waking does for all of them.
    """

    __slots__ = ("_tasks", "_waiting")

    def __init__(self, tasks: Sized) -> None:
        self._tasks = tasks
        self._waiting: list[tuple[asyncio.Transport, bytes]] = []

    def put(self, transport: asyncio.Transport, answer: bytes) -> None:
        """Send a whole answer: at once where no other may be ready, else with those."""
        if len(self._tasks) < 2:  # noqa: PLR2004 - its own is one
            transport.write(answer)
            return
        if not self._waiting:
            asyncio.get_running_loop().call_soon(self.empty)
        self._waiting.append((transport, answer))

    def empty(self) -> None:
        """Send what waits. To be called before anything that could come before it."""
        if not self._waiting:
            return
        waiting, self._waiting = self._waiting, []
        for transport, answer in waiting:
            if not transport.is_closing():
                transport.write(answer)


class Sending:
    """The `send` of one request: takes the place of uvicorn's, in front of it."""

    __slots__ = ("_cycle", "_further", "_outbox", "_start")

    def __init__(self, cycle: "RequestResponseCycle", outbox: Outbox) -> None:
        self._cycle = cycle
        self._outbox = outbox
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
        self._outbox.put(cycle.transport, head + body)
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
        cycle.message_event.set()
        if cycle.keep_alive:
            self._outbox.put(cycle.transport, b"".join(parts))
        else:
            cycle.transport.write(b"".join(parts))
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
