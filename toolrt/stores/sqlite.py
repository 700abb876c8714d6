"""The embedded store: one SQLite file, one thread, one durable transaction after another.

A commit has reached the disk before anyone hears of it (WAL with `synchronous=FULL`). The file is
made whole at once under a passing name, so whatever stands at its place is complete or broken;
broken, foreign or newer files are refused and never replaced.
"""

import asyncio
import os
import sqlite3
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import TypeVar

from toolrt.stores.base import ForbiddenChangeError, Problem, Session, StoreError
from toolrt.stores.private import (
    check_plain,
    close_to_others,
    identity_of,
    is_there,
    make_folder,
    new_file,
    reaching,
)
from toolrt.stores.sqlite_session import ReadingSession, SqliteSession
from toolrt.stores.tables import APPLICATION_ID, MIGRATIONS, VERSION, Guard, Statement

T = TypeVar("T")

_PROBLEMS: dict[int, tuple[Problem, str]] = {
    sqlite3.SQLITE_BUSY: ("locked", "another process has held it for too long: end or wait for it"),
    sqlite3.SQLITE_LOCKED: ("locked", "another process has held it for too long: end it"),
    sqlite3.SQLITE_PROTOCOL: ("locked", "other processes have held it for too long: end them"),
    sqlite3.SQLITE_FULL: ("full", "make room on its disk"),
    sqlite3.SQLITE_CORRUPT: ("corrupt", "bring it back from a backup, or move it away"),
    sqlite3.SQLITE_NOTADB: ("corrupt", "bring it back from a backup, or move it away"),
    sqlite3.SQLITE_CANTOPEN: ("unreachable", "check that its folder is there and may be written"),
    sqlite3.SQLITE_READONLY: ("unreachable", "check that it and its folder may be written"),
    sqlite3.SQLITE_PERM: ("unreachable", "check that it and its folder may be written"),
    sqlite3.SQLITE_IOERR: ("unreachable", "check its disk: room, quota, limits and health"),
}
_LEAST_S = 0.02
"""How long work waits for other processes in any case."""
_SHORTEST_S, _LONGEST_S = 0.0005, 0.004
"""How long it waits between two looks."""
_TO_CHANGE = "BEGIN IMMEDIATE"
_LOOK_S = 1.0
_SEALED = (
    "SELECT 1 FROM meta WHERE name IN ('key', 'journal') UNION ALL SELECT 1 FROM journal_heads"
    " UNION ALL SELECT 1 FROM approvals UNION ALL SELECT 1 FROM grants LIMIT 1"
)
_GONE = "no such "  # how SQLite begins to say that a table or a column is missing
_ELSEWHERE = "name another file under `state` in toolrt.yaml"

_open_here: list[tuple[int, Path]] = []
"""The files that are open, and in which process: SQLite's locks do not survive a fork."""


