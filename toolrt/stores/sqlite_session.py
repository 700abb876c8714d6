"""One transaction of the embedded store, as pieces of work are given it."""

import sqlite3
from collections.abc import Iterable

from toolrt.stores.base import ForbiddenChangeError, Row


class SqliteSession:
    """One transaction on a connection."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    def rows(self, sql: str, *parameters: object) -> list[Row]:
        return self._connection.execute(sql, parameters).fetchall()

    def row(self, sql: str, *parameters: object) -> Row | None:
        found: Row | None = self._connection.execute(sql, parameters).fetchone()
        return found

    def change(self, sql: str, *parameters: object) -> int:
        return self._connection.execute(sql, parameters).rowcount

    def names(self) -> set[str]:
        rows = self.rows("SELECT name FROM sqlite_master WHERE type IN ('table', 'trigger')")
        return {name for (name,) in rows}

    def many(self, sql: str, rows: Iterable[Iterable[object]]) -> None:
        self._connection.executemany(sql, [tuple(row) for row in rows])


class ReadingSession(SqliteSession):
    """One that changes nothing."""

    def change(self, sql: str, *_parameters: object) -> int:
        raise ForbiddenChangeError(f"a change while only reading: {sql}")

    def many(self, sql: str, rows: Iterable[Iterable[object]]) -> None:
        self.change(sql, *rows)
