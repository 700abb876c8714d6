"""Looks through the whole journal for what was edited, added, moved or taken away (A20)."""

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import groupby, islice
from operator import attrgetter
from typing import Final

from toolrt.stores.base import Session
from toolrt.stores.journal import (
    OPENED,
    ROW,
    Head,
    KeptRow,
    Roster,
    Seals,
    heads,
    is_same,
    is_sealed_with,
    kept_row,
    key_in,
    number_of,
    read_roster,
    row_of,
)
from toolrt.stores.journal_retention import Removed, removed

MOST_FOUND: Final = 1000
_PAGE = 200


@dataclass(frozen=True, slots=True)
class Tampering:
    """Something that nobody with the key did: where, and what it is.

    `seq` is None where a whole writer is concerned, `writer` too where the whole journal is.
    `about` names an approval or a grant that is not what the journal knows.
    """

    writer: str | None
    seq: int | None
    reason: str
    about: str | None = None


ANOTHER_KEY: Final = Tampering(
    None, None, "it was sealed with another key than the one there is now"
)


def tamperings(session: Session, seals: Seals) -> list[Tampering]:
    """What is wrong with the journal, seen at one point of time; at most `MOST_FOUND` of it."""
    return list(islice(_Inspection(session, seals).found(), MOST_FOUND))


class _Inspection:
    """One look through everything."""

    def __init__(self, session: Session, seals: Seals) -> None:
        self._session = session
        self._seals = seals
        self._witnessed: list[tuple[str, Head]] = []
        self._present: set[str] = set()
        self._removed = Removed()

    def found(self) -> Iterator[Tampering]:
        roster, is_sound = read_roster(self._session, self._seals)
        known, ends = key_in(self._session), heads(self._session)
        if self._is_foreign(known, is_sound=is_sound):
            yield ANOTHER_KEY
            return
        if known != self._seals.key_id and ends:
            yield Tampering(None, None, "the id of its key was edited or deleted")
        is_sound = is_sound and (roster.writers > 0 or known is None)
        yield from self._roster(roster, is_sound=is_sound)
        last = {head.writer: (head, seal) for head, seal in ends}
        for writer, rows in groupby(_rows(self._session), attrgetter("writer")):
            self._present.add(writer)
            yield from self._chain(writer, rows, last.pop(writer, None))
        for head, seal in last.values():
            self._present.add(head.writer)
            yield from self._chain(head.writer, (), (head, seal))
        yield from self._missing(roster)
        yield from self._unwitnessed()

    def _is_foreign(self, known: str | None, *, is_sound: bool) -> bool:
        """Whether nothing here was sealed with our key."""
        if heads(self._session):
            return not is_sound and not is_sealed_with(self._session, self._seals)
        return known not in {None, self._seals.key_id}

    def _roster(self, roster: Roster, *, is_sound: bool) -> Iterator[Tampering]:
        if not is_sound:
            yield Tampering(None, None, "the count of writers was edited or deleted")
        known = removed(self._session, self._seals, roster)
        if known is None:
            yield Tampering(None, None, "what says which rows grew too old was edited or deleted")
        else:
            self._removed = known

    def _chain(
        self, writer: str, rows: Iterable[KeptRow], end: tuple[Head, str] | None
    ) -> Iterator[Tampering]:
        last = self._removed.cuts.get(writer, Head(writer, 0, ""))
        for row in rows:
            yield from self._row(row, last)
            last = Head(writer, row.seq, row.mac)
            if row.segment.kind == OPENED:
                self._witnessed += _named(row)
        if end is None:
            yield Tampering(writer, None, "its last row is not known: its head was deleted")
            return
        head, seal = end
        if not is_same(self._seals.head(head), seal):
            yield Tampering(writer, head.seq, "the head of this writer was edited")
        elif head.seq != last.seq:
            yield Tampering(writer, last.seq + 1, f"rows {last.seq + 1} to {head.seq} were deleted")
        elif head.mac != last.mac:
            yield Tampering(writer, head.seq, "the last row is not the one that was written")

    def _row(self, row: KeptRow, last: Head) -> Iterator[Tampering]:
        if row.seq <= last.seq:
            yield Tampering(row.writer, row.seq, "a row that was removed is there again")
        elif row.seq > last.seq + 1:
            yield Tampering(row.writer, last.seq + 1, _gap(last.seq + 1, row.seq - 1))
        elif not is_same(self._seals.row(row.writer, row.seq, row.segment, last.mac), row.mac):
            yield Tampering(row.writer, row.seq, "the row was edited, or moved here")

    def _missing(self, roster: Roster) -> Iterator[Tampering]:
        """Whole writers that are not there any more."""
        there = {number_of(writer) for writer in self._present}
        for number in range(1, roster.writers + 1):
            if number not in there and not self._removed.has(number):
                yield Tampering(f"{number:06d}", None, "all rows of this writer were deleted")
        for writer in sorted(self._present):
            if number_of(writer) > roster.writers:
                yield Tampering(writer, None, "the count of writers was put back")

    def _unwitnessed(self) -> Iterator[Tampering]:
        """Rows that others have seen and that are not there any more, or not the same."""
        for witness, seen in self._witnessed:
            cut = self._removed.cuts.get(seen.writer)
            is_old = cut is not None and seen.seq <= cut.seq
            if is_old or self._removed.has(number_of(seen.writer)):
                continue
            row = row_of(self._session, seen.writer, seen.seq)
            if row is None or row.mac != seen.mac:
                yield Tampering(seen.writer, seen.seq, f"{witness} has seen another row here")


def _rows(session: Session) -> Iterator[KeptRow]:
    """All rows, by writer and number, a few at a time."""
    at: tuple[str, int] = ("", 0)
    where = "(writer, seq) > (?, ?) ORDER BY writer, seq LIMIT ?"
    sql = f"SELECT {ROW} FROM journal WHERE {where}"  # noqa: S608 - columns of ours
    while rows := session.rows(sql, *at, _PAGE):
        yield from map(kept_row, rows)
        at = (rows[-1][0], rows[-1][1])


def _named(row: KeptRow) -> list[tuple[str, Head]]:
    """The heads that the first row of a writer names."""
    try:
        return [(row.writer, Head(*each)) for each in json.loads(row.segment.body)["heads"]]
    except (ValueError, TypeError, LookupError):
        return []  # an edited row, found by its MAC


def _gap(first: int, last: int) -> str:
    return f"row {first} was deleted" if first == last else f"rows {first} to {last} were deleted"
