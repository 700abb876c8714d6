"""A raw HTTP server on 127.0.0.1 that keeps what it hears and answers what a test wants.

An answer is bytes as they go over the wire, pieces of them over time, or a `RESET` of the
connection; it is nobody's idea of valid HTTP but the test's.
"""

import asyncio
import socket
import struct
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

RESET = object()
"""Drop the connection with a TCP reset."""


@dataclass(frozen=True, slots=True)
class Heard:
    """One request as it came: header names in lower case."""

    method: str
    target: str
    headers: Mapping[str, str]
    body: bytes


@dataclass(slots=True)
class Loopback:
    """What the server has seen so far, and where it is."""

    port: int = 0
    host: str = "127.0.0.1"
    heard: list[Heard] = field(default_factory=list)
    connections: int = 0
    news: asyncio.Event = field(default_factory=asyncio.Event)

    async def until_heard(self, count: int) -> None:
        """Wait for that many requests."""
        while len(self.heard) < count:
            self.news.clear()
            await self.news.wait()

    @property
    def url(self) -> str:
        return f"http://{self.host}:{self.port}"

    @property
    def lines(self) -> list[str]:
        return [f"{each.method} {each.target}" for each in self.heard]


def reply(body: bytes | str = b"", status: int = 200, **headers: str) -> bytes:
    """A valid answer; `content_type="text/plain"` is `Content-Type: text/plain`."""
    body = body.encode() if isinstance(body, str) else body
    named = {"content_length": str(len(body)), **headers}
    lines = "".join(f"{k.replace('_', '-')}: {v}\r\n" for k, v in named.items())
    return f"HTTP/1.1 {status} Said\r\n{lines}\r\n".encode() + body


def json_reply(text: str, status: int = 200, **headers: str) -> bytes:
    return reply(text, status, content_type="application/json", **headers)


Answer = bytes | object | AsyncIterator[bytes]


@asynccontextmanager
async def loopback(
    answer: Answer | Callable[[Heard], Answer] = b"", *, host: str = "127.0.0.1", ssl: Any = None
) -> AsyncIterator[Loopback]:
    """Serve `answer` (or what it makes of each request) until the block ends."""
    state = Loopback(host=host)
    tasks: set[asyncio.Task[None]] = set()

    async def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        state.connections += 1
        tasks.add(task := asyncio.current_task())
        try:
            while (heard := await _hear(reader)) is not None:
                state.heard.append(heard)
                state.news.set()
                if not await _say(writer, answer(heard) if callable(answer) else answer):
                    break
        except (ConnectionError, asyncio.CancelledError):
            pass
        finally:
            tasks.discard(task)
            writer.close()

    server = await asyncio.start_server(connected, host, 0, ssl=ssl)
    state.port = server.sockets[0].getsockname()[1]
    try:
        yield state
    finally:
        server.close()
        for task in list(tasks):
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await server.wait_closed()


def refused_port() -> int:
    """A port of 127.0.0.1 that nobody listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


async def _hear(reader: asyncio.StreamReader) -> Heard | None:
    try:
        head = await reader.readuntil(b"\r\n\r\n")
    except asyncio.IncompleteReadError:
        return None
    first, *lines = head.decode("latin-1").rstrip().split("\r\n")
    method, target, _ = first.split(" ")
    headers = {k.lower(): v for k, _, v in (line.partition(": ") for line in lines)}
    body = await reader.readexactly(int(headers.get("content-length", 0)))
    return Heard(method, target, headers, body)


async def _say(writer: asyncio.StreamWriter, answer: Any) -> bool:
    """Whether the connection stays open."""
    if answer is RESET:
        linger = struct.pack("ii", 1, 0)
        writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
        writer.transport.abort()
        return False
    if not isinstance(answer, bytes):
        async for piece in answer:
            writer.write(piece)
            await writer.drain()
        return False
    writer.write(answer)
    await writer.drain()
    return bool(answer) and b"connection: close" not in answer.lower()
