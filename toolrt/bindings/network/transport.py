"""Our transport for httpx: one pool of aiohttp connections behind one guard.

The only module that knows aiohttp; its exceptions end here. Whatever spelling a host has, what is
dialled is an address, and every socket is made by `_Connector._socket`, which asks the guard.
A kept connection is used again only if it is spotless (`reuse`). Redirects, cookies, decompression,
proxies from the environment and aiohttp's own second sending of idempotent requests are off.
"""

import asyncio
import socket
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping, Sequence
from contextvars import ContextVar
from functools import lru_cache
from io import BytesIO
from typing import Any

import aiohttp
import httpx
from aiohttp.abc import AbstractResolver, ResolveResult
from yarl import URL

from toolrt.bindings.network.addresses import Guard, blocked_target
from toolrt.bindings.network.bodies import MOST_BYTES, decoded
from toolrt.bindings.network.failures import (
    lost,
    never_sent,
    no_address,
    no_connection,
    unreachable,
)
from toolrt.bindings.network.reuse import is_spotless, take_up
from toolrt.bindings.threads import aside
from toolrt.core.calls import Invocation
from toolrt.core.errors import BindingError

Resolve = Callable[[str, int], Awaitable[Sequence[str]]]
"""Host and port to addresses. Raises OSError for a name that is not found."""

_MOST_HEADERS = 100
_MOST_HEADER_BYTES = 8190
_MOST_TO_ONE_HOST = 256
_PLAIN_BODY_BYTES = 512 * 1024  # aiohttp warns about larger ones that are no file
_NO_MORE_HEADERS = ("Accept", "Accept-Encoding", "Content-Type", "User-Agent")
_FRAMING = frozenset({b"content-length", b"host", b"transfer-encoding"})
_OF_ENCODED = frozenset({b"content-encoding", b"content-length"})
_CLOSED = Guard()
_NO_TIMEOUT: Mapping[str, float | None] = {}
_RUNNING: ContextVar[Invocation | None] = ContextVar("running", default=None)


class Transport(httpx.AsyncBaseTransport):
    """Sends requests over kept-alive connections. Belongs to the event loop that made it.

    The path and query are those of the extension `target` if there is one, byte for byte; of
    `timeout`, `connect` counts, and `most_bytes` is another cap; `invocation.sent` follows what has
    left. The answer's body comes decoded and under its cap, so `Content-Encoding` is not among its
    headers.
    """

    def __init__(
        self,
        guard: Guard = _CLOSED,
        resolve: Resolve | None = None,
        tls: ssl.SSLContext | None = None,
    ) -> None:
        self.is_closed = False
        self._connector = _Connector(guard, resolve or _look_up, tls, self.aclose)
        self._session = aiohttp.ClientSession(
            connector=self._connector,
            cookie_jar=aiohttp.DummyCookieJar(),
            timeout=aiohttp.ClientTimeout(total=None),
            skip_auto_headers=_NO_MORE_HEADERS,
            auto_decompress=False,
            trust_env=False,
            max_line_size=_MOST_HEADER_BYTES,
            max_field_size=_MOST_HEADER_BYTES,
            max_headers=_MOST_HEADERS,
        )
        self._session._retry_connection = False  # noqa: SLF001 - it has no public switch

    def leave(self) -> None:
        """Keep no connection any more, and close with the last request that is under way."""
        self._connector.leave()

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """Send once. Raises BindingError, as does reading the answer."""
        _RUNNING.set(request.extensions.get("invocation"))
        body = await request.aread()
        try:
            answer = await self._session.request(
                request.method,
                _wire_url(request),
                headers=_fields(request),
                data=_data(body),
                allow_redirects=False,
                timeout=_timeout(request.extensions.get("timeout", _NO_TIMEOUT).get("connect")),
            )
        except (aiohttp.ClientError, TimeoutError) as error:
            raise _translated(error) from error
        except RuntimeError as error:
            if not self.is_closed:
                raise
            raise never_sent("its connections were closed a moment ago") from error
        encodings = answer.headers.getall("Content-Encoding", ())
        headers = _plain(answer.raw_headers) if encodings else answer.raw_headers
        most = request.extensions.get("most_bytes", MOST_BYTES)
        stream = _Body(answer, encodings, most)
        return httpx.Response(answer.status, headers=headers, stream=stream)

    async def aclose(self) -> None:
        self.is_closed = True
        await self._session.close()


class _Body(httpx.AsyncByteStream):
    """The body of an answer while it arrives."""

    def __init__(self, answer: aiohttp.ClientResponse, encodings: Sequence[str], most: int) -> None:
        self._answer = answer
        self._encodings = encodings
        self._most = most

    async def __aiter__(self) -> AsyncIterator[bytes]:
        try:
            async for piece in decoded(
                self._answer.content.iter_any(), self._encodings, self._most
            ):
                yield piece
        except (aiohttp.ClientError, TimeoutError) as error:
            raise _translated(error) from error

    async def aclose(self) -> None:
        self._answer.release()
        await self._answer.wait_for_close()


class BlockedAddressError(OSError):
    """The guard does not let this address be dialled; an OSError, so that aiohttp carries it."""


