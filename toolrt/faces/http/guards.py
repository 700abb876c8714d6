"""What every request must pass before anybody asks what it wants (X5, X8; hostile H 121, 122).

Names of hosts keep pages of others from reaching a server on loopback by a name of theirs; origins
keep their scripts from calling it. Both are lists of what may be: there is no `*`.
"""

import re
from collections.abc import Iterable, Sequence
from typing import Final
from urllib.parse import urlsplit

from toolrt.core.hosts import LOCAL, name_of
from toolrt.faces.http.problems import ProblemError
from toolrt.faces.http.wire import JSON, Head, too_large
from toolrt.schemas.text import MAX_BYTES

_ONCE: Final = frozenset(
    {b"authorization", b"content-length", b"content-type", b"cookie", b"host", b"idempotency-key",
     b"mcp-session-id", b"origin", b"transfer-encoding"}
)  # fmt: skip
_EVERYWHERE: Final = frozenset({"0.0.0.0", "[::]", "::", ""})  # noqa: S104 - refused as names
_MOST_KNOWN = 64
_DIGITS = len(str(MAX_BYTES))
_HOST: Final = re.compile(r"(\[[0-9a-f:.]+\]|[^\s:/?#@\[\]]*[^\s:/?#@\[\].]\.?)(:\d{0,5})?")
"""RFC 3986, section 3.2, as far as names that can be ours are written."""


def head_of(headers: Sequence[tuple[bytes, bytes]], credentials: Iterable[bytes] = ()) -> Head:
    """The headers by name. Raises ProblemError where one stands twice that must not; neither must
    those of `credentials`.
    """
    head = dict(headers)
    if len(head) == len(headers):
        return head
    names = [name for name, _ in headers]
    for name in _ONCE.union(credentials):
        if names.count(name) > 1:
            message = f"the header {name.decode()} is given twice"
            raise ProblemError(400, "bad-request", message, hint="send it once")
    return head


class Guards:
    """Which hosts and origins a server answers to."""

    def __init__(
        self, hosts: Iterable[str], origins: Iterable[str], public_url: str | None
    ) -> None:
        """`hosts` are names without ports, beside those of loopback and of `public_url`."""
        known = {*LOCAL, *map(name_of, hosts)} - _EVERYWHERE
        self._origins = {each.rstrip("/").lower() for each in origins}
        if public_url is not None:
            parts = urlsplit(public_url)
            known.add(name_of(parts.netloc))
            self._origins.add(f"{parts.scheme}://{parts.netloc}".lower())
        self._names = known
        self._known: set[bytes] = set()

    def check(self, method: str, head: Head) -> None:
        """Raise ProblemError for a host, an origin, a body or a kind of body that is not taken."""
        host = head.get(b"host")
        if host not in self._known:
            self._check_host(host)
        if b"origin" in head:
            self._check_origin(head)
        if method == "POST" and len(head.get(b"content-length", b"")) >= _DIGITS:
            _check_length(head[b"content-length"])

    def _check_host(self, host: bytes | None) -> None:
        if host is None:
            raise ProblemError(400, "bad-request", "there is no Host", hint="send a Host header")
        written = host.decode("latin-1").lower()
        if not _HOST.fullmatch(written) or name_of(written) not in self._names:
            hint = "`serve: {hosts: […]}` of toolrt.yaml names the hosts that this server has"
            raise ProblemError(403, "wrong-host", "this server has another name", hint=hint)
        if len(self._known) < _MOST_KNOWN:
            self._known.add(host)

    def _check_origin(self, head: Head) -> None:
        """A page may call where it came from, and what the project names."""
        origin = head[b"origin"].decode("latin-1").lower()
        host = head[b"host"].decode("latin-1").lower()
        if origin in self._origins or origin in {f"http://{host}", f"https://{host}"}:
            return
        hint = "`serve: {origins: […]}` of toolrt.yaml names the pages that may call"
        raise ProblemError(403, "wrong-origin", "pages of this origin may not call", hint=hint)


def _check_length(length: bytes) -> None:
    """Raise ProblemError for a body of more than may be."""
    if len(length) > _DIGITS or (length.isdigit() and int(length) > MAX_BYTES):
        raise too_large()


def check_json(head: Head) -> None:
    """Raise ProblemError for a body that does not say that it is JSON."""
    kind = head.get(b"content-type")
    if kind == JSON or (kind is None and _is_empty(head)):
        return
    said = (kind or b"").decode("latin-1").lower()
    media, _, options = said.partition(";")
    charset = options.strip().removeprefix("charset=").strip('"')
    if media.strip() != "application/json" or charset not in {"", "utf-8"}:
        hint = "send Content-Type: application/json"
        raise ProblemError(415, "wrong-content-type", "the body must be JSON", hint=hint)


def _is_empty(head: Head) -> bool:
    """Whether there is no body to be of any kind."""
    return head.get(b"content-length", b"0") == b"0" and b"transfer-encoding" not in head
