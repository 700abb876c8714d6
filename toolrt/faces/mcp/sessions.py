"""Sessions of the handshake era over HTTP.

The id of a session is sealed and says whose it is and what its client can do, so that any process
with the same key knows it. What is only known to the process that opened it is questions that wait.
"""

import base64
import hmac
import secrets
import time
from collections.abc import Callable
from hashlib import sha256
from typing import Any

from pydantic_core import from_json, to_json

from toolrt.core.calls import Caller
from toolrt.core.over import Over
from toolrt.faces.mcp.changes import Changes
from toolrt.faces.mcp.peers import Session

MOST = 10_000
MOST_ENDED = 20_000
LIFE_S = 24 * 3600
_SEAL_BYTES = 16


class Sessions:
    """All sessions of one endpoint that this process has heard of."""

    def __init__(self, key: Callable[[], bytes], changes: Changes, mark: str = "") -> None:
        """Names of sessions begin with `mark`."""
        self._mark = mark
        self._key = key
        self._changes = changes
        self._known: dict[bytes, Session] = {}
        self._ended = Over(MOST_ENDED)

    def open(self, session: Session) -> None:
        """Give a session its id."""
        session.name = self._mark + secrets.token_urlsafe(12)
        session.until = int(time.time()) + LIFE_S
        said = [
            session.name,
            _whose(session.caller, session.toolset),
            session.version,
            _plain(session.capabilities),
            session.until,
        ]
        body = to_json(said)
        session.id = _written(self._seal(body) + body).decode()
        self._keep(session.id.encode(), session)

    def name_of(self, id_: bytes) -> str | None:
        """The name of a session whose id is one of ours, be it open here or elsewhere."""
        known = self._known.get(id_)
        said = self._opened(id_) if known is None else [known.name]
        return said[0] if said else None

    def find(self, id_: bytes | None, caller: Caller, toolset: str | None) -> Session | None:
        """The session of that id, if it is this caller's; one of no name where there is no id."""
        if id_ is None:
            return Session(None, caller, toolset=toolset)
        if id_ in self._known:
            return self.known(id_, caller, toolset)
        return self._remembered(id_, caller, toolset)

    def known(self, id_: bytes, caller: Caller, toolset: str | None) -> Session | None:
        """The session of that id, if this process knows it, and it is this caller's."""
        known = self._known.get(id_)
        if known is None or known.toolset != toolset or not _is_own(known.caller, caller):
            return None
        return known

    def end(self, session: Session) -> None:
        """Forget a session; what it runs is called off."""
        if session.id is not None:
            self._known.pop(session.id.encode(), None)
        if session.name is not None:
            self._ended.add(session.name, session.until, time.time())
        self._leave(session)

    def close(self) -> None:
        """Let nothing wait for a client any more."""
        for session in list(self._known.values()):
            self._changes.leave(session)
            _give_up(session)
        self._known.clear()

    def _leave(self, session: Session) -> None:
        self._changes.leave(session)
        for task in list(session.running.values()):
            task.cancel()
        session.running.clear()
        _give_up(session)

    def _keep(self, id_: bytes, session: Session) -> None:
        if len(self._known) >= MOST:
            self._changes.leave(self._known.pop(next(iter(self._known))))
        self._known[id_] = session
        self._changes.join(session)

    def _remembered(self, id_: bytes, caller: Caller, toolset: str | None) -> Session | None:
        """A session that another process has opened, or this one long ago."""
        said = self._opened(id_)
        if said is None:
            return None
        name, whose, version, capabilities, until = said
        if self._ended.has(name, until):
            return None
        if whose != _whose(caller, toolset) or until < time.time():
            return None
        session = Session(id_.decode(), caller, version, capabilities, toolset)
        session.name, session.until = name, until
        self._keep(id_, session)
        return session

    def _opened(self, id_: bytes) -> list[Any] | None:
        try:
            raw = base64.b64decode(id_ + b"=" * (-len(id_) % 4), b"-_", validate=True)
            seal, body = raw[:_SEAL_BYTES], raw[_SEAL_BYTES:]
            is_ours = hmac.compare_digest(seal, self._seal(body))
            is_ours = is_ours and _written(raw) == id_
            made: list[Any] = from_json(body) if is_ours else []
        except ValueError:
            return None
        return made or None

    def _seal(self, body: bytes) -> bytes:
        return hmac.digest(self._key(), b"mcp-session" + body, "sha256")[:_SEAL_BYTES]


def _written(raw: bytes) -> bytes:
    """The one spelling of an id."""
    return base64.urlsafe_b64encode(raw).rstrip(b"=")


def _give_up(session: Session) -> None:
    for future in list(session.asked.values()):
        if not future.done():
            future.set_exception(ConnectionError("its session has ended"))


def _is_own(own: Caller, caller: Caller) -> bool:
    return own.principal == caller.principal and own.tenant == caller.tenant


def _whose(caller: Caller, toolset: str | None) -> str:
    told = to_json([caller.principal, caller.tenant, toolset])
    return sha256(told).hexdigest()[:16]


def _plain(capabilities: Any) -> dict[str, Any]:
    """What counts of the capabilities, short enough for a header."""
    kept: dict[str, Any] = {}
    for name in ("elicitation", "sampling", "roots"):
        if name in capabilities:
            ways = capabilities[name]
            found = [way for way in ("form", "url") if isinstance(ways, dict) and way in ways]
            kept[name] = {way: {} for way in found}
    return kept
