"""The exits of children: their pidfds stand in an epoll of our own, which the event loop watches.

To add a child to that is one system call; a reader of the loop for each child would cost several
times that, twice. Where the system has no pidfd, or no descriptor left: by looking every 20 ms.
"""

import asyncio
import contextvars
import os
import select
from collections.abc import Callable
from contextlib import suppress

from toolrt.bindings.group import FIRST_LOOK_S, LAST_LOOK_S, Leader

_AT_ONCE = 64


class Exits:
    """The children of one runtime, on whichever loops they were started."""

    __slots__ = ("_boards",)

    def __init__(self) -> None:
        self._boards: dict[asyncio.AbstractEventLoop, Board] = {}

    def board(self, loop: asyncio.AbstractEventLoop) -> "Board | None":
        """Where pidfds of that loop's children stand; None where there can be none."""
        board = self._boards.get(loop)
        return self._made(loop) if board is None else board

    def close(self) -> None:
        """Let go of what is no longer of use: no child is left."""
        for loop in tuple(self._boards):
            board = self._boards.pop(loop)
            with suppress(RuntimeError):
                if loop.is_closed() or loop is asyncio.get_running_loop():
                    board.close()
                    continue
                loop.call_soon_threadsafe(board.close)

    def _made(self, loop: asyncio.AbstractEventLoop) -> "Board | None":
        for other in [other for other in tuple(self._boards) if other.is_closed()]:
            self._boards.pop(other).close()
        try:
            board = self._boards[loop] = Board(loop)
        except (AttributeError, OSError):
            return None
        return board


class Board:
    """The pidfds of one loop's children, and what to do when one of them can be read."""

    __slots__ = ("_epoll", "_looks", "_loop")

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._epoll = select.epoll()
        self._looks: dict[int, Callable[[], None]] = {}
        # in a context of its own: the caller's is not to live as long as the loop
        contextvars.Context().run(loop.add_reader, self._epoll.fileno(), self._look)

    def add(self, pidfd: int, look: Callable[[], None]) -> None:
        """Call `look` for as long as `pidfd` can be read. Raises OSError."""
        self._epoll.register(pidfd, select.EPOLLIN)
        self._looks[pidfd] = look

    def remove(self, pidfd: int) -> None:
        """To be called before `pidfd` is closed: a clone of this process may have it, too."""
        del self._looks[pidfd]
        try:
            self._epoll.unregister(pidfd)
        except (OSError, ValueError):
            return  # it is not there, or the board is closed

    def close(self) -> None:
        if not self._loop.is_closed():
            self._loop.remove_reader(self._epoll.fileno())
        self._epoll.close()

    def _look(self) -> None:
        for pidfd, _ in self._epoll.poll(0, _AT_ONCE):
            if look := self._looks.get(pidfd):
                look()


class ExitWatch:
    """Calls `on_exit` once, on the loop, when the leader has exited and was reaped."""

    __slots__ = ("_board", "_leader", "_look_s", "_loop", "_on_exit", "_pidfd", "_timer")

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        board: Board | None,
        leader: Leader,
        on_exit: Callable[[], None],
    ) -> None:
        self._loop, self._board, self._leader, self._on_exit = loop, board, leader, on_exit
        self._timer: asyncio.TimerHandle | None = None
        self._look_s = FIRST_LOOK_S
        self._pidfd = self._watched(leader.pid)
        if self._pidfd is None:
            self._look_later()

    def stop(self) -> None:
        self._on_exit = _nothing  # which may know of this watch
        if self._timer is not None:
            self._timer.cancel()
        if self._pidfd is None or self._board is None:
            return
        self._board.remove(self._pidfd)
        os.close(self._pidfd)
        self._pidfd = None

    def _watched(self, pid: int) -> int | None:
        if self._board is None:
            return None
        pidfd = _pidfd(pid)
        if pidfd is None:
            return None
        try:
            self._board.add(pidfd, self._look)
        except OSError:
            os.close(pidfd)
            return None
        return pidfd

    def _look(self) -> None:
        if self._leader.has_exited():
            on_exit = self._on_exit
            self.stop()
            on_exit()
        elif self._pidfd is None:
            self._look_later()

    def _look_later(self) -> None:
        self._timer = self._loop.call_later(self._look_s, self._look)
        self._look_s = min(2 * self._look_s, LAST_LOOK_S)


def _nothing() -> None:
    pass


def _pidfd(pid: int) -> int | None:
    try:
        return os.pidfd_open(pid)
    except (AttributeError, OSError):
        return None
