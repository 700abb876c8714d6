"""Who a browser belongs to: a signed cookie, for some hours and one start of the server, or until
somebody logs out.

It names the proof of a login, and nothing that could stand in for it; who that is now, and what
they may do, is looked up each time. Forms carry a token that belongs to the cookie.
"""

import hmac
import json
import secrets
import time
from base64 import urlsafe_b64decode, urlsafe_b64encode
from dataclasses import dataclass
from typing import Final

from toolrt.core.over import Over
from toolrt.faces.http.access import Known
from toolrt.faces.http.wire import Head

LASTS_S: Final = 8 * 3600.0
_MOST_BYTES: Final = 2048
_MOST_ENDED: Final = 10_000


@dataclass(frozen=True, slots=True)
class Session:
    """One browser: the proof it was logged in with, until when (wall time), and what sets it apart
    from all others. Before a login there is no proof.
    """

    proof: str
    ends: float
    nonce: str


class Sessions:
    """Makes and reads the cookies of a server."""

    def __init__(self, secret: bytes, name: str, *, is_secure: bool) -> None:
        self._secret = secret
        self._is_secure = is_secure
        self.name = f"__Host-{name}" if is_secure else name
        self._ended = Over(_MOST_ENDED)

    def new(self, known: Known | None = None) -> Session:
        """A session of somebody who has proven who they are, or of somebody who is about to."""
        ends = time.time() + LASTS_S
        nonce = secrets.token_urlsafe(18)
        return (
            Session("", ends, nonce)
            if known is None
            else Session(known.proof, min(ends, known.ends), nonce)
        )

    def read(self, head: Head) -> Session | None:
        """The session of a request; None where there is none that is good."""
        for part in head.get(b"cookie", b"").decode("latin-1").split(";"):
            name, _, value = part.strip().partition("=")
            if name == self.name:
                return self._opened(value)
        return None

    def cookie(self, session: Session) -> str:
        """The header that gives it to a browser."""
        told = json.dumps([session.proof, session.ends, session.nonce]).encode()
        body = urlsafe_b64encode(told).decode()
        left_s = max(0, int(session.ends - time.time()))
        return self._header(f"{body}.{self._sign('session', body)}", left_s)

    def end(self, session: Session) -> None:
        """From now on its cookie is good for nothing, whoever has it."""
        self._ended.add(session.nonce, session.ends, time.time())

    def ended(self) -> str:
        """The header that takes a cookie away."""
        return self._header("", 0)

    def csrf(self, session: Session) -> str:
        """What each form of this browser carries."""
        return self._sign("form", session.nonce)

    def is_own_form(self, session: Session, token: object) -> bool:
        """Whether a form was made for this browser."""
        return isinstance(token, str) and hmac.compare_digest(
            self.csrf(session).encode(), token.encode()
        )

    def _opened(self, value: str) -> Session | None:
        body, _, signature = value.partition(".")
        good = self._sign("session", body)
        if len(value) > _MOST_BYTES or not hmac.compare_digest(good.encode(), signature.encode()):
            return None
        session = Session(*json.loads(urlsafe_b64decode(body)))
        is_over = session.ends <= time.time() or self._ended.has(session.nonce, session.ends)
        return None if is_over else session

    def _sign(self, what: str, text: str) -> str:
        made = hmac.digest(self._secret, f"{self.name}\0{what}\0{text}".encode(), "sha256")
        return urlsafe_b64encode(made).decode().rstrip("=")

    def _header(self, value: str, left_s: int) -> str:
        secure = "; Secure" if self._is_secure else ""
        return f"{self.name}={value}; Path=/; Max-Age={left_s}; HttpOnly; SameSite=Strict{secure}"
