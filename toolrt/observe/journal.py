"""The journal: every call with what was decided and what came of it, and every change of state.

Finished calls are only noted in memory; about every tenth of a second, or every 4,000 calls, they
are written together, in the store's thread. What changes state is written in the transaction that
changes it, and what cannot be undone is written before it is done. A store that fails stops no
call that can do without it: entries wait, and those that have to go are counted.
"""

import asyncio
import logging
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, Final, Literal

from toolrt.core.calls import Invocation
from toolrt.core.clock import Clock
from toolrt.core.errors import ToolrtError
from toolrt.core.logs import failed
from toolrt.core.redaction import Redactor
from toolrt.core.results import ToolResult
from toolrt.observe.journal_entries import PerTool, Scribe
from toolrt.observe.journal_records import Records
from toolrt.stores.base import Database, Session
from toolrt.stores.journal import Chain, Segment
from toolrt.stores.journal_retention import EVERY_S, prune

log = logging.getLogger("toolrt")

BATCH: Final = 4000
INTERVAL_S: Final = 0.1
MOST_WAITING: Final = 10_000
"""Entries that are kept in memory while the store fails; what comes later is only counted."""
MOST_BYTES_WAITING: Final = 16 << 20
AGAIN_S: Final = 1.0
"""How long a store that failed is left alone."""
_TURN = 100


class Journal:
    """The journal of one runtime, in `database`; nothing is opened before there is an entry.

    `key` gives the lasting key. What is older than `retention_s` is removed now and then, and so is
    what `prune_more` removes from other tables; it says whether it left some for soon. Noted
    arguments are not copied: those that have passed their checks are canonical, and nobody changes
    them afterwards.
    """

    def __init__(
        self,
        database: Database,
        key: Callable[[], bytes],
        clock: Clock,
        redactor: Redactor,
        *,
        mode: Literal["batched", "sync"] = "batched",
        retention_s: float | None = None,
    ) -> None:
        self.mode = mode
        self.began = clock.wall()
        self.records = Records(database, key)
        self._database = database
        self._chain = Chain(key)
        self._clock = clock
        self._redactor = redactor
        self.batch = self._scribe()
        self._backlog = _Backlog()
        self._timer: asyncio.TimerHandle | None = None
        self._writing: asyncio.Task[None] | None = None
        self._retention_s = retention_s
        self._pruned: float | None = None
        self.prune_more: Callable[[Session], bool] = _nothing_more

    @property
    def waiting(self) -> int:
        """How many entries are not written yet."""
        return self.batch.count + sum(each.count for each in self._backlog.segments)

    @property
    def lost(self) -> int:
        """How many entries there was no room for, since it was opened."""
        return self._backlog.lost + self._backlog.told

    def note(self, invocation: Invocation, result: ToolResult, tool: PerTool | None = None) -> bool:
        """Remember a finished call. True means: await `relief()` before the next one.

        `tool` is None where there is none of that name; then no argument is shown.
        """
        count = self.batch.note(invocation, result, tool)
        return (count == 1 or count >= BATCH) and self.is_behind(count)

    async def relief(self) -> None:
        """Let the writer have its turn; wait for it in mode `sync`, and where it is far behind."""
        is_waited_for = self.mode == "sync" or self.batch.count >= MOST_WAITING // 2
        if is_waited_for and not self._backlog.is_failing:
            await self.flush()
        else:
            await asyncio.sleep(0)

    async def kept(
        self, invocation: Invocation, result: ToolResult, tool: PerTool | None = None
    ) -> None:
        """Remember a finished call, and come back once it is written (mode `sync`).

        Calls that end at the same time are written together. A store that fails is not waited for.
        """
        self.note(invocation, result, tool)
        if not self._backlog.is_failing:
            await self.flush()

    async def intend(self, invocation: Invocation, tool: PerTool | None = None) -> None:
        """Write that an effect is about to be made which cannot be undone.

        Raises StoreError when that cannot be kept: then nothing may be done.
        """
        segment = self._scribe().intent(invocation, tool, self._clock.wall())
        await self._database.run(lambda session: self._chain.append(session, segment))

    def audit(self, session: Session, entry: Mapping[str, Any]) -> None:
        """Add an entry inside the transaction of what it tells of; it is undone with it."""
        at = float(entry.get("at", self._clock.wall()))
        self._chain.append(session, self._scribe().entry({**entry, "at": at}))

    async def record(self, kind: str, told: Mapping[str, Any]) -> None:
        """Write an entry of its own, such as a change of generation. Raises StoreError."""
        entry = {**told, "kind": kind, "at": self._clock.wall()}
        await self._database.run(lambda session: self.audit(session, entry))

    def mention(self, kind: str, told: Mapping[str, Any]) -> None:
        """Remember an entry of its own, to be written before the calls that are noted next."""
        entry = {**told, "kind": kind, "at": self._clock.wall()}
        self._backlog.keep(self._scribe().entry(entry))
        self._wake_later()

    async def flush(self) -> None:
        """Come back when all that was noted before is written, or has to wait for the store."""
        if self._writing is not None:
            await asyncio.wait([self._writing])
        if self._writing is None and (self.batch.values or self._backlog.segments):
            self._begin()
        if self._writing is not None:
            await asyncio.wait([self._writing])

    async def close(self) -> None:
        """Write what is left. What cannot be written now is lost; the log says how much."""
        await self.flush()
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        self._backlog.give_up()

    def is_behind(self, count: int) -> bool:
        """Whether to wait for `relief` before the next call. To be asked after the first note of a
        batch, and after each of BATCH and more.
        """
        if count == 1:
            self._wake_later()
            return False
        if count > MOST_WAITING:
            self.batch.forget_last()
            self._backlog.lost += 1
            return True
        if self._writing is None and not self._backlog.is_failing:
            self._begin()
        return count % _TURN == 0

    def _wake_later(self) -> None:
        if self._timer is None:
            delay_s = AGAIN_S if self._backlog.is_failing else INTERVAL_S
            self._timer = asyncio.get_running_loop().call_later(delay_s, self._wake)

    def _wake(self) -> None:
        self._timer = None
        if self._writing is None and (self.batch.values or self._backlog.segments):
            self._begin()

    def _begin(self) -> None:
        batch, self.batch = self.batch, self._scribe()
        self._writing = asyncio.get_running_loop().create_task(self._write(_Rows(batch)))
        self._writing.add_done_callback(self._ended)

    def _ended(self, task: asyncio.Task[None]) -> None:
        self._writing = None
        if not task.cancelled() and task.exception() is not None:
            log.error("a bug kept entries from the journal", exc_info=task.exception())
        if self.batch.values or self._backlog.segments:
            self._wake_later()

    async def _write(self, batch: "_Rows") -> None:
        waiting, lost = tuple(self._backlog.segments), self._backlog.lost
        if not self._redactor.is_armed:
            batch.segments()

        def work(session: Session) -> None:
            for segment in (*waiting, *batch.segments()):
                self._chain.append(session, segment)
            if lost:
                self.audit(session, {"kind": "lost", "count": lost})

        try:
            await self._database.run(work)
        except ToolrtError as error:
            self._backlog.add(batch.segments(), error)
            return
        except BaseException:
            self._backlog.lost += batch.count
            raise
        self._backlog.written(len(waiting), lost)
        if self._retention_s is not None:
            await self._prune(self._retention_s)

    async def _prune(self, retention_s: float) -> None:
        now, at = self._clock.monotonic(), self._clock.wall()
        if self._pruned is not None and now - self._pruned < EVERY_S:
            return
        self._pruned = now
        before = at - retention_s
        try:
            await self._database.run(partial(prune, chain=self._chain, before=before, at=at))
            if await self._database.run(self.prune_more):
                self._pruned = None  # after the next batch
        except ToolrtError as error:
            failed("what is too old could not be removed from the journal", error)

    def _scribe(self) -> Scribe:
        return Scribe(self._redactor, self._clock)


