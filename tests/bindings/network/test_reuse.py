"""A kept connection is used again only while nothing has come over it that nobody asked for."""

import asyncio
import ssl
from contextlib import asynccontextmanager
from pathlib import Path
from types import SimpleNamespace

import aiohttp
import pytest

from tests.loopback import loopback, reply
from toolrt.bindings.network import TlsFiles
from toolrt.bindings.network.reuse import is_spotless, take_up
from toolrt.core.errors import BindingError

pytestmark = pytest.mark.anyio

PEM = Path(__file__).parent / "loopback.pem"
EXTRAS = {
    "a second answer": reply("stale"),
    "a second answer without a body": b"HTTP/1.1 204 No Content\r\n\r\n",
    "two more answers": reply("stale") * 2,
    "half an answer": b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nst",
    "half a head": b"HTTP/1.1 200 OK\r\nContent-Le",
    "a head but for its end": b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n",
    "half a status line": b"HTTP/1.1 2",
    "one letter": b"H",
    "garbage": b"\x00\xff nothing that is HTTP\r\n\r\n",
    "more than its length": b"more of the body",
    "an interim answer": b"HTTP/1.1 100 Continue\r\n\r\n",
    "half an interim answer": b"HTTP/1.1 102 Processing\r\n",
    "a switch of protocols": b"HTTP/1.1 101 S\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n",
    "a stale 408": b"HTTP/1.1 408 Request Timeout\r\nContent-Length: 0\r\n\r\n",
    "a last 408": b"HTTP/1.1 408 R\r\nConnection: close\r\nContent-Length: 0\r\n\r\n",
}
FIRSTS = {
    "with a length": reply("good"),
    "chunked": b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\ngood\r\n0\r\n\r\n",
}


class Talkative:
    """Answers the first request with `first` and more; each later one with its own number."""

    def __init__(self, first, extra, pause_s=None):
        self.first, self.extra, self.pause_s = first, extra, pause_s
        self.url = ""
        self.requests = 0
        self.connections = 0
        self.writer = None
        self.has_said_it = asyncio.Event()

    async def serve(self, reader, writer):
        self.connections += 1
        self.writer = writer
        try:
            while await self._hears(reader):
                self.requests += 1
                await self._answer(writer)
        except ConnectionError:
            pass
        finally:
            writer.close()

    async def _hears(self, reader):
        try:
            head = await reader.readuntil(b"\r\n\r\n")
        except asyncio.IncompleteReadError:
            return False
        await reader.readexactly(1 if head.startswith(b"POST") else 0)
        return True

    async def _answer(self, writer):
        if self.requests > 1:
            writer.write(reply(str(self.requests)))
            return
        if self.pause_s is None:
            writer.write(self.first + self.extra)
        else:
            writer.write(self.first)
            await writer.drain()
            await asyncio.sleep(self.pause_s)
            writer.write(self.extra)
        await writer.drain()
        self.has_said_it.set()


@asynccontextmanager
async def talkative(first, extra, pause_s=None, tls=None):
    server = Talkative(first, extra, pause_s)
    listening = await asyncio.start_server(server.serve, "127.0.0.1", 0, ssl=tls)
    port = listening.sockets[0].getsockname()[1]
    server.url = f"http{'s' if tls else ''}://127.0.0.1:{port}/"
    async with listening:
        yield server


def server_tls():
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(PEM)
    return context


async def flood(writer):
    while True:
        writer.write(b"HTTP/1.1 204 N\r\n\r\n" * 1000)
        await writer.drain()
        await asyncio.sleep(0)


async def _first(web, server, **options):
    """The first answer is good or an error, never what came after it."""
    try:
        assert (await web.send(server.url, "POST", b"x", **options)).content == b"good"
    except BindingError as error:
        assert error.code == "bad-response"  # noqa: PT017 - either may be
    await server.has_said_it.wait()


@pytest.mark.parametrize("first", FIRSTS.values(), ids=FIRSTS)
@pytest.mark.parametrize("extra", EXTRAS.values(), ids=EXTRAS)
@pytest.mark.parametrize("pause_s", [None, 0.01], ids=["at once", "later"])
async def test_what_nobody_asked_for_answers_no_later_request(web, first, extra, pause_s):
    async with talkative(first, extra, pause_s) as server:
        await _first(web, server)
        await asyncio.sleep(0.01)
        second = await web.send(server.url, "POST", b"x")
        third = await web.send(server.url, "POST", b"x")

    assert (second.content, third.content) == (b"2", b"3")
    assert (server.requests, server.connections) == (3, 2)


@pytest.mark.parametrize("extra", EXTRAS.values(), ids=EXTRAS)
async def test_what_waits_in_the_socket_answers_no_later_request(web, extra):
    async with talkative(reply("good"), b"") as server:
        await _first(web, server)
        server.writer.write(extra)
        second = await web.send(server.url, "POST", b"x")

    assert (second.content, server.connections) == (b"2", 2)


