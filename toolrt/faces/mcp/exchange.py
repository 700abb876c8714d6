"""One HTTP request and the answer to it: plain JSON, or a stream as soon as more is sent.

While requests run, one pulse looks after all of them: whether their clients are still there, and
that streams give a sign of life.
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, MutableMapping
from contextlib import suppress
from typing import Any

from toolrt.core.calls import Caller
from toolrt.faces.mcp.eras import Era
from toolrt.faces.mcp.messages import Wrong
from toolrt.faces.mcp.peers import Peer, Session
from toolrt.schemas.text import MAX_BYTES

Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
Headers = Mapping[bytes, bytes]

BEAT_S = 0.05
"""Seconds between two looks at what runs; what ends before the second one is never looked at."""
SIGN_BEATS = 300
"""After so many looks without a word, a stream says that it is alive."""

JSON = (b"content-type", b"application/json")
_EVENTS = [
    (b"content-type", b"text/event-stream"),
    (b"cache-control", b"no-cache, no-transform"),
    (b"x-accel-buffering", b"no"),
]
CLOSE = (b"connection", b"close")
_STREAM = b"text/event-stream"
_READ_AWAY = 64 << 20
_OK = 200


class Exchange(Peer):
    """A request and its answer. After its end nothing is sent any more."""

    __slots__ = (
        "_is_last",
        "_is_over",
        "_pump",
        "_queue",
        "_receive",
        "_send",
        "_watching",
        "beats",
        "ends_with_client",
        "headers",
        "is_gone",
        "task",
    )

    def __init__(self, receive: Receive, send: Send, headers: Headers) -> None:
        self._receive = receive
        self._send = send
        self.headers = headers
        self.beats = 0
        self.ends_with_client = False
        self.is_gone = self._is_over = self._is_last = False
        self.task: asyncio.Task[Any] | None = None
        self._queue: asyncio.Queue[bytes | None] | None = None
        self._pump: asyncio.Task[None] | None = None
        self._watching: asyncio.Task[None] | None = None

    def begin(
        self,
        era: Era,
        version: str,
        caller: Caller,
        session: Session | None = None,
        toolset: str | None = None,
    ) -> None:
        """Say who sends it, and in which era."""
        super().__init__(era, version, caller, session)
        self.toolset = toolset

    @property
    def can_be_sent_to(self) -> bool:
        return (
            not self.is_gone and not self._is_over and _STREAM in self.headers.get(b"accept", b"")
        )

    async def respond(self, status: int, body: bytes, *headers: tuple[bytes, bytes]) -> None:
        await respond(self._send, status, body, *headers)

    async def refuse(self, status: int, wrong: Wrong, id_: Any = None) -> None:
        await self.end(wrong.written(id_), status)

    async def end(self, body: bytes, status: int = _OK) -> None:
        """Send the answer."""
        if self._pump is None:
            self._is_over = True
            await end(self._send, status, body)
            return
        self.send(body)
        self._is_over = True
        self._enqueue(None)
        await self._pump

    def send(self, message: bytes) -> None:
        if not self._is_over:
            self._enqueue(b"event: message\ndata: %b\n\n" % message)

    def give_a_sign(self) -> None:
        """Let the client know that its request is not forgotten."""
        if self.can_be_sent_to:
            self._enqueue(b": working\n\n")

    async def stay(self) -> None:
        """Keep a stream open for as long as its client is there, or until it is let go; its
        connection ends with it.
        """
        self._is_last = True
        self._enqueue(b": open\n\n")
        self.watch()
        await asyncio.wait({self._watching} if self._watching else set())
        self._enqueue(None)
        if self._pump is not None:
            await self._pump

    def let_go(self) -> None:
        """End a stream that stays."""
        self.leave()

    def watch(self) -> None:
        """Notice from now on when the client goes."""
        if self._watching is None:
            self._watching = asyncio.ensure_future(self._gone())

    def leave(self) -> None:
        """Notice nothing any more."""
        if self._watching is not None:
            self._watching.cancel()
            self._watching = None

    def drop(self) -> None:
        """Send nothing more: nobody is there."""
        self._is_over = True
        if self._pump is not None:
            self._pump.cancel()

    def was_called_off(self, id_: Any) -> bool:
        """Whether the client called its request off; our own end is no such thing.

        Raises ConnectionError where it has gone instead: then nothing more is sent.
        """
        is_off = self.session is not None and id_ not in self.session.running
        if self.task is not None and (is_off or self.is_gone):
            self.task.uncancel()
        if self.is_gone:
            self.drop()
            raise ConnectionError
        return is_off

    async def _gone(self) -> None:
        await self._disconnected()
        if self.ends_with_client and self.task is not None:
            self.task.cancel()

    async def _disconnected(self) -> None:
        while (await self._receive())["type"] != "http.disconnect":
            pass
        self.is_gone = True

    def _enqueue(self, piece: bytes | None) -> None:
        self.beats = 1
        if self._queue is None:
            self._queue = asyncio.Queue()
            self._pump = asyncio.ensure_future(self._pumped(self._queue))
        self._queue.put_nowait(piece)

    async def _pumped(self, queue: "asyncio.Queue[bytes | None]") -> None:
        with suppress(OSError):
            headers = [*_EVENTS, CLOSE] if self._is_last else _EVENTS
            await self._send({"type": "http.response.start", "status": _OK, "headers": headers})
            while (piece := await queue.get()) is not None:
                await self._send({"type": "http.response.body", "body": piece, "more_body": True})
            await self._send({"type": "http.response.body", "body": b""})


def body_at_once(send: Send) -> bytes | None:
    """All of a body, where it is there: our own server has a `send` that gives and takes at once
    what is whole.
    """
    at_once: Callable[[], bytes | None] | None = getattr(send, "body", None)
    return None if at_once is None else at_once()


async def whole_body(receive: Receive) -> bytes:
    """All of a body; of one that is too long only so much that it shows, though what is on its way
    is waited for: who still sends reads no answer. Raises ConnectionError when the client goes.
    """
    event = await receive()
    body: bytes = event.get("body", b"")
    left = _READ_AWAY
    while event.get("more_body") and left > 0:
        event = await receive()
        piece: bytes = event.get("body", b"")
        left -= len(piece)
        body += piece if len(body) <= MAX_BYTES else b""
    if event["type"] == "http.disconnect":
        raise ConnectionError
    return body


def is_json(kind: bytes) -> bool:
    """Whether a content type is that of JSON, which is UTF-8 always."""
    media, _, options = kind.decode("latin-1").lower().partition(";")
    charset = options.strip().removeprefix("charset=").strip('"')
    return media.strip() == "application/json" and charset in {"", "utf-8"}


def end_at_once(send: Send, body: bytes) -> bool:
    """Send a whole answer of 200 and JSON, if nothing stands in the way; whether that was so."""
    at_once: Callable[[bytes], bool] | None = getattr(send, "at_once", None)
    return at_once is not None and at_once(body)


async def end(send: Send, status: int, body: bytes) -> None:
    """Send a whole answer of JSON."""
    if status == _OK and end_at_once(send, body):
        return
    await respond(send, status, body, JSON)


async def respond(send: Send, status: int, body: bytes, *headers: tuple[bytes, bytes]) -> None:
    """Send a whole answer of any kind."""
    made = [*headers, (b"content-length", b"%d" % len(body))]
    await send({"type": "http.response.start", "status": status, "headers": made})
    await send({"type": "http.response.body", "body": body})


class Pulse:
    """Looks after the requests that run. It beats only while there are any."""

    def __init__(self) -> None:
        self._open: set[Exchange] = set()
        self._timer: asyncio.TimerHandle | None = None

    def add(self, exchange: Exchange) -> None:
        self._open.add(exchange)
        if self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(BEAT_S, self._beat)

    def discard(self, exchange: Exchange) -> None:
        self._open.discard(exchange)
        if exchange.beats:
            exchange.leave()

    def _beat(self) -> None:
        self._timer = None
        for exchange in self._open:
            _looked_after(exchange)
        if self._open:
            self._timer = asyncio.get_running_loop().call_later(BEAT_S, self._beat)


def _looked_after(exchange: Exchange) -> None:
    exchange.beats += 1
    if exchange.is_gone:
        return
    if exchange.beats == 2:  # noqa: PLR2004 - the second look
        exchange.watch()
    elif exchange.beats > SIGN_BEATS:
        exchange.give_a_sign()
