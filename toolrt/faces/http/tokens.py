"""Signed tokens (JWT, RFC 7519) of an issuer that the project believes: signature, time, audience.

The issuer's keys (JWKS, RFC 7517) are fetched when they are first needed, again after ten minutes,
and for a key that nobody knows at most every half minute. What was fetched last is used where the
issuer does not answer.
"""

import asyncio
import json
import time
from pathlib import Path
from typing import Any, Final
from urllib.error import URLError
from urllib.request import urlopen

import jwt
from jwt import PyJWK, PyJWKSet

from toolrt.bindings.threads import aside
from toolrt.core import logs
from toolrt.faces.http.problems import ProblemError, unauthorized
from toolrt.manifest.project import Jwt

_FRESH_S: Final = 600.0
_AGAIN_S: Final = 30.0
_PATIENCE_S: Final = 10.0
_MOST_BYTES: Final = 1 << 20
_LEEWAY_S: Final = 30.0
_NEEDED: Final = ["exp", "sub"]
_HINT: Final = "get a new token of the issuer that `serve: {auth: {jwt: …}}` names"


class Tokens:
    """Checks the tokens of one issuer."""

    def __init__(self, options: Jwt, project: Path) -> None:
        self.jwt = options
        self._project = project
        self._keys: dict[str | None, PyJWK] = {}
        self._fetched = self._tried = float("-inf")
        self._turn = asyncio.Lock()

    async def claims(self, token: bytes) -> dict[str, Any]:
        """What a good token says. Raises ProblemError for every other one."""
        try:
            kid = jwt.get_unverified_header(token).get("kid")
            key = await self._key(kid)
            claims: dict[str, Any] = jwt.decode(
                token,
                key,
                algorithms=list(self.jwt.algorithms),
                audience=self.jwt.audience,
                issuer=self.jwt.issuer,
                leeway=_LEEWAY_S,
                options={"require": _NEEDED},
            )
            float(claims["exp"])
        except jwt.PyJWTError as error:
            raise _bad(_why(error)) from None
        except (OverflowError, ValueError, TypeError, RecursionError):  # of numbers and depths
            raise _bad("it is no token of that kind") from None
        return claims

    async def _key(self, kid: str | None) -> PyJWK:
        async with self._turn:
            now = time.monotonic()
            key = self._found(kid)
            is_stale = now - self._fetched > _FRESH_S
            if (key is None or is_stale) and now - self._tried > _AGAIN_S:
                self._tried = now
                await self._fetch()
                key = self._found(kid)
        if key is None:
            raise _bad("it is signed by a key that the issuer does not have")
        return key

    def _found(self, kid: str | None) -> PyJWK | None:
        """The key of that name; a token without a name may mean the only one."""
        if kid is None and len(self._keys) == 1:
            return next(iter(self._keys.values()))
        return self._keys.get(kid)

    async def _fetch(self) -> None:
        try:
            text = await aside(self._read)
            found = PyJWKSet.from_dict(json.loads(text))
        except (OSError, URLError, ValueError, TypeError, jwt.PyJWTError) as error:
            logs.BUGS.warning("the keys of %s cannot be read: %s", self.jwt.issuer, error)
            if not self._keys:
                raise ProblemError(
                    503, "unavailable", "tokens cannot be checked now", hint="try again later"
                ) from None
            return
        self._keys = {each.key_id: each for each in found.keys}
        self._fetched = time.monotonic()

    def _read(self) -> bytes:
        if not self.jwt.jwks.startswith(("http://", "https://")):
            return (self._project / self.jwt.jwks).read_bytes()
        with urlopen(self.jwt.jwks, timeout=_PATIENCE_S) as reply:  # noqa: S310 - http or https
            body: bytes = reply.read(_MOST_BYTES)
        return body


def _bad(why: str) -> ProblemError:
    return unauthorized(f"this token is not taken: {why}", _HINT, "invalid_token")


def _why(error: jwt.PyJWTError) -> str:
    """A reason without anything that stands in the token."""
    known = {
        jwt.ExpiredSignatureError: "it has expired",
        jwt.ImmatureSignatureError: "it is not valid yet",
        jwt.InvalidAudienceError: "it is meant for somebody else",
        jwt.InvalidIssuerError: "it is from somebody else",
        jwt.MissingRequiredClaimError: "it does not say until when, or about whom",
        jwt.InvalidSignatureError: "its signature is wrong",
        jwt.InvalidAlgorithmError: "it is signed in a way that is not allowed",
    }
    return known.get(type(error), "it is no token of that kind")
