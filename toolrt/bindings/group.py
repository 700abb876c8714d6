"""A child as the leader of its process group: has it ended, how, and is anybody left of it.

The part of `process` that talks to the kernel about pids. A group's number stays taken while any
member lives, so after the leader is reaped a signal can meet nobody but its own descendants.
"""

import errno
import os
from contextlib import suppress
from typing import ClassVar

LOST = 256
"""The status of a child that somebody else has waited for."""

FIRST_LOOK_S, LAST_LOOK_S = 0.001, 0.02
"""Where looking again and again is the only way: the first pause, and the longest."""


class Leader:
    """Our child, the first of its group. `status` is its exit code, minus a signal, or `LOST`.

    `ends_all` says that whatever it has started ends with it.
    """

    __slots__ = ("pid", "status")
    ends_all: ClassVar[bool] = False

    def __init__(self, pid: int) -> None:
        self.pid = pid
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
            self.status = LOST
            return
        if pid:
            self.status = os.waitstatus_to_exitcode(status)
