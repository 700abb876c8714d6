"""The SDK's client of one connection: the only module that knows what its errors mean.

Both eras are spoken: a server is asked for the new one first, and greeted in the old way where it
does not know that. Raw answers are tidied before the SDK judges them, so that one odd tool or one
odd block of content spoils nothing else.
"""

import asyncio
import logging
import re
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from importlib.metadata import version
from typing import Any, Final

import anyio
import httpx2
import mcp_types as types
from mcp.client.session import ClientSession, IncomingMessage
from mcp.client.streamable_http import streamable_http_client
from mcp.client.subscriptions import SubscriptionLost
from mcp.client.subscriptions import listen as listen_to
from mcp.shared.dispatcher import CallOptions
from mcp.shared.exceptions import MCPError
from mcp.shared.jsonrpc_dispatcher import JSONRPCDispatcher
from mcp_types.version import MODERN_PROTOCOL_VERSIONS
from pydantic import TypeAdapter, ValidationError

from toolrt.bindings.mcp.answers import answer_of, tidied
from toolrt.bindings.mcp.child import Child
from toolrt.bindings.mcp.definitions import Definition, Gathered, Listing, listing_of
from toolrt.bindings.mcp.lost import LostError
from toolrt.bindings.mcp.server import Server, Web
from toolrt.bindings.mcp.stdio import Lines, Sending
from toolrt.bindings.mcp.web import MOST_EVENT, Requests
from toolrt.core.calls import Invocation
from toolrt.core.errors import BindingError
from toolrt.core.results import Answer
from toolrt.core.unseen import harmless

MOST_PAGES: Final = 100
_PROBE_S: Final = 3.0
_LONGEST_SAID: Final = 500
_RAW: TypeAdapter[Any] = TypeAdapter(dict[str, Any])
"""Takes a result as it is, once the SDK has looked at it."""
_US: Final = types.Implementation(name="toolrt", version=version("toolrt"))
_LOST: Final = frozenset({types.CONNECTION_CLOSED})
_FORGOTTEN: Final = "Session terminated"
"""What the SDK says where a server no longer knows the session: it did not look at the request."""
_ADDRESS: Final = re.compile(r"https?://\S+")
_UNREAD: Final = "Failed to parse JSON response: "
_METHOD_UNKNOWN: Final = -32601
_BAD_PARAMETERS: Final = -32602

for _name in ("mcp", "client", "httpx2"):  # what they log holds what servers say, and whole URLs
    if logging.getLogger(_name).level == logging.NOTSET:
        logging.getLogger(_name).setLevel(logging.CRITICAL)


class _Dispatcher(JSONRPCDispatcher[Any]):
    """Sees raw answers first."""

    listed: Listing = Listing()

    async def send_raw_request(
        self,
        method: str,
        params: Mapping[str, Any] | None,
        opts: CallOptions | None = None,
        *,
        _related_request_id: types.RequestId | None = None,
    ) -> dict[str, Any]:
        raw = await super().send_raw_request(
            method, params, opts, _related_request_id=_related_request_id
        )
        if method == "tools/call" and "content" in raw:
            return tidied(raw)
        if method != "tools/list":
            return raw
        tools = raw.get("tools")
        self.listed = listing_of(tools if isinstance(tools, list) else [])
        sound = [each for each in self.listed.tools if each.problem is None]
        return {**raw, "tools": [_plain(each) for each in sound]}


class Session:
    """One connection that has agreed on a version."""

    def __init__(
        self, client: ClientSession, wire: _Dispatcher, web: Requests | None, attempt_s: float
    ) -> None:
        self._client, self._wire, self._web = client, wire, web
        self._attempt_s = attempt_s
        self._turn = asyncio.Lock()
        self.is_prompt = web is None
        self.is_modern = client.protocol_version in MODERN_PROTOCOL_VERSIONS
        capabilities = client.server_capabilities
        self.has_tools = capabilities is None or capabilities.tools is not None

    async def listing(self) -> Listing:
        """All tools, page by page. Raises BindingError, LostError."""
        if not self.has_tools:
            return Listing()
        async with self._turn:  # two at once would mix their pages
            return await self._listed()

    async def _listed(self) -> Listing:
        found, cursor = Gathered(), None
        for _ in range(MOST_PAGES):
            page = await self._in_time(self._asked(self._page(cursor)))
            found.take(self._wire.listed)
            if not page.next_cursor or page.next_cursor == cursor:
                return found.listing()
            cursor = page.next_cursor
        message = f"its list of tools has more than {MOST_PAGES} pages"
        raise BindingError(message, code="bad-response")

    async def _in_time(self, asking: Any) -> Any:
        try:
            async with asyncio.timeout(self._attempt_s):
                return await asking
        except TimeoutError:
            message = f"it did not say what tools it has within {self._attempt_s:g} s"
            raise BindingError(message, code="timeout", target_fault=True) from None

    async def _page(self, cursor: str | None) -> types.ListToolsResult:
        return await self._client.list_tools(params=types.PaginatedRequestParams(cursor=cursor))

    async def call(self, tool: str, invocation: Invocation, *, has_schema: bool) -> Answer:
        """The answer of a tool. Raises BindingError, LostError."""
        trace = invocation.traceparent
        meta: Any = None if trace is None else {"traceparent": trace}
        parameters = types.CallToolRequestParams(
            name=tool, arguments=invocation.arguments, _meta=meta
        )
        report = invocation.on_progress
        progress = None if report is None else _progress(report)
        request = types.CallToolRequest(params=parameters)
        asked = self._client.send_request(request, _RAW, progress_callback=progress)
        raw: dict[str, Any] = await self._asked(asked)
        return answer_of(raw, has_schema=has_schema)

    async def changes(self, told: Callable[[], None]) -> None:
        """Tell of each change of the list of a server of the new era, until it says no more."""
        capabilities = self._client.server_capabilities
        if capabilities is None or not (capabilities.tools and capabilities.tools.list_changed):
            return
        try:
            async with listen_to(self._client, tools_list_changed=True) as events:
                async for _ in events:
                    told()
        except (MCPError, SubscriptionLost, TimeoutError) as error:
            raise LostError("changes are not told any more") from error

    async def _asked(self, asking: Any) -> Any:
        """What the SDK gives, with its errors as ours."""
        try:
            return await asking
        except MCPError as error:
            raise self._translated(error) from error
        except ValidationError as error:
            raise BindingError(
                "the server's answer is no MCP", code="bad-response", target_fault=True
            ) from error
        except (anyio.ClosedResourceError, anyio.BrokenResourceError) as error:
            raise LostError("the connection is closed") from error

    def _translated(self, error: MCPError) -> Exception:
        known = self._web.failure(error.error.data) if self._web is not None else None
        if known is not None:
            return known
        said = _said(error)
        code = error.error.code
        if code in _LOST:
            return LostError("the connection was closed")
        if said == _FORGOTTEN:
            return LostError("the server has ended the session", "never")
        if code == _BAD_PARAMETERS:
            return BindingError(said, code="invalid-arguments")
        if code == types.PARSE_ERROR:
            said = said.removeprefix(_UNREAD)
            return BindingError(said, code="bad-response", target_fault=True)
        if code == _METHOD_UNKNOWN:
            return BindingError(said, code="unsupported")
        return BindingError(f"the server says: {said}", target_fault=True)


