"""What a runtime remembers: its database, the lasting key, and the approvals kept there.

Nothing is opened or made until something is to be remembered.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from toolrt.core.clock import Clock, SystemClock
from toolrt.core.redaction import Redactor
from toolrt.manifest import project as manifest
from toolrt.manifest.project import ProjectFile
from toolrt.observe.journal import Journal
from toolrt.pipeline.memory import Memory
from toolrt.pipeline.recollection import Recollection
from toolrt.pipeline.spilling import Spills
from toolrt.policy.questions import Questions
from toolrt.stores import approval_retention, breakers
from toolrt.stores.base import Database, Session
from toolrt.stores.cache import KeptAnswers
from toolrt.stores.conversations import KeptConversations
from toolrt.stores.idempotency import KeyedCalls
from toolrt.stores.key import given_key, lasting_key
from toolrt.stores.moments import Moment, Moments, SystemMoments
from toolrt.stores.pins import KeptPins, StoredPin
from toolrt.stores.plans import PlanRuns
from toolrt.stores.private import is_there
from toolrt.stores.sightings import KeptSightings
from toolrt.stores.sqlite import SqliteDatabase, is_sealed

DEFAULT_STATE = ".toolrt/state.db"


@dataclass(frozen=True, slots=True)
class State:
    """The memory of one runtime."""

    database: Database
    memory: Memory
    key: Callable[[], bytes]
    pins: KeptPins

    @classmethod
    def of(
        cls,
        root: Path,
        project: ProjectFile,
        clock: Clock | None = None,
        redactor: Redactor | None = None,
    ) -> "State":
        """The state that the project names; the built-in is one SQLite file in its folder.

        `clock` stands in for the machine's clocks, in tests.
        """
        path = root / (project.state or DEFAULT_STATE)
        database = SqliteDatabase(path)
        written = project.journal.key if project.journal else None

        moments = SystemMoments() if clock is None else _MomentsOf(clock)

        @cache
        def key() -> bytes:
            if written:
                return given_key(written)
            return lasting_key(path.parent / "key", lambda: is_sealed(path))

        options = project.journal or manifest.Journal()
        journal = Journal(
            database,
            key,
            clock or SystemClock(),
            redactor or Redactor(),
            mode=options.mode,
            retention_s=options.retention,
        )
        if options.retention is not None:
            journal.prune_more = _Old(journal, moments, options.retention).prune
        questions = Questions(database, key, moments, journal.audit)
        recollection = Recollection(journal)
        spills = Spills(database, moments, redactor or Redactor())
        memory = Memory(
            questions,
            journal,
            recollection,
            spills,
            database,
            moments,
            KeptAnswers(database, key, moments),
            KeyedCalls(database, key, moments),
            KeptSightings(database, moments),
            PlanRuns(database, key, moments),
            KeptConversations(database, key, moments),
        )
        return cls(database, memory, key, KeptPins(database, moments))

    async def close(self) -> None:
        """Write what is left and let go of the database."""
        await self.memory.journal.close()
        await self.database.close()


async def stored_breakers(root: Path, project: ProjectFile) -> list[breakers.Stored]:
    """What was ever told of the breakers of a project; makes no store where there is none.

    Raises StoreError.
    """
    path = root / (project.state or DEFAULT_STATE)
    if not is_there(path):
        return []
    database = SqliteDatabase(path)
    try:
        return await database.read(breakers.listed)
    finally:
        await database.close()


async def stored_pins(root: Path, project: ProjectFile) -> list[StoredPin]:
    """What was pinned of foreign tools; makes no store where there is none. Raises StoreError."""
    path = root / (project.state or DEFAULT_STATE)
    if not is_there(path):
        return []
    database = SqliteDatabase(path)
    try:
        return await KeptPins(database, SystemMoments()).all()
    finally:
        await database.close()


@dataclass(frozen=True, slots=True)
class _Old:
    """Finished approvals, kept for as long as the journal is."""

    journal: Journal
    moments: Moments
    retention_s: float

    def prune(self, session: Session) -> bool:
        """Remove a first few; whether there may be more."""
        now, audit = self.moments.now(), self.journal.audit
        count = approval_retention.removed_old(session, self.retention_s, now, audit=audit)
        return count >= approval_retention.MOST


class _MomentsOf:
    """Points of time of another clock, all of one boot."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock

    def now(self) -> Moment:
        return Moment(self._clock.wall(), self._clock.monotonic(), "clock")
