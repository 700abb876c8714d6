"""Reads the journal: what was recorded, newest first; what is being recorded; and all of it.

An entry is a JSON object with a `kind`: `call`, `batch`, `intent`, `approval`, `grant`, and those
of the journal itself (`opened`, `retention`, `lost`). Rows hold many entries, so that rows are
looked through in order of time, and entries put in order on the way.
"""

import asyncio
from collections import defaultdict
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from heapq import heappop, heappush
from itertools import count
from operator import itemgetter
from typing import Any, Final, NamedTuple

from toolrt.core.calls import Reach
from toolrt.core.globs import tool_pattern
from toolrt.core.redaction import MASK
from toolrt.observe.journal_entries import SPAN_S
from toolrt.observe.journal_values import entries_of
from toolrt.stores.base import Database, Session
from toolrt.stores.journal import heads
from toolrt.stores.verifying import Verified, verified

Entry = Mapping[str, Any]

OWN_KINDS: Final = frozenset({"opened", "retention", "lost"})
"""What the journal tells of itself; shown only when asked for."""

_FIRST_PAGE, _PAGE = 4, 128


@dataclass(frozen=True, slots=True, kw_only=True)
class Filter:
    """Which entries are wanted; what is None does not matter.

    `tool` is a name or a glob. `caller` is a principal, of the call or who decided about it.
    `only_of` says whose calls, questions and grants alone may be seen, as they saw them.
    `status` is a status, the code of a failure, or the state of an approval. `id` is that of a
    call or an approval, or the beginning of it. `since` and `until` are seconds since the epoch.
    """

    tool: str | None = None
    caller: str | None = None
    only_of: Reach | None = None
    status: str | None = None
    id: str | None = None
    since: float | None = None
    until: float | None = None
    kinds: frozenset[str] | None = None

    def matcher(self) -> Callable[[Entry], bool]:
        """Whether an entry is wanted."""
        pattern = tool_pattern(self.tool) if self.tool is not None else None

        def is_wanted(entry: Entry) -> bool:
            return (
                (self.only_of is None or self.only_of.holds(*_owner(entry)))
                and self._is_in_time(entry["at"])
                and (entry["kind"] in self.kinds if self.kinds else entry["kind"] not in OWN_KINDS)
                and (pattern is None or bool(pattern.fullmatch(str(entry.get("tool", "")))))
                and (self.caller is None or self.caller in _people(entry))
                and (self.status is None or self.status in _endings(entry))
                and (self.id is None or any(each.startswith(self.id) for each in _ids(entry)))
            )

        return is_wanted

    def shown(self, entry: Entry) -> Entry:
        """The entry as it may be seen."""
        is_whole = self.only_of is None or self.only_of.principal is None
        return entry if is_whole else _as_told(entry)

    def _is_in_time(self, at: float) -> bool:
        return (self.since is None or at >= self.since) and (self.until is None or at <= self.until)


ALL: Final = Filter()


_COLUMNS = "writer, seq, kind, at, body"
_NEVER = 1e18


class _Row(NamedTuple):
    writer: str
    seq: int
    kind: str
    at: float
    body: bytes


@dataclass(frozen=True, slots=True)
class _Order:
    """A way through the rows, and the place before its first one."""

    sql: str
    start: tuple[object, ...]


def _order(comparison: str, direction: str, start: tuple[object, ...]) -> _Order:
    by = ", ".join(f"{column} {direction}" for column in ("at", "writer", "seq"))
    where = f"(at, writer, seq) {comparison} (?, ?, ?) AND at >= ? AND at <= ?"
    sql = f"SELECT {_COLUMNS} FROM journal WHERE {where} ORDER BY {by} LIMIT ?"  # noqa: S608 - words of ours
    return _Order(sql, start)


_NEWEST = _order("<", "DESC", (_NEVER, "", 0))
_OLDEST = _order(">", "ASC", (-_NEVER, "", 0))


