"""Our transport: one pool of aiohttp connections behind one guard.

The only module that knows aiohttp; its exceptions end here. Whatever spelling a host has, what is
dialled is an address, and every socket is made by `_Connector._socket`, which asks the guard.
Redirects, cookies, decompression, proxies from the environment and aiohttp's own second sending of
idempotent requests are off.
"""

import socket
import ssl
from collections.abc import Awaitable, Callable, Iterable, Sequence
from contextvars import ContextVar
from functools import lru_cache
from io import BytesIO
from threading import Thread
from typing import Any

import aiohttp
from aiohttp.abc import AbstractResolver, ResolveResult
from yarl import URL

from toolrt.bindings.network.addresses import Guard, blocked_target
from toolrt.bindings.network.bodies import read_body
from toolrt.bindings.network.messages import Reply, Request
from toolrt.bindings.network.urls import Url
from toolrt.bindings.threads import Job
from toolrt.core.calls import Invocation
from toolrt.core.errors import AttemptTimeoutError, BindingError

Resolve = Callable[[str, int], Awaitable[Sequence[str]]]
"""Host and port to addresses. Raises OSError for a name that is not found."""

_MOST_HEADERS = 100
_MOST_HEADER_BYTES = 8190
_MOST_TO_ONE_HOST = 256
_PLAIN_BODY_BYTES = 512 * 1024  # aiohttp warns about larger ones that are no file
_GETS_TYPE = frozenset({"PATCH", "POST", "PUT"})  # from aiohttp, when the tool gives none
_NO_TYPE = ("Content-Type",)
_RUNNING: ContextVar[Invocation] = ContextVar("running")


class Transport:
    """Sends requests over kept-alive connections. Belongs to the event loop that made it."""

    def __init__(
        self, guard: Guard, resolve: Resolve | None = None, tls: ssl.SSLContext | None = None
    ) -> None:
        self._session = aiohttp.ClientSession(
            connector=_Connector(guard, resolve or _look_up, tls),
            cookie_jar=aiohttp.DummyCookieJar(),
            timeout=aiohttp.ClientTimeout(total=None),
            auto_decompress=False,
            trust_env=False,
            max_line_size=_MOST_HEADER_BYTES,
            max_field_size=_MOST_HEADER_BYTES,
            max_headers=_MOST_HEADERS,
        )
        self._session._retry_connection = False  # noqa: SLF001 - it has no public switch

    async def exchange(
        self, request: Request, url: Url, connect_timeout_s: float, invocation: Invocation
    ) -> Reply:
        """Send once and read the whole answer; `invocation.sent` follows what has left.

        Raises BindingError.
        """
        _RUNNING.set(invocation)
        try:
            return await self._exchange(request, url, connect_timeout_s)
        except (aiohttp.ClientError, TimeoutError) as error:
            raise _translated(error) from error

    async def close(self) -> None:
        await self._session.close()

    async def _exchange(self, request: Request, url: Url, connect_timeout_s: float) -> Reply:
        async with self._session.request(
            request.method,
            _wire_url(url),
            headers=request.headers,
            data=_data(request.body),
            skip_auto_headers=_NO_TYPE if request.method in _GETS_TYPE else None,
            allow_redirects=False,
            timeout=_timeout(connect_timeout_s),
        ) as response:
            headers = response.headers
            body = await read_body(response.content, headers.getall("Content-Encoding", ()))
            return Reply(response.status, _by_name(headers.items()), body)


class BlockedAddressError(OSError):
    """The guard does not let this address be dialled; an OSError, so that aiohttp carries it."""


class _Connector(aiohttp.TCPConnector):
    """Dials only what the guard permits, and tells the invocation once it is connected."""

    def __init__(self, guard: Guard, resolve: Resolve, tls: ssl.SSLContext | None) -> None:
        self._guard = guard
        super().__init__(
            resolver=_GuardedResolver(guard, resolve),
            socket_factory=self._socket,
            ssl=tls or True,
            limit=0,
            limit_per_host=_MOST_TO_ONE_HOST,
        )

    async def connect(self, *args: Any, **kwargs: Any) -> Any:
        connection = await super().connect(*args, **kwargs)
        _RUNNING.get().sent = "maybe"
        return connection

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
    job = Job(
        lambda: socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_ADDRCONFIG)
    )
    # a thread of its own: the exit does not wait for a name service that does not answer
    Thread(target=lambda: job.settle(job.run()), daemon=True).start()
    found, error = await job.done
    if error is not None:
        raise error
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


def _by_name(fields: Iterable[tuple[str, str]]) -> dict[str, str]:
    """Header fields under their names in lower case; repeated ones joined (RFC 9110, 5.3)."""
    named: dict[str, str] = {}
    for name, value in fields:
        key = name.lower()
        named[key] = f"{named[key]}, {value}" if key in named else value
    return named


def _wire_url(url: Url) -> URL:
    """The URL as it is: yarl would undo `%2e%2e` after our checks if it were not `encoded`."""
    path, _, query = url.target.partition("?")
    origin = url.origin
    return URL.build(
        scheme=origin.scheme,
        authority=origin.authority,
        path=path,
        query_string=query,
        encoded=True,
    )


def _data(body: bytes | None) -> bytes | BytesIO | None:
    return BytesIO(body) if body is not None and len(body) > _PLAIN_BODY_BYTES else body


@lru_cache(maxsize=64)
def _timeout(connect_s: float) -> aiohttp.ClientTimeout:
    return aiohttp.ClientTimeout(total=None, connect=connect_s)


def _translated(error: aiohttp.ClientError | TimeoutError) -> BindingError:
    if isinstance(error, aiohttp.ConnectionTimeoutError):
        return AttemptTimeoutError("no connection to the service in time", sent="never")
    if isinstance(error, aiohttp.ClientConnectorError):
        return _unreachable(error)
    if isinstance(error, aiohttp.ClientPayloadError):
        return _lost("the answer broke off", code="bad-response")
    if isinstance(error, aiohttp.ClientResponseError):
        return _lost("the answer is not valid HTTP", code="bad-response")
    if isinstance(error, aiohttp.InvalidURL):
        return blocked_target()
    return _lost("the service closed the connection without an answer")


def _unreachable(error: aiohttp.ClientConnectorError) -> BindingError:
    if isinstance(error.os_error, BlockedAddressError):
        return blocked_target()
    if isinstance(error, aiohttp.ClientConnectorDNSError):
        return _never_sent("the service's name was not found")
    if isinstance(error, aiohttp.ClientSSLError):
        return _never_sent("no trusted TLS connection to the service")
    return _never_sent("the service could not be reached")


def _never_sent(message: str) -> BindingError:
    return BindingError(message, sent="never", retryable=True, target_fault=True)


def _lost(message: str, code: str = "execution-failed") -> BindingError:
    return BindingError(message, code=code, sent="maybe", retryable=True, target_fault=True)
