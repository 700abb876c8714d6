"""Answers that are ready at one time go out together, and in their order."""

import asyncio
from typing import Any

import pytest
from served import served
from uvicorn import Config

from toolrt.faces.http.connection import Connection, State
from toolrt.faces.http.door import no_mcp
from toolrt.faces.http.sending import Outbox

pytestmark = pytest.mark.anyio
CALL = (
    b"POST /v1/tools/t.add/call HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
)


class Line:
    """A transport that keeps what is written to it, in one list with others."""

    def __init__(self, written: list[tuple["Line", bytes]]) -> None:
        self.written = written
        self.is_over = False

    def get_extra_info(self, name: str) -> None:
        del name

    def close(self) -> None:
        self.is_over = True

    def write(self, data: bytes) -> None:
        self.written.append((self, data))

    def is_closing(self) -> bool:
        return self.is_over


def outbox(requests: int) -> tuple[Outbox, list[Any], Any]:
    """An outbox where so many requests run, what is written by it, and what makes lines for it."""
    written: list[Any] = []
    return Outbox(range(requests)), written, lambda: Line(written)


async def test_an_answer_alone_goes_out_at_once() -> None:
    out, written, line = outbox(1)

    out.put(line(), b"one")

    assert [data for _, data in written] == [b"one"]


async def test_answers_of_one_turn_go_out_together_and_in_their_order() -> None:
    out, written, line = outbox(3)
    for answer in (b"one", b"two", b"three"):
        out.put(line(), answer)
    before = list(written)
    await asyncio.sleep(0)

    assert before == []
    assert [data for _, data in written] == [b"one", b"two", b"three"]


async def test_what_waits_can_go_out_before_its_time_but_only_once() -> None:
    out, written, line = outbox(2)
    out.put(line(), b"one")
    out.empty()
    before = list(written)
    await asyncio.sleep(0)

    assert [data for _, data in before] == [b"one"]
    assert written == before


async def test_who_has_gone_keeps_nobody_from_an_answer() -> None:
    out, written, line = outbox(2)
    gone, there = line(), line()
    out.put(gone, b"one")
    out.put(there, b"two")
    gone.is_over = True
    await asyncio.sleep(0)

    assert written == [(there, b"two")]


def calls(number: int) -> bytes:
    """Three calls that one client sends at once."""
    bodies = [b'{"arguments": {"a": %d, "b": %d}}' % (number, each) for each in range(3)]
    return b"".join(CALL + b"Content-Length: %d\r\n\r\n%b" % (len(body), body) for body in bodies)


async def asked(port: int, number: int) -> list[bool]:
    """Whether each of three answers is the one to its call, in the order of the calls."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(calls(number))
    right = []
    for each in range(3):
        head = await asyncio.wait_for(reader.readuntil(b"\r\n\r\n"), 10)
        length = int(head.lower().partition(b"content-length: ")[2].split(b"\r\n")[0])
        body = await reader.readexactly(length)
        right.append(b'"data":%d,' % (number + each) in body)
    writer.close()
    return right


async def test_many_who_ask_at_once_get_each_their_own_answers() -> None:
    async with served() as server:
        right = await asyncio.gather(*(asked(server.port, each) for each in range(0, 300, 10)))

    assert right == [[True, True, True]] * 30


@pytest.mark.parametrize("end", ["shutdown", "eof_received", "data_received"])
async def test_what_waits_goes_out_before_anything_else_happens_to_a_connection(end: str) -> None:
    state, written = State(), list[Any]()
    config = Config(no_mcp, http=Connection, ws="none", lifespan="off", log_config=None)
    config.load()
    connection = Connection(config, state, {})
    line: Any = Line(written)
    connection.connection_made(line)
    state.outbox = Outbox(range(2))
    state.outbox.put(line, b"one")

    getattr(connection, end)(*([b"GET "] if end == "data_received" else []))

    assert [data for _, data in written] == [b"one"]
