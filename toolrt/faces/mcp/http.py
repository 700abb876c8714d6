"""MCP over HTTP: a bare ASGI endpoint.

A request that sends nothing but its answer gets plain JSON. Its answer becomes a stream of events
with the first thing that is sent before it, or once it has taken a while. Host, origin, size and
who is calling were looked at before.
"""

import asyncio
from collections.abc import Awaitable, MutableMapping, Sequence
from typing import Any

from toolrt.core.calls import Caller
from toolrt.faces.mcp import eras
from toolrt.faces.mcp.envelopes import check_headers, check_mirrored
from toolrt.faces.mcp.exchange import (
    CLOSE,
    JSON,
    Exchange,
    Headers,
    Pulse,
    Receive,
    Send,
    body_at_once,
    end,
    end_at_once,
    is_json,
    whole_body,
)
from toolrt.faces.mcp.messages import (
    CANCELLED,
    INTERNAL_ERROR,
    INVALID_REQUEST,
    METHOD_NOT_FOUND,
    Message,
    Wrong,
    id_of,
    read,
)
from toolrt.faces.mcp.owners import Owners
from toolrt.faces.mcp.peers import Peer, Session
from toolrt.faces.mcp.protocol import (
    Protocol,
    cancelled,
    check_envelope,
    check_version,
    ended,
    modern_peer,
)
from toolrt.faces.mcp.quick import Quick
from toolrt.faces.mcp.sessions import Sessions
from toolrt.faces.mcp.streams import Streams
from toolrt.opened import Runtime
from toolrt.pipeline.gateway import ANONYMOUS
from toolrt.reloading.outcome import Reload

Scope = MutableMapping[str, Any]
RawHeaders = Sequence[tuple[bytes, bytes]]

_OK, _ACCEPTED, _BAD, _NOT_FOUND, _NOT_ALLOWED, _NO_JSON = 200, 202, 400, 404, 405, 415
_UNAVAILABLE = 503
_STATUS = {METHOD_NOT_FOUND: _NOT_FOUND, INTERNAL_ERROR: 500, CANCELLED: _OK}
"""Statuses of the modern era by code; all other errors are 400."""
_ALLOW = (b"allow", b"GET, POST, DELETE")
_ALLOW_WITHOUT = (b"allow", b"POST, DELETE")
_NO_GET = Wrong(
    INVALID_REQUEST,
    "send messages by POST; GET is a stream beside a session: it needs the header Mcp-Session-Id "
    "and `Accept: text/event-stream`",
).written()