def _nothing_more(_session: Session) -> bool:
    """Keeps all other tables as they are."""
    return False


class _Rows:
    """Calls that become rows of the journal once, wherever that is first needed."""

    def __init__(self, batch: Scribe) -> None:
        self.batch = batch
        self.count = batch.count
        self._segments: list[Segment] | None = None

    def segments(self) -> list[Segment]:
        if self._segments is None:
            self._segments = self.batch.calls()
        return self._segments


class _Backlog:
    """Rows that wait for a store that fails, and the number of entries that had to go: those that
    the journal does not tell of yet (`lost`), and those of which it does (`told`).
    """

    def __init__(self) -> None:
        self.segments: list[Segment] = []
        self.lost = self.told = 0
        self.is_failing = False
        self._why = "no store took them"

    def add(self, segments: Sequence[Segment], error: ToolrtError) -> None:
        """Keep what there is room for. The log hears of a trouble once."""
        if not self.is_failing:
            hint = f" ({error.hint})" if error.hint else ""
            log.warning("the journal waits: %s%s", error.message, hint)
        self.is_failing, self._why = True, error.message
        for segment in segments:
            self.keep(segment)

    def keep(self, segment: Segment) -> None:
        """Let it wait where there is room for it."""
        if self._has_room(segment):
            self.segments.append(segment)
        else:
            self.lost += segment.count

    def written(self, count: int, lost: int) -> None:
        """The first `count` that waited are in the store, and so is that `lost` are not."""
        if self.is_failing:
            log.warning("the journal is written again; %d of its entries are lost", lost)
        self.segments, self.is_failing = self.segments[count:], False
        self.lost -= lost
        self.told += lost

    def give_up(self) -> None:
        """Nothing will be written any more."""
        lost = self.lost + sum(each.count for each in self.segments)
        if lost:
            log.error("%d entries of the journal are lost: %s", lost, self._why)
        self.segments, self.lost = [], 0

    def _has_room(self, segment: Segment) -> bool:
        count = sum(each.count for each in self.segments) + segment.count
        size = sum(len(each.body) for each in self.segments) + len(segment.body)
        return count <= MOST_WAITING and size <= MOST_BYTES_WAITING
