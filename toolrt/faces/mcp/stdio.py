"""MCP over stdio: a line is a message, both ways.

What was read before the input ended is answered, then it is over. Signals end what runs, with its
children. Nothing but messages is ever written to stdout, whatever tools print.
"""

import asyncio
import os
import select
import signal
import sys
import threading
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from secrets import token_urlsafe
from typing import Any

from toolrt import runtime
from toolrt.core.calls import Caller
from toolrt.core.clock import SystemClock
from toolrt.faces.cli.caller import at_terminal, locked_out
from toolrt.faces.mcp import eras
from toolrt.faces.mcp.early import Told
from toolrt.faces.mcp.incoming import Incoming, TooLong
from toolrt.faces.mcp.keeping import first_answers, is_as_told, keep
from toolrt.faces.mcp.messages import (
    INVALID_REQUEST,
    Message,
    Wrong,
    id_of,
    read,
    too_long,
)
from toolrt.faces.mcp.peers import Peer, Session
from toolrt.faces.mcp.protocol import (
    Protocol,
    cancelled,
    check_envelope,
    check_version,
    modern_peer,
)
from toolrt.reloading.following import following

MOST_AT_ONCE = 1000
_CHUNK = 256 * 1024
_SURE_BYTES = 4096
"""A pipe that takes anything at all takes so much at once (PIPE_BUF)."""
_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)

CallerNow = Callable[[], Caller]


class Stdio:
    """One client at the other end of two descriptors; `caller` says who it is by now."""

    def __init__(self, protocol: Protocol, caller: CallerNow, source: int, sink: int) -> None:
        self._protocol = protocol
        self._caller = caller
        self._source = source
        self._out = Lines(sink)
        self._session = Session()
        self._session.name = token_urlsafe(12)
        self._session.streams.append(self._out.write)
        self._tasks: set[asyncio.Task[None]] = set()
        self._over = asyncio.Event()
        self._incoming = Incoming()
        self._is_ending = False

    async def run(self, told: Told) -> None:
        """Serve until the input ends, or a signal comes. From then on signals are not heeded, until
        `close`: what runs is on its way to its end.
        """
        loop = asyncio.get_running_loop()
        me = asyncio.current_task()
        for number in _SIGNALS:
            loop.add_signal_handler(number, self._stop, me)
        self._protocol.changes.join(self._session)
        try:
            self._go_on(told)
            if not told.is_over:
                self._begin(loop)
            await asyncio.sleep(0)
            await self._remember(told)
            await self._over.wait()
            self._end_of_input()
            while self._tasks:
                await asyncio.wait(self._tasks)
        except asyncio.CancelledError:
            await self._called_off()
        finally:
            self._is_ending = True
            self._protocol.close()

    async def close(self) -> None:
        """Write what is left to write; signals end the process again."""
        loop = asyncio.get_running_loop()
        for number in _SIGNALS:
            loop.remove_signal_handler(number)
        await self._out.close()

    def _go_on(self, told: Told) -> None:
        """Take up what the client has said already."""
        if told.params is not None:
            asked = told.params["protocolVersion"]
            is_known = asked in eras.HANDSHAKE_VERSIONS
            self._session.version = asked if is_known else eras.LATEST_HANDSHAKE
            self._session.capabilities = told.params["capabilities"]
        self._take(told.rest)
        if told.is_over:
            self._ended()

    async def _remember(self, told: Told) -> None:
        """Keep what is told first for the next start; correct what was told in this one."""
        now = await first_answers(self._protocol, self._named())
        if not is_as_told(now, told):
            self._protocol.changes.tell("toolsListChanged")
        await asyncio.to_thread(keep, now, self._protocol.runtime.project)

    def _stop(self, me: "asyncio.Task[Any] | None") -> None:
        if me is not None and not self._is_ending:
            self._is_ending = True
            me.cancel()

    async def _called_off(self) -> None:
        """End what runs, and wait for its end."""
        self._end_of_input()
        for task in list(self._tasks):
            task.cancel()
        while self._tasks:
            with suppress(asyncio.CancelledError):
                await asyncio.wait(self._tasks)

    def _begin(self, loop: asyncio.AbstractEventLoop) -> None:
        try:
            loop.add_reader(self._source, self._readable, loop)
        except OSError:  # a file is always ready, and no loop waits for it
            threading.Thread(target=self._read_all, args=(loop,), daemon=True).start()

    def _readable(self, loop: asyncio.AbstractEventLoop) -> None:
        try:
            chunk = os.read(self._source, _CHUNK)
        except OSError:
            chunk = b""
        if chunk:
            self._take(chunk)
            return
        loop.remove_reader(self._source)
        self._ended()

    def _read_all(self, loop: asyncio.AbstractEventLoop) -> None:
        while chunk := os.read(self._source, _CHUNK):
            loop.call_soon_threadsafe(self._take, chunk)
        loop.call_soon_threadsafe(self._ended)

    def _ended(self) -> None:
        try:
            for line in self._incoming.rest():
                self._line(line)
        finally:
            self._over.set()

    def _take(self, chunk: bytes) -> None:
        for line in self._incoming.take(chunk):
            self._line(line)

    def _line(self, line: bytes | TooLong) -> None:
        try:
            if isinstance(line, TooLong):
                raise too_long(line.id)
            message = read(line)
        except Wrong as wrong:
            self._out.write(wrong.written(id_of(wrong)))
            return
        if not message.is_request:
            if message.method:
                self._protocol.notified(message, self._session)
            else:
                self._protocol.responded(message, self._session, self._named())
            return
        running = self._session.running
        if message.id in running or len(running) >= MOST_AT_ONCE:
            is_twice = message.id in running
            why = "a request of this `id` is running" if is_twice else "too many requests run"
            self._out.write(Wrong(INVALID_REQUEST, why).written(message.id))
            return
        task = asyncio.ensure_future(self._answer(message))
        running[message.id] = task
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _answer(self, message: Message) -> None:
        running = self._session.running
        try:
            written = await self._protocol.answer(message, self._peer(message))
        except Wrong as wrong:
            written = wrong.written(message.id)
        except asyncio.CancelledError:
            written = cancelled().written(message.id)
        running.pop(message.id, None)
        self._out.write(written)

    def _peer(self, message: Message) -> Peer:
        """Who sends this. Raises Wrong for a modern request that does not say enough."""
        if not eras.is_modern(message.params) and message.method != "server/discover":
            return _Peer(
                "handshake", self._session.version, self._named(), self._session, self._out
            )
        meta = check_envelope(message.params)
        check_version(meta[eras.VERSION_KEY])
        peer = _Peer("modern", eras.MODERN, self._named(), None, self._out)
        modern_peer(peer, meta)
        return peer

    def _named(self) -> Caller:
        """The caller, in the one session that this is."""
        return self._session.named(self._caller())

    def _end_of_input(self) -> None:
        """Nobody answers any more: let nothing wait for that."""
        self._protocol.close()
        for future in list(self._session.asked.values()):
            if not future.done():
                future.set_exception(ConnectionError("the client has gone"))


