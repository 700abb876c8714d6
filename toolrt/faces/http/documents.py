"""Answers of the routes: JSON, and problems in the place of what went wrong."""

from collections.abc import Callable, Mapping
from typing import Any

from pydantic_core import to_json
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from toolrt.core.errors import CallError
from toolrt.faces.http.problems import MEDIA, ProblemError, bug
from toolrt.stores.base import StoreError

_WHAT = {
    404: (
        "not-found",
        "there is nothing here",
        "REST is at /v1, MCP at /mcp, people decide at /approvals; /openapi.json tells more",
    ),
    405: ("wrong-method", "this is not how it is asked", "the header Allow says how"),
}


def json_response(
    document: Mapping[str, Any] | list[Any],
    status: int = 200,
    headers: Mapping[str, str] | None = None,
) -> Response:
    """A document as it goes out."""
    return Response(to_json(document), status, headers, "application/json")


def problem_response(problem: ProblemError) -> Response:
    made = Response(problem.body(), problem.status, media_type=MEDIA.decode())
    for name, value in problem.headers:
        made.headers[name.decode()] = value.decode()
    return made


async def _of_problem(_request: Request, error: Exception) -> Response:
    assert isinstance(error, ProblemError)  # noqa: S101 - it is registered for these
    return problem_response(error)


async def _of_call(_request: Request, error: Exception) -> Response:
    assert isinstance(error, CallError)  # noqa: S101 - as above
    return problem_response(ProblemError.of(error))


async def _of_store(_request: Request, error: Exception) -> Response:
    """What ails the store is for its operator, and in the log."""
    del error
    hint = "try again later; the operator's log says more"
    return problem_response(
        ProblemError(503, "unavailable", "the store cannot be used now", hint=hint)
    )


async def _of_http(_request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)  # noqa: S101 - as above
    code, message, hint = _WHAT.get(error.status_code, ("bad-request", str(error.detail), None))
    headers = [(name.encode(), value.encode()) for name, value in (error.headers or {}).items()]
    return problem_response(
        ProblemError(error.status_code, code, message, hint=hint, headers=headers)
    )


async def _of_bug(_request: Request, error: Exception) -> Response:
    """It goes on to the door, which logs it."""
    del error
    return problem_response(bug())


HANDLERS: Mapping[Any, Callable[[Request, Exception], Any]] = {
    ProblemError: _of_problem,
    CallError: _of_call,
    StoreError: _of_store,
    HTTPException: _of_http,
    Exception: _of_bug,
}
"""What each kind of exception of a route is answered with."""
