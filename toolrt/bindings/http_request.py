"""The request of one http tool: compiled when it is bound, rendered for each call.

Rendering the same call twice gives the same bytes, so that a retry repeats the request exactly.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from toolrt.bindings.auth import Credential
from toolrt.bindings.http_body import Body
from toolrt.bindings.http_fields import Pairs
from toolrt.bindings.http_swept import Swept
from toolrt.bindings.http_url import Route
from toolrt.bindings.network import Url, new_request
from toolrt.bindings.signing import Signer
from toolrt.core.errors import RefusedError
from toolrt.expressions.references import Reference
from toolrt.expressions.scope import ABSENT, Scope
from toolrt.expressions.slots import QUERY
from toolrt.expressions.templates import Template

if TYPE_CHECKING:
    from toolrt.bindings.network import Request

MOST_URL = 64 * 1024  # as httpx has it


NO_HEADERS: Mapping[str, str] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class Draft:
    """A request before it is signed, which may be sent more than once."""

    method: str
    url: Url
    headers: Mapping[str, str]
    body: bytes | None

    def request(self, signed: Mapping[str, str] = NO_HEADERS) -> "Request":
        """The request with the headers of a signer, which win."""
        taken = {name.lower() for name in signed}
        kept = {name: text for name, text in self.headers.items() if name.lower() not in taken}
        return new_request(self.method, self.url, {**kept, **signed}, self.body)


@dataclass(frozen=True)
class RequestPlan:
    """How a tool's arguments become a request.

    `constant` are the headers that no call changes, `varying` those that hold values. `swept` are
    the arguments that go into the query by `args_in`.
    """

    method: str
    route: Route
    query: Pairs
    swept: Swept | None
    constant: dict[str, str]
    varying: Mapping[str, Template]
    body: Body | None
    credential: Credential | None
    signer: Signer | None = None

    @cached_property
    def references(self) -> tuple[Reference, ...]:
        """Everything that has to be resolved for a call."""
        headers = (reference for each in self.varying.values() for reference in each.references)
        body = self.body.references if self.body else ()
        signer = self.credential or self.signer
        credential = signer.references if signer else ()
        return (*self.route.references, *self.query.references, *headers, *body, *credential)

    def build(self, scope: Scope) -> "Request":
        """The request of one call. Raises CallError."""
        credential = self.credential.text(scope) if self.credential else None
        url = self._url(scope, credential)
        body = self.body.render(scope) if self.body else None
        return new_request(self.method, url, self._headers(scope, credential), body)

    def draft(self, scope: Scope, body: bytes | None) -> Draft:
        """The same for a request that is signed or varied before it is sent. Raises CallError."""
        credential = self.credential.text(scope) if self.credential else None
        url = self._url(scope, credential)
        return Draft(self.method, url, self._headers(scope, credential), body)

    def masked(self, scope: Scope) -> dict[str, Any]:
        """The request for people: credentials and references are not resolved."""
        route, credential = self.route, self.credential
        path = f"{route.base.masked(scope)}{route.path.masked(scope)}"
        pairs = [str(route.query.masked(scope))] if route.query else []
        pairs += self.query.masked(scope) + self._swept(scope)
        headers = {name: each.masked(scope) for name, each in self.varying.items()}
        headers = {name: text for name, text in headers.items() if text is not ABSENT}
        if credential is not None and credential.place == "header":
            headers[credential.name] = credential.masked(scope)
        elif credential is not None:
            pairs.append(f"{credential.name}={credential.masked(scope)}")
        shown = self.signer.shown() if self.signer else {}
        return {
            "method": self.method,
            "url": f"{route.origin}{path}{'?' if pairs else ''}{'&'.join(pairs)}",
            **shown,
            "headers": {**self.constant, **headers, **shown.get("headers", {})},
            "body": self.body.masked(scope) if self.body else None,
        }

    def _url(self, scope: Scope, credential: str | None) -> Url:
        url = Url(self.route.origin, self._target(scope, credential))
        if len(str(url)) > MOST_URL:
            raise RefusedError("the arguments make too long a URL", code="invalid-arguments")
        return url

    def _target(self, scope: Scope, credential: str | None) -> str:
        route = self.route
        pairs = [str(route.query.text(scope))] if route.query else []
        pairs += self.query.render(scope)
        pairs += self._swept(scope)
        if self.credential is not None and self.credential.place == "query":
            pairs.append(f"{QUERY.escape(self.credential.name)}={credential}")
        path = route.path_text(scope)
        return f"{path}?{'&'.join(pairs)}" if pairs else path

    def _swept(self, scope: Scope) -> list[str]:
        return self.query.of(self.swept.items(scope)) if self.swept else []

    def _headers(self, scope: Scope, credential: str | None) -> Mapping[str, str]:
        if not self.varying and credential is None:
            return self.constant
        headers = dict(self.constant)
        for name, template in self.varying.items():
            text = template.text(scope)
            if text is not ABSENT:
                headers[name] = text
        if self.credential is not None and self.credential.place == "header":
            headers[self.credential.name] = credential or ""
        return headers
