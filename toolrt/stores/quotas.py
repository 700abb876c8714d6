"""Quotas that several processes share: never more than `limit` calls in any span of `per_s`.

A process takes tokens in chunks. Each counts from when it is taken until `per_s` after the last
moment at which it may be used, so that whenever it is used, the bound holds.
"""

import uuid
from collections.abc import Iterable
from dataclasses import dataclass

from toolrt.stores.base import Row, Session
from toolrt.stores.moments import Moment, moment_of, passed, settled, values


@dataclass(frozen=True, slots=True)
class Chunk:
    """Tokens that were taken under an id; where there are none, `wait_s` is until the next."""

    id: str
    tokens: int
    wait_s: float = 0.0


def take(
    session: Session, name: str, moment: Moment, *, limit: int, wanted: int, counts_s: float
) -> Chunk:
    """As many of the wanted tokens as there are. `counts_s` is how long they count from now."""
    now = settled(session, moment)
    over = passed("frees", now)
    session.change(f"DELETE FROM quotas WHERE {over.sql}", *over.parameters)  # noqa: S608 - our own
    rows = session.rows(
        "SELECT tokens, frees_wall, frees_s, frees_boot FROM quotas WHERE name = ?", name
    )
    free = limit - sum(row[0] for row in rows)
    if free <= 0:
        return Chunk("", 0, _wait_s(rows, now))
    chunk = Chunk(str(uuid.uuid4()), min(free, wanted))
    session.change(
        "INSERT INTO quotas (id, name, tokens, frees_wall, frees_s, frees_boot)"
        " VALUES (?, ?, ?, ?, ?, ?)",
        chunk.id, name, chunk.tokens, *values(moment.plus(counts_s)),
    )  # fmt: skip
    return chunk


def give_back(session: Session, unused: Iterable[Chunk]) -> None:
    """Tokens of chunks that were not used and will not be; a second time there are none left."""
    for chunk in unused:
        session.change(
            "UPDATE quotas SET tokens = tokens - ? WHERE id = ? AND tokens >= ?",
            chunk.tokens, chunk.id, chunk.tokens,
        )  # fmt: skip


def _wait_s(rows: Iterable[Row], now: Moment) -> float:
    """Until the first of the tokens is free again."""
    frees = (moment_of(*row[1:]) for row in rows if row[0])
    return min((each.remaining_s(now) for each in frees if each is not None), default=0.0)
