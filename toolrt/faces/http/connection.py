"""A connection that does not wait for ever: uvicorn's, with bounds of time and number (X8).

A head has ten seconds to arrive, a body may be silent for as long and takes a minute at most; one
look a second at all connections keeps them to it, and costs a request nothing. Where the other side
hangs up in the middle of a call, the call ends.
"""

import asyncio
from typing import TYPE_CHECKING, Any, Final

import httptools
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol, RequestResponseCycle
from uvicorn.server import ServerState

from toolrt.faces.http.calling import CALL, GONE
from toolrt.faces.http.problems import MEDIA, ProblemError
from toolrt.faces.http.sending import Outbox, Sending

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

MOST: Final = 1000
"""Connections at one time."""

SILENT_S: Final = 10.0
IDLE_S: Final = 75.0
_WHOLE_S: Final = 60.0
_LOOK_S: Final = 1.0
_MOST_HEAD: Final = 64 * 1024
_TUNNEL: Final = b"CONNECT"
_OF_WISHES: Final = frozenset({b"connection", b"http2-settings", b"upgrade"})


class State(ServerState):
    """What all connections of a server share."""

    def __init__(self) -> None:
        super().__init__()
        self.outbox = Outbox(self.tasks)


class Connection(HttpToolsProtocol):
    """One connection; `since` is when the request began that is still arriving, in seconds of the
    loop, `heard` when something of it came last, `stuck` since when nobody reads the answer.
    """

    server_state: State
    since: float | None = None
    heard: float = 0.0
    stuck: float | None = None
    running: asyncio.Task[None] | None = None
    current: RequestResponseCycle | None = None
    is_head: bool = False
    head_bytes: int = 0
    fed_bytes: int = 0

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as uvicorn's
        super().connection_made(transport)
        if len(self.connections) > MOST:
            problem = ProblemError(
                503, "unavailable", "there are too many connections", hint="try again later"
            )
            transport.write(plain_answer(problem))
            transport.close()
            return
        self.since = self.heard = self.loop.time()

    def data_received(self, data: bytes) -> None:
        self.server_state.outbox.empty()
        self.heard = self.loop.time()
        if self.since is None:
            self.since = self.heard
        self.fed_bytes = len(data)
        try:
            self._read(data)
        except httptools.HttpParserError:  # or a URL that is none
            self.send_400_response("this is no HTTP request")
        if self.is_head:
            self.head_bytes += len(data)
            if self.head_bytes > _MOST_HEAD:
                self.send_400_response("the head is too long")

    def _read(self, data: bytes) -> None:
        """Read what has come. Raises httptools.HttpParserError.

        Who would rather speak another protocol, as clients of HTTP/2 do at first, is answered in
        this one (RFC 9110, section 7.8).
        """
        rest = memoryview(data)
        while rest:
            try:
                self.parser.feed_data(rest)
            except httptools.HttpParserUpgrade as wish:
                rest = rest[wish.args[0] :]
                self._read_without_wish()
            else:
                return

    def _read_without_wish(self) -> None:
        """Read a head once more: with a wish for another protocol the parser takes no body, which
        then would be the next request. Raises httptools.HttpParserError.
        """
        method = self.parser.get_method()
        if method == _TUNNEL:
            raise httptools.HttpParserError
        version = self.parser.get_http_version().encode()
        lines = [b"%b %b HTTP/%b" % (method, self.url, version)]
        lines += (b"%b: %b" % pair for pair in self.headers if pair[0] not in _OF_WISHES)
        if any(name == b"connection" and b"close" in said.lower() for name, said in self.headers):
            lines.append(b"connection: close")
        self.parser = httptools.HttpRequestParser(self)
        self.parser.set_dangerous_leniencies(lenient_data_after_close=True)  # as uvicorn's
        self.parser.feed_data(b"\r\n".join((*lines, b"", b"")))

    def eof_received(self) -> None:
        self.server_state.outbox.empty()

    def shutdown(self) -> None:
        self.server_state.outbox.empty()
        super().shutdown()

    def on_message_begin(self) -> None:
        super().on_message_begin()
        self.is_head, self.head_bytes = True, 0
        self.since = self.heard

    def on_headers_complete(self) -> None:
        self.is_head = False
        if self.fed_bytes > _MOST_HEAD and _size(self.headers) > _MOST_HEAD:
            raise ValueError("the head is too long")
        if not self.parser.should_upgrade():
            super().on_headers_complete()

    def _start_asgi_task(self, cycle: RequestResponseCycle, app: Any) -> None:
        sending = Sending(cycle, self.server_state.outbox)
        cycle.send = sending  # type: ignore[assignment,method-assign]  # it stands before it
        self.current = cycle
        self.running = task = self.loop.create_task(cycle.run_asgi(app))
        task.add_done_callback(self.tasks.discard)
        self.tasks.add(task)

    def on_message_complete(self) -> None:
        if self.parser.should_upgrade():
            return
        super().on_message_complete()
        self.since = None

    def on_response_complete(self) -> None:
        """As uvicorn's, but without a timer for each answer: `watch` looks for who idles."""
        self.server_state.total_requests += 1
        if self.transport.is_closing():
            return
        self.heard = self.loop.time()
        self.flow.resume_reading()
        if self.pipeline:
            self._start_asgi_task(*self.pipeline.pop())

    def pause_writing(self) -> None:
        super().pause_writing()
        self.stuck = self.loop.time()

    def resume_writing(self) -> None:
        super().resume_writing()
        self.stuck = None

    def connection_lost(self, exc: Exception | None) -> None:
        cycle = self.current
        super().connection_lost(exc)
        if cycle is not None and not cycle.response_complete:
            cycle.disconnected = True
            cycle.scope[GONE] = True  # type: ignore[typeddict-unknown-key]  # an own word in the scope
            ends: Callable[[Any], bool] | None = cycle.scope.get(CALL)  # type: ignore[assignment]  # as above
            if self.running is not None and ends is not None and ends(cycle.scope):
                self.running.cancel()

    def send_400_response(self, msg: str) -> None:
        problem = ProblemError(400, "bad-request", msg.rstrip("."), hint="send HTTP/1.1")
        if not self.transport.is_closing():
            self.transport.write(plain_answer(problem))
            self.transport.close()

    def is_late(self, now: float) -> bool:
        """Whether what should arrive does not."""
        if self.stuck is not None and now - self.stuck > _WHOLE_S:
            return True
        if self.flow.read_paused:
            return False
        if self.since is None:
            is_idle = self.cycle is not None and self.cycle.response_complete
            return is_idle and now - self.heard > IDLE_S
        return now - self.heard > SILENT_S or now - self.since > self._patience_s()

    def _patience_s(self) -> float:
        """A head must be there in ten seconds, however steadily it drips."""
        is_body = self.cycle is not None and not self.cycle.response_complete
        return _WHOLE_S if is_body else SILENT_S


def _size(headers: list[tuple[bytes, bytes]]) -> int:
    return sum(len(name) + len(value) for name, value in headers)


def plain_answer(problem: ProblemError) -> bytes:
    """An answer on the wire, for where no application is asked."""
    body = problem.body()
    head = f"HTTP/1.1 {problem.status} {problem.document()['title']}\r\n"
    head += f"content-type: {MEDIA.decode()}\r\ncontent-length: {len(body)}\r\n"
    return head.encode() + b"connection: close\r\n\r\n" + body


async def watch(connections: "Iterable[Any]") -> None:
    """Close connections that keep the server waiting; never ends."""
    loop = asyncio.get_running_loop()
    while True:
        await asyncio.sleep(_LOOK_S)
        now = loop.time()
        for each in list(connections):
            if each.is_late(now):
                each.transport.abort()
