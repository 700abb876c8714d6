"""The three streams of the command line's process, taken in hand before anything uses them.

Data goes to a descriptor of its own. Descriptor 1 leads to stderr from then on: what modules,
extensions and their children write there is talk. A stream that is closed becomes /dev/null, so
that no socket gets its number. Writing never raises: a reader that has gone away is no fault, and
data that could not be written is told once, at the end.
"""

import io
import os
import select
import sys
from typing import Any, TextIO

_STDIN, _STDOUT, _STDERR = 0, 1, 2


class DataStream(io.FileIO):
    """Where data goes; `lost` says why some of it did not arrive."""

    lost: OSError | None = None
    _is_over = False

    def write(self, data: Any) -> int:
        size = memoryview(data).nbytes
        if self._is_over:
            return size
        try:
            return self._written(data)
        except BrokenPipeError:
            self._is_over = True
        except OSError as error:
            self._is_over, self.lost = True, error
        return size

    def _written(self, data: Any) -> int:
        """Waits where a parent has made the pipe one that never blocks, and it is full."""
        while (written := super().write(data)) is None:
            ready = select.poll()
            ready.register(self, select.POLLOUT)
            ready.poll()
        return written


class TalkStream(io.FileIO):
    """Where talk goes; what nobody can be told is dropped."""

    def write(self, data: Any) -> int:
        try:
            return super().write(data) or 0
        except OSError:
            return memoryview(data).nbytes


class OpenText(io.TextIOWrapper):
    """Stays open: a callable that closes its stdout has no other."""

    def close(self) -> None:
        self.flush()


def take_streams() -> DataStream:
    """Put `sys.stdin`, `sys.stdout` and `sys.stderr` in order; gives where stdout writes."""
    for number in (_STDIN, _STDOUT, _STDERR):
        _keep_taken(number)
    data = DataStream(os.dup(_STDOUT), "w", closefd=False)
    os.dup2(_STDERR, _STDOUT)
    if sys.stdin is None:
        sys.stdin = open(_STDIN, encoding="utf-8", closefd=False)  # noqa: SIM115 - as long as we
    sys.stdout = _text(data, sys.stdout)
    sys.stderr = _text(TalkStream(_STDERR, "w", closefd=False), sys.stderr)
    return data


def _keep_taken(number: int) -> None:
    """Lower numbers are taken, so that a free one is what `open` gives."""
    try:
        os.fstat(number)
    except OSError:
        os.set_inheritable(os.open(os.devnull, os.O_RDWR), True)


def _text(raw: io.FileIO, before: TextIO | None) -> io.TextIOWrapper:
    """Text as the stream before wrote it; what its encoding has not is escaped."""
    encoding = (before.encoding if before else None) or "utf-8"
    is_line_buffered = raw.isatty() or isinstance(raw, TalkStream)
    return OpenText(
        io.BufferedWriter(raw),
        encoding=encoding,
        errors="backslashreplace",
        line_buffering=is_line_buffered,
    )
