"""Calls with an idempotency key: which key was used for what, and what came of it (E11).

A key counts for one tool and one tenant, for 24 hours. Keys and arguments are kept as HMACs. A
running call holds a lease; when that has lapsed, its process died in the middle.
"""

import hmac
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, Literal

from toolrt.stores.base import Database, Session
from toolrt.stores.key import derived
from toolrt.stores.moments import Moment, Moments, moment_of, passed, settled, values

KEPT_S: Final = 24 * 3600.0
LEASE_S: Final = 30.0
"""How long a call counts as running without a sign of life beyond the time that it may take."""

Standing = Literal["begun", "running", "done", "conflict"]


@dataclass(frozen=True, slots=True)
class KeyedCall:
    """A call as it is known here; the last two are HMACs, `tenant` is empty where there is none."""

    tool: str
    tenant: str
    key_hash: str
    arguments_hash: str


@dataclass(frozen=True, slots=True)
class Found:
    """How a key stands for a call that wants to begin.

    `begun`: it is ours now; `is_again` where an earlier call with it came to an unknown end.
    `running`: somebody else's. `done`: `body` is what came of it, or None where that is not kept.
    `conflict`: it was used for other arguments.
    """

    standing: Standing
    body: bytes | None = None
    is_again: bool = False


class KeyedCalls:
    """The calls in one database. All of it may raise StoreError."""

    def __init__(self, database: Database, key: Callable[[], bytes], moments: Moments) -> None:
        self._database = database
        self._key = key
        self._moments = moments

    def hidden(self, text: bytes) -> str:
        """A text as it is kept: nobody can read it, and equal ones are equal."""
        return hmac.digest(derived(self._key(), "keyed calls"), text, "sha256").hex()

    async def begin(self, call: KeyedCall, owner: str, longest_s: float) -> Found:
        """Take the key for a call that ends within `longest_s`, if it is free."""
        now = self._moments.now()

        def work(session: Session) -> Found:
            at = settled(session, now)
            old = passed("begun", at, KEPT_S)
            session.change(f"DELETE FROM keyed_calls WHERE {old.sql}", *old.parameters)  # noqa: S608 - our own words
            found = _standing(session, call, at)
            if found.standing == "begun":
                lease = now.plus(longest_s + LEASE_S)
                session.change(_TAKE, *_where(call), call.arguments_hash, owner, *values(now),
                               *values(lease))  # fmt: skip
            return found

        return await self._database.run(work)

    async def renew(self, call: KeyedCall, owner: str, longest_s: float) -> None:
        """It still runs, and ends within `longest_s` from now."""
        lease = self._moments.now().plus(longest_s + LEASE_S)
        await self._settle(_RENEWED, *values(lease), *_where(call), owner)

    async def end(self, call: KeyedCall, owner: str, body: bytes | None) -> None:
        """It is done, and this came of it."""
        await self._settle(_DONE, body, *_where(call), owner)

    async def leave_open(self, call: KeyedCall, owner: str) -> None:
        """Nobody knows whether it took effect; the same call may be made again with its key."""
        await self._settle(_OPEN, *_where(call), owner)

    async def give_back(self, call: KeyedCall, owner: str) -> None:
        """It had no effect: the key is free."""
        await self._settle(_FREE, *_where(call), owner)

    async def _settle(self, sql: str, *parameters: object) -> None:
        await self._database.run(lambda session: session.change(sql, *parameters))


def _standing(session: Session, call: KeyedCall, now: Moment) -> Found:
    row = session.row(_SELECT, *_where(call))
    if row is None:
        return Found("begun")
    arguments_hash, state, body, *lease = row
    if arguments_hash != call.arguments_hash:
        return Found("conflict")
    if state == "done":
        return Found("done", None if body is None else bytes(body))
    until = moment_of(*lease)
    if state == "running" and until is not None and until.remaining_s(now) > 0:
        return Found("running")
    return Found("begun", is_again=True)


def _where(call: KeyedCall) -> tuple[str, str, str]:
    return call.tool, call.tenant, call.key_hash


_SELECT = (
    "SELECT arguments_hash, state, body, lease_wall, lease_s, lease_boot FROM keyed_calls"
    " WHERE tool = ? AND tenant = ? AND key_hash = ?"
)
_TAKE = (
    "INSERT INTO keyed_calls (tool, tenant, key_hash, arguments_hash, state, owner, body,"
    " begun_wall, begun_s, begun_boot, lease_wall, lease_s, lease_boot)"
    " VALUES (?, ?, ?, ?, 'running', ?, NULL, ?, ?, ?, ?, ?, ?)"
    " ON CONFLICT (tool, tenant, key_hash) DO UPDATE SET state = 'running',"
    " owner = excluded.owner, body = NULL, lease_wall = excluded.lease_wall,"
    " lease_s = excluded.lease_s, lease_boot = excluded.lease_boot"
)
_MINE = " WHERE tool = ? AND tenant = ? AND key_hash = ? AND owner = ?"
_RENEWED = f"UPDATE keyed_calls SET lease_wall = ?, lease_s = ?, lease_boot = ?{_MINE}"  # noqa: S608 - our own words
_DONE = f"UPDATE keyed_calls SET state = 'done', body = ?{_MINE}"  # noqa: S608 - our own words
_OPEN = f"UPDATE keyed_calls SET state = 'unknown'{_MINE}"  # noqa: S608 - our own words
_FREE = f"DELETE FROM keyed_calls{_MINE}"  # noqa: S608 - our own words
