"""The one ASGI application: who asks, whether they may, and which way their request goes.

A REST call takes a short way, MCP has its own endpoint, and everything else is Starlette's. What
must hold for all of them is looked at here, once, before any of them.
"""

import asyncio
from contextlib import suppress
from http import HTTPStatus
from typing import TYPE_CHECKING, Final
from urllib.parse import unquote

from toolrt.core import logs
from toolrt.faces.http.calling import GONE, Calling
from toolrt.faces.http.guards import Guards, check_json, head_of
from toolrt.faces.http.health import PROBES
from toolrt.faces.http.problems import ProblemError, bug
from toolrt.faces.http.site import CALLER, HEAD
from toolrt.faces.http.wire import MOST_READ_AWAY, ClientGoneError, is_mcp, read_away, refuse

if TYPE_CHECKING:
    from toolrt.faces.http.site import Site
    from toolrt.faces.http.wire import App, Head, Receive, Scope, Send
    from toolrt.reloading.outcome import Reload

TOOLSET: Final = "toolrt.toolset"
"""Where a request to MCP has the name of its toolset; None for all tools."""

_CALLS: Final = b"/v1/tools/"
_CALL: Final = b"/call"
_MCP: Final = b"/mcp"
_PAGES: Final = (b"/login", b"/logout", b"/approvals")
_BEGINNING = len(_CALLS)
_END = -len(_CALL)
_SHORTEST = len(_CALLS) + len(_CALL)


class Door:
    """Takes every request of a server."""

    def __init__(self, site: "Site", rest: "App", mcp: "App") -> None:
        self._site = site
        self._access = site.access
        self._calling = Calling(site.runtime, site.access)
        self._rest = rest
        self._mcp = mcp
        self._guards = self._guarding()
        self._credentials = self._brought()
        site.runtime.on_reload(self._reloaded)

    async def __call__(self, scope: "Scope", receive: "Receive", send: "Send") -> None:
        if scope["type"] != "http":
            raise ProblemError(400, "bad-request", "only HTTP is spoken here")
        try:
            head, path = head_of(scope["headers"], self._credentials), scope["raw_path"]
            is_call = path.startswith(_CALLS) and path.endswith(_CALL) and len(path) > _SHORTEST
            if scope["method"] != "POST" or not (is_call or path == _MCP):
                await self._otherwise(scope, receive, send, head, path)
                return
            self._guards.check("POST", head)
            caller = self._access.known(head) or await self._access.caller(head, scope)
            if not is_call:
                scope[CALLER], scope[HEAD] = caller, head
                await self._mcp(scope, receive, send)
                return
            check_json(head)
            if scope["query_string"] or b"idempotency-key" in head:
                scope[CALLER], scope[HEAD] = caller, head
                await self._rest(scope, receive, send)
                return
            name = path[_BEGINNING:_END].decode("ascii")
            name = unquote(name) if "%" in name else name
            await self._calling.answer(scope, receive, send, name, caller)
        except ProblemError as problem:
            await _refused(scope, receive, send, problem)
        except ClientGoneError:
            return
        except asyncio.CancelledError:
            if GONE not in scope:  # the server ends; else nobody is there to be answered
                await _told_end(scope, send)
        except Exception:  # noqa: BLE001 - the last ring of a request: a bug ends it, not the server
            logs.BUGS.exception("a bug ended a request to %s", scope["path"])
            await _told_last(scope, send, bug())

    async def _otherwise(
        self, scope: "Scope", receive: "Receive", send: "Send", head: "Head", path: bytes
    ) -> None:
        """Everything but a call by REST."""
        scope[HEAD] = head
        if path in PROBES:
            await self._rest(scope, receive, send)
            return
        self._guards.check(scope["method"], head)
        if _is_page(path):
            await self._rest(scope, receive, send)
            return
        scope[CALLER] = await self._access.caller(head, scope)
        if is_mcp(path):
            named = path[len(_MCP) + 1 :].removesuffix(b"/").decode("ascii")
            scope[TOOLSET] = unquote(named) or None
            await self._mcp(scope, receive, send)
            return
        if scope["method"] == "POST":
            check_json(head)
        await self._rest(scope, receive, send)

    def _guarding(self) -> Guards:
        """The guards of the generation in force."""
        own, serve = self._site.access.starting, self._site.runtime.written.serve
        if serve is None:
            return Guards([own.host], (), own.url)
        return Guards([own.host, *serve.hosts], serve.origins, own.url)

    def _brought(self) -> frozenset[bytes]:
        """The headers in which callers bring what is for services."""
        brought = self._site.runtime.written.credentials.values()
        return frozenset(each.header.lower().encode() for each in brought)

    def _reloaded(self, outcome: "Reload") -> None:
        if outcome.is_new:
            self._guards = self._guarding()
            self._credentials = self._brought()


async def _refused(scope: "Scope", receive: "Receive", send: "Send", problem: ProblemError) -> None:
    """Answer a request that is not taken. Who is on the way with more than is taken would lose the
    answer with the connection; who asks first has not sent it.
    """
    with suppress(ClientGoneError):
        if problem.status == HTTPStatus.REQUEST_ENTITY_TOO_LARGE:
            await _let_come(dict(scope["headers"]), receive)
        await refuse(scope, send, problem)


async def _let_come(head: "Head", receive: "Receive") -> None:
    """Read away a body that is too large, where that comes to an end."""
    length = head.get(b"content-length", b"")
    if b"expect" not in head and length.isdigit() and int(length) <= MOST_READ_AWAY:
        await read_away(receive)


async def _told_end(scope: "Scope", send: "Send") -> None:
    """Answer a request that was running when the server ended."""
    hint = "send it again, to another server or later; what it did until then may have taken effect"
    problem = ProblemError(503, "cancelled", "the server ended before the request did", hint=hint)
    await _told_last(scope, send, problem)


async def _told_last(scope: "Scope", send: "Send", problem: ProblemError) -> None:
    """Answer a request that came to a sudden end; an answer that has begun ends there."""
    with suppress(RuntimeError):  # it has begun already
        await refuse(scope, send, problem)
        return
    with suppress(RuntimeError):  # it is shorter than it said
        await send({"type": "http.response.body", "body": b""})


def _is_page(path: bytes) -> bool:
    """Whether a person looks at it with a browser, who is known by a cookie."""
    return path.startswith(_PAGES) and path.split(b"/", 2)[1] in {b"login", b"logout", b"approvals"}


async def no_mcp(scope: "Scope", receive: "Receive", send: "Send") -> None:
    """Stands where MCP is not served."""
    del receive
    problem = ProblemError(404, "not-found", "MCP is not served here")
    await asyncio.sleep(0)
    await refuse(scope, send, problem)
