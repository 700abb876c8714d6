"""The HTTP client: the pools that one runtime shares, and a binding's way into them.

A client picks the pool for what a request may reach, and follows redirects hop by hop, each under
the guard again. What is sent and what comes back are httpx's; the client of httpx is not used, as
its log tells whole URLs and with them credentials.
"""

import asyncio
import logging
from contextlib import suppress
from typing import TYPE_CHECKING, cast

from pydantic_core import to_json

from toolrt.bindings.network.addresses import Guard
from toolrt.bindings.network.messages import Endpoint, TlsFiles, exchange
from toolrt.bindings.network.redirects import MOST_HOPS, is_redirect, next_hop, too_many_hops
from toolrt.bindings.network.urls import Origin, Url
from toolrt.bindings.threads import aside
from toolrt.core.calls import Invocation
from toolrt.core.errors import BindingError

if TYPE_CHECKING:
    import ssl

    from httpx import AsyncBaseTransport, Request, Response

    from toolrt.bindings.network.stand_in import StandIn
    from toolrt.bindings.network.transport import Resolve, Transport

    Opened = StandIn | Transport

PoolKey = tuple[Guard, TlsFiles | None, Origin | None]
"""What one pool is for: what may be dialled, by what trust, and where; None for redirects."""

log = logging.getLogger("toolrt.http")

_OTHER_LOOP = "open a runtime in each event loop, and call its tools there"
_CLOSED = "call tools before the runtime is closed, such as inside of `async with toolrt.open(…)`"


class Network:
    """The pools of one runtime, which belong to the event loop that used them first.

    `resolve` stands in for the system's name service. `transport` stands in for every connection:
    any `httpx.AsyncBaseTransport`, such as a test's `httpx.MockTransport`; it closes with the
    network.
    """

    def __init__(
        self,
        resolve: "Resolve | None" = None,
        transport: "AsyncBaseTransport | None" = None,
    ) -> None:
        self._resolve = resolve
        self._stand_in = transport
        self._transports: dict[PoolKey, Opened] = {}
        self._leaving: set[Transport] = set()
        self._used: frozenset[object] | None = None
        self._opening = asyncio.Lock()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._is_closed = False

    def enter(self) -> None:
        """Before each use of a pool. Raises BindingError for a network that cannot be used here."""
        here = asyncio.get_running_loop()
        if self._loop is not here:
            self._loop = self._loop or here
            if self._loop is not here:
                raise _unusable("its connections belong to another event loop", _OTHER_LOOP)
        if self._is_closed:
            raise _unusable("it is closed", _CLOSED)

    async def transport(self, key: PoolKey) -> "Opened":
        """A pool of its own for each origin and guard: no connection serves those who might not
        open it, and none outlives the targets that need it.
        """
        self.enter()
        async with self._opening:
            self.enter()
            known = self._transports.get(key)
            if known is not None:
                return known
            made = self._transports[key] = await self._open(key)
            self._let_go_of_unused()
            return made

    def keep_only(self, used: frozenset[object]) -> None:
        """Close what none of the `used` pools is: at once what is idle, the rest when its last
        request is over. Calls of tools that are gone still go out, over connections that close.
        """
        self._used = used
        loop = self._loop
        if loop is None or loop is asyncio.get_running_loop():
            self._let_go_of_unused()
            return
        with suppress(RuntimeError):  # a closed loop has no connections
            loop.call_soon_threadsafe(self._let_go_of_unused)

    def _let_go_of_unused(self) -> None:
        used = self._used
        if used is None or self._stand_in is not None:
            return
        self._leaving = {each for each in self._leaving if not each.is_closed}
        for key in [each for each in self._transports if each not in used]:
            transport = cast("Transport", self._transports.pop(key))
            self._leaving.add(transport)
            transport.leave()

    async def close(self) -> None:
        """Close every connection, from whichever event loop; nothing is sent any more."""
        self._is_closed = True
        loop = self._loop
        if loop is None or loop is asyncio.get_running_loop():
            async with self._opening:
                await self._close()
        elif loop.is_running():
            closing = asyncio.run_coroutine_threadsafe(self._close(), loop)
            await asyncio.wrap_future(closing)
        else:
            await self._close()

    async def _close(self) -> None:
        while self._leaving:
            await self._leaving.pop().aclose()
        while self._transports:
            _, transport = self._transports.popitem()
            await transport.aclose()

    async def _open(self, key: PoolKey) -> "Opened":
        """Importing the libraries and reading TLS files take their time, so not on the loop."""
        stand_in = self._stand_in
        if stand_in is not None:
            return await aside(lambda: _stand_in(stand_in))
        guard, tls, _ = key
        make, context = await aside(lambda: _prepared(tls))
        return make(guard, self._resolve, context)


