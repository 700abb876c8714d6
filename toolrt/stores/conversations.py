"""Conversations with models, for whoever goes on with them: after a person has decided, after a
restart, or to ask more.

One process at a time has a conversation, under a lease; when that has lapsed, its process died in
the middle. Rows are sealed with the lasting key, so that nobody without it puts words into a
model's mouth. A conversation is forgotten 30 days after its last change.
"""

import hmac
from collections.abc import Callable
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Final, Literal

from toolrt.schemas.canonical import canonical_json
from toolrt.stores.base import Database, Session, StoreError
from toolrt.stores.key import derived
from toolrt.stores.moments import Moments, moment_of, passed, settled, values

KEPT_S: Final = 30 * 24 * 3600.0
LEASE_S: Final = 15.0
"""How long a conversation counts as somebody's without a sign of life."""

State = Literal["running", "paused", "answered", "failed", "limit"]


@dataclass(frozen=True, slots=True)
class Kept:
    """A conversation as it is kept: whose it is, how it stands, and all that was said (JSON)."""

    id: str
    principal: str
    tenant: str
    state: State
    body: bytes = field(repr=False)


class KeptConversations:
    """The conversations in one database. All of it may raise StoreError."""

    def __init__(self, database: Database, key: Callable[[], bytes], moments: Moments) -> None:
        self._database = database
        self._lasting_key = key
        self._moments = moments

    async def take(self, id_: str, owner: str) -> Kept | None:
        """The conversation, which is ours now; None where there is none, or somebody has it."""
        now = self._moments.now()

        def work(session: Session) -> Kept | None:
            at = settled(session, now)
            row = session.row(f"{_SELECT} WHERE id = ?", id_)
            if row is None:
                return None
            until = moment_of(*row[-3:])
            if row[-4] is not None and until is not None and until.remaining_s(at) > 0:
                return None
            session.change(_TAKE, owner, *values(now.plus(LEASE_S)), id_)
            return self._read(row)

        return await self._database.run(work)

    async def find(self, id_: str) -> Kept | None:
        """The conversation, to look at."""
        row = await self._database.read(lambda session: session.row(f"{_SELECT} WHERE id = ?", id_))
        return None if row is None else self._read(row)

    async def keep(self, kept: Kept, owner: str, *, is_over: bool = False) -> bool:
        """Write how it stands, and let go of it where `is_over`; false where it is somebody else's
        by now.
        """
        now = self._moments.now()
        told = _told(kept)
        lease = (None, *values(None)) if is_over else (owner, *values(now.plus(LEASE_S)))

        def work(session: Session) -> bool:
            old = passed("changed", settled(session, now), KEPT_S)
            session.change(f"DELETE FROM conversations WHERE {old.sql}", *old.parameters)  # noqa: S608 - our own words
            row = session.row("SELECT owner FROM conversations WHERE id = ?", kept.id)
            if row is not None and row[0] != owner:
                return False
            session.change("DELETE FROM conversations WHERE id = ?", kept.id)
            session.change(_INSERT, *told, self._mac(told), *lease, *values(now))
            return True

        return await self._database.run(work)

    async def renew(self, id_: str, owner: str) -> None:
        """It still goes on."""
        lease = values(self._moments.now().plus(LEASE_S))
        await self._database.run(lambda session: session.change(_RENEW, *lease, id_, owner))

    def _read(self, row: tuple[object, ...]) -> Kept:
        id_, principal, tenant, state, body, mac = row[:6]
        plain = body.encode() if isinstance(body, str) else bytes(body)  # type: ignore[call-overload] # a BLOB
        told = (id_, principal, tenant, state, plain)
        if not hmac.compare_digest(str(mac), self._mac(told)):
            raise StoreError(
                "corrupt",
                "a conversation was changed by hand",
                hint="nothing of it goes on; ask anew",
            )
        return Kept(*told)  # type: ignore[arg-type] # as it was written

    def _mac(self, told: tuple[object, ...]) -> str:
        *names, body = told
        plain = [*names, sha256(body).hexdigest()]  # type: ignore[arg-type] # bytes
        key = derived(self._lasting_key(), "conversations")
        return hmac.digest(key, canonical_json(plain), "sha256").hex()


def _told(kept: Kept) -> tuple[object, ...]:
    return kept.id, kept.principal, kept.tenant, kept.state, kept.body


_COLUMNS = "id, principal, tenant, state, body, mac"
_LEASE = "lease_wall = ?, lease_s = ?, lease_boot = ?"
_SELECT = f"SELECT {_COLUMNS}, owner, lease_wall, lease_s, lease_boot FROM conversations"  # noqa: S608 - our own words
_INSERT = (
    f"INSERT INTO conversations ({_COLUMNS}, owner, lease_wall, lease_s, lease_boot,"  # noqa: S608 - as above
    " changed_wall, changed_s, changed_boot) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
)
_TAKE = f"UPDATE conversations SET owner = ?, {_LEASE} WHERE id = ?"  # noqa: S608 - as above
_RENEW = f"UPDATE conversations SET {_LEASE} WHERE id = ? AND owner = ?"  # noqa: S608 - as above
