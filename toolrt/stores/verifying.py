"""Looks through the whole store for what nobody with its key did, and counts its rows (A20)."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain, islice

from toolrt.stores.approval_checks import unknown
from toolrt.stores.approval_seals import ApprovalSeals
from toolrt.stores.base import Session
from toolrt.stores.journal import Seals
from toolrt.stores.journal_checks import ANOTHER_KEY, MOST_FOUND, Tampering, tamperings
from toolrt.stores.tables import GUARDS, TABLES


@dataclass(frozen=True, slots=True)
class Verified:
    """What was found, `MOST_FOUND` of it at most, and how many rows of each table were there."""

    faults: list[Tampering]
    rows: int = 0
    approvals: int = 0
    votes: int = 0
    grants: int = 0

    def covered(self) -> dict[str, int]:
        """What was looked at: rows of each table."""
        return {
            "journal": self.rows,
            "approvals": self.approvals,
            "votes": self.votes,
            "grants": self.grants,
        }


def verified(session: Session, lasting_key: bytes) -> Verified:
    """The whole store, seen at one point of time."""
    gone = list(_gone(session))
    counts = [_count(session, table) for table in _COUNTED]
    if any(table in each.reason for each in gone for table in _NEEDED):
        return Verified(gone, *counts)
    found = tamperings(session, Seals(lasting_key))
    if found != [ANOTHER_KEY]:
        more = unknown(session, ApprovalSeals(lasting_key))
        found = list(islice(chain(found, more), MOST_FOUND))
    return Verified([*gone, *found], *counts)


_COUNTED = ("journal", "approvals", "approval_decisions", "grants")
_NEEDED = tuple(f"table `{table}`" for table in TABLES)


def _gone(session: Session) -> Iterator[Tampering]:
    names = session.names()
    for table in TABLES:
        if table not in names:
            yield Tampering(None, None, f"the table `{table}` is gone")
    for guard in GUARDS:
        if guard not in names:
            yield Tampering(None, None, f"the guard `{guard}` is gone")


def _count(session: Session, table: str) -> int:
    if table not in session.names():
        return 0
    row = session.row(f"SELECT COUNT(*) FROM {table}")  # noqa: S608 - a table of ours
    return int(row[0]) if row else 0
