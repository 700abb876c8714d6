"""The process of a server: started in a session of its own, and gone with all that it started.

What it writes to stderr is read and kept to its last lines, so that a full pipe stops nobody and
the operator hears why it ended. Its end is bounded: input closed, TERM, KILL, each for its group.
"""

import asyncio
import os
import signal
from collections import deque
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Final

from toolrt.bindings.group import LOST, Leader
from toolrt.bindings.launch import launch
from toolrt.bindings.mcp.server import Launch
from toolrt.bindings.os_text import encoded
from toolrt.core.errors import BindingError

MOST_LINE: Final = 8 * 1024**2
"""One message; a line that is longer ends the connection."""
_GRACE_S: Final = 1.0
_TERM_S: Final = 1.0
_KILL_S: Final = 3.0
_LOOK_S: Final = 0.01
_SELDOM_S: Final = 0.2
_DRAIN_S: Final = 0.1
"""How long what was written last may take to be read, and who was killed to be gone."""
_LAST_LINES: Final = 5
_LONGEST_SAID: Final = 300
_PIECE: Final = 64 * 1024


class Child:
    """One running server: its pipes, and its end."""

    def __init__(self, leader: Leader, stdin: asyncio.StreamWriter, *said: "_Heard") -> None:
        self._leader = leader
        self.stdin = stdin
        self._out, self._err = said
        self.stdout = self._out.reader
        self._said: deque[str] = deque(maxlen=_LAST_LINES)
        self._listening = asyncio.create_task(self._listen())
        self._watching = asyncio.create_task(self._watch())

    @classmethod
    async def start(cls, asked: Launch, env: Mapping[str, str]) -> "Child":
        """Start it. Raises BindingError. Whoever stops waiting leaves nothing behind."""
        pipes = [os.pipe() for _ in range(3)]
        theirs = (pipes[0][0], pipes[1][1], pipes[2][1])
        try:
            leader = Leader(_started(asked, env, theirs))
        except BindingError:
            _close(pipes[0][1], pipes[1][0], pipes[2][0])
            raise
        finally:
            _close(*theirs)
        joining = asyncio.create_task(cls._joined(leader, pipes[0][1], pipes[1][0], pipes[2][0]))
        try:
            return await asyncio.shield(joining)
        except asyncio.CancelledError:
            await (await joining).end()
            raise

    @classmethod
    async def _joined(cls, leader: Leader, stdin: int, out: int, err: int) -> "Child":
        """A process with the ends of its pipes that are ours."""
        return cls(leader, await _writer(stdin), await _heard(out), await _heard(err))

    @property
    def pid(self) -> int:
        return self._leader.pid

    @property
    def said(self) -> str:
        """The last lines that it wrote beside its messages, for the operator alone."""
        return " / ".join(self._said)[-_LONGEST_SAID:]

    def epitaph(self) -> str:
        """How it ended."""
        if not self._leader.has_exited():
            return "it closed its output"
        return f"it ended with {_ending(self._leader.status)}"

    async def settled(self, wait_s: float) -> None:
        """Wait a moment for its end and its last words, where its output is over."""
        await self._ended(wait_s)
        await asyncio.wait([self._listening], timeout=wait_s)

    async def end(self) -> None:
        """End it and its group; every wait is bounded."""
        self.stdin.close()
        if not await self._ended(_GRACE_S):
            self._leader.signal_group(signal.SIGTERM)
            await self._ended(_TERM_S)
        self._leader.signal_group(signal.SIGKILL)  # whatever it has left behind, too
        await self._ended(_KILL_S)
        await _until(self._leader.is_group_gone, _DRAIN_S)
        for task in (self._listening, self._watching):
            task.cancel()
        await asyncio.wait([self._listening, self._watching])
        for heard in (self._out, self._err):
            heard.transport.close()  # a descendant elsewhere may hold a pipe open
        if self.stdin.transport.get_write_buffer_size():
            self.stdin.transport.abort()  # nobody reads the rest
        await asyncio.sleep(0)

    async def _ended(self, wait_s: float) -> bool:
        """Whether the process is over within that time, whoever still holds its pipes."""
        return await _until(self._leader.has_exited, wait_s)

    async def _watch(self) -> None:
        """When it is over so is what it says, though something that it started holds the pipe."""
        await _exited(self._leader)
        await asyncio.sleep(_DRAIN_S)
        self._out.reader.feed_eof()
        self._out.transport.close()

    async def _listen(self) -> None:
        """Read what it says beside its messages; lines too long to keep are passed over."""
        while piece := await self._err.reader.read(_PIECE):
            lines = piece[-_PIECE // 4 :].decode(errors="replace").splitlines()
            self._said.extend(line.strip()[:_LONGEST_SAID] for line in lines if line.strip())


async def _until(is_so: Callable[[], bool], wait_s: float) -> bool:
    """Whether it comes to be within that time."""
    loop = asyncio.get_running_loop()
    until = loop.time() + wait_s
    while not is_so():
        if loop.time() >= until:
            return False
        await asyncio.sleep(_LOOK_S)
    return True


async def _exited(leader: Leader) -> None:
    """Wait for the end of a process: told by the system, or by looking where it cannot tell."""
    try:
        told = os.pidfd_open(leader.pid)
    except (AttributeError, OSError):
        while not leader.has_exited():  # noqa: ASYNC110 - the system has no word for it here
            await asyncio.sleep(_SELDOM_S)
        return
    loop, over = asyncio.get_running_loop(), asyncio.Event()
    loop.add_reader(told, over.set)
    try:
        await over.wait()
    finally:
        loop.remove_reader(told)
        os.close(told)


class _Heard:
    """One pipe that is read."""

    def __init__(self, reader: asyncio.StreamReader, transport: asyncio.BaseTransport) -> None:
        self.reader, self.transport = reader, transport


async def _heard(pipe: int) -> _Heard:
    loop = asyncio.get_running_loop()
    reader = asyncio.StreamReader(MOST_LINE)
    file = os.fdopen(pipe, "rb", 0)
    transport, _ = await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), file)
    return _Heard(reader, transport)


async def _writer(pipe: int) -> asyncio.StreamWriter:
    loop = asyncio.get_running_loop()
    reader = asyncio.StreamReader()
    file = os.fdopen(pipe, "wb", 0)
    transport, protocol = await loop.connect_write_pipe(
        lambda: asyncio.StreamReaderProtocol(reader), file
    )
    return asyncio.StreamWriter(transport, protocol, reader, loop)


def _started(asked: Launch, env: Mapping[str, str], streams: tuple[int, ...]) -> int:
    """The pid of the server. Raises BindingError."""
    program = encoded(asked.executable)
    argv = (program, *map(encoded, asked.argv[1:]))
    given = {encoded(name): encoded(text) for name, text in env.items()}
    try:
        return launch(program, argv, given, os.fsencode(asked.cwd), streams)
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or "its words cannot be passed on"
        message = f"`{asked.argv[0]}` could not be started: {why.lower()}"
        raise BindingError(message, code="unavailable", sent="never") from error


def _close(*descriptors: int) -> None:
    for each in descriptors:
        with suppress(OSError):
            os.close(each)


def _ending(status: int | None) -> str:
    if status is None or status == LOST:
        return "an exit code that nobody knows"
    if status >= 0:
        return f"exit code {status}"
    with suppress(ValueError):
        return signal.Signals(-status).name
    return f"signal {-status}"