@asynccontextmanager
async def by_pipes(
    server: Server, lines: Lines, child: Child, told: Callable[[], None]
) -> AsyncIterator[Session]:
    """A session with a child process."""
    async with _opened(_Dispatcher(lines, Sending(child)), told, server) as session:
        yield session


@asynccontextmanager
async def by_web(server: Server, web: Web, told: Callable[[], None]) -> AsyncIterator[Session]:
    """A session with a server at a URL."""
    requests = Requests(server, web)
    path = web.service.path.text(server.scope())
    query = f"?{web.query}" if web.query else ""
    url = f"{web.service.origin}{path or '/'}{query}"
    client = httpx2.AsyncClient(transport=requests, timeout=None, trust_env=False)
    async with AsyncExitStack() as stack:
        await stack.enter_async_context(client)
        reading, writing = await stack.enter_async_context(_streams(url, client))
        wire = _Dispatcher(reading, writing)
        yield await stack.enter_async_context(_opened(wire, told, server, requests))


def _streams(url: str, client: httpx2.AsyncClient) -> AbstractAsyncContextManager[Any]:
    return streamable_http_client(url, http_client=client, max_sse_event_size=MOST_EVENT)


@asynccontextmanager
async def _opened(
    wire: _Dispatcher, told: Callable[[], None], server: Server, web: Requests | None = None
) -> AsyncIterator[Session]:
    async def heard(message: IncomingMessage) -> None:
        if isinstance(message, types.ToolListChangedNotification):
            told()

    async with ClientSession(dispatcher=wire, message_handler=heard, client_info=_US) as client:
        await _agree(client, web)
        yield Session(client, wire, web, server.timeouts.attempt_s)


async def _agree(client: ClientSession, web: Requests | None) -> None:
    """Agree on a version. Raises CallError, LostError.

    Who is slow to start may have taken up the first question when the second one comes.
    """
    if await _is_of_new_era(client, web):
        return
    try:
        await client.initialize()
    except MCPError as error:
        is_slow = error.error.code == types.UNSUPPORTED_PROTOCOL_VERSION
        if is_slow and await _is_of_new_era(client, web):
            return
        _raise_ours(error, web)
        said = _said(error)
        raise BindingError(f"it refused us: {said}", code="unavailable") from error
    except (ValidationError, RuntimeError) as error:
        raise BindingError("it does not speak MCP as we know it", code="bad-response") from error


async def _is_of_new_era(client: ClientSession, web: Requests | None) -> bool:
    """Whether the server has answered what only those of the new era are asked."""
    try:
        with anyio.move_on_after(_PROBE_S):
            await client.discover()
            return True
    except MCPError as error:
        _raise_ours(error, web)
    except (ValidationError, RuntimeError):
        pass  # it answered something else: it is greeted in the old way
    return False


def _raise_ours(error: MCPError, web: Requests | None) -> None:
    """Raise what an error stands for where it is one of our own, or the end of the connection."""
    known = web.failure(error.error.data) if web is not None else None
    if known is not None:
        raise known from error
    if error.error.code in _LOST:
        raise LostError("the connection was closed") from error


def _said(error: MCPError) -> str:
    """What an error says, without addresses."""
    return _ADDRESS.sub("(an address)", harmless(error.error.message))[:_LONGEST_SAID]


def _plain(definition: Definition) -> dict[str, Any]:
    """As much of a definition as the SDK needs, which is where headers are made of arguments."""
    properties = definition.input_schema.get("properties")
    known = properties.items() if isinstance(properties, dict) else ()
    schema = {name: each for name, each in known if isinstance(each, dict)}
    return {"name": definition.name, "inputSchema": {"type": "object", "properties": schema}}


def _progress(report: Callable[[float, float | None, str], None]) -> Any:
    async def told(progress: float, total: float | None, message: str | None) -> None:
        report(progress, total, harmless(message or "")[:_LONGEST_SAID])

    return told
