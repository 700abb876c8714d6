"""The pipes of a child process, watched by the event loop: what it says and what it is told.

`Streams` are the three pipes of one `Process`. A `Drain` reads one to its end and keeps its head
and tail (S9); a `Feed` writes stdin without ever blocking.
"""

import asyncio
import os
import threading
from collections.abc import Callable
from typing import NamedTuple, TypeVar

_CHUNK = 65536
_MOST_CHUNKS = 16
_STDERR_BYTES = 64 * 1024
_NULL = os.stat(os.devnull).st_rdev  # noqa: PTH116 (a plain text)


P = TypeVar("P", "Drain", "Feed")


class Captured(NamedTuple):
    """What was kept of a stream: its start, its end, and how many bytes between them were not."""

    head: bytes = b""
    tail: bytes = b""
    cut: int = 0

    def whole(self) -> bytes:
        """Head and tail; where something is missing between them, a line that says how much."""
        if not self.cut:
            return self.head + self.tail
        return b"%b\n[... %d bytes left out ...]\n%b" % (self.head, self.cut, self.tail)


_NOTHING_SAID = Captured()


class Streams:
    """stdin (when there is text for it), stdout and stderr of one child.

    `on_read` is called after every read and at every end. Raises OSError when there is no
    descriptor left.
    """

    __slots__ = ("_input", "_pipes", "stderr", "stdout")

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        stdin: bytes | None,
        keep_bytes: int,
        on_read: Callable[[], None],
        null: "Null",
    ) -> None:
        self._pipes: list[Drain | Feed] = []
        try:
            self.stdout = self._opened(Drain(loop, keep_bytes, on_read))
            self.stderr = self._opened(Drain(loop, min(keep_bytes, _STDERR_BYTES), on_read))
            self._input = (
                null.descriptor() if stdin is None else self._opened(Feed(loop, stdin)).child_end
            )
        except OSError:
            self.close()
            raise

    @property
    def is_draining(self) -> bool:
        return self.stdout.is_open or self.stderr.is_open

    @property
    def total(self) -> int:
        """Bytes read so far."""
        return self.stdout.total + self.stderr.total

    def child_ends(self) -> tuple[int, int, int]:
        """Descriptors for the child's stdin, stdout and stderr."""
        return self._input, self.stdout.child_end, self.stderr.child_end

    def begin(self) -> None:
        """The child has its ends now: let go of them, and give it its text."""
        for pipe in self._pipes:
            pipe.begin()

    def watch(self) -> None:
        """Read from here on whenever there is something."""
        self.stdout.watch()
        self.stderr.watch()

    def read_rest(self) -> None:
        """Take what is in the pipes right now."""
        self.stdout.read_rest()
        self.stderr.read_rest()

    def forget(self) -> None:
        """Keep nothing from here on, only count."""
        self.stdout.forget()
        self.stderr.forget()

    def close(self) -> None:
        for pipe in self._pipes:
            pipe.close()

    def _opened(self, pipe: P) -> P:
        self._pipes.append(pipe)
        return pipe