class _Peer(Peer):
    """The way back of one request."""

    __slots__ = ("_out",)

    def __init__(
        self, era: eras.Era, version: str, caller: Caller, session: Session | None, out: "Lines"
    ) -> None:
        super().__init__(era, version, caller, session)
        self._out = out

    def send(self, message: bytes) -> None:
        self._out.write(message)


class Lines:
    """Writes lines to a descriptor and never waits for its reader: what it does not take at once
    is left to a thread.
    """

    def __init__(self, sink: int) -> None:
        self._sink = sink
        self._ready = select.poll()
        self._ready.register(sink, select.POLLOUT)
        self._waiting: deque[bytes] = deque()
        self._writing: asyncio.Future[None] | None = None
        self._is_over = False

    def write(self, message: bytes) -> None:
        line = message + b"\n"
        if self._is_over:
            return
        if self._writing is None and len(line) <= _SURE_BYTES and self._ready.poll(0):
            self._put(line)
            return
        self._waiting.append(line)
        if self._writing is None:
            self._writing = asyncio.ensure_future(self._drained())

    async def close(self) -> None:
        """Wait until all is written, or the reader has gone."""
        if self._writing is not None:
            await self._writing

    async def _drained(self) -> None:
        while self._waiting:
            await asyncio.to_thread(self._put, self._waiting.popleft())
        self._writing = None

    def _put(self, line: bytes) -> None:
        rest = memoryview(line)
        try:
            while rest:
                self._ready.poll()
                rest = rest[os.write(self._sink, rest[:_SURE_BYTES]) :]
        except BlockingIOError:
            self._put(bytes(rest))
        except OSError:  # the reader has gone: nobody is there to be told
            self._is_over = True
            self._waiting.clear()


def serve(project: Path, source: int, sink: int, told: Told, *, watch: bool) -> None:
    """Go on serving a client that was told something already. Raises ProjectError."""
    asyncio.run(_served(project, source, sink, told, watch=watch))


async def _served(project: Path, source: int, sink: int, told: Told, *, watch: bool) -> None:
    async with runtime.open(project) as opened:
        callers: dict[int, Caller] = {}

        def caller() -> Caller:
            snapshot = opened.snapshot
            if snapshot.generation not in callers:
                callers.clear()
                callers[snapshot.generation] = at_terminal(snapshot.identities)
            return callers[snapshot.generation]

        if (locked := locked_out(opened.snapshot.identities)) is not None:
            sys.stderr.write(f"warning: {locked}\n")
        protocol = Protocol(opened, channel="cli")
        server = Stdio(protocol, caller, source, sink)
        async with following(opened.reloader, SystemClock(), is_on=watch):
            await server.run(told)
    await server.close()
