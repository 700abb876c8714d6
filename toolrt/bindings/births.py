"""Which processes were born since a child of ours: none of them may be of its making.

The system numbers processes in turn and tells the youngest, threads among them. Where every number
since that of a child belongs to other children of ours, the child has started nobody: there are no
processes that it could have left behind. Where somebody else was born meanwhile, nothing is known.
"""

import os
import threading
import time

_BIRTHS = "/proc/loadavg"
"""Its last word is the number of the youngest process."""
_LINE = 256
_MOST = 64
"""Births that one child is followed through, and the children of ours that are remembered."""
_LONGEST_S = 0.1
"""Before that the numbers cannot have come round to where they were: there are 32768 at least."""


class Births:
    """Tells of births from whatever thread.

    That is asked of each child, so the file that knows stays open: to look the children up costs
    as much as half of the whole start.
    """

    __slots__ = ("_file", "_lock", "_ours")

    def __init__(self) -> None:
        self._file = -1
        self._lock = threading.Lock()
        self._ours: dict[int, float] = {}

    def note(self, pid: int) -> None:
        """This child of ours was just born."""
        with self._lock:
            self._ours.pop(pid, None)
            if len(self._ours) >= _MOST:
                del self._ours[next(iter(self._ours))]
            self._ours[pid] = time.monotonic()

    def is_last(self, pid: int) -> bool:
        """Whether a process is the youngest of the system, and so has no children yet.

        False as well where the system does not say.
        """
        return self._youngest() == pid

    def has_left_none(self, pid: int) -> bool:
        """Whether a child of ours that is over has certainly started no process.

        False as well where that is not known.
        """
        last, ours = self._youngest(), self._ours
        born = ours.get(pid)
        if born is None or not 0 <= last - pid <= _MOST or time.monotonic() - born > _LONGEST_S:
            return False
        return all(ours.get(other, 0.0) >= born for other in range(pid + 1, last + 1))

    def close(self) -> None:
        with self._lock:
            if self._file >= 0:
                os.close(self._file)
            self._file = -1

    def _youngest(self) -> int:
        """Below zero where the system does not say."""
        try:
            return int(os.pread(self._opened(), _LINE, 0).rpartition(b" ")[2])
        except (OSError, ValueError):
            return -1

    def _opened(self) -> int:
        if self._file < 0:
            with self._lock:
                if self._file < 0:
                    self._file = os.open(_BIRTHS, os.O_RDONLY)
        return self._file
