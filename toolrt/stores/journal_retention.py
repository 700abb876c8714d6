"""Removes what has grown old from the journal, and leaves a row that says so (A20).

Each writer loses the beginning of its chain, up to its first row that is young enough; a writer
without such a row is removed as a whole. The row that tells of it repeats what still matters of
the one before, so that only the latest counts; the roster points at it.

A wall clock that was set far ahead must not age anything. It is believed once the journal has gone
on by it for a day: until then rows are only as old as by the last entry before its leap, whether
the clock leapt or nobody was there for so long.
"""

import json
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace

from toolrt.stores.base import Session
from toolrt.stores.journal import (
    Chain,
    Head,
    Roster,
    Seals,
    Segment,
    heads,
    is_same,
    number_of,
    read_roster,
    row_of,
    write_roster,
)

RETENTION = "retention"
EVERY_S = 3600.0
"""Nothing is removed more often, by whichever process."""
LEAP_S = 24 * 3600.0
"""Entries that lie further apart do not show that the time between has passed."""
_MOST_LEAPS = 3
"""After so many, the time before them is believed: the journal of who calls once a week."""


@dataclass(frozen=True, slots=True)
class Removed:
    """What retention has removed so far.

    `writers` are the numbers of those that are gone, as ranges with both ends; `cuts` are the last
    removed rows of writers that have others still. `at` is when it last was at work.
    """

    writers: tuple[tuple[int, int], ...] = ()
    cuts: Mapping[str, Head] = field(default_factory=dict)
    at: float | None = None

    def has(self, number: int) -> bool:
        """Whether the writer of that number is gone."""
        return any(first <= number <= last for first, last in self.writers)


def prune(session: Session, chain: Chain, before: float, at: float) -> int:
    """Remove the rows that ended before a point of time, as seen at `at`; gives how many.

    Nothing is removed where something is missing already: that is for people to see first.
    """
    before -= at - _believed(session, at)
    roster, is_sound = read_roster(session, chain.seals)
    known = removed(session, chain.seals, roster)
    if known is None or not is_sound or not _is_due(session, known, before, at):
        return 0
    cuts = {cut.writer: cut for cut in _cuts(session, chain, known, before)}
    if not cuts:
        return 0
    gone = [writer for writer, cut in cuts.items() if _is_all(session, chain, cut)]
    now = _with(known, cuts, gone)
    count = sum(cut.seq - _start(known, cut.writer) for cut in cuts.values())
    row = chain.append(session, _told(now, count, before, at))
    roster, _ = read_roster(session, chain.seals)
    write_roster(session, replace(roster, retention=(row.writer, row.seq)), chain.seals)
    _delete(session, cuts.values(), gone)
    return count


def removed(session: Session, seals: Seals, roster: Roster) -> Removed | None:
    """What the roster says that retention has removed; None when that cannot be believed."""
    if roster.retention is None:
        return Removed()
    found = row_of(session, *roster.retention)
    if found is None or found.segment.kind != RETENTION:
        return None
    told = json.loads(found.segment.body)
    cuts = {writer: Head(writer, seq, mac) for writer, seq, mac in told["cuts"]}
    before = row_of(session, found.writer, found.seq - 1)
    previous = before.mac if before else cuts[found.writer].mac if found.writer in cuts else ""
    mac = seals.row(found.writer, found.seq, found.segment, previous)
    if not is_same(mac, found.mac):
        return None
    ranges = tuple((first, last) for first, last in told["writers"])
    return Removed(ranges, cuts, found.segment.at)


def _believed(session: Session, at: float) -> float:
    """The latest time up to which the entries show that it has come."""
    for _ in range(_MOST_LEAPS):
        older = _time(session, "SELECT MAX(at) FROM journal WHERE at <= ?", at - LEAP_S)
        newer = _time(session, "SELECT MIN(at) FROM journal WHERE at > ?", at - LEAP_S)
        if older is None or (newer is not None and newer - older <= LEAP_S):
            return at
        at = older
    return at


def _time(session: Session, sql: str, until: float) -> float | None:
    row = session.row(sql, until)
    return row[0] if row else None


def _is_due(session: Session, known: Removed, before: float, at: float) -> bool:
    """Whether there is work, and the last time is not so long ago; quick to say."""
    if known.at is not None and 0 <= at - known.at < EVERY_S:
        return False
    return session.row("SELECT writer FROM journal WHERE at < ? LIMIT 1", before) is not None


def _cuts(session: Session, chain: Chain, known: Removed, before: float) -> Iterable[Head]:
    """The last row to remove of each writer that has such rows, none of them missing."""
    kept: dict[str, int] = dict(
        session.rows(
            "SELECT writer, MIN(seq) FROM journal WHERE until >= ? GROUP BY writer", before
        )
    )
    for head, seal in heads(session):
        start = _start(known, head.writer)
        end = kept.get(head.writer, head.seq + 1) - 1
        is_idle = end == start and head.writer in (chain.writer, *kept)
        if is_idle or not is_same(chain.seals.head(head), seal):
            continue
        last = row_of(session, head.writer, end)
        counted = session.row(
            "SELECT COUNT(*) FROM journal WHERE writer = ? AND seq <= ?", head.writer, end
        )
        if counted == (end - start,) and (last or end == start):
            yield Head(head.writer, end, last.mac if last else head.mac)


def _is_all(session: Session, chain: Chain, cut: Head) -> bool:
    """Whether nothing is left of the writer, and nothing is to come."""
    if cut.writer == chain.writer:
        return False
    more = "SELECT seq FROM journal WHERE writer = ? AND seq > ? LIMIT 1"
    return session.row(more, cut.writer, cut.seq) is None


def _start(known: Removed, writer: str) -> int:
    """The last row that was removed before."""
    return known.cuts[writer].seq if writer in known.cuts else 0


def _with(known: Removed, cuts: Mapping[str, Head], gone: Iterable[str]) -> Removed:
    left = {**known.cuts, **cuts}
    for writer in gone:
        del left[writer]
    numbers = {number_of(writer) for writer in gone}
    return Removed(_ranges([*known.writers, *((number, number) for number in numbers)]), left)


def _ranges(ranges: Iterable[tuple[int, int]]) -> tuple[tuple[int, int], ...]:
    """The same numbers in as few ranges as possible."""
    made: list[tuple[int, int]] = []
    for first, last in sorted(ranges):
        if made and first <= made[-1][1] + 1:
            made[-1] = (made[-1][0], max(last, made[-1][1]))
        else:
            made.append((first, last))
    return tuple(made)


def _told(now: Removed, count: int, before: float, at: float) -> Segment:
    entry = {
        "kind": RETENTION,
        "at": at,
        "before": before,
        "rows": count,
        "writers": now.writers,
        "cuts": [[cut.writer, cut.seq, cut.mac] for cut in now.cuts.values()],
    }
    return Segment.of(RETENTION, at, json.dumps(entry).encode())


def _delete(session: Session, cuts: Iterable[Head], gone: Iterable[str]) -> None:
    with pruning(session):
        for cut in cuts:
            session.change("DELETE FROM journal WHERE writer = ? AND seq <= ?", cut.writer, cut.seq)
        for writer in gone:
            session.change("DELETE FROM journal_heads WHERE writer = ?", writer)


@contextmanager
def pruning(session: Session) -> Iterator[None]:
    """Inside, rows may be deleted that are kept otherwise."""
    session.change("INSERT INTO meta (name, value) VALUES ('pruning', '1')")
    yield
    session.change("DELETE FROM meta WHERE name = 'pruning'")
