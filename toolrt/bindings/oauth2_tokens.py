"""Tokens of client credentials: one request at a time for each, and what came of it kept.

The request runs in a task of its own, so that a caller who gives up takes nothing from the others
who wait for the same token. Its answer is never shown: only the server's error code is.
"""

import asyncio
import math
import re
from collections.abc import Callable, Hashable
from copy import copy
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from toolrt.bindings.answers import decode
from toolrt.bindings.http_answer import RETRYABLE, retry_after_s
from toolrt.bindings.network import Client, Url, new_request
from toolrt.core.calls import Invocation, apart
from toolrt.core.errors import BindingError
from toolrt.core.redaction import Redactor

if TYPE_CHECKING:
    from toolrt.bindings.network import Response

LONGEST_S = 30.0
"""A request for a token that takes longer is given up, whoever still waits."""

_MOST_BYTES = 64 * 1024
_LIFETIME_S = 300.0  # of a token of which the server does not say it
_LONGEST_LIFETIME_S = 86400.0
_MARGIN_S = 30.0
_MARGIN = 0.1  # of the lifetime, where that is less
_TOKEN = re.compile(r"[!-~]{1,7000}")  # what fits into a header
_ERROR = re.compile(r"[a-z][a-z_]{0,63}")  # RFC 6749, section 5.2, and registered ones
_OK = range(200, 300)
_SERVER_FAULT = 500
_SECRETS = ("access_token", "refresh_token", "id_token")


@dataclass(frozen=True, slots=True)
class TokenRequest:
    """What is asked: where, with which `Authorization`, and the form that is sent."""

    url: Url
    authorization: str
    form: str


@dataclass(frozen=True, slots=True)
class _Token:
    """`ends` is when it is not used any more, in seconds of the monotonic clock."""

    text: str
    ends: float


class KeptToken:
    """One token, for all calls of those who show the same credentials at the same place."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self._token: _Token | None = None
        self._fetching: asyncio.Task[_Token] | None = None

    def good(self, now: float, rejected: str | None) -> str | None:
        """The token that is at hand; none that is about to end, or that was rejected."""
        token = self._token
        if token is None or token.ends <= now or token.text == rejected:
            return None
        return token.text

    async def fetched(
        self, request: TokenRequest, invocation: Invocation, redactor: Redactor
    ) -> str:
        """A new token. Raises BindingError; nothing of the invocation is sent."""
        task = self._fetching
        if task is None:
            fetch = _fetch(self._client, request, apart(invocation), redactor)
            self._fetching = task = asyncio.create_task(fetch, name="toolrt-token")
            task.add_done_callback(self._settle)
        await asyncio.wait({task})
        if task.cancelled():
            raise _failed("the runtime is closing")
        error = task.exception()
        if error is None:
            return task.result().text
        if isinstance(error, BindingError):
            error, shared = copy(error), error  # each call adds details of its own
            error.details = dict(shared.details)
        raise error

    async def close(self) -> None:
        """Give up the request that runs."""
        task = self._fetching
        if task is not None and task.get_loop() is asyncio.get_running_loop():
            task.cancel()
            await asyncio.wait({task})

    def _settle(self, task: "asyncio.Task[_Token]") -> None:
        self._fetching = None
        if not task.cancelled() and task.exception() is None:
            self._token = task.result()


class Tokens:
    """The tokens of one runtime, which stay when it is loaded again."""

    def __init__(self) -> None:
        self._kept: dict[Hashable, KeptToken] = {}

    def kept(self, key: Hashable, client: Callable[[], Client]) -> KeptToken:
        """The one place for a token; `key` is all that makes it what it is."""
        if key not in self._kept:
            self._kept[key] = KeptToken(client())
        return self._kept[key]

    async def close(self) -> None:
        for kept in self._kept.values():
            await kept.close()


async def _fetch(
    client: Client, request: TokenRequest, invocation: Invocation, redactor: Redactor
) -> _Token:
    try:
        async with asyncio.timeout(LONGEST_S):
            await client.open()
            reply = await client.send(_post(request), invocation)
    except TimeoutError:
        raise _failed("no answer in time", retryable=True) from None
    except BindingError as error:
        is_blocked = error.code == "blocked-target"
        raise _failed(
            error.message,
            code=error.code if is_blocked else "unavailable",
            hint=error.hint if is_blocked else None,
            retryable=error.retryable,
        ) from error
    return _read(reply, invocation, redactor)


def _post(request: TokenRequest) -> Any:
    headers = {
        "User-Agent": "toolrt",
        "Accept": "application/json",
        "Accept-Encoding": "gzip",
        "Content-Type": "application/x-www-form-urlencoded",
        "Authorization": request.authorization,
    }
    return new_request("POST", request.url, headers, request.form.encode())


def _read(reply: "Response", invocation: Invocation, redactor: Redactor) -> _Token:
    said = _document(reply)
    for name in _SECRETS:
        if isinstance(text := said.get(name), str):
            redactor.learn_in_passing(text)
    if reply.status_code not in _OK:
        raise _refusal(reply, said, invocation)
    text, kind = said.get("access_token"), said.get("token_type", "Bearer")
    if not isinstance(text, str) or not _TOKEN.fullmatch(text):
        raise _failed("its answer holds no usable `access_token`")
    if not isinstance(kind, str) or kind.lower() != "bearer":
        raise _failed("its token is none of type `Bearer`")
    return _Token(text, invocation.clock.monotonic() + _use_s(said.get("expires_in")))


def _document(reply: "Response") -> dict[str, Any]:
    """The answer, when it is a JSON object of a decent size."""
    if len(reply.content) > _MOST_BYTES:
        return {}
    try:
        said = decode("json", reply.content)
    except BindingError:
        return {}
    return said if isinstance(said, dict) else {}


def _refusal(reply: "Response", said: dict[str, Any], invocation: Invocation) -> BindingError:
    status, code = reply.status_code, said.get("error")
    details: dict[str, Any] = {"status": status}
    if isinstance(code, str) and _ERROR.fullmatch(code):
        details["error"] = code
    reason = f"it answered {status}{f' ({code})' if 'error' in details else ''}"
    if status in RETRYABLE or status >= _SERVER_FAULT:
        error = _failed(reason, retryable=status in RETRYABLE)
        error.retry_after_s = retry_after_s(reply.headers, invocation.clock.wall)
    else:
        error = _failed(reason, code="access-denied")
    error.details = details
    return error


def _use_s(expires_in: object) -> float:
    """For how long a token is used: a margin less than the server says, which may be nonsense."""
    if isinstance(expires_in, str) and re.fullmatch(r"[0-9]{1,12}", expires_in):
        expires_in = int(expires_in)
    if isinstance(expires_in, bool) or not isinstance(expires_in, int | float):
        expires_in = _LIFETIME_S
    if isinstance(expires_in, float) and math.isnan(expires_in):
        expires_in = _LIFETIME_S
    lifetime_s = float(max(0, min(expires_in, _LONGEST_LIFETIME_S)))
    return lifetime_s - min(_MARGIN_S, lifetime_s * _MARGIN)


def _failed(
    reason: str, *, code: str = "unavailable", hint: str | None = None, retryable: bool = False
) -> BindingError:
    """No token, so no request: `sent` is never, whatever became of the one for the token."""
    return BindingError(
        f"no token for this service could be got: {reason}",
        code=code,
        hint=hint,
        sent="never",
        retryable=retryable,
        target_fault=code == "unavailable",
    )
