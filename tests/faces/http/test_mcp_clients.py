"""What official MCP clients are told at the door of a server: they read errors of their protocol."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import httpx
import mcp
import pytest
from served import FILES, PEOPLE, Served, served

pytestmark = [pytest.mark.anyio, pytest.mark.filterwarnings("ignore")]
MODES = pytest.mark.parametrize("mode", ["legacy", "auto"])
SETS = {
    **FILES,
    "tools.d/sets.yaml": "toolsets: {looking: {description: Looks., tools: [t.add]}}\n",
}


@asynccontextmanager
async def linked(
    server: Served, mode: str, path: str = "/mcp", key: str | None = None
) -> AsyncIterator[Any]:
    """The official client of a path."""
    import httpx2
    from mcp.client.streamable_http import streamable_http_client

    headers = {"Authorization": f"Bearer {key}"} if key else {}
    url = f"http://127.0.0.1:{server.port}{path}"
    async with (
        httpx2.AsyncClient(headers=headers, timeout=20, trust_env=False) as http,
        mcp.Client(streamable_http_client(url, http_client=http), mode=mode) as client,
    ):
        yield client


async def refusal(server: Served, mode: str, path: str = "/mcp", key: str | None = None) -> str:
    """What a client is told that is not let in."""
    with pytest.raises(BaseException) as caught:
        async with linked(server, mode, path, key) as client:
            await client.list_tools()
    return "; ".join(map(str, _leaves(caught.value)))


def _leaves(error: BaseException) -> list[BaseException]:
    if not isinstance(error, BaseExceptionGroup):
        return [error]
    return [leaf for each in error.exceptions for leaf in _leaves(each)]


@MODES
async def test_a_toolset_that_is_none_is_named_to_its_client(mode, caplog) -> None:
    async with served(SETS) as server:
        nope = await refusal(server, mode, "/mcp/lookin")
        async with linked(server, mode, "/mcp/looking/") as client:
            listed = await client.list_tools()

    assert "there is no toolset `lookin`; did you mean `looking`?" in nope
    assert [each.name for each in listed.tools] == ["t_add"]
    assert "bug" not in caplog.text


@MODES
async def test_a_client_without_a_key_is_told_what_it_lacks(mode) -> None:
    async with served({**FILES, "toolrt.yaml": PEOPLE}, is_local=False) as server:
        nobody = await refusal(server, mode)
        wrong = await refusal(server, mode, key="no-such-key")

    assert "Authorization: Bearer" in nobody
    assert "Server returned an error" not in nobody + wrong
    assert "key" in wrong


@pytest.mark.parametrize(
    ("headers", "status", "says"),
    [({}, 401, "who calls"),
     ({"Authorization": "Bearer nobody"}, 401, ""),
     ({"Host": "elsewhere.example"}, 403, "another name"),
     ({"Origin": "https://elsewhere.example"}, 403, "origin"),
     ({"Content-Length": "99999999999"}, 413, "larger than")],
)  # fmt: skip
@pytest.mark.parametrize("path", ["/mcp", "/mcp/looking"])
async def test_each_refusal_at_the_door_is_an_error_of_the_protocol(
    path, headers, status, says
) -> None:
    async with served({**SETS, "toolrt.yaml": PEOPLE}, is_local=False) as server:
        head = {"Host": "localhost", "Content-Type": "application/json", **headers}
        lines = "".join(f"{name}: {value}\r\n" for name, value in head.items())
        length = "" if "Content-Length" in headers else "Content-Length: 2\r\n"
        answer = await server.raw(
            f"POST {path} HTTP/1.1\r\n{lines}{length}Connection: close\r\n\r\n{{}}".encode()
        )

    said, _, body = answer.partition(b"\r\n\r\n")
    made = httpx.Response(status, content=body).json()
    assert said.startswith(b"HTTP/1.1 %d " % status)
    assert b"content-type: application/json\r\n" in said + b"\r\n"
    assert (b"www-authenticate: Bearer" in said) == (status == 401)
    assert made["id"] is None
    assert made["error"]["code"] == -32600
    assert says in made["error"]["message"]
    assert made["error"]["data"]["status"] == status


@MODES
async def test_a_message_that_is_too_long_is_answered_and_its_client_lives_on(mode) -> None:
    async with served() as server, linked(server, mode) as client:
        said = []
        for size in (4_400_000, 20_000_000):
            with pytest.raises(mcp.MCPError) as caught:
                await client.call_tool("t_add", {"a": 1, "b": "x" * size})
            said.append(str(caught.value))
        added = await client.call_tool("t_add", {"a": 1})

    assert all("larger than 4194304 bytes" in each for each in said)
    assert added.content[0].text == "3"


@pytest.mark.parametrize("path", ["/mcp", "/v1/tools/t.add/call", "/v1/turns"])
@pytest.mark.parametrize("is_chunked", [True, False])
async def test_a_body_that_is_too_large_is_read_away_before_its_answer(path, is_chunked) -> None:
    body = b'{"arguments": {"a": "' + b"x" * 8_000_000 + b'"}}'

    async def pieces():
        yield body

    async with served() as server:
        head = {"Content-Type": "application/json"}
        content = pieces() if is_chunked else body
        reply = await server.client.post(path, content=content, headers=head)

    assert reply.status_code == (400 if path == "/mcp" and is_chunked else 413)
    assert "4194304 bytes" in reply.text


async def test_who_asks_first_sends_nothing_that_is_too_large() -> None:
    async with served() as server:
        answer = await server.raw(
            b"POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
            b"Expect: 100-continue\r\nContent-Length: 5000000\r\n\r\n"
        )

    assert answer.startswith(b"HTTP/1.1 413 ")