class _Connector(aiohttp.TCPConnector):
    """Dials only what the guard permits, and tells the invocation once it is connected."""

    def __init__(
        self,
        guard: Guard,
        resolve: Resolve,
        tls: ssl.SSLContext | None,
        close: Callable[[], Awaitable[None]],
    ) -> None:
        self._guard = guard
        self._close_all = close
        self._closing: asyncio.Task[None] | None = None
        super().__init__(
            resolver=_GuardedResolver(guard, resolve),
            socket_factory=self._socket,
            ssl=tls or True,
            limit=0,
            limit_per_host=_MOST_TO_ONE_HOST,
        )

    async def connect(self, *args: Any, **kwargs: Any) -> Any:
        connection = await super().connect(*args, **kwargs)
        while not is_spotless(connection.protocol):
            connection.close()
            connection = await super().connect(*args, **kwargs)
        take_up(connection)
        running = _RUNNING.get()
        if running is not None:
            running.sent = "maybe"
        return connection

    def leave(self) -> None:
        """Close what is idle now, the rest as it comes back, and all of it with the last."""
        self._force_close = True
        for idle in self._conns.values():
            for protocol, _ in idle:
                protocol.close()
        self._conns.clear()
        self._close_soon()

    def _release_acquired(self, key: Any, proto: Any) -> None:
        super()._release_acquired(key, proto)
        if self._force_close:
            self._close_soon()

    def _close_soon(self) -> None:
        if self._closing is None and not self._acquired:
            self._closing = self._loop.create_task(self._close_idle())

    async def _close_idle(self) -> None:
        """Close, unless somebody has been waiting for a connection and has it now."""
        await asyncio.sleep(0)
        self._closing = None
        if not self._acquired:
            await self._close_all()

    def _socket(self, info: Any) -> socket.socket:
        family, kind, protocol, _, address = info
        if not self._guard.permits(address[0]):
            raise BlockedAddressError
        return socket.socket(family, kind, protocol)


class _GuardedResolver(AbstractResolver):
    """Gives the addresses of a name only if all of them may be dialled."""

    def __init__(self, guard: Guard, resolve: Resolve) -> None:
        self._guard = guard
        self._resolve = resolve

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_UNSPEC
    ) -> list[ResolveResult]:
        del family  # whatever the name has
        addresses = await self._resolve(host, port)
        if not all(self._guard.permits(address) for address in addresses):
            raise BlockedAddressError
        return [_result(host, port, address) for address in addresses]

    async def close(self) -> None:
        """Nothing is held open."""


async def _look_up(host: str, port: int) -> list[str]:
    if f".{host.rstrip('.')}".endswith(".localhost"):  # RFC 6761, section 6.3
        return ["127.0.0.1", "::1"]
    found = await aside(
        lambda: socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_ADDRCONFIG)
    )
    return [str(address[0]) for *_, address in found]


def _result(host: str, port: int, address: str) -> ResolveResult:
    return ResolveResult(
        hostname=host,
        host=address,
        port=port,
        family=socket.AF_INET6 if ":" in address else socket.AF_INET,
        proto=socket.IPPROTO_TCP,
        flags=socket.AI_NUMERICHOST | socket.AI_NUMERICSERV,
    )


def _wire_url(request: httpx.Request) -> URL:
    """The URL as it is: yarl would undo `%2e%2e` after our checks if it were not `encoded`."""
    url = request.url
    target: bytes = request.extensions.get("target") or url.raw_path
    path, _, query = target.decode("ascii").partition("?")
    return URL.build(
        scheme=url.scheme,
        authority=url.netloc.decode("ascii"),
        path=path,
        query_string=query,
        encoded=True,
    )


def _fields(request: httpx.Request) -> list[tuple[str, str]]:
    """The headers but for those that follow from the URL and the body."""
    return [
        (name.decode("ascii"), value.decode("ascii"))
        for name, value in request.headers.raw
        if name.lower() not in _FRAMING
    ]


def _plain(fields: Iterable[tuple[bytes, bytes]]) -> list[tuple[bytes, bytes]]:
    """Header fields without those that are about the encoded body."""
    return [field for field in fields if field[0].lower() not in _OF_ENCODED]


def _data(body: bytes) -> bytes | BytesIO | None:
    return BytesIO(body) if len(body) > _PLAIN_BODY_BYTES else body or None


@lru_cache(maxsize=64)
def _timeout(connect_s: float | None) -> aiohttp.ClientTimeout:
    return aiohttp.ClientTimeout(total=None, connect=connect_s)


def _translated(error: aiohttp.ClientError | TimeoutError) -> BindingError:
    if isinstance(error, aiohttp.ConnectionTimeoutError):
        return no_connection()
    if isinstance(error, aiohttp.ClientConnectorError):
        return _unreachable(error)
    if isinstance(error, aiohttp.ClientPayloadError):
        return lost("the answer broke off", code="bad-response")
    if isinstance(error, aiohttp.ClientResponseError):
        return lost("the answer is not valid HTTP", code="bad-response")
    if isinstance(error, aiohttp.InvalidURL):
        return blocked_target()
    return lost("the service closed the connection without an answer")


def _unreachable(error: aiohttp.ClientConnectorError) -> BindingError:
    if isinstance(error.os_error, BlockedAddressError):
        return blocked_target()
    if isinstance(error, aiohttp.ClientConnectorDNSError):
        return no_address(error.os_error)
    if isinstance(error, aiohttp.ClientConnectorCertificateError):
        return unreachable(error.certificate_error)
    return unreachable(error.os_error)
