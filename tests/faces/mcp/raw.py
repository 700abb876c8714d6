"""An MCP client that sends what it is told and hides nothing, over HTTP."""

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import httpx

META = "io.modelcontextprotocol/"
MODERN = "2026-07-28"
ACCEPT = {"accept": "application/json, text/event-stream", "content-type": "application/json"}
NAMED = {"tools/call": "name", "prompts/get": "name", "resources/read": "uri"}


@dataclass
class Reply:
    """The answer to one POST, and what came before it on its stream."""

    status: int
    headers: httpx.Headers
    message: Any
    before: list[Any] = field(default_factory=list)

    @property
    def result(self) -> Any:
        assert "result" in self.message, self.message
        return self.message["result"]

    @property
    def error(self) -> Any:
        assert "error" in self.message, self.message
        return self.message["error"]


class Raw:
    """A client of either era; `capabilities` is what it says it can do."""

    def __init__(
        self, url: str, era: str = "modern", capabilities: dict[str, Any] | None = None
    ) -> None:
        self.url = url
        self.era = era
        self.capabilities = capabilities or {}
        self.http = httpx.AsyncClient(timeout=20, trust_env=False)
        self.session: dict[str, str] = {}
        self.number = 0

    async def initialize(self, version: str = "2025-11-25") -> Any:
        params = {
            "protocolVersion": version,
            "capabilities": self.capabilities,
            "clientInfo": {"name": "raw", "version": "1"},
        }
        reply = await self.ask("initialize", params)
        self.session = {
            "mcp-session-id": reply.headers["mcp-session-id"],
            "mcp-protocol-version": reply.result["protocolVersion"],
        }
        await self.tell("notifications/initialized")
        return reply.result

    async def ask(self, method: str, params: dict[str, Any] | None = None, **more: Any) -> Reply:
        """The answer to a request, once it is there."""
        headers, body = self.request(method, params or {}, **more)
        async with self.http.stream("POST", self.url, headers=headers, json=body) as response:
            return await whole(response)

    def request(
        self, method: str, params: dict[str, Any], *, id_: Any = None, headers: Any = None
    ) -> tuple[dict[str, str], dict[str, Any]]:
        self.number += 1
        params, sent = dict(params), {**ACCEPT, **self.session}
        if self.era == "modern":
            params["_meta"] = {**self.meta(), **params.get("_meta", {})}
            sent |= {"mcp-protocol-version": MODERN, "mcp-method": method}
            if method in NAMED and NAMED[method] in params:
                sent["mcp-name"] = str(params[NAMED[method]])
        id_ = self.number if id_ is None else id_
        return {**sent, **(headers or {})}, _request(method, params, id_)

    def meta(self) -> dict[str, Any]:
        return {
            f"{META}protocolVersion": MODERN,
            f"{META}clientInfo": {"name": "raw", "version": "1"},
            f"{META}clientCapabilities": self.capabilities,
        }

    async def tell(self, method: str, params: dict[str, Any] | None = None) -> int:
        body = {"jsonrpc": "2.0", "method": method, "params": params or {}}
        sent = {**ACCEPT, **self.session}
        return (await self.http.post(self.url, headers=sent, json=body)).status_code

    async def respond(self, id_: Any, result: Any) -> int:
        body = {"jsonrpc": "2.0", "id": id_, "result": result}
        sent = {**ACCEPT, **self.session}
        return (await self.http.post(self.url, headers=sent, json=body)).status_code

    async def post(self, body: bytes, **headers: str) -> httpx.Response:
        """Any bytes at all."""
        sent = {**ACCEPT, **self.session, **{k.replace("_", "-"): v for k, v in headers.items()}}
        return await self.http.post(self.url, headers=sent, content=body)

    async def call(self, name: str, arguments: Any = None, **params: Any) -> Reply:
        return await self.ask("tools/call", {"name": name, "arguments": arguments or {}, **params})

    @asynccontextmanager
    async def stream(
        self, method: str, params: dict[str, Any]
    ) -> AsyncIterator[AsyncIterator[Any]]:
        """The messages of an answer that is a stream, as they come."""
        headers, body = self.request(method, params)
        async with self.http.stream("POST", self.url, headers=headers, json=body) as response:
            yield messages(response)

    @asynccontextmanager
    async def beside(self) -> AsyncIterator[AsyncIterator[Any]]:
        """What a session is told beside its requests."""
        headers = {"accept": "text/event-stream", **self.session}
        async with self.http.stream("GET", self.url, headers=headers) as response:
            assert response.status_code == 200
            yield messages(response)


@asynccontextmanager
async def client(url: str, era: str = "modern", **capabilities: Any) -> AsyncIterator[Raw]:
    """A client; of the handshake era it has its session already."""
    raw = Raw(url, era, capabilities)
    async with raw.http:
        if era == "handshake":
            await raw.initialize()
        yield raw


async def messages(response: httpx.Response) -> AsyncIterator[Any]:
    async for line in response.aiter_lines():
        if line.startswith("data:"):
            yield json.loads(line[5:])


async def whole(response: httpx.Response) -> Reply:
    if response.headers.get("content-type", "").startswith("text/event-stream"):
        found = [each async for each in messages(response)]
        return Reply(response.status_code, response.headers, found[-1], found[:-1])
    body = await response.aread()
    return Reply(response.status_code, response.headers, json.loads(body) if body else None)


def _request(method: str, params: dict[str, Any], id_: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": id_, "method": method, "params": params}
