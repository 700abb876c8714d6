"""What stands in for the world in a test: a binding that answers as `mock:` says.

A kind that reads bytes reads them in a mock as well, by its own `Pretending`: what is a success,
what the body is, and which failure comes of it are the tool's to say. Where the mock gives a value,
the binding comes back with just that.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

from toolrt.bindings.base import Binding
from toolrt.core.calls import Invocation
from toolrt.core.errors import AttemptTimeoutError, BindingError
from toolrt.core.results import Answer, HttpAnswer, ProcessAnswer
from toolrt.manifest.cases import Mock, MockError

_OF_PROGRAMS = frozenset({"command", "shell"})
_JSON_HEADERS = {"content-type": "application/json"}


@runtime_checkable
class Pretending(Protocol):
    """A binding that can read an answer which nobody sent."""

    def pretended(self, mock: Mock, now: Callable[[], float]) -> Answer:
        """The answer that `mock` comes to. Raises BindingError when it is a failure."""
        ...


def misplaced(mock: Mock, kind: str) -> str | None:
    """The key of `mock` that has no meaning for a tool of that kind."""
    if mock.status is not None and kind != "http":
        return "status"
    if mock.is_of_a_program and kind not in _OF_PROGRAMS:
        return next(name for name in ("exit_code", "stdout", "stderr") if name in mock.written)
    return None


@dataclass(frozen=True, slots=True)
class MockBinding:
    """Answers in place of the binding of a tool of that kind."""

    kind: str
    real: Binding
    mock: Mock

    async def call(self, invocation: Invocation) -> Answer:
        invocation.sent = "answered"
        mock = self.mock
        if mock.error is not None:
            raise _failure(mock.error)
        is_raw = mock.status is not None or mock.is_of_a_program
        if is_raw and isinstance(self.real, Pretending):
            return self.real.pretended(mock, invocation.clock.wall)
        return self._valued(mock.json_ if mock.has_json else mock.text)

    def preview(self, invocation: Invocation) -> dict[str, Any]:
        return self.real.preview(invocation)

    def _valued(self, value: Any) -> Answer:
        if self.kind == "http":
            return HttpAnswer(value, 200, _JSON_HEADERS if self.mock.has_json else {})
        return ProcessAnswer(value, 0, "", 0) if self.kind in _OF_PROGRAMS else Answer(value)


def _failure(error: MockError) -> BindingError:
    if error.code == "timeout":
        return AttemptTimeoutError(error.message, hint=error.hint)
    return BindingError(error.message, code=error.code, hint=error.hint, retryable=error.retryable)
