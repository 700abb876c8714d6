"""The HOME of children: an empty folder for each run, which nobody finds again (S5).

A program may leave settings there that would make the next run do something else, and a process
that outlives its run may hold the folder open for as long as it likes, under whatever name it goes.
Such folders are never lent again. Those of runs that are over are removed together, a moment later
and on a thread, since making and removing one takes a disk some time; for the same reason a folder
is kept for the next run where it is as empty as it was lent and certainly no process was left.

All stand in one folder of the runtime, which goes when that is closed or this process exits; where
a process was killed first, the next that starts a child removes it.
"""

import asyncio
import fcntl
import os
import shutil
import stat
import tempfile
import threading
import time
import weakref

from toolrt.core.errors import BindingError

_PREFIX = "toolrt-home-"
_MODE = stat.S_IFDIR | 0o700
_LATER_S = 6.0
"""Longer than a group of processes may take to end."""
_TIDY_S = 0.1
"""How long the folder of a run that is over may stay."""


class Homes:
    """Lends a folder to each run, from whatever thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._free: list[str] = []
        self._over: list[str] = []
        self._base: str | None = None
        self._place, self._tidy_at = (0, 0), 0.0
        self._end: weakref.finalize[[str, int, int], Homes] | None = None

    def lend(self) -> str:
        """An empty folder. Raises BindingError `unavailable` where none can be written."""
        if not self._is_in_place():
            self._forget()
        while home := self._next():
            if _is_as_new(home):
                return home
            self.take_back(home)
        try:
            return self._made()
        except FileNotFoundError:  # somebody cleaned up around us
            self._forget()
        except OSError as error:
            raise _no_folder() from error
        try:
            return self._made()
        except OSError as error:
            raise _no_folder() from error

    def take_back(self, home: str) -> None:
        """The run is over: its folder goes in a moment, with all others."""
        self._take(home, self._over)

    def lend_again(self, home: str) -> None:
        """The same for a run that has left no process: its folder stays where it is empty.

        That is looked at when it is wanted, or in a moment with all others.
        """
        self._take(home, self._free)

    def take_back_soon(self, home: str) -> None:
        """The same for a run that nobody waits for: its processes may take a while to end."""
        asyncio.get_running_loop().call_later(_LATER_S, self.take_back, home)

    async def close(self) -> None:
        """Remove everything that was ever lent."""
        self._forget()

    def _take(self, home: str, kept: list[str]) -> None:
        if not home.startswith(f"{self._base}/"):
            return  # nothing of ours is to be found by that name
        kept.append(home)
        now = time.monotonic()
        if now < self._tidy_at:
            return
        self._tidy_at = now + _TIDY_S
        try:
            asyncio.get_running_loop().call_later(_TIDY_S, self._tidy)
        except RuntimeError:  # its loop went before it did
            self._tidy()

    def _tidy(self) -> None:
        """Remove the folders of runs that are over, for which nobody has to wait."""
        if not self._is_in_place():
            return
        for home in list(iter(self._next, None)):
            (self._free if _is_as_new(home) else self._over).append(home)
        if self._over:
            threading.Thread(target=_remove_all, args=(self._over,), daemon=True).start()

    def _next(self) -> str | None:
        """The folder that may be lent again and came back last, if there is any."""
        try:
            return self._free.pop()
        except IndexError:
            return None

    def _made(self) -> str:
        """No name is to be guessed, so that what still runs has nothing ready under the next."""
        home = f"{self._base or self._begin()}/{os.urandom(8).hex()}"
        os.mkdir(home, 0o700)  # noqa: PTH102 (no Path object for each run)
        return home

    def _is_in_place(self) -> bool:
        """Whether the folder of all homes is the one that was made, and not a link of some run."""
        if self._base is None:
            return False
        try:
            return _place_of(os.lstat(self._base)) == self._place
        except OSError:
            return False

    def _begin(self) -> str:
        with self._lock:
            if self._base is None:
                base = tempfile.mkdtemp(prefix=_PREFIX)
                lock = _locked(base)
                self._place = _place_of(os.fstat(lock))
                self._end = weakref.finalize(self, _end, base, lock, os.getpid())
                self._base = base
                parent = os.path.dirname(base)  # noqa: PTH120 (plain texts)
                threading.Thread(target=_sweep, args=(parent,), daemon=True).start()
            return self._base

    def _forget(self) -> None:
        with self._lock:
            if self._end is not None:
                self._end()
            self._base = self._end = None
            self._free, self._over = [], []


def _place_of(status: os.stat_result) -> tuple[int, int]:
    return status.st_dev, status.st_ino


def _is_as_new(home: str) -> bool:
    try:
        return os.lstat(home).st_mode == _MODE and not os.listdir(home)  # noqa: PTH208 (each run)
    except OSError:
        return False


def _end(base: str, lock: int, owner: int) -> None:
    if os.getpid() == owner:
        _remove(base)
        os.close(lock)


def _locked(folder: str) -> int:
    """A descriptor of the folder that is locked for as long as this process lives.

    Raises OSError, BlockingIOError when another process lives and holds it.
    """
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(descriptor)
        raise
    return descriptor


def _sweep(parent: str) -> None:
    """Remove what processes of ours that were killed could not."""
    try:
        entries = [entry for entry in os.scandir(parent) if entry.name.startswith(_PREFIX)]
    except OSError:
        return
    for entry in entries:
        try:
            if entry.stat(follow_symlinks=False).st_uid != os.getuid():
                continue
            lock = _locked(entry.path)
        except OSError:
            continue
        _remove(entry.path)
        os.close(lock)


def _remove_all(homes: list[str]) -> None:
    while True:
        try:
            home = homes.pop()
        except IndexError:
            return
        try:
            os.rmdir(home)  # noqa: PTH106 (plain texts); most are as empty as they were lent
        except OSError:
            _remove(home)


def _remove(folder: str) -> None:
    """Remove a folder, never what a link in its place or inside it leads to."""
    try:
        os.unlink(folder)  # noqa: PTH108 (plain texts)
    except OSError:
        shutil.rmtree(folder, ignore_errors=True)


def _no_folder() -> BindingError:
    return BindingError(
        "it needs a folder for temporary files, and none can be written",
        code="unavailable",
        hint="the operator can name one that can be written in the variable TMPDIR",
        sent="never",
    )
