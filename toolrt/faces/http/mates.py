"""Workers that share a port: what belongs to one of them is handed on to it.

Each has a socket of its own besides, in a folder that nobody else may enter, and takes requests
there as it does at the port: who asks is looked at again. MCP sessions, tasks and calls that wait
for their client live in the process that opened them, and their ids say in which.
"""

import asyncio
import socket
from collections.abc import AsyncIterator, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from tempfile import TemporaryDirectory
from typing import Any, Final

from toolrt.faces.http.problems import ProblemError
from toolrt.faces.http.site import HEAD
from toolrt.faces.http.wire import App, Receive, Scope, Send, reply_mcp_problem, whole_body

_OF_CONNECTIONS: Final = frozenset(
    {b"connection", b"content-length", b"date", b"expect", b"keep-alive", b"transfer-encoding"}
)
_PIECE: Final = 64 * 1024
_PATIENCE_S: Final = 5.0
_BACKLOG: Final = 1024


@dataclass(frozen=True, slots=True)
class Mates:
    """The sockets of all workers by their number, and which of them is this one."""

    number: int = 0
    paths: tuple[str, ...] = ()

    async def hand_on(
        self, to: int, scope: Scope, body: bytes, receive: Receive, send: Send
    ) -> None:
        """Let another worker answer. It notices when the client goes."""
        try:
            reader, writer = await asyncio.open_unix_connection(self.paths[to])
        except OSError:
            await reply_mcp_problem(send, _starting_anew())
            return
        answering = asyncio.ensure_future(_answered(reader, send))
        leaving = asyncio.ensure_future(_left(receive))
        try:
            writer.write(_request(scope, body))
            await asyncio.wait({answering, leaving}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            leaving.cancel()
            answering.cancel()
            writer.close()
            await asyncio.wait({answering, leaving})
        if not answering.cancelled():
            answering.result()

    async def tell(self, scope: Scope, body: bytes, patience_s: float = _PATIENCE_S) -> bool:
        """Send all others the same request; whether each has answered in time, whatever it was."""
        others = [path for number, path in enumerate(self.paths) if number != self.number]
        request = _request(scope, body)
        return all(await asyncio.gather(*(_told(path, request, patience_s) for path in others)))


@contextmanager
def besides(count: int) -> Iterator[list[socket.socket]]:
    """So many sockets, bound each to a file in a folder that goes with them."""
    with TemporaryDirectory(prefix="toolrt-") as folder, ExitStack() as opened:
        made = []
        for number in range(count):
            own = opened.enter_context(socket.socket(socket.AF_UNIX, socket.SOCK_STREAM))
            own.bind(f"{folder}/{number}")
            own.listen(_BACKLOG)
            own.setblocking(False)
            made.append(own)
        yield made


def is_of_mate(scope: Scope) -> bool:
    """Whether another worker has handed a request on: that comes from no address."""
    return scope.get("client") is None


class Shared:
    """MCP where several workers serve it: hands on what is another one's."""

    def __init__(self, mates: Mates, mcp: Any) -> None:
        self._mates = mates
        self._mcp: App = mcp
        self._owner = mcp.owners.of

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if is_of_mate(scope):
            await self._mcp(scope, receive, send)
            return
        peeked = getattr(send, "body", None)
        body = None if peeked is None else peeked()
        if body is None:
            body = await whole_body(receive)
            receive, send = _again(body, receive), _plain(send)
        owner = self._owner(scope[HEAD], body)
        if owner is None or owner == self._mates.number or owner >= len(self._mates.paths):
            await self._mcp(scope, receive, send)
            return
        await self._mates.hand_on(owner, scope, body, receive, send)


def _again(body: bytes, receive: Receive) -> Receive:
    """A `receive` that gives a body that was read already."""
    left = [{"type": "http.request", "body": body, "more_body": False}]

    async def received() -> Any:
        return left.pop() if left else await receive()

    return received


def _plain(send: Send) -> Send:
    """A `send` that knows nothing of the body."""

    async def sent(message: Any) -> None:
        await send(message)

    return sent


def _request(scope: Scope, body: bytes) -> bytes:
    query = scope["query_string"]
    target = scope["raw_path"] + (b"?" + query if query else b"")
    lines = [b"%b %b HTTP/1.1" % (scope["method"].encode(), target)]
    kept = (pair for pair in scope["headers"] if pair[0] not in _OF_CONNECTIONS)
    lines += (b"%b: %b" % pair for pair in kept)
    lines += (b"content-length: %d" % len(body), b"connection: close", b"", body)
    return b"\r\n".join(lines)


async def _left(receive: Receive) -> None:
    """Until the client has gone."""
    while (await receive())["type"] != "http.disconnect":
        pass


async def _answered(reader: asyncio.StreamReader, send: Send) -> None:
    """Pass an answer on as it comes."""
    try:
        status, headers = await _head(reader)
    except (OSError, ValueError, IndexError, asyncio.IncompleteReadError):
        await reply_mcp_problem(send, _ended_before())
        return
    length = dict(headers).get(b"content-length")
    kept = [pair for pair in headers if pair[0] not in _OF_CONNECTIONS]
    if length is not None:
        kept.append((b"content-length", length))
    await send({"type": "http.response.start", "status": status, "headers": kept})
    pieces = _chunks(reader) if length is None else _whole(reader, int(length))
    with suppress(OSError, ValueError, asyncio.IncompleteReadError):  # it died in the middle
        async for piece in pieces:
            await send({"type": "http.response.body", "body": piece, "more_body": True})
    with suppress(RuntimeError):  # it is shorter than it said
        await send({"type": "http.response.body", "body": b""})


async def _head(reader: asyncio.StreamReader) -> tuple[int, list[tuple[bytes, bytes]]]:
    written = (await reader.readuntil(b"\r\n\r\n")).split(b"\r\n")
    pairs = (line.partition(b":") for line in written[1:] if line)
    return int(written[0].split()[1]), [(name.lower(), value.strip()) for name, _, value in pairs]


async def _whole(reader: asyncio.StreamReader, length: int) -> AsyncIterator[bytes]:
    left = length
    while left:
        piece = await reader.read(min(left, _PIECE))
        if not piece:
            raise ConnectionError("the answer is cut off")
        left -= len(piece)
        yield piece


async def _chunks(reader: asyncio.StreamReader) -> AsyncIterator[bytes]:
    while size := int(await reader.readline(), 16):
        yield (await reader.readexactly(size + 2))[:-2]


async def _told(path: str, request: bytes, patience_s: float) -> bool:
    with suppress(OSError, TimeoutError):
        async with asyncio.timeout(patience_s):
            reader, writer = await asyncio.open_unix_connection(path)
            try:
                writer.write(request)
                return bool(await reader.read())
            finally:
                writer.close()
    return False


def _ended_before() -> ProblemError:
    """Nobody knows what was done; nothing here says that it can be sent again unseen."""
    return ProblemError(
        503,
        "cancelled",
        "the process that was to answer this ended before it did",
        hint="what it did until then may have taken effect: look before you send it again",
    )


def _starting_anew() -> ProblemError:
    return ProblemError(
        503,
        "unavailable",
        "the process that this belongs to is starting anew",
        hint="try again in a moment",
        headers=[(b"retry-after", b"1")],
    )