class SqliteDatabase:
    """The tables in the file at `path`, which is made on first use, as is its folder.

    `busy_s`: how long to wait for other processes, in seconds. Open it after forking: a process
    that was forked from one that had the file open is refused.
    """

    def __init__(self, path: Path, *, busy_s: float = 5.0) -> None:
        self.path = path.absolute()
        self._busy_s = busy_s
        self._thread = ThreadPoolExecutor(1, "toolrt-store")
        self._connection: sqlite3.Connection | None = None
        self._identity: tuple[int, int] | None = None
        self._pid: int | None = None
        self._is_closed = False
        self._locked_at = 0.0

    async def run(self, work: Callable[[Session], T]) -> T:
        since = time.monotonic()
        return await self._aside(lambda: self._transact(_TO_CHANGE, SqliteSession, work, since))

    async def read(self, work: Callable[[Session], T]) -> T:
        since = time.monotonic()
        return await self._aside(lambda: self._transact("BEGIN", ReadingSession, work, since))

    async def close(self) -> None:
        if self._is_closed:
            return
        self._is_closed = True
        try:
            if self._pid == os.getpid():
                await asyncio.get_running_loop().run_in_executor(self._thread, self._let_go)
        finally:
            self._thread.shutdown(wait=False)

    async def _aside(self, call: Callable[[], T]) -> T:
        if self._is_closed:
            raise StoreError("unreachable", f"{self.path} has been closed")
        self._pid = self._pid or os.getpid()
        if self._pid != os.getpid():
            raise _forked(self.path)
        return await asyncio.get_running_loop().run_in_executor(self._thread, call)

    def _transact(
        self, begin: str, kind: "type[SqliteSession]", work: Callable[[Session], T], since: float
    ) -> T:
        with self._translated():
            patience_s = self._patience_s(since)
            connection = self._connected(patience_s)
            try:
                _begin(connection, begin, patience_s)
                value = work(kind(connection))
                connection.execute("COMMIT")
            except StopIteration as error:  # cannot travel through a future
                raise RuntimeError("the work of a transaction ran out") from error
            finally:
                if connection.in_transaction:
                    with suppress(sqlite3.Error):
                        connection.execute("ROLLBACK")
            return value

    def _patience_s(self, since: float) -> float:
        """How long work that has been there `since` waits for other processes.

        A lock that work before it was refused for meanwhile counts: all wait for it at once.
        """
        waited_s = time.monotonic() - since if since < self._locked_at else 0.0
        return max(self._busy_s - waited_s, _LEAST_S)

    def _connected(self, patience_s: float) -> sqlite3.Connection:
        if self._connection is None:
            self._connection = opened(self.path, patience_s)
            self._identity = identity_of(self.path)
            _open_here.append((os.getpid(), self.path))
        elif self._identity != identity_of(self.path):  # a commit would go where nobody looks
            raise StoreError(
                "unreachable",
                f"{self.path} was moved, deleted or replaced while it was in use",
                hint="bring it back, or go on with what is there now: the next call opens that",
            )
        return self._connection

    def _let_go(self) -> None:
        if self._connection is None:
            return
        self._connection.close()
        self._connection = None
        _open_here.remove((os.getpid(), self.path))

    @contextmanager
    def _translated(self) -> Iterator[None]:
        """SQLite's errors as ours; a connection whose disk or file failed is not used again."""
        try:
            with translated(self.path):
                yield
        except StoreError as error:
            if error.problem == "locked":
                self._locked_at = time.monotonic()
            if error.problem in {"corrupt", "unreachable"}:
                with suppress(sqlite3.Error):
                    self._let_go()
            raise


def _begin(connection: sqlite3.Connection, begin: str, patience_s: float) -> None:
    """Begin, and wait for other processes before a change.

    SQLite would look ten times a second at most, and meanwhile others come first again and again.
    """
    if begin != _TO_CHANGE:
        connection.execute(f"PRAGMA busy_timeout = {int(1000 * patience_s)}")
        connection.execute(begin)
        return
    connection.execute("PRAGMA busy_timeout = 0")
    since, pause_s = time.monotonic(), _SHORTEST_S
    while not _has_begun(connection, is_last=time.monotonic() - since >= patience_s):
        time.sleep(pause_s)
        pause_s = min(1.5 * pause_s, _LONGEST_S)
    connection.execute(f"PRAGMA busy_timeout = {int(1000 * patience_s)}")


def _has_begun(connection: sqlite3.Connection, *, is_last: bool) -> bool:
    try:
        connection.execute(_TO_CHANGE)
    except sqlite3.OperationalError as error:
        if is_last or error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY:
            raise
        return False
    return True


def opened(path: Path, busy_s: float) -> sqlite3.Connection:
    """A connection to the file, made or migrated where needed. Raises `StoreError`."""
    if any(pid != os.getpid() and path == held for pid, held in _open_here):
        raise _forked(path)
    make_folder(path.parent)
    check_plain(path, *_beside(path))
    with reaching(path):
        if not path.exists():
            _create(path, busy_s)
        is_empty = path.stat().st_size == 0
    if is_empty:
        raise StoreError("corrupt", f"{path} is empty", hint=_PROBLEMS[sqlite3.SQLITE_CORRUPT][1])
    close_to_others(path)
    connection = _connect(path, busy_s)
    try:
        _check_origin(connection, path)
        _migrate(connection, path)
    except BaseException:
        connection.close()
        raise
    return connection


def is_sealed(path: Path) -> bool:
    """Whether the file holds anything that was made with the lasting key. Raises `StoreError`.

    For where that key is gone: it looks by a connection of its own, whatever else is going on.
    """
    if not is_there(path):
        return False
    with translated(path), closing(_connect(path, _LOOK_S)) as connection:
        found = connection.execute(_SEALED).fetchone()
    return found is not None


