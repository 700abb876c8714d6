"""The way to MCP leads through the same door as everything else."""

from typing import Any

import httpx
import pytest
from served import FILES, PEOPLE, Served, bearer, served

pytestmark = pytest.mark.anyio
HELLO = {
    "jsonrpc": "2.0", "id": 1, "method": "initialize",
    "params": {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}},
}  # fmt: skip


async def hello(server: Served, path: str = "/mcp", key: str | None = None) -> httpx.Response:
    accept = {"Accept": "application/json, text/event-stream", **bearer(key)}
    return await server.client.post(path, json=HELLO, headers=accept)


async def test_a_client_is_let_in_and_calls_a_tool() -> None:
    async with served() as server:
        inside = await hello(server)
        head = {
            "Accept": "application/json, text/event-stream",
            "MCP-Protocol-Version": "2025-06-18",
            "Mcp-Session-Id": inside.headers.get("mcp-session-id", ""),
        }
        params = {"name": "t_add", "arguments": {"a": 1, "b": 4}}
        call: dict[str, Any] = {"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": params}
        made = await server.client.post("/mcp", json=call, headers=head)

    assert inside.json()["result"]["protocolVersion"] == "2025-06-18"
    assert made.json()["result"]["content"][0]["text"] == "5"


async def test_x5_mcp_is_as_closed_as_the_rest() -> None:
    async with served({**FILES, "toolrt.yaml": PEOPLE}, is_local=False) as server:
        nobody, bot = await hello(server), await hello(server, key="bot-key")
        nothing = await hello(server, "/mcp/no-such-set", "bot-key")
        beside = await hello(server, "/mcpx", "bot-key")

    assert [each.status_code for each in (nobody, bot)] == [401, 200]
    assert nothing.status_code in {400, 404}
    assert beside.status_code == 404