class Drain:
    """Reads a pipe until its end; `on_read` is called after every read and at the end."""

    __slots__ = (
        "_half",
        "_head",
        "_is_watched",
        "_loop",
        "_on_read",
        "_read_end",
        "_tail",
        "_write_end",
        "total",
    )

    def __init__(
        self, loop: asyncio.AbstractEventLoop, keep_bytes: int, on_read: Callable[[], None]
    ) -> None:
        self._loop, self._on_read = loop, on_read
        self._is_watched = False
        self._half = keep_bytes // 2
        self._head, self._tail = bytearray(), bytearray()
        self.total = 0
        self._read_end, self._write_end = os.pipe()
        os.set_blocking(self._read_end, False)

    @property
    def child_end(self) -> int:
        return self._write_end

    @property
    def is_open(self) -> bool:
        return self._read_end >= 0

    def begin(self) -> None:
        self._release_child_end()

    def watch(self) -> None:
        if self.is_open and not self._is_watched:
            self._is_watched = True
            self._loop.add_reader(self._read_end, self._more)

    def read_rest(self) -> None:
        for _ in range(_MOST_CHUNKS):
            if not self.is_open or not self._read():
                return

    def forget(self) -> None:
        self._half = 0
        self._head.clear()
        self._tail.clear()

    def close(self) -> None:
        self._release_child_end()
        if self._read_end < 0:
            return
        if self._is_watched and not self._loop.is_closed():
            self._loop.remove_reader(self._read_end)
        os.close(self._read_end)
        self._read_end = -1
        self._on_read = _nothing  # which may know of this pipe

    def captured(self) -> Captured:
        if not self.total:
            return _NOTHING_SAID
        tail = bytes(self._tail[-self._half :]) if self._half else b""
        cut = self.total - len(self._head) - len(tail)
        return Captured(bytes(self._head), tail, cut)

    def _more(self) -> None:
        on_read = self._on_read
        self._read()
        on_read()

    def _read(self) -> int:
        try:
            chunk = os.read(self._read_end, _CHUNK)
        except (BlockingIOError, InterruptedError):
            return 0
        if chunk:
            self._keep(chunk)
        else:
            self.close()
        return len(chunk)

    def _keep(self, chunk: bytes) -> None:
        self.total += len(chunk)
        room = self._half - len(self._head)
        if room > 0:
            self._head += chunk[:room]
            chunk = chunk[room:]
        self._tail += chunk
        if len(self._tail) > max(2 * self._half, _CHUNK):
            del self._tail[: len(self._tail) - self._half]

    def _release_child_end(self) -> None:
        if self._write_end >= 0:
            os.close(self._write_end)
            self._write_end = -1


class Feed:
    """Writes a text into a pipe as fast as the child reads it; one that stops reading is fine."""

    __slots__ = ("_is_watched", "_loop", "_read_end", "_rest", "_write_end")

    def __init__(self, loop: asyncio.AbstractEventLoop, text: bytes) -> None:
        self._loop, self._rest = loop, memoryview(text)
        self._is_watched = False
        self._read_end, self._write_end = os.pipe()
        os.set_blocking(self._write_end, False)

    @property
    def child_end(self) -> int:
        return self._read_end

    def begin(self) -> None:
        self._release_child_end()
        self._push()

    def close(self) -> None:
        self._release_child_end()
        if self._write_end < 0:
            return
        if self._is_watched and not self._loop.is_closed():
            self._loop.remove_writer(self._write_end)
        os.close(self._write_end)
        self._write_end = -1

    def _push(self) -> None:
        try:
            self._rest = self._rest[os.write(self._write_end, self._rest) :]
        except (BlockingIOError, InterruptedError):
            pass
        except BrokenPipeError:
            self._rest = self._rest[:0]
        if not self._rest:
            self.close()
        elif not self._is_watched:
            self._is_watched = True
            self._loop.add_writer(self._write_end, self._push)

    def _release_child_end(self) -> None:
        if self._read_end >= 0:
            os.close(self._read_end)
            self._read_end = -1


class Null:
    """/dev/null for children to read: kept open, for to open it costs more than a pipe."""

    __slots__ = ("_descriptor", "_lock")

    def __init__(self) -> None:
        self._descriptor = -1
        self._lock = threading.Lock()

    def descriptor(self) -> int:
        """Raises OSError. Never anything else, whoever has closed it meanwhile."""
        if not _is_null(self._descriptor):
            with self._lock:
                if not _is_null(self._descriptor):
                    self._descriptor = os.open(os.devnull, os.O_RDONLY)
        return self._descriptor

    def close(self) -> None:
        with self._lock:
            if _is_null(self._descriptor):
                os.close(self._descriptor)
            self._descriptor = -1


def _is_null(descriptor: int) -> bool:
    try:
        return os.fstat(descriptor).st_rdev == _NULL
    except OSError:
        return False


def _nothing() -> None:
    pass
