"""How a run in a sandbox ends: the child that we see is bubblewrap's, and the program is behind it.

Below the child stands the first process of the sandbox (its init), below that the program and all
that it has started, whatever sessions they have made: with the init all of it ends, and the kernel
lets the init go last.
"""

import os
import signal
from collections.abc import Iterator
from contextlib import suppress
from typing import ClassVar

from toolrt.bindings.group import Leader
from toolrt.bindings.limits import children

_TOLD_BY_CODE = frozenset({signal.SIGHUP, signal.SIGINT, signal.SIGPIPE})
"""128 and one of these are codes that programs choose themselves."""
_FIRST, _LAST = 128 + 1, 128 + 64


class SandboxLeader(Leader):
    """Bubblewrap's own process, first of its group. `codes` are exit codes that count as success.

    Bubblewrap says 128+n of a program that signal n has ended, and a program may say that as well;
    here it is the signal, except for codes of success and those that programs choose themselves.
    """

    __slots__ = ("_codes",)
    ends_all: ClassVar[bool] = True

    def __init__(self, pid: int, codes: frozenset[int]) -> None:
        super().__init__(pid)
        self._codes = codes

    def signal_group(self, number: int) -> None:
        """TERM is for the program and what it has started: the walls stay until they are gone."""
        inside = list(_inside(self.pid)) if number == signal.SIGTERM else []
        for pid in inside:
            with suppress(ProcessLookupError, PermissionError):
                os.kill(pid, number)
        if not inside:
            super().signal_group(number)

    def _reap(self) -> None:
        super()._reap()
        status = self.status
        if status is None or not _FIRST <= status <= _LAST or status in self._codes:
            return
        if status - 128 not in _TOLD_BY_CODE:
            self.status = 128 - status


def _inside(pid: int) -> Iterator[int]:
    for init in children(pid):
        for child in children(init):
            yield from _family(child)


def _family(pid: int) -> Iterator[int]:
    yield pid
    for child in children(pid):
        yield from _family(child)
