"""MCP over HTTP: a bare ASGI endpoint.

A request that sends nothing but its answer gets plain JSON. Its answer becomes a stream of events
with the first thing that is sent before it, or once it has taken a while. Host, origin, size and
who is calling were looked at before.
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, MutableMapping
from contextlib import suppress
from typing import Any

from toolrt.core.calls import Caller
from toolrt.faces.mcp import eras
from toolrt.faces.mcp.envelopes import check_headers, check_mirrored
from toolrt.faces.mcp.messages import (
    INVALID_REQUEST,
    METHOD_NOT_FOUND,
    PARSE_ERROR,
    Message,
    Wrong,
    id_of,
    read,
)
from toolrt.faces.mcp.peers import Peer, Session
from toolrt.faces.mcp.protocol import (
    Protocol,
    cancelled,
    check_envelope,
    check_version,
    modern_peer,
)
from toolrt.faces.mcp.sessions import Sessions
from toolrt.pipeline.gateway import ANONYMOUS
from toolrt.runtime import Runtime
from toolrt.schemas.text import MAX_BYTES

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
Headers = Mapping[bytes, bytes]

PING_S = 15.0
"""Seconds of silence after which a stream says that it is alive."""
LOOK_S = 0.05
"""After so long a request looks whether its client is still there."""

_JSON = (b"content-type", b"application/json")
_EVENTS = [
    (b"content-type", b"text/event-stream"),
    (b"cache-control", b"no-cache, no-transform"),
    (b"x-accel-buffering", b"no"),
]
_NOT_FOUND, _BAD = 404, 400
_STATUS = {METHOD_NOT_FOUND: _NOT_FOUND, -32603: 500, -32800: 200}
"""Statuses of the modern era by code; all other errors are 400."""
_BROKEN = frozenset({PARSE_ERROR, INVALID_REQUEST})


class McpEndpoint:
    """The endpoint of one open project; `scope` names the caller and the toolset."""

    def __init__(self, runtime: Runtime, access: Any = None, **options: Any) -> None:
        """`access` knows the pages where people decide; `options` are those of the protocol."""
        if access is not None:
            options.setdefault("page_of", access.page_of)
        self.protocol = Protocol(runtime, **options)
        self.sessions = Sessions(self.protocol.key, self.protocol.changes)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request of `/mcp` or `/mcp/NAME`."""
        caller: Caller = scope.get("toolrt.caller") or ANONYMOUS
        toolset: str | None = scope.get("toolrt.toolset")
        headers: Headers = scope.get("toolrt.head") or dict(scope["headers"])
        method = scope["method"]
        exchange = _Exchange(receive, send, headers)
        try:
            if method == "POST":
                await self._post(exchange, scope, caller, toolset)
            elif method == "GET":
                await self._get(exchange, caller, toolset)
            elif method == "DELETE":
                await self._delete(exchange, caller, toolset)
            else:
                await exchange.respond(405, b"", (b"allow", b"GET, POST, DELETE"))
        except ConnectionError:
            return  # whoever asked is gone

    def close(self) -> None:
        """End what waits and what listens."""
        self.sessions.close()
        self.protocol.close()

    async def _post(
        self, exchange: "_Exchange", scope: Scope, caller: Caller, toolset: str | None
    ) -> None:
        body = await exchange.body()
        headers = exchange.headers
        if not headers.get(b"content-type", b"").startswith(b"application/json"):
            await exchange.refuse(415, Wrong(INVALID_REQUEST, "send application/json"))
            return
        try:
            message = read(body)
        except Wrong as wrong:
            await exchange.refuse(_BAD, wrong, id_of(wrong))
            return
        version = headers.get(b"mcp-protocol-version", b"").decode("latin-1")
        is_old = version in eras.HANDSHAKE_VERSIONS
        if eras.is_modern(message.params) or (version and not is_old):
            await self._modern(exchange, message, scope["headers"], caller, toolset)
        else:
            await self._of_old(exchange, message, version or eras.ASSUMED, caller, toolset)

    async def _modern(
        self,
        exchange: "_Exchange",
        message: Message,
        raw_headers: list[tuple[bytes, bytes]],
        caller: Caller,
        toolset: str | None,
    ) -> None:
        if not message.is_request:
            await exchange.respond(202, b"")
            return
        exchange.begin("modern", eras.MODERN, caller, None, toolset)
        try:
            meta = check_envelope(message.params)
            check_headers(message, meta, exchange.headers, raw_headers)
            check_version(meta[eras.VERSION_KEY])
            modern_peer(exchange, meta)
            if message.method == "tools/call":
                self._check_mirrored(message, exchange, raw_headers)
        except Wrong as wrong:
            await exchange.refuse(_STATUS.get(wrong.code, _BAD), wrong, message.id)
            return
        await self._answer(exchange, message, ends_with_client=True)

    def _check_mirrored(
        self, message: Message, exchange: "_Exchange", raw: list[tuple[bytes, bytes]]
    ) -> None:
        """Raise Wrong where a header that repeats an argument says something else."""
        shelf = self.protocol.shelf(exchange.toolset)
        if not shelf.has_mirrored:
            return
        shelved = shelf.of(str(message.params.get("name")))
        if shelved is not None and shelved.mirrored:
            arguments = message.params.get("arguments")
            check_mirrored(arguments, shelved.mirrored, exchange.headers, raw)

    async def _of_old(
        self,
        exchange: "_Exchange",
        message: Message,
        version: str,
        caller: Caller,
        toolset: str | None,
    ) -> None:
        if message.method == "initialize":
            await self._initialize(exchange, message, caller, toolset)
            return
        session = self.sessions.find(exchange.headers.get(b"mcp-session-id"), caller, toolset)
        if session is None:
            wrong = Wrong(INVALID_REQUEST, "there is no such session: initialize anew")
            await exchange.refuse(_NOT_FOUND, wrong, message.id)
            return
        exchange.begin("handshake", session.version, session.caller, session, toolset)
        if session.id is None:
            exchange.version = version
        if message.is_request:
            await self._in_session(exchange, message, session)
            return
        if message.method:
            self.protocol.notified(message, session)
        else:
            self.protocol.responded(message, session)
        await exchange.respond(202, b"")

    async def _initialize(
        self, exchange: "_Exchange", message: Message, caller: Caller, toolset: str | None
    ) -> None:
        session = Session(None, caller, toolset=toolset)
        exchange.begin("handshake", eras.ASSUMED, caller, session, toolset)
        try:
            body = await self.protocol.answer(message, exchange)
        except Wrong as wrong:
            await exchange.refuse(_BAD, wrong, message.id)
            return
        self.sessions.open(session)
        id_ = (session.id or "").encode()
        await exchange.respond(200, body, _JSON, (b"mcp-session-id", id_))

    async def _in_session(self, exchange: "_Exchange", message: Message, session: Session) -> None:
        running, id_ = session.running, message.id
        if id_ in running:
            wrong = Wrong(INVALID_REQUEST, "a request of this `id` is running already")
            await exchange.refuse(_BAD, wrong, id_)
            return
        task = asyncio.current_task()
        if task is not None:
            running[id_] = task
        try:
            await self._answer(exchange, message, ends_with_client=False)
        finally:
            running.pop(id_, None)

    async def _answer(
        self, exchange: "_Exchange", message: Message, *, ends_with_client: bool
    ) -> None:
        exchange.watch(ends_with_client=ends_with_client)
        try:
            body = await self.protocol.answer(message, exchange)
        except Wrong as wrong:
            status = _STATUS.get(wrong.code, _BAD) if ends_with_client else 200
            await exchange.refuse(status, wrong, message.id)
            return
        except asyncio.CancelledError:
            if not exchange.called_off(message.id, self._session_running(exchange)):
                raise
            await exchange.refuse(200, cancelled(), message.id)
            return
        finally:
            exchange.unwatch()
        await exchange.end(body)

    def _session_running(self, exchange: "_Exchange") -> Mapping[Any, Any]:
        return exchange.session.running if exchange.session is not None else {}

    async def _get(self, exchange: "_Exchange", caller: Caller, toolset: str | None) -> None:
        """A way to a session beside its requests."""
        id_ = exchange.headers.get(b"mcp-session-id")
        session = self.sessions.find(id_, caller, toolset) if id_ else None
        if id_ is None or b"text/event-stream" not in exchange.headers.get(b"accept", b""):
            await exchange.respond(405, b"", (b"allow", b"GET, POST, DELETE"))
            return
        if session is None:
            await exchange.respond(_NOT_FOUND, b"")
            return
        session.streams.append(exchange.send)
        try:
            await exchange.stay()
        finally:
            session.streams.remove(exchange.send)

    async def _delete(self, exchange: "_Exchange", caller: Caller, toolset: str | None) -> None:
        id_ = exchange.headers.get(b"mcp-session-id")
        session = self.sessions.find(id_, caller, toolset) if id_ else None
        if session is None:
            await exchange.respond(_NOT_FOUND, b"")
            return
        self.sessions.end(session)
        await exchange.respond(200, b"")


