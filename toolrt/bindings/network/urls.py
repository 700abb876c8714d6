"""URLs read strictly: what a manifest's constant part or a redirect's `Location` may look like.

One reading for all, so that no two parts of a call can disagree about the host: ASCII only, no
user, no backslash, and a host that looks like a number is an address in its canonical form.
"""

import re
from dataclasses import dataclass
from ipaddress import IPv4Address
from urllib.parse import urljoin

from toolrt.bindings.network.addresses import literal_address

DEFAULT_PORTS = {"http": 80, "https": 443}

_URL = re.compile(r"(?i:(?P<scheme>https?))://(?P<authority>[^/?#]*)(?P<target>[^#]*)(?:#.*)?")
_AUTHORITY = re.compile(r"(?P<host>[0-9A-Za-z._-]+|\[[0-9A-Fa-f:.]+\])(?::(?P<port>[0-9]{1,5}))?")
_PRINTABLE = re.compile(r"[!-\[\]-~]+")  # visible ASCII without the backslash
_NUMERIC_END = re.compile(r"(?:.*\.)?(?:[0-9]+|0[xX][0-9A-Fa-f]*)\.?")  # WHATWG URL, host parsing
_MOST_PORT = 65535


@dataclass(frozen=True, slots=True)
class Origin:
    """Scheme, host and port: who answers. The host is in lower case, IPv6 in brackets."""

    scheme: str
    host: str
    port: int

    @property
    def authority(self) -> str:
        """The value of the `Host` header."""
        return self.host if self._is_default_port else f"{self.host}:{self.port}"

    @property
    def _is_default_port(self) -> bool:
        return DEFAULT_PORTS[self.scheme] == self.port

    def __str__(self) -> str:
        return f"{self.scheme}://{self.authority}"


@dataclass(slots=True)
class Url:
    """A whole URL: its origin, and the path and query that are asked of it."""

    origin: Origin
    target: str

    def __str__(self) -> str:
        return f"{self.origin}{self.target}"


def read_url(text: str) -> Url:
    """Read an absolute http or https URL. Raises ValueError that says what is wrong with it."""
    if not _PRINTABLE.fullmatch(text):
        raise ValueError("a URL is visible ASCII without backslashes")
    match = _URL.fullmatch(text)
    if match is None:
        raise ValueError("a URL begins with http:// or https://")
    origin = _origin(match["scheme"].lower(), match["authority"])
    target = match["target"]
    return Url(origin, target if target.startswith("/") else f"/{target}")


def join_url(base: Url, reference: str) -> Url:
    """Read `reference` as seen from `base` (RFC 3986, section 5). Raises ValueError."""
    if not _PRINTABLE.fullmatch(reference):
        raise ValueError("a URL is visible ASCII without backslashes")
    return read_url(urljoin(str(base), reference))


def _origin(scheme: str, authority: str) -> Origin:
    if "@" in authority:
        raise ValueError("a URL names no user")
    match = _AUTHORITY.fullmatch(authority)
    if match is None:
        raise ValueError("the host is not a name or an address")
    port = int(match["port"] or DEFAULT_PORTS[scheme])
    if not 0 < port <= _MOST_PORT:
        raise ValueError("the port is out of range")
    return Origin(scheme, _host(match["host"].lower()), port)


def _host(host: str) -> str:
    if host.startswith("["):
        return f"[{_literal(host)}]"
    return _literal(host) if _NUMERIC_END.fullmatch(host) else host


def _literal(host: str) -> str:
    address = literal_address(host)
    if address is None or (isinstance(address, IPv4Address) and host != str(address)):
        raise ValueError("a host that is a number is an address in its canonical form")
    return str(address)
