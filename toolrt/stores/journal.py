"""The journal as it is kept: rows that only ever grow in number, chained and sealed (A20).

Every process writes a chain of its own, under a writer's id that begins with its number. A row's
MAC covers the row and the MAC before it; the head of a chain has a seal, and so has the roster,
which counts the writers. A writer's first row also names heads of others. Reading it all back and
looking for what was tampered with is the work of `journal_checks`, removing what has grown old
that of `journal_retention`.

What nothing in the database can show is that all of it was put back to an earlier copy.
"""

import hmac
import json
import os
import secrets
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from toolrt.stores.base import Row, Session, StoreError
from toolrt.stores.key import BRING_BACK, derived, key_id

OPENED = "opened"
_ROSTER = "journal"
_KEY = "key"
_WITNESSED = 16


@dataclass(frozen=True, slots=True)
class Segment:
    """Entries on their way into one row: `count` JSON objects, one a line, of the same kind.

    `at` and `until` are the times of the first and the last one, in seconds since the epoch.
    """

    kind: str
    at: float
    until: float
    count: int
    body: bytes

    @classmethod
    def of(cls, kind: str, at: float, entry: bytes) -> "Segment":
        """A row with a single entry."""
        time = float(at)  # as it comes back from the database
        return cls(kind, time, time, 1, entry)


@dataclass(frozen=True, slots=True)
class Head:
    """The last row of a writer."""

    writer: str
    seq: int
    mac: str


@dataclass(frozen=True, slots=True)
class KeptRow:
    """A row as it lies in its table."""

    writer: str
    seq: int
    segment: Segment
    mac: str


@dataclass(frozen=True, slots=True)
class Roster:
    """How many writers there have been, and the row that says what retention has removed."""

    writers: int = 0
    retention: tuple[str, int] | None = None


class Seals:
    """MACs under the key of the journal, which is made of the lasting one."""

    def __init__(self, lasting_key: bytes) -> None:
        self._key = derived(lasting_key, "journal")
        self.key_id = key_id(lasting_key)

    def row(self, writer: str, seq: int, segment: Segment, previous: str) -> str:
        """`previous` is the MAC of the row before, empty for the first one."""
        told = (segment.kind, segment.at, segment.until, segment.count)
        return self._mac(["row", writer, seq, *told, previous], segment.body)

    def head(self, head: Head) -> str:
        return self._mac(["head", head.writer, head.seq, head.mac])

    def roster(self, roster: Roster) -> str:
        return self._mac(["roster", roster.writers, roster.retention])

    def _mac(self, told: list[Any], body: bytes = b"") -> str:
        message = json.dumps(told, default=repr).encode() + b"\n" + body  # JSON without line breaks
        return hmac.digest(self._key, message, "sha256").hex()


class Chain:
    """Appends rows under a writer of this process, inside whatever transaction it is given.

    `key` gives the lasting key and is asked on first use. All that is known of the chain's end
    comes from the database, so a transaction that is undone leaves no gap.
    """

    def __init__(self, key: Callable[[], bytes]) -> None:
        self._lasting_key = key
        self._seals: Seals | None = None
        self.writer = ""

    @property
    def seals(self) -> Seals:
        """Raises StoreError when there is no key to be had."""
        if self._seals is None:
            self._seals = Seals(self._lasting_key())
        return self._seals

    def append(self, session: Session, segment: Segment) -> Head:
        """Add a row; gives the new head."""
        head = self._head(session) or self._open(session, segment.at)
        return self._put(session, head, segment)

    def _head(self, session: Session) -> Head | None:
        """Where this process's chain ends; None without one, or when it is not what we left."""
        found = session.row(
            "SELECT seq, mac, seal FROM journal_heads WHERE writer = ?", self.writer
        )
        if found is None:
            return None
        head = Head(self.writer, found[0], found[1])
        return head if is_same(self.seals.head(head), found[2]) else None

    def _open(self, session: Session, at: float) -> Head:
        """Begin a chain, whose first row bears witness to where others end. Raises StoreError where
        the others were sealed with another key.
        """
        _know_key(session, self.seals)
        witnessed = _witnessed(session)
        number = enrolled(session, self.seals)
        self.writer = f"{number:06d}-{secrets.token_hex(6)}"
        entry = {
            "kind": OPENED,
            "at": at,
            "process": os.getpid(),
            "heads": [[head.writer, head.seq, head.mac] for head in witnessed],
        }
        segment = Segment.of(OPENED, at, json.dumps(entry).encode())
        return self._put(session, Head(self.writer, 0, ""), segment)

    def _put(self, session: Session, head: Head, segment: Segment) -> Head:
        seq = head.seq + 1
        mac = self.seals.row(head.writer, seq, segment, head.mac)
        told = (segment.kind, segment.at, segment.until, segment.count, segment.body)
        session.change(
            "INSERT INTO journal (writer, seq, kind, at, until, count, body, mac)"
            " VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
            *(head.writer, seq, *told, mac),
        )
        new = Head(head.writer, seq, mac)
        session.change(
            "INSERT INTO journal_heads (writer, seq, mac, seal) VALUES (?, ?, ?, ?)"
            " ON CONFLICT (writer) DO UPDATE SET"
            " seq = excluded.seq, mac = excluded.mac, seal = excluded.seal",
            *(new.writer, new.seq, new.mac, self.seals.head(new)),
        )
        return new


