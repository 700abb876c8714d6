"""Earlier approvals of the very same call that run, or ended without anybody knowing how.

Whoever is asked about a call is told of them: a yes may do a second time what has been done.
"""

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Literal

from toolrt.stores.approvals import Approval
from toolrt.stores.base import Session
from toolrt.stores.moments import Moment, columns, moment_of

_OPEN = frozenset({"pending", "approved"})
_CREATED = ", ".join(columns("created"))


@dataclass(frozen=True, slots=True)
class Twin:
    """An approval of the same call: its id, whether it runs or ended unknown, when it was asked."""

    id: str
    state: Literal["claimed", "unknown"]
    asked: Moment

    @property
    def how(self) -> str:
        return "is running now" if self.state == "claimed" else "ran: outcome unknown"

    def document(self) -> dict[str, Any]:
        at = datetime.fromtimestamp(self.asked.wall, UTC).isoformat(timespec="seconds")
        return {
            "approval_id": self.id,
            "state": self.state,
            "asked_at": at.replace("+00:00", "Z"),
        }


def twin_of(session: Session, record: Approval) -> Twin | None:
    """The latest one of the same tool, arguments, caller and tenant, as asked or as edited; None
    where there is none, or the record is not to be decided, or run, any more.
    """
    if record.state not in _OPEN:
        return None
    row = session.row(
        f"SELECT id, state, {_CREATED} FROM approvals"  # noqa: S608 - names of our own
        " WHERE state IN ('claimed', 'unknown') AND id <> ?"
        " AND principal = ? AND COALESCE(tenant, '') = ? AND (asked_hash = ? OR final_hash = ?)"
        " ORDER BY created_wall DESC, id LIMIT 1",
        *(record.id, record.principal, record.tenant or ""),
        *(record.asked_hash, record.final_hash),
    )
    asked = None if row is None else moment_of(*row[2:])
    return None if row is None or asked is None else Twin(row[0], row[1], asked)
