"""`toolrt serve --workers N`: processes that share one port, and the one that keeps them.

Each opens the project for itself, after the fork: no store, thread or connection is shared. What
one reloads, the others reload. A worker that dies is started again; where it cannot even start, all
of them end with its status.
"""

import asyncio
import os
import select
import signal
import socket
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from toolrt.core import logs
from toolrt.faces.exits import Exit

if TYPE_CHECKING:
    from toolrt.faces.http.site import Site

READY, RELOAD, ACCEPT_LOSS = b"r", b"R", b"L"
"""What workers and their keeper tell each other, a byte each."""

_LOOK_S: Final = 0.2
_MOST_STARTS: Final = 5
_WITHIN_S: Final = 30.0
_FORWARDED: Final = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)

Work = Callable[[int, socket.socket], int]
"""What the worker of that number does, with its line to the keeper; gives an exit status."""


@dataclass(slots=True)
class _Worker:
    pid: int
    line: socket.socket
    is_ready: bool = False


@dataclass(slots=True)
class Keeper:
    """Starts workers, hands on what they tell each other, and ends them."""

    work: Work
    count: int
    workers: dict[int, _Worker] = field(default_factory=dict)
    starts: list[float] = field(default_factory=list)
    is_ending: bool = False
    status: int = Exit.OK

    def run(self) -> int:
        """Until all have ended; the status of the worst."""
        with self._signals():
            for number in range(self.count):
                self._start(number)
            while self.workers:
                self._listen()
                self._bury()
        return self.status

    def _start(self, number: int) -> None:
        """Make a worker. Signals wait until it is known here, and has none of our ways with them;
        after one to end there are no more workers.
        """
        mask = signal.pthread_sigmask(signal.SIG_BLOCK, _FORWARDED)
        if not self.is_ending:
            ours, theirs = socket.socketpair()
            ours.setblocking(False)  # a worker that hears nothing holds up nobody
            pid = os.fork()
            if pid == 0:
                ours.close()
                for each in self.workers.values():
                    each.line.close()
                os._exit(self._child(number, theirs, mask))
            theirs.close()
            self.workers[number] = _Worker(pid, ours)
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)

    def _child(self, number: int, line: socket.socket, mask: set[int | signal.Signals]) -> int:
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # ^C reaches all; the keeper says TERM
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        signal.signal(signal.SIGHUP, _nothing)  # what it starts with is not older
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)
        try:
            return self.work(number, line)
        finally:
            with suppress(OSError, ValueError):
                sys.stdout.flush()
                sys.stderr.flush()

    def _listen(self) -> None:
        """Hand on what a worker tells, or look again in a moment."""
        lines = {each.line: number for number, each in self.workers.items()}
        readable, _, _ = select.select(list(lines), [], [], _LOOK_S)
        for line in readable:
            said = _received(line)
            number = lines[line]
            if READY in said:
                self.workers[number].is_ready = True
            for word in (RELOAD, ACCEPT_LOSS):
                if word in said:
                    self._tell(word, but=number)
            if not said:
                time.sleep(_LOOK_S / 10)  # its process is about to end

    def _tell(self, word: bytes, but: int) -> None:
        for number, each in self.workers.items():
            if number != but:
                with suppress(OSError):
                    each.line.send(word)

    def _bury(self) -> None:
        """Look for workers that have ended; start them again, or end with them."""
        for number, worker in list(self.workers.items()):
            pid, ended = os.waitpid(worker.pid, os.WNOHANG)
            if pid == 0:
                continue
            del self.workers[number]
            worker.line.close()
            if not self.is_ending:
                self._replace(number, worker, os.waitstatus_to_exitcode(ended))

    def _replace(self, number: int, worker: _Worker, status: int) -> None:
        now = time.monotonic()
        self.starts = [at for at in self.starts if now - at < _WITHIN_S] + [now]
        if not worker.is_ready or len(self.starts) > _MOST_STARTS:
            self.status = status if status > 0 else Exit.BUG
            self._end(signal.SIGTERM)
            return
        logs.BUGS.warning("worker %s ended with %s; another takes its place", number, status)
        self._start(number)

    def _end(self, number: int) -> None:
        self.is_ending = self.is_ending or number != signal.SIGHUP
        told = signal.SIGTERM if number == signal.SIGINT else number
        for each in self.workers.values():
            if told == signal.SIGHUP and not each.is_ready:
                with suppress(OSError):
                    each.line.send(RELOAD)  # it hears of it once it has started
                continue
            with suppress(ProcessLookupError):
                os.kill(each.pid, told)

    @contextmanager
    def _signals(self) -> Iterator[None]:
        before = {
            number: signal.signal(number, lambda number, _frame: self._end(number))
            for number in _FORWARDED
        }
        try:
            yield
        finally:
            for number, usual in before.items():
                signal.signal(number, usual)


def _nothing(_number: int, _frame: object) -> None:
    """What a worker does with a signal before it has started."""


def joined(site: "Site", line: socket.socket) -> None:
    """Let a worker hear what others reload, and end with its keeper."""
    line.setblocking(False)
    loop, running = asyncio.get_running_loop(), set[asyncio.Task[object]]()

    def heard() -> None:
        said = _received(line)
        if not said:
            loop.remove_reader(line)
            site.draining.set()
            return
        task: asyncio.Task[object] = asyncio.create_task(
            site.runtime.reload("asked", accept_loss=ACCEPT_LOSS in said)
        )
        running.add(task)
        task.add_done_callback(running.discard)

    def spread(accept_loss: bool) -> None:
        with suppress(OSError):
            line.send(ACCEPT_LOSS if accept_loss else RELOAD)

    site.spread = spread
    loop.add_reader(line, heard)


def _received(line: socket.socket) -> bytes:
    """What was told; nothing where the other side is gone."""
    try:
        return line.recv(64)
    except BlockingIOError:
        return READY
    except OSError:
        return b""
