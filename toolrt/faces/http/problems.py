"""What went wrong, as problem details (RFC 9457): a status, a stable code, and what to do next.

A call that was refused before it ran is a problem; a tool that failed is a result like any other.
"""

from collections.abc import Iterable, Mapping
from http import HTTPStatus
from types import MappingProxyType
from typing import Any, Final

from pydantic_core import to_json

from toolrt.core.errors import CallError
from toolrt.core.results import SCHEMA, Failure, ToolResult

Headers = Iterable[tuple[bytes, bytes]]

MEDIA: Final = b"application/problem+json"

STATUS: Final[Mapping[str, int]] = MappingProxyType(
    {
        "access-denied": 403,
        "already-decided": 409,
        "approval-denied": 403,
        "approval-expired": 403,
        "approval-mismatch": 409,
        "approval-unavailable": 503,
        "blocked-target": 403,
        "budget-exhausted": 429,
        "cancelled": 503,
        "circuit-open": 503,
        "conflict": 409,
        "denied": 403,
        "internal": 500,
        "invalid-arguments": 400,
        "missing-arguments": 400,
        "missing-credential": 503,
        "no-rule": 403,
        "not-found": 404,
        "rate-limited": 429,
        "recently-denied": 403,
        "timeout": 504,
        "unavailable": 503,
        "unknown-tool": 404,
        "unsupported": 422,
    }
)
"""Code of a call that was refused before anything ran -> status of HTTP."""


_NUMBERS: Final = {int, float}
_INVALID_REQUEST, _INTERNAL_ERROR = -32600, -32603
_FAILED = 500


class ProblemError(Exception):
    """Ends a request: the status, the code, a sentence, and what to do next."""

    def __init__(
        self,
        status: int,
        code: str,
        message: str,
        *,
        hint: str | None = None,
        headers: Headers = (),
        more: Mapping[str, Any] | None = None,
    ) -> None:
        super().__init__(message)
        self.status = status
        self.code = code
        self.message = message
        self.hint = hint
        self.headers = tuple(headers)
        self.more = dict(more or {})

    @classmethod
    def of(cls, error: CallError) -> "ProblemError":
        """The problem that a refusal is."""
        return of_failure(Failure.of(error))

    def document(self) -> dict[str, Any]:
        """The body of the answer."""
        return {
            "schema": SCHEMA,
            "type": f"urn:toolrt:problem:{self.code}",
            "title": HTTPStatus(self.status).phrase,
            "status": self.status,
            "detail": self.message,
            "code": self.code,
            "hint": self.hint,
            **self.more,
        }

    def body(self) -> bytes:
        return to_json(self.document())

    def mcp_body(self) -> bytes:
        """The same as an error of JSON-RPC, to a request whose id nobody has read."""
        code = _INTERNAL_ERROR if self.status >= _FAILED else _INVALID_REQUEST
        message = self.message if self.hint is None else f"{self.message}; {self.hint}"
        told = {"status": self.status, "code": self.code}
        error = {"code": code, "message": message, "data": told}
        return to_json({"jsonrpc": "2.0", "id": None, "error": error})


def of_failure(failure: Failure, **more: Any) -> ProblemError:
    """The problem that a failure before the first attempt is."""
    status = STATUS.get(failure.code, 422)
    after: Any = failure.details.get("retry_after_s")
    headers = [(b"retry-after", b"%d" % (int(after) + 1))] if type(after) in _NUMBERS else []
    details = {"retryable": failure.retryable, "details": dict(failure.details), **more}
    return ProblemError(
        status, failure.code, failure.message, hint=failure.hint, headers=headers, more=details
    )


def refused(result: ToolResult) -> ProblemError | None:
    """The problem of a call that nothing was tried for; None for every other result."""
    failure = result.error
    if failure is None or result.attempts or failure.code not in STATUS:
        return None
    return of_failure(failure, call_id=result.call_id, tool=result.tool)


def bug() -> ProblemError:
    """What a request is answered with that fails inside, whatever it was."""
    hint = "this is a bug of toolrt; the operator's log has the details"
    return ProblemError(500, "internal", "toolrt failed inside", hint=hint)


def unauthorized(message: str, hint: str, error: str = "") -> ProblemError:
    """Nobody knows who this is; `error` is the word of RFC 6750 for what was wrong."""
    said = f'Bearer realm="toolrt", error="{error}"' if error else 'Bearer realm="toolrt"'
    headers = [(b"www-authenticate", said.encode())]
    return ProblemError(401, "unauthorized", message, hint=hint, headers=headers)


def forbidden(message: str, hint: str | None = None) -> ProblemError:
    return ProblemError(403, "access-denied", message, hint=hint)


def not_found(message: str, hint: str | None = None) -> ProblemError:
    return ProblemError(404, "not-found", message, hint=hint)