class Client:
    """Sends the requests of one binding to its endpoint."""

    __slots__ = ("_endpoint", "_network", "_own", "_timeout")

    def __init__(self, network: Network, endpoint: Endpoint) -> None:
        self._network = network
        self._endpoint = endpoint
        self._own: Opened | None = None
        self._timeout = {"connect": endpoint.connect_timeout_s}

    @property
    def uses(self) -> frozenset[PoolKey]:
        """The pools that its requests may go through."""
        endpoint = self._endpoint
        return frozenset({_pool(endpoint), *([_elsewhere(endpoint)] if endpoint.follows else [])})

    async def open(self) -> "AsyncBaseTransport":
        """Get ready to send, which the first time imports httpx. Raises BindingError."""
        self._network.enter()
        if self._own is None or self._own.is_closed:
            self._own = await self._network.transport(_pool(self._endpoint))
        return self._own

    async def send(self, request: "Request", invocation: Invocation) -> "Response":
        """One answer of any status, redirects followed if the endpoint says so.

        Raises BindingError when there is none; `invocation.sent` follows what has left.
        """
        invocation.sent = "never"
        transport = await self.open()
        request.extensions["invocation"] = invocation
        if invocation.traceparent is not None:
            request.headers.setdefault("traceparent", invocation.traceparent)
        reply = await self._exchange(transport, request, invocation)
        if self._endpoint.follows and is_redirect(reply):
            reply = await self._follow(request, reply, invocation)
        invocation.sent = "answered"
        return reply

    async def _follow(
        self, request: "Request", reply: "Response", invocation: Invocation
    ) -> "Response":
        url = Url(self._endpoint.origin, request.extensions["target"].decode("ascii"))
        for _ in range(MOST_HOPS):
            request, url = next_hop(request, url, reply)
            reply = await self._hop(request, url.origin, invocation)
            if not is_redirect(reply):
                return reply
        raise too_many_hops()

    async def _hop(self, request: "Request", origin: Origin, invocation: Invocation) -> "Response":
        try:
            transport = await self._hop_transport(origin)
            return await self._exchange(transport, request, invocation)
        except BindingError as error:
            error.sent = "answered" if error.code == "blocked-target" else "maybe"
            raise

    async def _exchange(
        self, transport: "AsyncBaseTransport", request: "Request", invocation: Invocation
    ) -> "Response":
        request.extensions["timeout"] = self._timeout
        try:
            return await exchange(transport, request)
        except BindingError as error:
            _log_failure(error, request, invocation)
            raise

    async def _hop_transport(self, origin: Origin) -> "AsyncBaseTransport":
        if origin == self._endpoint.origin:
            return await self.open()
        return await self._network.transport(_elsewhere(self._endpoint))


def _pool(endpoint: Endpoint) -> PoolKey:
    """The pool of an endpoint's own origin."""
    return endpoint.guard.with_own(endpoint.origin.host), endpoint.tls, endpoint.origin


def _elsewhere(endpoint: Endpoint) -> PoolKey:
    """The pool for where it is redirected to; our certificate is for the endpoint alone."""
    trusted = TlsFiles(ca=endpoint.tls.ca) if endpoint.tls and endpoint.tls.ca else None
    return endpoint.guard, trusted, None


def _unusable(reason: str, hint: str) -> BindingError:
    return BindingError(
        f"the network of this runtime cannot be used: {reason}",
        code="unavailable",
        sent="never",
        hint=hint,
    )


def _log_failure(error: BindingError, request: "Request", invocation: Invocation) -> None:
    """One JSON line for the operator; the error itself does not say which service it was."""
    line = {
        "time": round(invocation.clock.wall(), 3),
        "event": "unanswered",
        "call_id": invocation.call_id,
        "tool": invocation.tool,
        "target": request.headers["host"],
        "code": error.code,
        "sent": error.sent,
        "message": error.message,
    }
    log.info("%s", to_json(line).decode())


def _prepared(tls: TlsFiles | None) -> "tuple[type[Transport], ssl.SSLContext | None]":
    from toolrt.bindings.network.tls import open_tls  # noqa: PLC0415 - start-up
    from toolrt.bindings.network.transport import Transport  # noqa: PLC0415 - start-up

    return Transport, open_tls(tls) if tls else None


def _stand_in(transport: "AsyncBaseTransport") -> "StandIn":
    from toolrt.bindings.network.stand_in import StandIn  # noqa: PLC0415 - start-up

    return StandIn(transport)