class Records:
    """Everything that is in the journal of a database. All of it may raise StoreError."""

    def __init__(
        self, database: Database, key: Callable[[], bytes], only_of: Reach | None = None
    ) -> None:
        """`key` gives the lasting key, which only `verify` asks for. `only_of` holds for all that
        is read, as that of a filter does.
        """
        self._database = database
        self._key = key
        self._only_of = only_of

    async def entries(self, wanted: Filter = ALL, limit: int | None = 100) -> list[Entry]:
        """The latest entries, newest first."""
        found: list[Entry] = []
        async for entry in self.newest(wanted):
            if limit is not None and len(found) >= limit:
                break
            found.append(entry)
        return found

    async def newest(self, wanted: Filter = ALL) -> AsyncIterator[Entry]:
        """All of them, newest first."""
        wanted = self._narrowed(wanted)
        is_wanted, order = wanted.matcher(), count()
        waiting: list[tuple[float, int, Entry]] = []
        async for rows in self._pages(_NEWEST, wanted):
            for entry in (each for row in rows for each in reversed(_entries(row))):
                if is_wanted(entry):
                    heappush(waiting, (-entry["at"], next(order), entry))
            while waiting and -waiting[0][0] >= rows[-1].at + SPAN_S:
                yield wanted.shown(heappop(waiting)[2])
        while waiting:
            yield wanted.shown(heappop(waiting)[2])

    async def export(self, wanted: Filter = ALL) -> AsyncIterator[Entry]:
        """All of them, oldest first."""
        wanted = self._narrowed(wanted)
        is_wanted, order = wanted.matcher(), count()
        waiting: list[tuple[float, int, Entry]] = []
        async for rows in self._pages(_OLDEST, wanted):
            for entry in (each for row in rows for each in _entries(row)):
                if is_wanted(entry):
                    heappush(waiting, (entry["at"], next(order), entry))
            while waiting and waiting[0][0] < rows[-1].at:
                yield wanted.shown(heappop(waiting)[2])
        while waiting:
            yield wanted.shown(heappop(waiting)[2])

    async def marks(self) -> dict[str, int]:
        """How far each writer has come."""
        return {head.writer: head.seq for head, _ in await self._database.read(heads)}

    async def tail(
        self,
        wanted: Filter = ALL,
        marks: Mapping[str, int] | None = None,
        poll_s: float = 0.25,
    ) -> AsyncIterator[Entry]:
        """What is recorded from now on, or since `marks`, by any process; never ends."""
        wanted = self._narrowed(wanted)
        is_wanted = wanted.matcher()
        seen = dict(await self.marks() if marks is None else marks)
        while True:
            await asyncio.sleep(poll_s)
            rows = await self._database.read(partial(_since, seen=seen))
            seen |= {row.writer: row.seq for row in rows}
            found = [entry for row in rows for entry in _entries(row)]
            for entry in sorted(filter(is_wanted, found), key=itemgetter("at")):
                yield wanted.shown(entry)

    async def verify(self) -> Verified:
        """What nobody with the key did to the journal, approvals and grants (A20)."""
        key = self._key()
        return await self._database.read(lambda session: verified(session, key))

    def _narrowed(self, wanted: Filter) -> Filter:
        return wanted if self._only_of is None else replace(wanted, only_of=self._only_of)

    async def _pages(self, order: _Order, wanted: Filter) -> AsyncIterator[list[_Row]]:
        """Rows that may hold what is wanted, by time, a page at a time."""
        since = 0.0 if wanted.since is None else wanted.since - SPAN_S
        until = _NEVER if wanted.until is None else wanted.until
        last, size = order.start, _FIRST_PAGE
        while True:
            parameters = (*last, since, until, size)
            page = await self._database.read(partial(_page, sql=order.sql, parameters=parameters))
            if not page:
                return
            yield page
            last = (page[-1].at, page[-1].writer, page[-1].seq)
            size = min(2 * size, _PAGE)


def _page(session: Session, sql: str, parameters: Sequence[object]) -> list[_Row]:
    return [_Row(*row) for row in session.rows(sql, *parameters)]


def _since(session: Session, seen: Mapping[str, int]) -> list[_Row]:
    """The rows that came after those that were seen."""
    sql = f"SELECT {_COLUMNS} FROM journal WHERE writer = ? AND seq > ? ORDER BY seq"  # noqa: S608 - as above
    return [
        _Row(*row)
        for head, _ in heads(session)
        if head.seq > seen.get(head.writer, 0)
        for row in session.rows(sql, head.writer, seen.get(head.writer, 0))
    ]


