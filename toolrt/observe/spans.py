"""Spans of OpenTelemetry: one for each call, and within it for its stages and attempts.

Nothing here is reached unless the program has set a provider of tracers before it opened the
runtime; the library is not even imported. Names and attributes are those of the conventions for
generative AI where these have any. No argument, no result and no text of an error is ever told.

https://github.com/open-telemetry/semantic-conventions-genai/blob/main/docs/gen-ai/execute-tool.md
"""

import sys
from collections.abc import Awaitable, Callable, Coroutine, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, Final, ParamSpec

from toolrt.core.calls import Invocation
from toolrt.core.errors import CODES, CallError
from toolrt.core.results import Answer, Failure, Outcome, ToolResult

if TYPE_CHECKING:
    from opentelemetry.trace import Span, Tracer

_API: Final = "opentelemetry.trace"
_OPERATION: Final = "execute_tool"

P = ParamSpec("P")
Chain = Callable[[Invocation], Awaitable[Outcome]]
Calling = Callable[P, Coroutine[Any, Any, ToolResult]]
Attempted = Callable[[Invocation], Coroutine[Any, Any, Answer]]

_stage: "ContextVar[Span | None]" = ContextVar("toolrt_stage", default=None)
"""The span of the stage that is at work, until it hands the call on."""


class Spans:
    """Makes the spans of one runtime."""

    def __init__(self, tracer: "Tracer") -> None:
        from opentelemetry import trace  # noqa: PLC0415 - only where somebody traces

        self._tracer = tracer
        self._api = trace
        self._failed = trace.StatusCode.ERROR

    @classmethod
    def of_provider(cls, version: str) -> "Spans | None":
        """Those of the provider that the program has set; None where there is none."""
        api: Any = sys.modules.get(_API)
        if api is None:
            return None
        provider = api.get_tracer_provider()
        if isinstance(provider, api.ProxyTracerProvider | api.NoOpTracerProvider):
            return None
        return cls(provider.get_tracer("toolrt", version))

    def calls(self, made: Calling[P], tool_of: Callable[P, str | None]) -> Calling[P]:
        """The same way of calling, each call in a span; within that of whoever calls.

        `tool_of` gives the tool's name, None where there is no such tool.
        """

        async def traced(*args: P.args, **kwargs: P.kwargs) -> ToolResult:
            tool = tool_of(*args, **kwargs)
            told: dict[str, Any] = {"gen_ai.operation.name": _OPERATION}
            if tool is not None:
                told |= {"gen_ai.tool.name": tool, "gen_ai.tool.type": "function"}
            with self._span(_OPERATION if tool is None else f"{_OPERATION} {tool}", told) as span:
                result = await made(*args, **kwargs)
                self._tell(span, result)
            return result

        return traced

    def stage(self, name: str, made: Callable[[Chain], Chain], following: Chain) -> Chain:
        """The chain of a stage with a span from its beginning until it hands the call on."""

        async def handed_on(invocation: Invocation) -> Outcome:
            span = _stage.get()
            if span is not None:
                span.end()
            _stage.set(None)
            return await following(invocation)

        chain = made(handed_on)
        if chain is handed_on:
            return following

        async def traced(invocation: Invocation) -> Outcome:
            span = self._tracer.start_span(name)
            before = _stage.set(span)
            try:
                outcome = await chain(invocation)
            except BaseException as error:
                self._fail(span, _name_of(error))
                raise
            else:
                self._fail(span, _code_of(outcome))
                return outcome
            finally:
                if span.is_recording():
                    span.end()
                _stage.reset(before)

        return traced

    def attempts(self, call: Attempted) -> Attempted:
        """The same call of a binding, each in a span that services are told of."""

        async def traced(invocation: Invocation) -> Answer:
            with self._span("attempt", {"toolrt.attempt": invocation.attempts}) as span:
                invocation.traceparent = _traceparent(span)
                return await call(invocation)

        return traced

    def shaping(self, shape: Callable[P, ToolResult]) -> Callable[P, ToolResult]:
        """The same way of making a result, in a span."""

        def traced(*args: P.args, **kwargs: P.kwargs) -> ToolResult:
            with self._span("shape", {}):
                return shape(*args, **kwargs)

        return traced

    @contextmanager
    def _span(self, name: str, told: Mapping[str, Any]) -> "Iterator[Span]":
        """A span that is the current one. What an exception says stays out of it (O1)."""
        with self._tracer.start_as_current_span(
            name, attributes=told, record_exception=False, set_status_on_exception=False
        ) as span:
            try:
                yield span
            except BaseException as error:
                self._fail(span, _name_of(error))
                raise

    def _tell(self, span: "Span", result: ToolResult) -> None:
        """What became of a call."""
        span.set_attributes(
            {
                "gen_ai.tool.call.id": result.call_id,
                "toolrt.status": result.status,
                "toolrt.attempts": result.attempts,
                "toolrt.cached": result.cached,
                "toolrt.generation": result.generation,
                "toolrt.degraded": "fallback" in result.context,
            }
        )
        if result.error is not None:
            self._fail(span, _known(result.error.code))

    def _fail(self, span: "Span", code: str | None) -> None:
        if code is not None and span.is_recording():
            span.set_attribute("error.type", code)
            span.set_status(self._failed)


def _code_of(outcome: Outcome) -> str | None:
    return _known(outcome.code) if isinstance(outcome, Failure) else None


def _name_of(error: BaseException) -> str:
    """What is told of an exception: its code or its class, never its text."""
    return _known(error.code) if isinstance(error, CallError) else type(error).__name__


def _known(code: str) -> str:
    """One of our codes; those of tools' authors are too many to tell apart."""
    return code if code in CODES else "_OTHER"


def _traceparent(span: "Span") -> str:
    """W3C Trace Context, section 3.2."""
    context = span.get_span_context()
    flags = int(context.trace_flags)
    return f"00-{context.trace_id:032x}-{context.span_id:016x}-{flags:02x}"
