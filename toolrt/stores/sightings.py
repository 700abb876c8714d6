"""What callers have seen, for the next process: by session, the versions of things.

Names of both are digests. A version that is out of date does no harm: it is compared again.
"""

from collections.abc import Mapping
from typing import Final

from toolrt.stores.base import Database, Session
from toolrt.stores.moments import Moments

KEPT_S: Final = 7 * 24 * 3600.0


class KeptSightings:
    """The sightings in one database. All of it may raise StoreError."""

    def __init__(self, database: Database, moments: Moments) -> None:
        self._database = database
        self._moments = moments

    async def of(self, session: str) -> dict[str, str]:
        """What a session has seen: the version of each thing."""
        sql = "SELECT thing, version FROM sightings WHERE session = ?"
        rows = await self._database.read(lambda found: found.rows(sql, session))
        return {str(thing): str(version) for thing, version in rows}

    async def keep(self, seen: Mapping[str, Mapping[str, str]]) -> None:
        """Write what these sessions have seen, and forget those of long ago."""
        now = self._moments.now().wall

        def work(session: Session) -> None:
            session.change("DELETE FROM sightings WHERE at < ?", now - KEPT_S)
            for name, things in seen.items():
                session.change("DELETE FROM sightings WHERE session = ?", name)
                session.many(_INSERT, [(name, *each, now) for each in things.items()])

        await self._database.run(work)


_INSERT = "INSERT INTO sightings (session, thing, version, at) VALUES (?, ?, ?, ?)"
