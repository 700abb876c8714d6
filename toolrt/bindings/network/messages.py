"""What goes out and what comes back: plain values, no library behind them."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from toolrt.bindings.network.addresses import Guard
from toolrt.bindings.network.urls import Origin

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


@dataclass(slots=True)
class Request:
    """One request: `target` is the path and query as they go over the wire."""

    method: str
    target: str
    headers: Mapping[str, str]
    body: bytes | None = None


@dataclass(slots=True)
class Reply:
    """A whole answer: header names in lower case, the body decoded and within its cap."""

    status: int
    headers: Mapping[str, str]
    body: bytes


def is_token(name: str) -> bool:
    """Whether `name` can name a header or a cookie."""
    return _TOKEN.fullmatch(name) is not None