class McpEndpoint:
    """The endpoint of one open project; `scope` names the caller and the toolset."""

    def __init__(
        self,
        runtime: Runtime,
        access: Any = None,
        *,
        draining: asyncio.Event | None = None,
        **options: Any,
    ) -> None:
        """`access` knows who calls, and the pages where people decide; what streams ends with
        `draining`; `options` are those of the protocol.
        """
        self._access = access
        self._looking: asyncio.Task[None] | None = None
        if access is not None:
            options.setdefault("page_of", access.page_of)
            runtime.on_reload(self._reloaded)
        self.protocol = Protocol(runtime, **options)
        self.sessions = Sessions(self.protocol.key, self.protocol.changes, self.protocol.mark)
        self.owners = Owners(self.sessions, self.protocol.lot)
        self._quick = Quick(runtime, self.protocol, self.sessions)
        self._pulse = Pulse()
        self._streams = Streams()
        self._draining = draining
        self._ending: asyncio.Task[None] | None = None

    def __call__(self, scope: Scope, receive: Receive, send: Send) -> Awaitable[None]:
        """Serve one request of `/mcp` or `/mcp/NAME`."""
        caller: Caller = scope.get("toolrt.caller") or ANONYMOUS
        toolset: str | None = scope.get("toolrt.toolset")
        headers = scope.get("toolrt.head") or dict(scope["headers"])
        if self._ending is None and self._draining is not None:
            self._ending = asyncio.ensure_future(self._drain(self._draining))
        if scope["method"] == "POST":
            return self._post(scope["headers"], headers, receive, send, caller, toolset)
        return self._beside(scope["method"], Exchange(receive, send, headers), caller, toolset)

    def close(self) -> None:
        """End what waits and what listens; what runs goes on."""
        self.sessions.close()
        self.protocol.close()
        self._streams.close()
        if self._ending is not None:
            self._ending.cancel()

    def _reloaded(self, outcome: Reload) -> None:
        if outcome.is_new:
            self._looking = asyncio.ensure_future(self._look_who())

    async def _look_who(self) -> None:
        """End the streams of those who are not who they were any more."""
        for exchange in self._streams:
            if not await self._is_still(exchange):
                exchange.let_go()
        await self.protocol.changes.keep_only(self._is_still)

    async def _is_still(self, peer: Peer) -> bool:
        if not isinstance(peer, Exchange):
            return True
        is_still: bool = await self._access.is_still(peer.headers, peer.caller)
        return is_still

    async def _drain(self, draining: asyncio.Event) -> None:
        await draining.wait()
        self._ending = None
        self.close()

    async def _post(  # noqa: PLR0917 - what there is to know of a request, on its hot way
        self,
        raw: RawHeaders,
        headers: Headers,
        receive: Receive,
        send: Send,
        caller: Caller,
        toolset: str | None,
    ) -> None:
        message: Message | None = None
        made: bytes | None = None
        try:
            body = body_at_once(send)
            if body is None:
                body = await whole_body(receive)
            kind = headers.get(b"content-type", b"")
            if kind != JSON[1] and not is_json(kind):
                await end(send, _NO_JSON, Wrong(INVALID_REQUEST, "send application/json").written())
                return
            message = read(body)
            if message.method == "tools/call":
                made = await self._quick.answer(message, headers, raw, caller, toolset)
        except ConnectionError:
            return  # whoever asked is gone
        except Wrong as wrong:
            is_old = message is not None and b"mcp-session-id" in headers
            id_ = id_of(wrong) if message is None else message.id
            await end(send, _OK if is_old else _BAD, wrong.written(id_))
            return
        except asyncio.CancelledError:
            if message is None:
                raise
            await end(send, _UNAVAILABLE, ended().written(message.id))
            return
        if made is None:
            await self._at_length(Exchange(receive, send, headers), message, raw, caller, toolset)
        elif not end_at_once(send, made):
            await end(send, _OK, made)

    async def _at_length(
        self,
        exchange: Exchange,
        message: Message,
        raw: RawHeaders,
        caller: Caller,
        toolset: str | None,
    ) -> None:
        """Answer what may take a while, may send more than its answer, or is no call."""
        version = exchange.headers.get(b"mcp-protocol-version", b"").decode("latin-1")
        is_old = not version or version in eras.HANDSHAKE_VERSIONS
        try:
            if is_old and not eras.is_modern(message.params):
                await self._of_old(exchange, message, version or eras.ASSUMED, caller, toolset)
                return
            exchange.begin("modern", eras.MODERN, caller, None, toolset)
            await self._modern(exchange, message, raw)
        except ConnectionError:
            return  # whoever asked is gone

    async def _beside(
        self, method: str, exchange: Exchange, caller: Caller, toolset: str | None
    ) -> None:
        """Answer what is no message."""
        try:
            if method == "GET":
                await self._get(exchange, caller, toolset)
            elif method == "DELETE":
                await self._delete(exchange, caller, toolset)
            else:
                await exchange.respond(_NOT_ALLOWED, b"", _ALLOW)
        except ConnectionError:
            return  # whoever asked is gone

    async def _modern(self, exchange: Exchange, message: Message, raw: RawHeaders) -> None:
        if not message.is_request:
            await exchange.respond(_ACCEPTED, b"")
            return
        try:
            if not eras.is_modern(message.params):
                said = exchange.headers.get(b"mcp-protocol-version", b"")
                check_version(said.decode("latin-1") or eras.MODERN)
            meta = check_envelope(message.params)
            check_headers(message, meta, exchange.headers, raw)
            check_version(meta[eras.VERSION_KEY])
            modern_peer(exchange, meta)
            if message.method == "tools/call":
                self._check_mirrored(message, exchange, raw)
        except Wrong as wrong:
            await exchange.refuse(_STATUS.get(wrong.code, _BAD), wrong, message.id)
            return
        exchange.ends_with_client = True
        exchange.task = asyncio.current_task()
        await self._answer(exchange, message)

    def _check_mirrored(self, message: Message, exchange: Exchange, raw: RawHeaders) -> None:
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
        exchange: Exchange,
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
        spoken = version if session.id is None else session.version
        exchange.begin("handshake", spoken, session.named(caller), session, toolset)
        if not message.is_request:
            await self._told(exchange, message, session)
            return
        running, id_ = session.running, message.id
        task = exchange.task = asyncio.current_task()
        if id_ in running or task is None:
            wrong = Wrong(INVALID_REQUEST, "a request of this `id` is running already")
            await exchange.refuse(_BAD, wrong, id_)
            return
        running[id_] = task
        try:
            await self._answer(exchange, message)
        finally:
            running.pop(id_, None)

    async def _told(self, exchange: Exchange, message: Message, session: Session) -> None:
        if message.method:
            self.protocol.notified(message, session)
        else:
            self.protocol.responded(message, session, exchange.caller)
        await exchange.respond(_ACCEPTED, b"")

    async def _initialize(
        self, exchange: Exchange, message: Message, caller: Caller, toolset: str | None
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
        await exchange.respond(_OK, body, JSON, (b"mcp-session-id", id_))

    async def _answer(self, exchange: Exchange, message: Message) -> None:
        self._pulse.add(exchange)
        try:
            body = await self.protocol.answer(message, exchange)
        except Wrong as wrong:
            is_old = exchange.era == "handshake"
            await exchange.refuse(
                _OK if is_old else _STATUS.get(wrong.code, _BAD), wrong, message.id
            )
            return
        except asyncio.CancelledError:
            is_off = exchange.was_called_off(message.id)
            status, why = (_OK, cancelled()) if is_off else (_UNAVAILABLE, ended())
            await exchange.refuse(status, why, message.id)
            return
        finally:
            self._pulse.discard(exchange)
        await exchange.end(body)

    async def _get(self, exchange: Exchange, caller: Caller, toolset: str | None) -> None:
        """A way to a session beside its requests."""
        id_ = exchange.headers.get(b"mcp-session-id")
        if id_ is None or b"text/event-stream" not in exchange.headers.get(b"accept", b""):
            await exchange.respond(_NOT_ALLOWED, _NO_GET, JSON, _ALLOW_WITHOUT)
            return
        session = self.sessions.find(id_, caller, toolset)
        if session is None:
            await exchange.respond(_NOT_FOUND, b"")
            return
        if not self._streams.has_room:
            await exchange.respond(_UNAVAILABLE, b"", (b"retry-after", b"10"), CLOSE)
            return
        exchange.begin("handshake", session.version, caller, session, toolset)
        await self._streams.stay(exchange)

    async def _delete(self, exchange: Exchange, caller: Caller, toolset: str | None) -> None:
        id_ = exchange.headers.get(b"mcp-session-id")
        session = self.sessions.find(id_, caller, toolset) if id_ else None
        if session is None:
            await exchange.respond(_NOT_FOUND, b"")
            return
        self.sessions.end(session)
        await exchange.respond(_OK, b"")