def _beside(path: Path) -> tuple[Path, Path]:
    """The log of the file, which holds a part of it, and the index of the log."""
    return path.with_name(f"{path.name}-wal"), path.with_name(f"{path.name}-shm")


@contextmanager
def translated(path: Path) -> Iterator[None]:
    """Tell SQLite's errors about the file as `StoreError`; those about our statements are bugs."""
    try:
        yield
    except sqlite3.IntegrityError as error:
        raise ForbiddenChangeError(str(error)) from error
    except sqlite3.Error as error:
        problem, hint = _problem(error)
        if problem is None:
            raise
        raise StoreError(problem, f"{path} is {problem}: {error}", hint=hint) from error


def _problem(error: sqlite3.Error) -> tuple[Problem, str] | tuple[None, None]:
    code = getattr(error, "sqlite_errorcode", -1)  # none for those of the module itself
    if code == sqlite3.SQLITE_ERROR and str(error).startswith(_GONE):
        return _PROBLEMS[sqlite3.SQLITE_CORRUPT]
    return _PROBLEMS.get(code & 0xFF, (None, None))


def _forked(path: Path) -> StoreError:
    return StoreError(
        "unreachable",
        f"{path} was opened before this process was forked",
        hint="open the project in the process that uses it, after the fork",
    )


def _create(path: Path, busy_s: float) -> None:
    """Make the file whole; should another process do the same at once, one of the two stays."""
    left, _ = _beside(path)
    if left.exists() and not path.exists():
        raise StoreError(
            "corrupt",
            f"{path} is gone, but {left.name} beside it still holds a part of it",
            hint="bring back the file from a backup, or move the other one away",
        )
    with new_file(path) as draft, closing(_connect(draft, busy_s)) as connection:
        connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
        connection.execute("PRAGMA journal_mode = WAL")
        _migrate(connection, path)
        connection.close()


def _connect(path: Path, busy_s: float) -> sqlite3.Connection:
    connection = sqlite3.connect(
        f"{path.as_uri()}?mode=rw", uri=True, timeout=busy_s, isolation_level=None
    )
    for setting in (
        "synchronous = FULL",
        "fullfsync = ON",  # macOS: through the disk's own cache
        "foreign_keys = ON",
        "secure_delete = ON",  # what is erased is overwritten
        "trusted_schema = OFF",
    ):
        connection.execute(f"PRAGMA {setting}")
    return connection


def _check_origin(connection: sqlite3.Connection, path: Path) -> None:
    (origin,) = connection.execute("PRAGMA application_id").fetchone()
    if origin != APPLICATION_ID:
        raise StoreError("foreign", f"{path} belongs to another program", hint=_ELSEWHERE)
    (mode,) = connection.execute("PRAGMA journal_mode = WAL").fetchone()
    if mode != "wal":
        message = f"{path} is on a file system where nothing can be kept safely (no WAL)"
        raise StoreError("unreachable", message, hint=_ELSEWHERE)


def _migrate(connection: sqlite3.Connection, path: Path) -> None:
    """Bring the tables up to date; all of it or, on any error, nothing."""
    if _version(connection, path) == VERSION:
        return
    connection.execute("BEGIN IMMEDIATE")
    try:
        for migration in MIGRATIONS[_version(connection, path) :]:
            for statement in migration:
                connection.execute(_ddl(statement))
        connection.execute(f"PRAGMA user_version = {VERSION}")
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise


def _version(connection: sqlite3.Connection, path: Path) -> int:
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    if version > VERSION:
        raise StoreError(
            "newer",
            f"{path} was written by a later version of toolrt"
            f" (tables {version}, this one knows {VERSION})",
            hint=f"upgrade toolrt, or {_ELSEWHERE}",
        )
    return int(version)


def _ddl(statement: Statement) -> str:
    if not isinstance(statement, Guard):
        return statement
    return (
        f"CREATE TRIGGER {statement.name} BEFORE {statement.event} ON {statement.table}"
        f" WHEN {statement.when} BEGIN SELECT RAISE(ABORT, '{statement.message}'); END"
    )
