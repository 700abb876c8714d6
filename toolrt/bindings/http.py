"""Kind `http`: a tool is one request to a service.

`http_compile` makes a plan of what the manifest says; a call renders it, sends the request through
`network`, and reads the reply by `http_answer`. Some tools take more than that: a request that is
signed, carries files, or is followed by others for more pages.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pydantic_core import to_json

from toolrt.bindings.base import BindContext, Binding, Effect, Kind, Unfinished
from toolrt.bindings.http_answer import Reading
from toolrt.bindings.http_compile import compile_http
from toolrt.bindings.http_fresh import change_refused, conditional, expected_tag, saw
from toolrt.bindings.http_graphql import GraphqlReading
from toolrt.bindings.http_multipart import MultipartBody
from toolrt.bindings.http_next import Paging
from toolrt.bindings.http_pages import read_page, read_pages
from toolrt.bindings.http_request import Draft, RequestPlan
from toolrt.bindings.http_spec import HttpSpec
from toolrt.bindings.http_target import compile_target
from toolrt.bindings.network import Client, Endpoint, Network
from toolrt.bindings.threads import aside
from toolrt.core.calls import Invocation
from toolrt.core.errors import BindingError
from toolrt.core.results import Answer, HttpAnswer
from toolrt.expressions.scope import Scope
from toolrt.manifest.cases import Mock
from toolrt.manifest.target import Target

if TYPE_CHECKING:
    from toolrt.bindings.network import Response

_UNAUTHORIZED = 401
_READING = frozenset({"GET", "HEAD"})
_IDEMPOTENT = frozenset({"GET", "HEAD", "OPTIONS", "PUT", "DELETE"})


@dataclass(frozen=True, slots=True)
class _Reply:
    """A reply that nobody sent."""

    status_code: int
    headers: Mapping[str, str]
    content: bytes


class HttpBinding:
    """One request of one tool, or one for each page of what it reads."""

    __slots__ = ("_client", "_is_plain", "_paging", "_plan", "_reading", "_references", "_vars")

    def __init__(
        self,
        plan: RequestPlan,
        endpoint: Endpoint,
        reading: Reading,
        paging: Paging | None,
        context: BindContext,
    ) -> None:
        self._plan = plan
        self._reading = reading
        self._paging = paging
        has_files = isinstance(plan.body, MultipartBody)
        self._is_plain = plan.signer is None and paging is None and not has_files
        self._client = Client(context.services.share(Network), endpoint)
        self._references = context.references
        self._vars = context.vars

    @property
    def uses(self) -> frozenset[object]:
        """The pools of connections that it needs."""
        return self._client.uses

    async def call(self, invocation: Invocation) -> Answer:
        """Send the request and read its answer. Raises CallError."""
        invocation.sent = "never"
        plan = self._plan
        if plan.references:
            await self._references.prepare(plan.references, invocation.caller)
        await self._client.open()
        scope = self._scope(invocation)
        if invocation.sighting is not None:
            return await self._watched(scope, invocation)
        if not self._is_plain:
            return await self._drafted(scope, invocation)
        request = plan.build(scope)
        reply = await self._client.send(request, invocation)
        return self._reading.answer(reply, invocation.clock.wall)

    def preview(self, invocation: Invocation) -> dict[str, Any]:
        """Method, url, headers and body of the request; references stay as they are written."""
        shown = self._plan.masked(self._scope(invocation))
        return shown if self._paging is None else {**shown, "pages": self._paging.pages}

    def pretended(self, mock: Mock, now: Callable[[], float]) -> Answer:
        """The answer to a reply of that status and body."""
        has_json, status = mock.has_json, mock.status or 200
        body = to_json(mock.json_) if has_json else (mock.text or "").encode()
        media_type = "application/json" if has_json else "text/plain"
        answer = self._reading.answer(_Reply(status, {"content-type": media_type}, body), now)
        return answer if self._paging is None else read_page(self._paging, answer)

    async def _watched(self, scope: Scope, invocation: Invocation) -> Answer:
        """The answer where versions count: of what it shows, or of what it changes."""
        tag = expected_tag(invocation)
        try:
            answer = await self._drafted(scope, invocation, tag)
        except BindingError as error:
            changed = None if tag is None else change_refused(error, invocation)
            if changed is None:
                raise
            raise changed from error
        if isinstance(answer, HttpAnswer) and self._paging is None:
            saw(invocation, answer.headers or {})
        return answer

    async def _drafted(
        self, scope: Scope, invocation: Invocation, tag: str | None = None
    ) -> Answer:
        """The answer to a request that takes more than one step, or is for one version alone."""
        drafted = self._plan.draft(scope, await self._body(scope, invocation))
        draft = conditional(drafted, tag)

        async def ask(draft: Draft) -> "Response":
            return await self._signed(draft, scope, invocation)

        if self._paging is not None:
            return await read_pages(self._paging, draft, ask, self._reading, invocation)
        return self._reading.answer(await ask(draft), invocation.clock.wall)

    async def _body(self, scope: Scope, invocation: Invocation) -> bytes | None:
        """The body; one with files is read once, off the loop, whatever becomes of the files."""
        body = self._plan.body
        if not isinstance(body, MultipartBody):
            return body.render(scope) if body else None
        if invocation.kept is None:
            invocation.kept = await aside(lambda: body.render(scope))
        kept: bytes = invocation.kept
        return kept

    async def _signed(self, draft: Draft, scope: Scope, invocation: Invocation) -> "Response":
        """The reply to a signed request; after a 401, which did nothing, to the same once more."""
        signer = self._plan.signer
        if signer is None:
            return await self._client.send(draft.request(), invocation)
        signed = await signer.sign(invocation, scope)
        reply = await self._client.send(draft.request(signed), invocation)
        if reply.status_code != _UNAUTHORIZED:
            return reply
        invocation.sent = "never"
        renewed = await signer.renewed(invocation, scope, signed)
        if renewed is None:
            invocation.sent = "answered"
            return reply
        return await self._client.send(draft.request(renewed), invocation)

    def _scope(self, invocation: Invocation) -> Scope:
        return Scope.of(invocation, self._vars, self._references)


def bind(spec: HttpSpec, context: BindContext) -> Binding:
    """Compile an http tool; faults are in the context."""
    compiled = compile_http(spec, context)
    if compiled is None:
        return Unfinished("its `url` is at fault")
    plan, endpoint, paging = compiled
    return HttpBinding(plan, endpoint, _reading(spec), paging, context)


def _reading(spec: HttpSpec) -> Reading:
    if spec.graphql is not None:
        return GraphqlReading(spec.success, spec.output or "json")
    return Reading(spec.success, spec.output)


def check_target(target: Target, context: BindContext) -> None:
    """Report what is wrong inside a target, with paths from the target."""
    compile_target(target, context)


def _effect(spec: HttpSpec) -> Effect:
    method = spec.method or ("POST" if spec.has_body() else "GET")
    return "read" if method in _READING else "write"


def _is_idempotent(spec: HttpSpec) -> bool:
    return spec.verb in _IDEMPOTENT


KIND = Kind(
    name="http",
    spec=HttpSpec,
    bind=bind,
    effect=_effect,
    is_idempotent=_is_idempotent,
)
