"""What a connection makes of the bytes that come."""

import asyncio

import pytest
from served import Served, served

pytestmark = pytest.mark.anyio
WISH = (
    b"Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAEAAEAAAAIAAAAB\r\n"
)
WEBSOCKET = (
    b"Connection: keep-alive, Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n"
)


def call(wish: bytes, a: int) -> tuple[bytes, bytes]:
    """Head and body of a call of somebody who would rather speak another protocol."""
    body = b'{"arguments": {"a": %d, "b": 100}}' % a
    head = b"POST /v1/tools/t.add/call HTTP/1.1\r\n%bHost: localhost\r\n" % wish
    head += b"Content-Type: application/json\r\nContent-Length: %d\r\n\r\n" % len(body)
    return head, body


async def told(server: Served, pieces: list[bytes], answers: int) -> list[tuple[int, bytes]]:
    """Statuses and bodies of so many answers to pieces that come one after the other."""
    reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
    for piece in pieces:
        writer.write(piece)
        await asyncio.sleep(0.05)
    made = []
    for _ in range(answers):
        head = await asyncio.wait_for(reader.readuntil(b"\r\n\r\n"), 10)
        length = int(head.lower().partition(b"content-length: ")[2].split(b"\r\n")[0])
        made.append((int(head.split()[1]), await reader.readexactly(length)))
    writer.close()
    return made


@pytest.mark.parametrize("wish", [WISH, WEBSOCKET])
async def test_who_would_rather_speak_another_protocol_is_answered_in_this_one(wish: bytes) -> None:
    head, body = call(wish, 1)
    chunked = head.partition(b"Content-Length")[0] + b"Transfer-Encoding: chunked\r\n\r\n"
    async with served() as server:
        at_once = await told(server, [head + body], 1)
        apart = await told(server, [head[:40], head[40:], body[:5], body[5:]], 1)
        in_chunks = await told(server, [chunked, b"%x\r\n%b\r\n0\r\n\r\n" % (len(body), body)], 1)
        many = b"".join(b"".join(call(wish, each)) for each in range(5))
        in_a_row = await told(server, [many], 5)
        looked = b"GET /v1/tools/t.add HTTP/1.1\r\n%bHost: localhost\r\n\r\n" % wish
        [(status, _)] = await told(server, [looked], 1)

    for [(code, said)] in (at_once, apart, in_chunks):
        assert code == 200
        assert b'"data":101,' in said
    assert [b'"data":%d,' % (100 + each) in in_a_row[each][1] for each in range(5)] == [True] * 5
    assert status == 200


async def test_a_body_is_never_read_as_another_request() -> None:
    inner = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n"
    head = b"POST /v1/tools/t.add/call HTTP/1.1\r\n%bHost: localhost\r\n" % WISH
    head += b"Content-Type: application/json\r\nContent-Length: %d\r\n\r\n" % len(inner)
    async with served() as server:
        after = b"GET /v1/tools/nothing HTTP/1.1\r\nHost: localhost\r\n\r\n"
        answers = await told(server, [head, inner, after], 2)

    assert [status for status, _ in answers] == [400, 404]


async def test_who_wants_a_tunnel_is_told_that_there_is_none() -> None:
    async with served() as server:
        tunnel = b"CONNECT localhost:1 HTTP/1.1\r\nHost: localhost:1\r\n\r\nGET / HTTP/1.1\r\n\r\n"
        [(status, said)] = await told(server, [tunnel], 1)

    assert status == 400
    assert b"HTTP" in said
