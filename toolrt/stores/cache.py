"""Answers that outlive their process: kept by `cache`, found again by the next one.

Each is sealed with the lasting key, so that nobody without it puts an answer into a tool's mouth.
"""

import hmac
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial
from typing import Final

from toolrt.stores.base import Database, Session
from toolrt.stores.key import derived
from toolrt.stores.moments import (
    Moment,
    Moments,
    looked_at,
    moment_of,
    settled,
    values,
)

_PURPOSE: Final = "kept answers"


@dataclass(frozen=True, slots=True)
class KeptAnswer:
    """One answer: the tool's fingerprint, the digest of the call, JSON, and the time since.

    It is of use for `lasts_s` from when it was made.
    """

    tool: str
    digest: str
    body: bytes
    age_s: float
    lasts_s: float


class KeptAnswers:
    """The answers in one database. All of it may raise StoreError."""

    def __init__(self, database: Database, key: Callable[[], bytes], moments: Moments) -> None:
        self._database = database
        self._key = key
        self._moments = moments

    def secret(self) -> bytes:
        """What hides sensitive arguments in digests."""
        return derived(self._key(), "arguments of kept answers")

    async def digests(self, tool: str) -> frozenset[str]:
        """The calls of a tool whose answers are here."""
        sql = "SELECT digest FROM kept_answers WHERE tool = ?"
        rows = await self._database.read(lambda session: session.rows(sql, tool))
        return frozenset(row[0] for row in rows)

    async def find(self, tool: str, digest: str) -> KeptAnswer | None:
        """One answer; None where it is not here, or was not written by us."""
        now = self._moments.now()
        return await self._database.read(partial(self._found, tool=tool, digest=digest, now=now))

    async def keep(self, answers: Iterable[KeptAnswer]) -> None:
        """Write answers over those of the same calls, and forget those that are too old."""
        now, answers = self._moments.now(), list(answers)

        def work(session: Session) -> None:
            at = settled(session, now)
            session.change(_FORGET, at.boot_id, at.boot_s, at.boot_id, at.wall)
            session.many(_INSERT, [self._row(each, now) for each in answers])

        await self._database.run(work)

    def _row(self, answer: KeptAnswer, now: Moment) -> tuple[object, ...]:
        made = values(now.plus(-answer.age_s))
        mac = self._mac(answer.tool, answer.digest, answer.body)
        return (answer.tool, answer.digest, answer.body, mac, *made, answer.lasts_s)

    def _found(self, session: Session, tool: str, digest: str, now: Moment) -> KeptAnswer | None:
        row = session.row(_SELECT, tool, digest)
        if row is None:
            return None
        body, mac, *at, lasts_s = row
        made, body = moment_of(*at), bytes(body)
        if made is None or not hmac.compare_digest(mac, self._mac(tool, digest, body)):
            return None
        age_s = -made.remaining_s(looked_at(session, now))
        return KeptAnswer(tool, digest, body, max(0.0, age_s), lasts_s)

    def _mac(self, tool: str, digest: str, body: bytes) -> str:
        whole = f"{tool}\0{digest}\0".encode() + body
        return hmac.digest(derived(self._key(), _PURPOSE), whole, "sha256").hex()


_SELECT = (
    "SELECT body, mac, made_wall, made_s, made_boot, lasts FROM kept_answers"
    " WHERE tool = ? AND digest = ?"
)
_INSERT = (
    "INSERT INTO kept_answers (tool, digest, body, mac, made_wall, made_s, made_boot, lasts)"
    " VALUES (?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (tool, digest) DO UPDATE SET"
    " body = excluded.body, mac = excluded.mac, made_wall = excluded.made_wall,"
    " made_s = excluded.made_s, made_boot = excluded.made_boot, lasts = excluded.lasts"
)
_FORGET = (
    "DELETE FROM kept_answers WHERE (made_boot = ? AND made_s + lasts <= ?)"
    " OR (made_boot <> ? AND made_wall + lasts <= ?)"
)
