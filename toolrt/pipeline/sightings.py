"""What callers have seen of things that tools change: which version, by which tool (`freshness`).

Kept by session: those of one conversation are not those of another. Where there is no session, all
calls of a principal and tenant are one. What was told a version outlives the process.
"""

import asyncio
import logging
from collections import OrderedDict
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from hashlib import sha256
from itertools import count
from typing import Final

from toolrt.core.calls import Caller
from toolrt.core.errors import RefusedError
from toolrt.pipeline.turns import Queue
from toolrt.schemas.canonical import canonical_json
from toolrt.stores.base import StoreError
from toolrt.stores.sightings import KeptSightings

log = logging.getLogger("toolrt")

MOST_SESSIONS: Final = 1000
MOST_EACH: Final = 500
"""Things that one session is known to have seen; those seen longest ago go first."""


@dataclass(frozen=True, slots=True)
class Seen:
    """One thing as it was seen; `version` is None where nobody told it."""

    number: int
    version: str | None


class Sightings:
    """The memory of one runtime."""

    def __init__(self, store: KeptSightings | None = None) -> None:
        self._store = store
        self._numbers = count(1)
        self._sessions: OrderedDict[str, OrderedDict[str, Seen]] = OrderedDict()
        self._changed: set[str] = set()
        self._queues: dict[str, Queue] = {}

    async def ready(self, caller: Caller) -> str:
        """The session of a caller, with what an earlier process has left of it."""
        session = _session(caller)
        if session in self._sessions:
            self._sessions.move_to_end(session)
            return session
        left = await self._left(session)
        things = self._sessions.setdefault(session, OrderedDict())
        for thing, version in left.items():
            things.setdefault(thing, Seen(0, version))
        while len(self._sessions) > MOST_SESSIONS:
            gone, _ = self._sessions.popitem(last=False)
            self._changed.discard(gone)
        return session

    def last(self, session: str, readers: Iterable[str], resource: str) -> Seen | None:
        """How a session has seen something last, by one of the tools."""
        things = self._things(session)
        found = (things.get(_thing(reader, resource)) for reader in readers)
        return max((each for each in found if each), key=lambda each: each.number, default=None)

    def saw(self, session: str, reader: str, resource: str, version: str | None) -> None:
        """Remember what a session has seen."""
        things = self._things(session)
        thing = _thing(reader, resource)
        things[thing] = Seen(next(self._numbers), version)
        things.move_to_end(thing)
        if len(things) > MOST_EACH:
            things.popitem(last=False)
        self._changed.add(session)

    def changed(
        self, session: str, readers: Iterable[str], resource: str, version: str | None
    ) -> None:
        """A session has changed something: that is what it has seen of it now.

        Without a version, what was seen before is worth nothing any more; that of all others is
        not, where nothing but our word says so.
        """
        for reader in readers:
            thing = _thing(reader, resource)
            for other, things in self._sessions.items():
                known = things.get(thing)
                if other != session and known is not None and known.version is None:
                    del things[thing]
            known = self._things(session).get(thing)
            if version is not None or known is None or known.version is None:
                self.saw(session, reader, resource, version)
            else:
                del self._things(session)[thing]
                self._changed.add(session)

    @asynccontextmanager
    async def turn(self, resource: str, left_s: float) -> AsyncIterator[None]:
        """Be the only call that changes it. Raises RefusedError where others take too long."""
        queue = self._queues.setdefault(resource, Queue(1))
        try:
            await _entered(queue, left_s)
            try:
                yield
            finally:
                queue.leave()
        finally:
            if not queue.running:
                self._queues.pop(resource, None)

    async def close(self) -> None:
        """Leave to the next process what was seen since the last."""
        left = {
            session: {
                thing: seen.version
                for thing, seen in self._sessions[session].items()
                if seen.version is not None
            }
            for session in self._changed
        }
        if self._store is None or not left:
            return
        try:
            await self._store.keep(left)
        except StoreError as error:
            self._give_up(error)

    def _things(self, session: str) -> OrderedDict[str, Seen]:
        return self._sessions.setdefault(session, OrderedDict())

    async def _left(self, session: str) -> dict[str, str]:
        if self._store is None:
            return {}
        try:
            return await self._store.of(session)
        except StoreError as error:
            self._give_up(error)
            return {}

    def _give_up(self, error: StoreError) -> None:
        log.warning("what callers have seen is kept in memory only: %s", error.message)
        self._store = None


async def _entered(queue: Queue, left_s: float) -> None:
    try:
        async with asyncio.timeout(max(0.0, left_s)):
            await queue.enter()
    except TimeoutError:
        message = "other calls were changing the same thing all the time"
        hint = "nothing was changed; try again"
        raise RefusedError(message, code="timeout", hint=hint, retryable=True) from None


def _session(caller: Caller) -> str:
    whole = [caller.tenant, caller.principal, caller.session]
    return sha256(canonical_json(whole)).hexdigest()


def _thing(reader: str, resource: str) -> str:
    return sha256(canonical_json([reader, resource])).hexdigest()