def _entries(row: _Row) -> list[dict[str, Any]]:
    """The entries of a row, which tell where they stand."""
    place = {"writer": row.writer, "seq": row.seq}
    try:
        found = entries_of(row.kind, bytes(row.body))
        return [
            {**entry, "kind": str(entry["kind"]), "at": float(entry["at"]), **place}
            for entry in found
        ]
    except (ValueError, TypeError, LookupError, OverflowError):  # edited: `verify` tells of it
        return [{"kind": "unreadable", "at": row.at, **place}]


def _principal(entry: Entry) -> object:
    """On whose behalf it was; None where it was on nobody's."""
    caller = entry.get("caller")
    told = caller.get("principal") if isinstance(caller, dict) else None
    return entry.get("principal") if told is None else told


def _owner(entry: Entry) -> tuple[object, object]:
    """Principal and tenant on whose behalf it was; None where it was on nobody's."""
    caller = entry.get("caller")
    told = caller if isinstance(caller, dict) else entry
    return _principal(entry), told.get("tenant")


_OF_DECISIONS: Final = frozenset({"approval", "grant"})
_OF_PEOPLE: Final = frozenset({"actor", "note", "channel"})


def _as_told(entry: Entry) -> Entry:
    """The entry as its caller may see it: a tool that is hidden from them is an unknown one, and
    who decided about their calls is named nowhere.
    """
    if entry["kind"] in _OF_DECISIONS:
        return {name: each for name, each in entry.items() if name not in _OF_PEOPLE}
    if entry.get("code") != "unknown-tool" or entry.get("attempts"):
        return entry
    arguments = entry.get("arguments")
    masked = dict.fromkeys(arguments, MASK) if isinstance(arguments, dict) else MASK
    return {**entry, "arguments": masked, "decision": None, "policy_hash": ""}


def _people(entry: Entry) -> set[object]:
    return {_principal(entry), entry.get("principal"), entry.get("actor")}


def _endings(entry: Entry) -> set[object]:
    return {entry.get(name) for name in ("status", "code", "state", "event")}


def _ids(entry: Entry) -> Iterator[str]:
    batch = entry.get("batch")
    yield from (str(entry[name]) for name in ("call_id", "approval", "grant") if entry.get(name))
    if batch:
        yield str(batch.get("id") if isinstance(batch, dict) else batch)


_WELL = frozenset({"success", "partial"})


@dataclass(slots=True)
class Tally:
    """What became of the calls of one tool. `times_ms` are those of calls that ran.

    `retries` counts attempts that were repeated; `cached` calls were answered by a kept answer, and
    `degraded` ones by a fallback.
    """

    calls: int = 0
    succeeded: int = 0
    failed: int = 0
    refused: int = 0
    paused: int = 0
    retries: int = 0
    cached: int = 0
    degraded: int = 0
    times_ms: list[float] = field(default_factory=list)

    def add(self, entry: Entry) -> None:
        ran = bool(entry["attempts"])
        self.calls += 1
        self.succeeded += entry["status"] in _WELL
        self.paused += entry["status"] == "paused"
        self.failed += ran and entry["status"] == "error"
        self.refused += not ran and entry["status"] == "error"
        self.retries += sum("delay_s" in each for each in entry.get("failed", ()))
        self.cached += entry.get("cached", False)
        self.degraded += "fallback" in entry
        if ran:
            self.times_ms.append(entry["time_ms"])

    def document(self) -> dict[str, Any]:
        """Counts, and percentiles of how long it took, in milliseconds."""
        times = sorted(self.times_ms)
        return {
            "calls": self.calls,
            "succeeded": self.succeeded,
            "failed": self.failed,
            "refused": self.refused,
            "paused": self.paused,
            "retries": self.retries,
            "cached": self.cached,
            "degraded": self.degraded,
            **{f"p{of}_ms": _percentile(times, of) for of in (50, 95, 99)},
        }


def _percentile(times: Sequence[float], of: int) -> float | None:
    return times[len(times) * of // 100] if times else None


async def tallies(records: Records, wanted: Filter = ALL) -> dict[str, Tally]:
    """A tally for each tool that was called, by name."""
    found: defaultdict[str, Tally] = defaultdict(Tally)
    async for entry in records.newest(replace(wanted, kinds=frozenset({"call"}))):
        found[entry["tool"]].add(entry)
    return dict(sorted(found.items()))
