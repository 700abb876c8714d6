"""Spills as they are kept: what was too long for a result, in parts of 64 KiB.

They are bounded: each grows old in seven days, one may be 64 MiB and all together 256 MiB, and the
oldest make room for the latest. Times are seconds of the wall clock.
"""

from dataclasses import dataclass, fields
from typing import Final

from toolrt.stores.base import Session

PART_BYTES: Final = 64 * 1024
MOST_BYTES: Final = 64 * 1024**2
MOST_TOGETHER: Final = 4 * MOST_BYTES
KEPT_S: Final = 7 * 24 * 3600.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Spill:
    """One of them, without its content; it belongs to the caller of its call."""

    id: str
    call_id: str
    tool: str
    principal: str
    tenant: str | None
    session: str | None
    media_type: str
    bytes: int
    created_wall: float


_NAMES = tuple(field.name for field in fields(Spill))
_COLUMNS = ", ".join(_NAMES)
_PLACES = ", ".join("?" * len(_NAMES))


def add(session: Session, spill: Spill, body: bytes, most_together: int = MOST_TOGETHER) -> None:
    """Keep a spill; what is too old goes, and the oldest of the others where there is no room."""
    _delete(session, "created_wall < ?", spill.created_wall - KEPT_S)
    _make_room(session, most_together - spill.bytes)
    row = [getattr(spill, name) for name in _NAMES]
    session.change(f"INSERT INTO spills ({_COLUMNS}) VALUES ({_PLACES})", *row)  # noqa: S608 - constants
    parts = range(0, len(body), PART_BYTES)
    session.many(
        "INSERT INTO spill_parts (spill_id, number, body) VALUES (?, ?, ?)",
        ((spill.id, at // PART_BYTES, body[at : at + PART_BYTES]) for at in parts),
    )


def find(session: Session, id_: str, now_wall: float) -> Spill | None:
    """The spill of that id, or the latest one of the call of that id; None once it is too old."""
    row = session.row(
        f"SELECT {_COLUMNS} FROM spills WHERE (id = ? OR call_id = ?) AND created_wall >= ?"  # noqa: S608 - constants
        " ORDER BY created_wall DESC, id",
        id_,
        id_,
        now_wall - KEPT_S,
    )
    return None if row is None else Spill(**dict(zip(_NAMES, row, strict=True)))


def read(session: Session, spill: Spill, start: int, end: int) -> bytes:
    """Its bytes from `start` up to `end`, as far as there are any."""
    if start >= min(end, spill.bytes):
        return b""
    first, last = start // PART_BYTES, (end - 1) // PART_BYTES
    rows = session.rows(
        "SELECT body FROM spill_parts WHERE spill_id = ? AND number BETWEEN ? AND ?"
        " ORDER BY number",
        spill.id,
        first,
        last,
    )
    body = b"".join(bytes(part) for (part,) in rows)
    skipped = first * PART_BYTES
    return body[start - skipped : end - skipped]


def _make_room(session: Session, room: int) -> None:
    """Let the oldest go until all together take no more than `room` bytes."""
    row = session.row("SELECT COALESCE(SUM(bytes), 0) FROM spills")
    taken = int(row[0]) if row else 0
    if taken <= room:
        return
    for id_, size in session.rows("SELECT id, bytes FROM spills ORDER BY created_wall, id"):
        _delete(session, "id = ?", id_)
        taken -= size
        if taken <= room:
            return


def _delete(session: Session, which: str, value: object) -> None:
    within = f"spill_id IN (SELECT id FROM spills WHERE {which})"  # noqa: S608 - constants
    session.change(f"DELETE FROM spill_parts WHERE {within}", value)  # noqa: S608 - constants
    session.change(f"DELETE FROM spills WHERE {which}", value)  # noqa: S608 - constants
