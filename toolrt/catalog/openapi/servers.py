"""Where the service of a document is: its servers, with their variables filled in.

A document is foreign: an address inside this network counts only where the project names it.
"""

import re
from typing import Any

from toolrt.bindings.network import Guard, read_url
from toolrt.catalog.openapi.refs import Document, Node
from toolrt.catalog.openapi.texts import DOTS
from toolrt.core.hosts import is_loopback

_VARIABLE = re.compile(r"\{([^{}]*)\}")
_URL = re.compile(r"https?://[A-Za-z0-9._:\[\]-]+(?:/[A-Za-z0-9._~!&'()*+,;=:@%/-]*)?")


class NoServerError(Exception):
    """No usable address; the message says why."""


def server_of(document: Document, node: Node) -> str | None:
    """The address of the first server that `node` lists, without a slash at the end.

    None when it lists none. Raises NoServerError.
    """
    servers = node.items("servers")
    if not servers:
        return None
    found = document.node(servers[0], (*node.steps, "servers", 0))
    if found is None:
        raise NoServerError("its server is no mapping")
    for index in range(1, len(servers)):
        document.notes.add("server", (*node.steps, "servers", index), "the first server is used")
    return usable(_filled(found))


def usable(url: str) -> str:
    """An address that tools may have. Raises NoServerError."""
    if not _URL.fullmatch(url):
        is_relative = "://" not in url
        why = "is relative to where the document was" if is_relative else "is no http address"
        raise NoServerError(f"its server {url[:80]!r} {why}")
    try:
        host = read_url(url).origin.host
    except ValueError as error:
        raise NoServerError(f"its server {url[:80]!r}: {error}") from None
    if DOTS.search(url):
        raise NoServerError(f"its server {url[:80]!r} has `.` or `..` segments")
    if not is_public(host):
        raise NoServerError(f"its server {url[:80]!r} is inside this network")
    return url.rstrip("/")


def is_public(host: str) -> bool:
    """Whether a host may be outside; of a name only its address will tell."""
    literal = host.strip("[]")
    is_literal = literal.replace(".", "").isdigit() or ":" in literal
    return not is_loopback(host) and (not is_literal or Guard().permits(literal))


def _filled(server: Node) -> str:
    """The `url` of a server with the default of each variable."""
    variables = server.below("variables")

    def value(match: re.Match[str]) -> str:
        default: Any = variables.below(match[1]).get("default")
        if not isinstance(default, (str, int)) or isinstance(default, bool):
            raise NoServerError(f"its server needs a value for `{match[1][:40]}`")
        return str(default)

    return _VARIABLE.sub(value, server.text("url"))
