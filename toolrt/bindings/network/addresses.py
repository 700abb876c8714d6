"""Which addresses a call may dial: the SSRF guard's rules, without any I/O.

The transport asks a `Guard` about every address that a name resolves to, and again about the one
that it dials. IPv6 forms that carry an IPv4 address inside are judged by what they carry.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from ipaddress import (
    IPv4Address,
    IPv4Network,
    IPv6Address,
    IPv6Network,
    ip_address,
    ip_network,
)

from toolrt.core.errors import BindingError

Address = IPv4Address | IPv6Address
AddressRange = IPv4Network | IPv6Network

METADATA: frozenset[Address] = frozenset(
    ip_address(text)
    for text in (
        "169.254.169.254",  # AWS, Azure, Google, OpenStack, DigitalOcean, Oracle
        "169.254.169.253",  # AWS resolver
        "169.254.170.2",  # AWS container credentials
        "169.254.170.23",  # AWS pod identity
        "169.254.0.23",  # Tencent
        "169.254.42.42",  # Scaleway
        "168.63.129.16",  # Azure platform
        "100.100.100.200",  # Alibaba
        "192.0.0.192",  # Oracle, older
        "fd00:ec2::254",  # AWS
        "fd00:ec2::253",  # AWS resolver
        "fd00:ec2::23",  # AWS pod identity
        "fd20:ce::254",  # Google
        "fd00:42::42",  # Scaleway
    )
)
"""Where clouds hand out credentials to whoever asks: never dialled, whatever a manifest says."""

_EVERYTHING = (ip_network("0.0.0.0/0"), ip_network("::/0"))
_LOOPBACK = (ip_network("127.0.0.0/8"), ip_network("::1/128"))
_NAT64 = IPv6Network("64:ff9b::/96")  # RFC 6052
_NAT64_LOCAL = IPv6Network("64:ff9b:1::/48")  # RFC 8215, not globally reachable
_COMPATIBLE = IPv6Network("::/96")  # RFC 4291, section 2.5.5.1
_TRANSLATED = IPv6Network("::ffff:0:0:0/96")  # RFC 2765
_ISATAP = (0x00005EFE, 0x02005EFE)  # RFC 5214, section 6.1


@dataclass(frozen=True, slots=True)
class Guard:
    """Public addresses are open; of the others only those in `networks`, metadata never."""

    networks: tuple[AddressRange, ...] = ()

    @classmethod
    def of(cls, allow_private: bool | list[str]) -> "Guard":
        """The guard that a manifest's `allow_private` asks for. Raises ValueError."""
        if isinstance(allow_private, bool):
            return cls(_EVERYTHING if allow_private else ())
        return cls(tuple(ip_network(text, strict=False) for text in allow_private))

    def with_own(self, host: str) -> "Guard":
        """The same guard, open to the manifest's own host if that is `localhost` or a literal."""
        if host.lower() == "localhost":
            return Guard((*self.networks, *_LOOPBACK))
        literal = literal_address(host)
        return self if literal is None else Guard((*self.networks, ip_network(literal)))

    def permits(self, text: str) -> bool:
        """Whether `text`, an address as sockets write it, may be dialled."""
        address = literal_address(text.partition("%")[0])
        return address is not None and all(self._permits_form(form) for form in _forms(address))

    def _permits_form(self, address: Address) -> bool:
        if address in METADATA:
            return False
        return _is_public(address) or any(address in network for network in self.networks)


def blocked_target() -> BindingError:
    """The refusal: says which key to add, but not the host, since a model reads it."""
    return BindingError(
        "the address of this service is not open to tools",
        code="blocked-target",
        sent="never",
        hint="for a private service, its manifest says `allow_private: true` or the network, "
        "such as `allow_private: [10.0.0.0/8]`",
    )


def literal_address(host: str) -> Address | None:
    """The address that `host` writes in its canonical form, brackets allowed; None for a name."""
    try:
        return ip_address(host.removeprefix("[").removesuffix("]"))
    except ValueError:
        return None


def _is_public(address: Address) -> bool:
    if isinstance(address, IPv6Address) and address.is_site_local:
        return False
    return address.is_global and not (
        address.is_multicast or address.is_reserved or address.is_unspecified
    )


def _forms(address: Address) -> Iterator[Address]:
    """What dialling `address` may reach: itself, unless it only stands for what it carries."""
    if isinstance(address, IPv4Address):
        yield address
        return
    carried = IPv4Address(int(address) & 0xFFFFFFFF)
    if address.ipv4_mapped is not None or address in _NAT64:
        yield carried
        return
    yield address
    if address.is_loopback or address.is_unspecified:
        return
    if _carries_last(address):
        yield carried
    if address.sixtofour is not None:
        yield address.sixtofour
    if address.teredo is not None:
        yield from address.teredo


def _carries_last(address: IPv6Address) -> bool:
    is_isatap = (int(address) >> 32) & 0xFFFFFFFF in _ISATAP
    return is_isatap or any(
        address in network for network in (_COMPATIBLE, _TRANSLATED, _NAT64_LOCAL)
    )
