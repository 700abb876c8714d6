"""Messages of a child process as the SDK reads and writes them: a line each, both ways.

Nothing stands between the pipes and the SDK. What is no message is passed over, as servers print
all kinds of things; a line that is too long ends the connection, and a flood is read slowly, with
turns for everybody else in between.
"""

import asyncio
import time
from types import TracebackType
from typing import Any, Final, Self

import anyio
from mcp.shared.message import SessionMessage
from mcp_types import JSONRPCNotification, JSONRPCRequest, jsonrpc_message_adapter

from toolrt.bindings.mcp.child import Child

_MOST_UNREAD: Final = 8 * 1024**2
_MOST_UNASKED: Final = 500
"""Lines a second that nobody asked for; the rest wait in the pipe."""
_TURN: Final = 64
"""Lines that are read before others have their turn, for a full buffer never waits."""
_MOST_JUNK: Final = 10_000


class _Ends:
    """What both streams of a connection share: entered and left by the SDK."""

    async def aclose(self) -> None:
        """The process ends elsewhere."""

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        _kind: type[BaseException] | None,
        _error: BaseException | None,
        _trace: TracebackType | None,
    ) -> None:
        await self.aclose()


class Lines(_Ends):
    """What a server says, until it is `over`; `flaw` is why, where it broke a bound."""

    def __init__(self, child: Child) -> None:
        self._stdout = child.stdout
        self._junk = 0
        self._unasked = 0
        self._read = 0
        self._until = 0.0
        self.flaw: str | None = None
        self.over = asyncio.Event()

    def __aiter__(self) -> "Lines":
        return self

    async def __anext__(self) -> SessionMessage | Exception:
        while True:
            line = await self._line()
            self._read += 1
            if self._read % _TURN == 0:
                await asyncio.sleep(0)
            if not line:
                self.over.set()
                raise StopAsyncIteration
            try:
                message = jsonrpc_message_adapter.validate_json(line, by_name=False)
            except ValueError:
                self._pass_over(line)
                await self._slow_down()
                continue
            if isinstance(message, JSONRPCNotification | JSONRPCRequest):
                await self._slow_down()
            return SessionMessage(message)

    async def receive(self) -> SessionMessage | Exception:
        try:
            return await self.__anext__()
        except StopAsyncIteration:
            raise anyio.EndOfStream from None

    async def _line(self) -> bytes:
        if self.flaw is not None:
            return b""
        try:
            return await self._stdout.readline()
        except ValueError:
            self.flaw = "it sent a message that is too long"
        except OSError:
            self.flaw = "its output broke off"
        return b""

    def _pass_over(self, line: bytes) -> None:
        self._junk += bool(line.strip())
        if self._junk > _MOST_JUNK:
            self.flaw = "what it prints are no messages"

    async def _slow_down(self) -> None:
        now = time.monotonic()
        if now >= self._until:
            self._until, self._unasked = now + 1.0, 0
        self._unasked += 1
        if self._unasked > _MOST_UNASKED:
            await asyncio.sleep(self._until - now)


class Sending(_Ends):
    """What is said to a server. Raises what the SDK knows for a pipe that nobody reads."""

    def __init__(self, child: Child) -> None:
        self._stdin = child.stdin

    async def send(self, item: SessionMessage, /) -> None:
        message: Any = item.message
        if self._stdin.is_closing():
            raise anyio.ClosedResourceError
        if self._stdin.transport.get_write_buffer_size() > _MOST_UNREAD:
            raise anyio.BrokenResourceError
        text = message.model_dump_json(by_alias=True, exclude_unset=True)
        self._stdin.write(text.encode() + b"\n")
        if isinstance(message, JSONRPCRequest):
            await self._drain()

    async def _drain(self) -> None:
        try:
            await self._stdin.drain()
        except (ConnectionError, OSError):
            raise anyio.BrokenResourceError from None
