"""Requests of the SDK sent by our own client: the guard, the target's headers and its credential.

The SDK speaks httpx2; what is dialled and what comes back passes the same transport as every http
tool. What goes wrong with one request ends that request alone: it comes back as an error of
JSON-RPC that is known by a mark of ours.
"""

import secrets
from collections.abc import AsyncIterator, Mapping
from typing import TYPE_CHECKING, Any, Final

import httpx2
from pydantic_core import to_json

from toolrt.bindings.mcp.server import Server, Web
from toolrt.bindings.network import Url, new_request
from toolrt.core.calls import Caller, Invocation
from toolrt.core.clock import SystemClock
from toolrt.core.errors import BindingError, CallError
from toolrt.expressions.scope import ABSENT, Scope
from toolrt.expressions.slots import QUERY

if TYPE_CHECKING:
    from toolrt.bindings.network import Response

MOST_STREAMED: Final = 256 * 1024**2
"""What one stream of events may come to; the SDK opens the next."""
MOST_EVENT: Final = 5 * 1024**2
_UNAUTHORIZED: Final = 401
_FAILED: Final = -32099
_OWN: Final = frozenset({"host", "content-length", "accept-encoding", "connection", "user-agent"})
_OF_LENGTH: Final = frozenset({b"content-length", b"transfer-encoding"})


class Requests(httpx2.AsyncBaseTransport):
    """The transport of the SDK's client for one server."""

    def __init__(self, server: Server, web: Web) -> None:
        self._server, self._web = server, web
        self._mark = secrets.token_hex(16)
        self._failures: dict[str, CallError] = {}
        self._constant, self._varying = web.service.headers.finish({})

    def failure(self, data: Any) -> CallError | None:
        """The failure of ours that an error of JSON-RPC stands for, if it does."""
        return self._failures.pop(data, None) if isinstance(data, str) else None

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        body = await request.aread()
        try:
            return await self._answer(request, body)
        except CallError as error:
            return self._failed(error)

    async def _answer(self, request: httpx2.Request, body: bytes) -> httpx2.Response:
        url = self._url(request)
        call = _nobody(self._server.name)
        scope = await self._server.prepared()
        transport = await self._web.client.open()
        credential = self._web.service.credential
        text = credential.text(scope) if credential else None
        headers = self._headers(request, scope, text)
        if credential is not None and credential.place == "query":
            mark = "&" if "?" in url.target else "?"
            url.target += f"{mark}{QUERY.escape(credential.name)}={text}"
        signer = self._web.service.signer
        signed = await signer.sign(call, scope) if signer else {}
        reply = await self._send(transport, request, url, {**headers, **signed}, body)
        if signer is not None and reply.status_code == _UNAUTHORIZED:
            renewed = await signer.renewed(call, scope, signed)
            if renewed is not None:
                await reply.aclose()
                reply = await self._send(transport, request, url, {**headers, **renewed}, body)
        if reply.status_code == _UNAUTHORIZED:
            await reply.aclose()
            raise _unauthorized()
        fields = [each for each in reply.headers.raw if each[0].lower() not in _OF_LENGTH]
        return httpx2.Response(reply.status_code, headers=fields, stream=_Body(reply))

    def _url(self, request: httpx2.Request) -> Url:
        """Where it goes, which stays within the server's own origin."""
        origin = self._web.service.origin
        asked = request.url
        port = asked.port or {"http": 80, "https": 443}.get(asked.scheme)
        if (asked.scheme, port) != (origin.scheme, origin.port) or asked.host != origin.host.strip(
            "[]"
        ):
            raise BindingError("the server leads elsewhere", code="blocked-target", sent="never")
        return Url(origin, asked.raw_path.decode("ascii"))

    def _headers(
        self, request: httpx2.Request, scope: Scope, credential: str | None
    ) -> dict[str, str]:
        made = {name: text for name, text in request.headers.items() if name.lower() not in _OWN}
        made.update(self._constant)
        for name, template in self._varying.items():
            text = template.text(scope)
            if text is not ABSENT:
                made[name] = str(text)
        known = self._web.service.credential
        if known is not None and known.place == "header":
            made[known.name] = credential or ""
        return made

    async def _send(
        self,
        transport: Any,
        request: httpx2.Request,
        url: Url,
        headers: Mapping[str, str],
        body: bytes,
    ) -> "Response":
        made = new_request(request.method, url, headers, body or None)
        made.extensions["timeout"] = {"connect": self._web.connect_s}
        if "text/event-stream" in headers.get("accept", ""):
            made.extensions["most_bytes"] = MOST_STREAMED
        reply: Response = await transport.handle_async_request(made)
        return reply

    def _failed(self, error: CallError) -> httpx2.Response:
        """An answer that says so; `failure` knows it again."""
        number = f"{self._mark}{len(self._failures)}{secrets.token_hex(4)}"
        if len(self._failures) > 1000:  # noqa: PLR2004 - nobody asked for those
            self._failures.clear()
        self._failures[number] = error
        told = {"code": _FAILED, "message": error.message, "data": number}
        document = {"jsonrpc": "2.0", "id": None, "error": told}
        return httpx2.Response(
            400, headers={"content-type": "application/json"}, content=to_json(document)
        )


class _Body(httpx2.AsyncByteStream):
    """The body of an answer while it arrives."""

    def __init__(self, reply: "Response") -> None:
        self._reply = reply

    async def __aiter__(self) -> AsyncIterator[bytes]:
        try:
            async for piece in self._reply.aiter_raw():
                yield piece
        except CallError as error:
            raise httpx2.StreamError(error.message) from error

    async def aclose(self) -> None:
        await self._reply.aclose()


def _nobody(server: str) -> Invocation:
    """The call that signers are given: a connection is made on behalf of no caller."""
    clock = SystemClock()
    now = clock.monotonic()
    return Invocation("", server, {}, Caller(), clock, now, now + 60.0)


def _unauthorized() -> BindingError:
    hint = "its target needs an `auth` that the server knows"
    return BindingError("the server does not know us", code="missing-credential", hint=hint)