class _Exchange(Peer):
    """One HTTP request and the answer to it: plain, or a stream as soon as more is sent."""

    __slots__ = (
        "_is_gone",
        "_pump",
        "_queue",
        "_receive",
        "_send",
        "_task",
        "_timer",
        "_watching",
        "headers",
    )

    def __init__(self, receive: Receive, send: Send, headers: Headers) -> None:
        self._receive = receive
        self._send = send
        self.headers = headers
        self._queue: asyncio.Queue[bytes | None] | None = None
        self._pump: asyncio.Task[None] | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._watching: asyncio.Task[None] | None = None
        self._task: asyncio.Task[Any] | None = None
        self._is_gone = False

    def begin(
        self,
        era: eras.Era,
        version: str,
        caller: Caller,
        session: Session | None,
        toolset: str | None,
    ) -> None:
        super().__init__(era, version, caller, session)
        self.toolset = toolset

    @property
    def can_be_sent_to(self) -> bool:
        return not self._is_gone and b"text/event-stream" in self.headers.get(b"accept", b"")

    async def body(self) -> bytes:
        """All of it. Raises ConnectionError when the client goes."""
        event = await self._receive()
        body: bytes = event.get("body", b"")
        while event.get("more_body"):
            event = await self._receive()
            body += event.get("body", b"")
            if len(body) > MAX_BYTES:
                break
        if event["type"] == "http.disconnect":
            raise ConnectionError
        return body

    async def respond(self, status: int, body: bytes, *headers: tuple[bytes, bytes]) -> None:
        made = [*headers, (b"content-length", b"%d" % len(body))]
        await self._send({"type": "http.response.start", "status": status, "headers": made})
        await self._send({"type": "http.response.body", "body": body})

    async def refuse(self, status: int, wrong: Wrong, id_: Any = None) -> None:
        await self.end(wrong.written(id_), status)

    async def end(self, body: bytes, status: int = 200) -> None:
        """Send the answer; nothing is sent after it."""
        if self._pump is None:
            self._is_gone = True
            await self.respond(status, body, _JSON)
            return
        self.send(body)
        self._is_gone = True
        self._enqueue(None)
        await self._pump

    def send(self, message: bytes) -> None:
        self._enqueue(b"event: message\ndata: %b\n\n" % message)

    async def stay(self) -> None:
        """Keep a stream open for as long as its client is there."""
        self._task = asyncio.current_task()
        self._enqueue(b": open\n\n")
        await self._disconnected()
        self._enqueue(None)

    def watch(self, *, ends_with_client: bool) -> None:
        """Look after a while whether the client is there, and keep it waiting with a sign."""
        self._task = asyncio.current_task() if ends_with_client else None
        loop = asyncio.get_running_loop()
        self._timer = loop.call_later(LOOK_S, self._look)

    def unwatch(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None  # it leads back here: a cycle would live until it is looked for
        if self._watching is not None:
            self._watching.cancel()
            self._watching = None

    def called_off(self, id_: Any, running: Mapping[Any, Any]) -> bool:
        """Whether the client called its request off, or has gone; our own end is neither."""
        is_off = self._is_gone or (self.session is not None and id_ not in running)
        task = asyncio.current_task()
        if is_off and task is not None:
            task.uncancel()
        if self._is_gone:
            raise ConnectionError
        return is_off

    def _look(self) -> None:
        self._watching = asyncio.ensure_future(self._gone())
        if self.can_be_sent_to:
            self._timer = asyncio.get_running_loop().call_later(PING_S, self._ping)

    def _ping(self) -> None:
        self._enqueue(b": working\n\n")
        self._timer = asyncio.get_running_loop().call_later(PING_S, self._ping)

    async def _gone(self) -> None:
        await self._disconnected()
        if self._task is not None:
            self._task.cancel()

    async def _disconnected(self) -> None:
        while (await self._receive())["type"] != "http.disconnect":
            pass
        self._is_gone = True

    def _enqueue(self, piece: bytes | None) -> None:
        if self._queue is None:
            self._queue = asyncio.Queue()
            self._pump = asyncio.ensure_future(self._pumped(self._queue))
        self._queue.put_nowait(piece)

    async def _pumped(self, queue: "asyncio.Queue[bytes | None]") -> None:
        with suppress(OSError):
            start = {"type": "http.response.start", "status": 200, "headers": _EVENTS}
            await self._send(start)
            while (piece := await queue.get()) is not None:
                await self._send({"type": "http.response.body", "body": piece, "more_body": True})
            await self._send({"type": "http.response.body", "body": b""})
