"""A child as the leader of its process group: has it ended, how, and is anybody left of it.

The part of `process` that talks to the kernel about pids. A group's number stays taken while any
member lives, so after the leader is reaped a signal can meet nobody but its own descendants.
"""

import asyncio
import errno
import os
import subprocess
from collections.abc import Callable
from contextlib import suppress

LOST = 256
"""The status of a child that somebody else has waited for."""

FIRST_LOOK_S, LAST_LOOK_S = 0.001, 0.02
"""Where looking again and again is the only way: the first pause, and the longest."""


class Leader:
    """Our child, the first of its group. `status` is its exit code, minus a signal, or `LOST`."""

    __slots__ = ("_child", "pid", "status")

    def __init__(self, child: "subprocess.Popen[bytes]") -> None:
        self._child, self.pid = child, child.pid
        self.status: int | None = None

    def has_exited(self) -> bool:
        """Whether it is over; if so it is reaped now."""
        if self.status is None:
            self._reap()
        return self.status is not None

    def is_group_gone(self) -> bool:
        """Whether neither the leader nor anybody in its group is left."""
        if not self.has_exited():
            return False
        self._reap_adopted()
        try:
            os.killpg(self.pid, 0)
        except OSError as error:
            return error.errno == errno.ESRCH
        return False

    def signal_group(self, number: int) -> None:
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self.pid, number)

    def _reap_adopted(self) -> None:
        """Orphans of the group are ours where this process is the init or a subreaper."""
        with suppress(ChildProcessError):
            while os.waitpid(-self.pid, os.WNOHANG)[0]:
                pass

    def _reap(self) -> None:
        try:
            pid, status = os.waitpid(self.pid, os.WNOHANG)
        except ChildProcessError:
            self.status = self._child.returncode = LOST
            return
        if pid:
            self.status = self._child.returncode = os.waitstatus_to_exitcode(status)


class ExitWatch:
    """Calls `on_exit` once, on the loop, when the leader has exited and was reaped.

    By pidfd; where the system has none, by looking every 20 ms.
    """

    __slots__ = ("_leader", "_look_s", "_loop", "_on_exit", "_pidfd", "_timer")

    def __init__(
        self, loop: asyncio.AbstractEventLoop, leader: Leader, on_exit: Callable[[], None]
    ) -> None:
        self._loop, self._leader, self._on_exit = loop, leader, on_exit
        self._timer: asyncio.TimerHandle | None = None
        self._look_s = FIRST_LOOK_S
        self._pidfd = _pidfd(leader.pid)
        if self._pidfd is None:
            self._look_later()
        else:
            loop.add_reader(self._pidfd, self._look)

    def stop(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
        if self._pidfd is None:
            return
        if not self._loop.is_closed():
            self._loop.remove_reader(self._pidfd)
        os.close(self._pidfd)
        self._pidfd = None

    def _look(self) -> None:
        if self._leader.has_exited():
            self.stop()
            self._on_exit()
        elif self._pidfd is None:
            self._look_later()

    def _look_later(self) -> None:
        self._timer = self._loop.call_later(self._look_s, self._look)
        self._look_s = min(2 * self._look_s, LAST_LOOK_S)


def _pidfd(pid: int) -> int | None:
    try:
        return os.pidfd_open(pid)
    except (AttributeError, OSError):
        return None