def key_in(session: Session) -> str | None:
    """The id of the key that all was sealed with; None where nothing was yet."""
    found = session.row("SELECT value FROM meta WHERE name = ?", _KEY)
    return None if found is None else str(found[0])


def is_sealed_with(session: Session, seals: Seals) -> bool:
    """Whether this is the key of at least one writer; true where there is none yet."""
    ends = heads(session)
    return not ends or any(is_same(seals.head(head), seal) for head, seal in ends)


def _know_key(session: Session, seals: Seals) -> None:
    """Keep the id of the key with what is first sealed. Raises StoreError for another key."""
    known = key_in(session)
    if known == seals.key_id:
        return
    if known is not None or not is_sealed_with(session, seals):
        message = "the database was sealed with another key than the one there is now"
        raise StoreError("sealed", message, hint=BRING_BACK)
    session.change("INSERT INTO meta (name, value) VALUES (?, ?)", _KEY, seals.key_id)


def is_same(made: str, told: object) -> bool:
    """Whether what is told is the MAC that was made."""
    return hmac.compare_digest(made.encode(), str(told).encode(errors="replace"))


def number_of(writer: str) -> int:
    """Writers are numbered from 1; 0 for an id that is none of ours."""
    digits = writer.partition("-")[0]
    return int(digits) if digits.isdecimal() and digits.isascii() else 0


def enrolled(session: Session, seals: Seals) -> int:
    """The number of one more writer.

    A roster that was tampered with goes on without a seal, so that it is still found later.
    """
    roster, is_sound = read_roster(session, seals)
    latest = session.row("SELECT writer FROM journal_heads ORDER BY writer DESC LIMIT 1")
    last = number_of(latest[0]) if latest else 0
    number = max(roster.writers, last) + 1
    write_roster(session, Roster(number, roster.retention), seals if is_sound else None)
    return number


def read_roster(session: Session, seals: Seals) -> tuple[Roster, bool]:
    """The roster, and whether it is as it was sealed; a journal without rows needs none."""
    found = session.row("SELECT value FROM meta WHERE name = ?", _ROSTER)
    if found is None:
        return Roster(), session.row("SELECT writer FROM journal LIMIT 1") is None
    try:
        writers, retention, seal = json.loads(found[0])
        roster = Roster(int(writers), (str(retention[0]), int(retention[1])) if retention else None)
        return roster, is_same(seals.roster(roster), seal)
    except (ValueError, TypeError, LookupError):
        return Roster(), False


def write_roster(session: Session, roster: Roster, seals: Seals | None) -> None:
    """Keep the roster, with a seal if there are `seals`."""
    seal = seals.roster(roster) if seals else ""
    session.change(
        "INSERT INTO meta (name, value) VALUES (?, ?)"
        " ON CONFLICT (name) DO UPDATE SET value = excluded.value",
        *(_ROSTER, json.dumps([roster.writers, roster.retention, seal])),
    )


ROW = "writer, seq, kind, at, until, count, body, mac"
"""The columns that `kept_row` reads."""


def kept_row(row: Row) -> KeptRow:
    """The row, whatever somebody may have put into its columns."""
    writer, seq, kind, at, until, count, body, mac = row
    raw = bytes(body) if isinstance(body, bytes | memoryview) else str(body).encode()
    number = seq if isinstance(seq, int) else 0
    return KeptRow(str(writer), number, Segment(kind, at, until, count, raw), mac)


def row_of(session: Session, writer: str, seq: int) -> KeptRow | None:
    """The row of that place, if it is there."""
    sql = f"SELECT {ROW} FROM journal WHERE writer = ? AND seq = ?"  # noqa: S608 - columns of ours
    found = session.row(sql, writer, seq)
    return kept_row(found) if found else None


def heads(session: Session) -> list[tuple[Head, str]]:
    """The head of every writer, and its seal."""
    rows = session.rows("SELECT writer, seq, mac, seal FROM journal_heads ORDER BY writer")
    return [
        (Head(str(writer), seq if isinstance(seq, int) else 0, str(mac)), str(seal))
        for writer, seq, mac, seal in rows
    ]


def _witnessed(session: Session) -> list[Head]:
    """The heads of those that came last and of those that wrote most, which includes who lives."""
    found = {
        head.writer: head
        for order in ("writer", "seq")
        for head in (
            Head(*row)
            for row in session.rows(
                f"SELECT writer, seq, mac FROM journal_heads ORDER BY {order} DESC LIMIT ?",  # noqa: S608 - a column of ours
                _WITNESSED,
            )
        )
    }
    return list(found.values())
