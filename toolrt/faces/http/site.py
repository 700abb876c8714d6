"""What the routes of a server share: the open project, who calls, and how it is ended."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeVar

from starlette.requests import Request
from starlette.responses import Response

from toolrt.core.calls import Caller
from toolrt.core.errors import CallError
from toolrt.faces.http.access import needs_known, needs_right
from toolrt.faces.http.problems import ProblemError
from toolrt.faces.http.wire import Head, whole_body

if TYPE_CHECKING:
    from toolrt.faces.http.access import Access
    from toolrt.faces.http.mates import Mates
    from toolrt.opened import Runtime

Endpoint = Callable[[Request], Awaitable[Response]]
T = TypeVar("T")

HEAD, CALLER = "toolrt.head", "toolrt.caller"
"""Where a request has its headers by name, and who sends it."""


@dataclass(slots=True)
class Site:
    """One server; `secret` signs what browsers keep, `spread` tells other workers of a reload, and
    `mates` are the sockets of all of them, where there are several.

    `draining` is set once the server ends: what streams stops then.
    """

    runtime: "Runtime"
    access: "Access"
    secret: bytes
    draining: asyncio.Event = field(default_factory=asyncio.Event)
    spread: Callable[[bool], None] = lambda _accept_loss: None
    mates: "Mates | None" = None


def caller_of(request: Request) -> Caller:
    """Who sends the request."""
    caller: Caller = request.scope[CALLER]
    return caller


def head_of(request: Request) -> Head:
    head: Head = request.scope[HEAD]
    return head


def known_caller(request: Request, what: str) -> Caller:
    """The same. Raises ProblemError for somebody who has not said who they are."""
    needs_known(caller_of(request), head_of(request), what)
    return caller_of(request)


def rightful_caller(request: Request, right: str, what: str) -> Caller:
    """The same. Raises ProblemError for somebody without the right."""
    needs_right(caller_of(request), head_of(request), right, what)
    return caller_of(request)


async def body_of(request: Request) -> bytes:
    """The body, of 4 MiB at most. Raises ProblemError."""
    return await whole_body(request.receive)


async def answered(work: Awaitable[T]) -> T:
    """What `work` comes to; what it refuses is a problem."""
    try:
        return await work
    except CallError as error:
        raise ProblemError.of(error) from error
