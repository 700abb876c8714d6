"""Definitions of foreign tools as they were first seen here, for the next process to compare.

A definition is JSON text; what it means stands in `catalog/sources`. One that is kept stays until
somebody approves another.
"""

from collections.abc import Iterable
from typing import NamedTuple

from toolrt.stores.base import Database, Session
from toolrt.stores.moments import Moments


class StoredPin(NamedTuple):
    """One tool of one source, the digest of what was seen, and that itself as JSON."""

    source: str
    tool: str
    digest: str
    definition: str


class KeptPins:
    """The pins in one database. All of it may raise StoreError."""

    def __init__(self, database: Database, moments: Moments) -> None:
        self._database = database
        self._moments = moments

    async def all(self) -> list[StoredPin]:
        """Everything that was ever pinned, in order."""
        sql = "SELECT source, tool, digest, definition FROM pins ORDER BY source, tool"
        rows = await self._database.read(lambda session: session.rows(sql))
        return [StoredPin(*map(str, row)) for row in rows]

    async def keep(self, pins: Iterable[StoredPin]) -> None:
        """Pin what was not pinned before; what was seen first stays."""
        now, rows = self._moments.now().wall, list(pins)
        if rows:
            await self._database.run(
                lambda session: session.many(_INSERT, [(*each, now) for each in rows])
            )

    async def replace(self, pins: Iterable[StoredPin]) -> None:
        """Pin what somebody has approved, whatever was pinned before."""
        now, rows = self._moments.now().wall, list(pins)

        def work(session: Session) -> None:
            session.many(_DELETE, [each[:2] for each in rows])
            session.many(_INSERT, [(*each, now) for each in rows])

        await self._database.run(work)


_INSERT = """INSERT INTO pins (source, tool, digest, definition, at) VALUES (?, ?, ?, ?, ?)
  ON CONFLICT (source, tool) DO NOTHING"""
_DELETE = "DELETE FROM pins WHERE source = ? AND tool = ?"
