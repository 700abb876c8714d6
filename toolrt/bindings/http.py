"""Kind `http`: a tool is one request to a service.

`http_compile` makes a plan of what the manifest says; a call renders it, sends the request through
`network`, and reads the reply by `http_answer`.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, cast

from pydantic_core import to_json

from toolrt.bindings.base import BindContext, Binding, Effect, Kind, Unfinished
from toolrt.bindings.http_answer import Output, Reading
from toolrt.bindings.http_compile import compile_http
from toolrt.bindings.http_request import RequestPlan
from toolrt.bindings.http_spec import HttpSpec
from toolrt.bindings.http_target import compile_target
from toolrt.bindings.network import Client, Endpoint, Network
from toolrt.core.calls import Invocation
from toolrt.core.results import Answer
from toolrt.expressions.scope import Scope
from toolrt.manifest.cases import Mock
from toolrt.manifest.target import Target

_READING = frozenset({"GET", "HEAD"})
_IDEMPOTENT = frozenset({"GET", "HEAD", "OPTIONS", "PUT", "DELETE"})


@dataclass(frozen=True, slots=True)
class _Reply:
    """A reply that nobody sent."""

    status_code: int
    headers: Mapping[str, str]
    content: bytes


class HttpBinding:
    """One request of one tool."""

    __slots__ = ("_client", "_plan", "_reading", "_references", "_vars")

    def __init__(
        self, plan: RequestPlan, endpoint: Endpoint, reading: Reading, context: BindContext
    ) -> None:
        self._plan = plan
        self._reading = reading
        self._client = Client(context.services.share(Network), endpoint)
        self._references = context.references
        self._vars = context.vars

    @property
    def uses(self) -> frozenset[object]:
        """The pools of connections that it needs."""
        return self._client.uses

    async def call(self, invocation: Invocation) -> Answer:
        """Send the request once and read its answer. Raises CallError."""
        invocation.sent = "never"
        plan = self._plan
        if plan.references:
            await self._references.prepare(plan.references, invocation.caller)
        await self._client.open()
        request = plan.build(self._scope(invocation))
        reply = await self._client.send(request, invocation)
        return self._reading.answer(reply, invocation.clock.wall)

    def preview(self, invocation: Invocation) -> dict[str, Any]:
        """Method, url, headers and body of the request; references stay as they are written."""
        return self._plan.masked(self._scope(invocation))

    def pretended(self, mock: Mock, now: Callable[[], float]) -> Answer:
        """The answer to a reply of that status and body."""
        has_json, status = mock.has_json, mock.status or 200
        body = to_json(mock.json_) if has_json else (mock.text or "").encode()
        media_type = "application/json" if has_json else "text/plain"
        return self._reading.answer(_Reply(status, {"content-type": media_type}, body), now)

    def _scope(self, invocation: Invocation) -> Scope:
        return Scope.of(invocation, self._vars, self._references)


def bind(spec: HttpSpec, context: BindContext) -> Binding:
    """Compile an http tool; faults are in the context."""
    compiled = compile_http(spec, context)
    if compiled is None:
        return Unfinished("its `url` is at fault")
    plan, endpoint = compiled
    # csv, xml and sse leave the tool unavailable
    return HttpBinding(plan, endpoint, Reading(spec.success, cast("Output", spec.output)), context)


def check_target(target: Target, context: BindContext) -> None:
    """Report what is wrong inside a target, with paths from the target."""
    compile_target(target, context)


def _effect(spec: HttpSpec) -> Effect:
    method = spec.method or ("POST" if spec.has_body() else "GET")
    return "read" if method in _READING else "write"


def _is_idempotent(spec: HttpSpec) -> bool:
    return (spec.method or "GET") in _IDEMPOTENT


KIND = Kind(
    name="http",
    spec=HttpSpec,
    bind=bind,
    effect=_effect,
    is_idempotent=_is_idempotent,
)
