"""What a binding says to the network: where it goes, and requests, which are those of httpx.

httpx is imported where it is used first, which is off the loop, in `Client.open`.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from toolrt.bindings.network.addresses import Guard
from toolrt.bindings.network.urls import Origin, Url

if TYPE_CHECKING:
    from httpx import AsyncBaseTransport, Request, Response

OWN_HEADERS = frozenset(
    {
        "accept-encoding",
        "connection",
        "content-length",
        "expect",
        "host",
        "keep-alive",
        "proxy-authorization",
        "proxy-connection",
        "te",
        "trailer",
        "transfer-encoding",
        "upgrade",
    }
)
"""Header fields that the client alone sets, in lower case."""

_CLOSED = Guard()
_TOKEN = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")  # RFC 9110, section 5.6.2


@dataclass(frozen=True, slots=True)
class TlsFiles:
    """PEM files: `ca` is trusted in place of the system's, `cert` and `key` are ours to show."""

    ca: Path | None = None
    cert: Path | None = None
    key: Path | None = None


@dataclass(frozen=True, slots=True)
class Endpoint:
    """Where the calls of one binding go and what they may reach; fixed when it is bound.

    `guard` is what `allow_private` opens; the manifest's own host may also be what it literally
    says. `follows` says whether redirects are followed. Nothing is asked outside `origin` but by
    a redirect.
    """

    origin: Origin
    guard: Guard = _CLOSED
    connect_timeout_s: float = 5.0
    follows: bool = False
    tls: TlsFiles | None = None


def new_request(
    method: str, url: Url, headers: Mapping[str, str], body: bytes | None = None
) -> "Request":
    """A request whose path and query go over the wire as `url` has them.

    httpx alone would quote some characters of a redirect's address; its extension `target` keeps
    them. With a `Host` of ours it does not decode the host, which can fail.
    """
    from httpx import Request  # noqa: PLC0415 - start-up

    return Request(
        method,
        str(url),
        headers={"Host": url.origin.authority, **headers},
        content=body,
        extensions={"target": url.target.encode("ascii")},
    )


async def exchange(transport: "AsyncBaseTransport", request: "Request") -> "Response":
    """The whole answer to one request."""
    reply = await transport.handle_async_request(request)
    try:
        await reply.aread()
    finally:
        await reply.aclose()
    return reply


def is_token(name: str) -> bool:
    """Whether `name` can name a header or a cookie."""
    return _TOKEN.fullmatch(name) is not None
