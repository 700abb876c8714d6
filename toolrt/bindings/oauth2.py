"""`auth: {oauth2: …}`: client credentials (RFC 6749, section 4.4), a token for all callers.

A token is kept in memory as long as it holds, and got by one request whoever waits for it. What
the server says besides is not passed on but for its error code: it may hold what is secret.
"""

import base64
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any
from urllib.parse import quote_plus

from toolrt.bindings.auth import secret_template
from toolrt.bindings.base import BindContext
from toolrt.bindings.http_url import read_written, without_values
from toolrt.bindings.network import Client, Endpoint, Network, TlsFiles, Url
from toolrt.bindings.oauth2_tokens import KeptToken, TokenRequest, Tokens
from toolrt.core.calls import Invocation
from toolrt.core.errors import CallError
from toolrt.core.redaction import MASK, Redactor
from toolrt.expressions.references import Reference
from toolrt.expressions.scope import Scope
from toolrt.expressions.slots import TEXT
from toolrt.expressions.templates import Names, Template
from toolrt.manifest.target import OAuth2Auth


def compile_oauth2(
    auth: OAuth2Auth, endpoint: Endpoint, context: BindContext, *path: str
) -> "OAuth2Signer | None":
    """The signer of a target; `endpoint` is the target's. None with a fault at `token_url`."""
    nobody = replace(
        context,
        unavailable=None,
        names=Names(roots=frozenset({"vars"}), known_keys=context.names.known_keys),
    )
    name = nobody.template(auth.client_id, (*path, "client_id"), TEXT)
    word = secret_template(auth.client_secret, nobody, (*path, "client_secret"))
    _refuse_callers((name, word), context, path)
    if nobody.unavailable is not None:
        context.lacks(nobody.unavailable, *nobody.unavailable_at)
    url = _token_url(auth.token_url, context, *path)
    if url is None:
        return None
    endpoint = _endpoint(url, endpoint)
    network = context.services.share(Network)
    form = _form(auth)
    key = (str(url), name.source, word.source, form, endpoint)
    kept = context.services.share(Tokens).kept(key, lambda: Client(network, endpoint))
    return OAuth2Signer(kept, url, (name, word), form, context.references.redactor)


class OAuth2Signer:
    """Bearer tokens of one target."""

    names = frozenset({"Authorization"})

    def __init__(
        self,
        kept: KeptToken,
        url: Url,
        parts: tuple[Template, Template],
        form: str,
        redactor: Redactor,
    ) -> None:
        self._kept = kept
        self._url = url
        self._parts = parts
        self._form = form
        self._redactor = redactor

    @property
    def references(self) -> Sequence[Reference]:
        return [each for part in self._parts for each in part.references]

    async def sign(self, invocation: Invocation, scope: Scope) -> Mapping[str, str]:
        return await self._headers(invocation, scope, None)

    async def renewed(
        self, invocation: Invocation, scope: Scope, rejected: Mapping[str, str]
    ) -> Mapping[str, str]:
        token = rejected["Authorization"].removeprefix("Bearer ")
        return await self._headers(invocation, scope, token)

    def shown(self) -> dict[str, Any]:
        return {"headers": {"Authorization": f"Bearer {MASK}"}}

    async def _headers(
        self, invocation: Invocation, scope: Scope, rejected: str | None
    ) -> Mapping[str, str]:
        token = self._kept.good(invocation.clock.monotonic(), rejected)
        if token is None:
            token = await self._kept.fetched(self._request(scope), invocation, self._redactor)
        self._redactor.learn_in_passing(token)
        return {"Authorization": f"Bearer {token}"}

    def _request(self, scope: Scope) -> TokenRequest:
        name, word = (str(part.text(scope) or "") for part in self._parts)
        if not name or not word:
            raise CallError("the credential of this tool is empty", code="missing-credential")
        self._redactor.learn(word)
        pair = f"{quote_plus(name)}:{quote_plus(word)}"  # RFC 6749, section 2.3.1
        basic = base64.b64encode(pair.encode("utf-8", "replace")).decode()
        self._redactor.learn(basic)
        return TokenRequest(self._url, f"Basic {basic}", self._form)


def _token_url(text: str, context: BindContext, *path: str) -> Url | None:
    at = (*path, "token_url")
    if without_values(text) != text:
        context.fault("value-in-host", "a `token_url` is constant: no value may choose it", *at)
        return None
    url = read_written(text, context, *at)
    if url is None:
        return None
    if url.origin is None:
        hint = "such as https://id.example.com/oauth/token"
        context.fault("invalid-url", "a `token_url` begins with http(s)://host", *at, hint=hint)
        return None
    return Url(url.origin, url.path if url.query is None else f"{url.path}?{url.query}")


def _endpoint(url: Url, target: Endpoint) -> Endpoint:
    """Where tokens are got: under the guard of the target, whose certificate is for it alone."""
    tls = target.tls
    if tls is not None and url.origin != target.origin:
        tls = TlsFiles(ca=tls.ca) if tls.ca else None
    return Endpoint(url.origin, target.guard, target.connect_timeout_s, follows=False, tls=tls)


def _form(auth: OAuth2Auth) -> str:
    fields = {"grant_type": "client_credentials", "scope": " ".join(auth.scopes)}
    fields["audience"] = auth.audience or ""
    return "&".join(f"{name}={quote_plus(text)}" for name, text in fields.items() if text)


def _refuse_callers(parts: Sequence[Template], context: BindContext, path: Sequence[str]) -> None:
    for key, part in zip(("client_id", "client_secret"), parts, strict=True):
        for reference in part.references:
            if reference.kind in {"caller", "tenant"}:
                message = f"{reference} differs by caller, and the token is got once for all"
                at = part.source.find(str(reference))
                context.fault("bad-reference", message, *path, key, offset=max(at, 0))
