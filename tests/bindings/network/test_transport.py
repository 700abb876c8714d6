"""The transport as httpx knows transports: under a plain client of httpx."""

import asyncio
import gzip

import httpx
import pytest

from tests.loopback import RESET, json_reply, loopback, reply
from toolrt.bindings.network import Guard
from toolrt.bindings.network.transport import Transport
from toolrt.core.errors import BindingError

pytestmark = pytest.mark.anyio


@pytest.fixture
async def client():
    transport = Transport(Guard.of(True))
    async with httpx.AsyncClient(transport=transport, trust_env=False) as client:
        yield client


async def test_a_client_of_httpx_goes_over_it(client):
    async with loopback(json_reply('{"a": 1}', X_Mixed="Case")) as server:
        got = await client.post(f"{server.url}/a%2e%2e/b", params={"q": "1 2"}, json={"b": 2})

    assert got.json() == {"a": 1}
    assert got.headers["x-mixed"] == "Case"
    heard = server.heard[0]
    assert (heard.method, heard.target, heard.body) == ("POST", "/a%2e%2e/b?q=1+2", b'{"b":2}')
    assert heard.headers["content-type"] == "application/json"


async def test_only_the_headers_of_the_request_are_sent():
    transport = Transport(Guard.of(True))
    async with loopback(reply()) as server:
        bare = httpx.Request("GET", server.url, headers={"X-One": "1"})
        await (await transport.handle_async_request(bare)).aclose()
        await transport.aclose()

    assert server.heard[0].headers == {"host": f"127.0.0.1:{server.port}", "x-one": "1"}


async def test_h5_host_and_length_follow_from_url_and_body(client):
    async with loopback(reply()) as server:
        headers = {"Host": "evil.example", "Content-Length": "1", "Transfer-Encoding": "chunked"}
        await client.post(server.url, content=b"body", headers=headers)

    heard = server.heard[0]
    assert heard.headers["host"] == f"127.0.0.1:{server.port}"
    assert (heard.headers["content-length"], heard.body) == ("4", b"body")
    assert "transfer-encoding" not in heard.headers


async def test_a_body_that_is_generated_is_sent_whole(client):
    async def generated():
        yield b"bo"
        yield b"dy"

    async with loopback(reply()) as server:
        await client.put(server.url, content=generated())

    assert server.heard[0].body == b"body"


async def test_an_encoded_body_comes_decoded_and_says_so(client):
    packed = gzip.compress(b"unpacked")
    async with loopback(reply(packed, content_encoding="gzip", X_Other="1")) as server:
        got = await client.get(server.url)

    assert got.content == b"unpacked"
    assert got.headers["x-other"] == "1"
    assert got.headers.keys().isdisjoint({"content-encoding", "content-length"})


async def test_a_body_can_be_read_while_it_arrives(client):
    gate = asyncio.Event()

    async def slow():
        yield b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\nfirst"
        await gate.wait()
        yield b"second"

    async with loopback(lambda _: slow()) as server, client.stream("GET", server.url) as got:
        pieces = got.aiter_bytes()
        assert await anext(pieces) == b"first"
        gate.set()
        assert await anext(pieces) == b"second"


async def test_h7_the_cap_holds_however_the_body_is_read(client):
    bomb = gzip.compress(bytes(6 * 1024 * 1024))
    async with loopback(reply(bomb, content_encoding="gzip")) as server:
        with pytest.raises(BindingError) as failed:
            await client.get(server.url)
        async with client.stream("GET", server.url) as got:
            with pytest.raises(BindingError):
                [piece async for piece in got.aiter_raw()]

    assert failed.value.code == "output-flood"


async def test_a_connection_whose_answer_was_not_read_is_not_used_again(client):
    async def endless():
        yield b"HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\nx"
        await asyncio.sleep(30)

    def answer(heard):
        return endless() if heard.target == "/endless" else reply("ok")

    async with loopback(answer) as server:
        async with client.stream("GET", f"{server.url}/endless"):
            pass
        assert (await client.get(server.url)).text == "ok"
        assert (await client.get(server.url)).text == "ok"

        assert server.connections == 2


async def test_closing_an_answer_ends_the_sending(client):
    over = asyncio.Event()

    async def refuse(reader, writer):
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 413 Large\r\nContent-Length: 9\r\n\r\ntoo")
        await over.wait()
        writer.transport.abort()

    server = await asyncio.start_server(refuse, "127.0.0.1", 0)
    url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/"
    async with server, asyncio.timeout(20):
        async with client.stream("POST", url, content=bytes(32 * 1024 * 1024)) as got:
            assert got.status_code == 413
        over.set()
        await asyncio.sleep(0)


async def test_its_errors_are_ours_and_come_through_httpx_as_they_are(client):
    async with loopback(RESET) as server:
        with pytest.raises(BindingError) as failed:
            await client.get(server.url)

    assert failed.value.sent == "maybe"


async def test_the_connect_timeout_of_httpx_holds(client):
    timeout = httpx.Timeout(None, connect=0.05)
    async with loopback() as server:
        with pytest.raises(BindingError) as failed:
            await client.get(f"https://127.0.0.1:{server.port}/", timeout=timeout)

    assert (failed.value.code, failed.value.sent) == ("timeout", "never")


async def test_h2_without_a_guard_only_public_addresses_are_open():
    async with (
        loopback(reply("inside")) as server,
        httpx.AsyncClient(transport=Transport()) as bare,
    ):
        with pytest.raises(BindingError) as failed:
            await bare.get(server.url)

    assert failed.value.code == "blocked-target"
    assert server.connections == 0
