"""Names and addresses of hosts, as people and requests write them."""

from collections.abc import Iterable
from ipaddress import ip_address
from typing import Final

LOCAL: Final = ("localhost", "127.0.0.1", "[::1]")


def is_loopback(host: str) -> bool:
    """Whether an address that somebody listens at can be reached from this machine alone."""
    if host in LOCAL:
        return True
    try:
        return ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False


def name_of(authority: str) -> str:
    """The host of `host:port`, in small letters; `[::1]` keeps its brackets."""
    authority = authority.strip().lower()
    if authority.count(":") > 1 and not authority.startswith("["):  # an address as it is configured
        return f"[{authority}]"
    if authority.startswith("["):
        return authority.partition("]")[0] + "]"
    return authority.partition(":")[0].rstrip(".")


def reached(host: str, public_url: str | None, names: Iterable[str]) -> str | None:
    """By what others can reach a server that listens at `host` and has these names; None where only
    this machine can.
    """
    every = [host, *([public_url] if public_url else ()), *names]
    return next((each for each in every if not is_loopback(_host_of(each))), None)


def _host_of(written: str) -> str:
    return name_of(written.partition("://")[2].rstrip("/")) if "://" in written else written
