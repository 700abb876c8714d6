"""Somebody else's transport in the place of ours: tests answer without a server.

It dials by itself or not at all, so the guard and the caps of our own do not hold here.
"""

import httpx

from toolrt.bindings.network.failures import lost, never_sent, no_connection
from toolrt.bindings.network.messages import exchange
from toolrt.core.errors import AttemptTimeoutError, BindingError


class StandIn(httpx.AsyncBaseTransport):
    """Gives whole answers of `transport`, and its failures as those of ours."""

    is_closed = False
    """It stays for as long as the network does."""

    def __init__(self, transport: httpx.AsyncBaseTransport) -> None:
        self._transport = transport

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        invocation = request.extensions.get("invocation")
        if invocation is not None:
            invocation.sent = "maybe"
        try:
            return await exchange(self._transport, request)
        except httpx.RequestError as error:
            raise _translated(error) from error

    async def aclose(self) -> None:
        await self._transport.aclose()


def _translated(error: httpx.RequestError) -> BindingError:
    if isinstance(error, (httpx.ConnectTimeout, httpx.PoolTimeout)):
        return no_connection()
    if isinstance(error, httpx.TimeoutException):
        return AttemptTimeoutError("no answer from the service in time")
    if isinstance(error, (httpx.ConnectError, httpx.UnsupportedProtocol)):
        return never_sent("the service could not be reached")
    if isinstance(error, (httpx.DecodingError, httpx.RemoteProtocolError)):
        return lost("the answer is not valid HTTP", code="bad-response")
    return lost("the service closed the connection without an answer")