@pytest.mark.parametrize("has_tls", [False, True], ids=["plain", "tls"])
async def test_a_flood_over_an_idle_connection_ends_it_at_its_first_bytes(web, has_tls):
    tls = server_tls() if has_tls else None
    ours = {"tls": TlsFiles(ca=PEM)} if has_tls else {}
    async with talkative(reply("good"), b"", tls=tls) as server:
        await _first(web, server, **ours)
        with pytest.raises(ConnectionError):
            await asyncio.wait_for(flood(server.writer), 20)
        assert (await web.send(server.url, "POST", b"x", **ours)).content == b"2"


async def test_a_connection_that_ends_is_not_used_again(web):
    async with talkative(reply("good"), b"") as server:
        await _first(web, server)
        server.writer.write_eof()
        second = await web.send(server.url, "POST", b"x")

    assert (second.content, server.connections) == (b"2", 2)


async def test_what_nobody_asked_for_answers_no_later_request_over_tls(web):
    tls = server_tls()
    ours = {"tls": TlsFiles(ca=PEM)}
    for extra in (b"", *EXTRAS.values()):
        async with talkative(reply("good"), extra, 0.01, tls) as server:
            await _first(web, server, **ours)
            await asyncio.sleep(0.01)
            second = await web.send(server.url, "POST", b"x", **ours)

            assert second.content == b"2"
            assert server.connections == (2 if extra else 1)


@pytest.mark.parametrize("first", FIRSTS.values(), ids=FIRSTS)
@pytest.mark.parametrize("method", ["GET", "POST"])
async def test_a_spotless_connection_is_used_again(web, first, method):
    async with loopback(first) as server:
        for _ in range(3):
            await web.send(server.url, method, b"x" if method == "POST" else None)

        assert (len(server.heard), server.connections) == (3, 1)


@pytest.mark.parametrize(
    ("method", "first"),
    [
        ("HEAD", b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\n"),
        ("GET", b"HTTP/1.1 204 No Content\r\n\r\n"),
        ("GET", b"HTTP/1.1 100 Continue\r\n\r\n" + reply("good")),
        ("GET", reply("x" * 300_000)),
    ],
    ids=["no body asked for", "no body", "after an interim answer", "a large body"],
)
async def test_so_is_one_whose_answer_was_unusual(web, method, first):
    async with loopback(first) as server:
        for _ in range(3):
            await web.send(server.url, method)

        assert (len(server.heard), server.connections) == (3, 1)


async def test_a_service_that_hangs_up_at_once_is_no_bug_of_ours(web):
    def hang_up(_, writer):
        writer.transport.abort()

    listening = await asyncio.start_server(hang_up, "127.0.0.1", 0)
    url = f"http://127.0.0.1:{listening.sockets[0].getsockname()[1]}/"
    async with listening:
        sent = [web.send(url, "POST", b"x" * size) for size in (1, 1_000_000) * 10]
        got = await asyncio.gather(*sent, return_exceptions=True)

    assert {type(error) for error in got} == {BindingError}


def test_a_connection_that_was_lost_is_taken_up_all_the_same():
    loop = asyncio.new_event_loop()
    lost = aiohttp.client_proto.ResponseHandler(loop)
    connection = SimpleNamespace(protocol=lost, add_callback=lambda call: call())
    take_up(connection)
    loop.close()


@pytest.mark.parametrize("part", [b"", b"HTTP/1.1 200 OK\r\n", reply("late")[:-2]])
async def test_an_answer_that_was_given_up_answers_no_later_request(web, part):
    async def late():
        yield part
        await asyncio.sleep(0.03)
        yield reply("late")[len(part) :]
        await asyncio.sleep(1)

    def answer(heard):
        return late() if heard.target == "/late" else reply("good")

    async with loopback(answer) as server:
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.02):
                await web.send(f"{server.url}/late", "POST", b"x")
        await asyncio.sleep(0.03)
        got = await web.send(f"{server.url}/next", "POST", b"x")

    assert (got.content, server.connections) == (b"good", 2)


async def test_aiohttp_still_shows_what_the_check_looks_at(web):
    async with talkative(reply("good"), b"") as server:
        await _first(web, server)
        transport = await web.client(server.url).open()
        connector = transport._session.connector
        ((protocol, _),) = next(iter(connector._conns.values()))
        assert protocol.should_close is False
        assert protocol.transport.get_extra_info("socket").fileno() > 0
        assert is_spotless(protocol)
        protocol.data_received(b"H")
        assert protocol.should_close is False
        assert not is_spotless(protocol)


def test_a_connection_that_cannot_be_looked_into_is_not_used_again():
    given = [None]
    transport = SimpleNamespace(set_protocol=given.append, get_protocol=lambda: given[-1])
    unknown = SimpleNamespace(transport=transport, should_close=False)
    assert is_spotless(unknown)

    take_up(SimpleNamespace(protocol=unknown, add_callback=lambda release: release()))
    assert not is_spotless(unknown)
