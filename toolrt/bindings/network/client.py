"""The HTTP client: the pools that one runtime shares, and a binding's way into them.

A client picks the pool for what a request may reach, and follows redirects hop by hop, each under
the guard again. The transport, and aiohttp with it, is imported on the first call.
"""

from typing import TYPE_CHECKING

from toolrt.bindings.network.addresses import Guard
from toolrt.bindings.network.messages import Endpoint, Reply, Request, TlsFiles
from toolrt.bindings.network.redirects import MOST_HOPS, is_redirect, next_hop, too_many_hops
from toolrt.bindings.network.urls import Origin, Url
from toolrt.core.calls import Invocation
from toolrt.core.errors import BindingError

if TYPE_CHECKING:
    from toolrt.bindings.network.transport import Resolve, Transport


class Network:
    """The pools of one runtime. `resolve` stands in for the system's name service."""

    def __init__(self, resolve: "Resolve | None" = None) -> None:
        self._resolve = resolve
        self._transports: dict[tuple[Guard, TlsFiles | None], Transport] = {}

    def transport(self, guard: Guard, tls: TlsFiles | None) -> "Transport":
        """A pool of its own for each guard: no connection serves those who might not open it."""
        key = (guard, tls)
        if key not in self._transports:
            self._transports[key] = self._open(guard, tls)
        return self._transports[key]

    async def close(self) -> None:
        """Close every connection."""
        while self._transports:
            _, transport = self._transports.popitem()
            await transport.close()

    def _open(self, guard: Guard, tls: TlsFiles | None) -> "Transport":
        from toolrt.bindings.network.tls import open_tls  # noqa: PLC0415 - start-up
        from toolrt.bindings.network.transport import Transport  # noqa: PLC0415 - start-up

        return Transport(guard, self._resolve, open_tls(tls) if tls else None)


class Client:
    """Sends the requests of one binding to its endpoint."""

    __slots__ = ("_endpoint", "_network", "_own")

    def __init__(self, network: Network, endpoint: Endpoint) -> None:
        self._network = network
        self._endpoint = endpoint
        self._own: Transport | None = None

    async def send(self, request: Request, invocation: Invocation) -> Reply:
        """One answer of any status, redirects followed if the endpoint says so.

        Raises BindingError when there is none; `invocation.sent` follows what has left.
        """
        invocation.sent = "never"
        endpoint = self._endpoint
        transport = self._own = self._own or self._first_hop()
        url = Url(endpoint.origin, request.target)
        reply = await transport.exchange(request, url, endpoint.connect_timeout_s, invocation)
        if endpoint.follows and is_redirect(reply):
            reply = await self._follow(request, url, reply, invocation)
        invocation.sent = "answered"
        return reply

    async def _follow(
        self, request: Request, url: Url, reply: Reply, invocation: Invocation
    ) -> Reply:
        for _ in range(MOST_HOPS):
            request, url = next_hop(request, url, reply)
            reply = await self._hop(request, url, invocation)
            if not is_redirect(reply):
                return reply
        raise too_many_hops()

    async def _hop(self, request: Request, url: Url, invocation: Invocation) -> Reply:
        transport = self._hop_transport(url.origin)
        timeout_s = self._endpoint.connect_timeout_s
        try:
            return await transport.exchange(request, url, timeout_s, invocation)
        except BindingError as error:
            error.sent = "answered" if error.code == "blocked-target" else "maybe"
            raise

    def _first_hop(self) -> "Transport":
        endpoint = self._endpoint
        guard = endpoint.guard.with_own(endpoint.origin.host)
        return self._network.transport(guard, endpoint.tls)

    def _hop_transport(self, origin: Origin) -> "Transport":
        endpoint = self._endpoint
        if origin == endpoint.origin:
            return self._first_hop()
        # our certificate is for the endpoint alone
        trusted = TlsFiles(ca=endpoint.tls.ca) if endpoint.tls and endpoint.tls.ca else None
        return self._network.transport(endpoint.guard, trusted)
