"""Plans on their way, for those who go on with them: what their steps came to, and what they wait
for.

A run is known by the hash of its call. One process at a time has it, under a lease; when that has
lapsed, its process died in the middle. Rows are sealed with the lasting key, so that nobody without
it makes a step look done. A run is forgotten when it ends, or 30 days after its last change.
"""

import hmac
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Final, Literal

from toolrt.schemas.canonical import canonical_json
from toolrt.stores.base import Database, Row, Session, StoreError
from toolrt.stores.key import derived
from toolrt.stores.moments import Moment, Moments, moment_of, passed, settled, values

KEPT_S: Final = 30 * 24 * 3600.0
LEASE_S: Final = 15.0
"""How long a run counts as somebody's without a sign of life."""

Standing = Literal["new", "resumed", "running", "changed"]


@dataclass(frozen=True, slots=True)
class PlanRun:
    """One run: `key` stands for its call, `likeness` for the same call of whatever the tool is now.

    `caller` and `arguments` are JSON, `approval` is the yes to the plan itself, and `thought`
    (JSON) what has become of a plan that can change, or how one is written that is in no catalogue.
    """

    key: str
    likeness: str
    tool: str
    caller: str
    arguments: str = field(repr=False)
    approval: str | None = None
    thought: str | None = field(default=None, repr=False)


@dataclass(frozen=True, slots=True)
class KeptStep:
    """How far a call of a step has come: `begun` (it may have taken effect), `waiting` for its
    approval, or `done` with what it came to (JSON).

    `body` of one that waits is how (JSON): how many calls stand above the plan, and the approvals
    of a plan below it.
    """

    slot: str
    state: Literal["begun", "waiting", "done"]
    approval: str | None = None
    body: bytes | None = field(default=None, repr=False)


@dataclass(frozen=True, slots=True)
class Begun:
    """How a run stands for who wants to make it.

    `new` and `resumed`: it is ours now. `running`: somebody else's. `changed`: the same call was
    begun when the tool was another one; that run is over now.
    """

    standing: Standing
    run: PlanRun
    steps: Sequence[KeptStep] = ()


class PlanRuns:
    """The runs in one database. All of it may raise StoreError."""

    def __init__(self, database: Database, key: Callable[[], bytes], moments: Moments) -> None:
        self._database = database
        self._lasting_key = key
        self._moments = moments

    async def begin(self, run: PlanRun, owner: str) -> Begun:
        """Take the run, or go on with the one that is there."""
        now = self._moments.now()

        def work(session: Session) -> Begun:
            at = settled(session, now)
            old = passed("changed", at, KEPT_S)
            _forget(session, old.sql, *old.parameters)
            found = session.row(f"{_SELECT} WHERE key = ?", run.key)
            if found is None:
                return self._new(session, run, owner, at)
            if _is_taken(found, at):
                return Begun("running", run)
            kept = self._read(found)
            lease = values(now.plus(LEASE_S))
            session.change(_TAKE, owner, *lease, *values(now), run.key)
            return Begun("resumed", kept, self._steps(session, run.key))

        return await self._database.run(work)

    def _new(self, session: Session, run: PlanRun, owner: str, at: Moment) -> Begun:
        other = session.row(f"{_SELECT} WHERE likeness = ?", run.likeness)
        if other is not None and _is_taken(other, at):
            return Begun("running", run)
        if other is not None:
            _forget(session, "key = ?", other[0])
            return Begun("changed", run)
        now = self._moments.now()
        told, lease = _told(run), values(now.plus(LEASE_S))
        session.change(_INSERT, *told, self._mac("run", told), owner, *lease, *values(now))
        return Begun("new", run)

    async def keep(self, key: str, owner: str, *steps: KeptStep) -> bool:
        """Write how far steps are; false where the run is somebody else's by now."""
        now = self._moments.now()
        rows = [(*_row(key, step), self._mac("step", _row(key, step))) for step in steps]

        def work(session: Session) -> bool:
            lease = values(now.plus(LEASE_S))
            if not session.change(_TOUCH, *lease, *values(now), key, owner):
                return False
            session.many(_PUT_STEP, rows)
            return True

        return await self._database.run(work)

    async def think(self, run: PlanRun, owner: str) -> bool:
        """Write what has become of a plan that can change."""
        told = _told(run)
        mac = self._mac("run", told)
        return await self._changed(_THINK, run.thought, mac, run.key, owner)

    async def renew(self, key: str, owner: str) -> bool:
        """It still runs."""
        now = self._moments.now()
        return await self._changed(_TOUCH, *values(now.plus(LEASE_S)), *values(now), key, owner)

    async def let_go(self, key: str, owner: str) -> bool:
        """It waits, and whoever makes the same call goes on with it."""
        return await self._changed(_FREE, key, owner)

    async def end(self, key: str, owner: str) -> None:
        """It is over, and forgotten."""
        await self._database.run(
            lambda session: _forget(session, "key = ? AND owner = ?", key, owner)
        )

    async def find(self, key: str) -> PlanRun | None:
        """The run of that key."""
        row = await self._database.read(
            lambda session: session.row(f"{_SELECT} WHERE key = ?", key)
        )
        return None if row is None else self._read(row)

    async def has_any(self, tool: str) -> bool:
        """Whether any run of that plan is kept."""
        row = await self._database.read(lambda session: session.row(_OF_TOOL, tool))
        return row is not None

    async def waiting_for(self, approval: str) -> PlanRun | None:
        """The run that waits for this approval at one of its steps; of plans that call each other
        the outermost, which goes on with those below it.
        """

        def found(session: Session) -> Row | None:
            above = _outermost(session, approval)
            return None if above is None else session.row(f"{_SELECT} WHERE key = ?", above)

        row = await self._database.read(found)
        return None if row is None else self._read(row)

    async def forget_waiting(self, approval: str) -> None:
        """Forget what waits for this approval, which was called off, and is nobody's now."""

        def work(session: Session) -> None:
            for key, _ in session.rows(_WAITING, approval):
                _forget(session, "key = ? AND owner IS NULL", key)

        await self._database.run(work)

    async def _changed(self, sql: str, *parameters: object) -> bool:
        return await self._database.run(lambda session: session.change(sql, *parameters) == 1)

    def _read(self, row: tuple[object, ...]) -> PlanRun:
        told, mac = row[:_WIDTH], str(row[_WIDTH])
        if not hmac.compare_digest(mac, self._mac("run", told)):
            raise _altered()
        return PlanRun(*told)  # type: ignore[arg-type] # as it was written

    def _steps(self, session: Session, key: str) -> list[KeptStep]:
        found = []
        for *told, mac in session.rows(_STEPS, key):
            row = (*told[:4], None if told[4] is None else bytes(told[4]))
            if not hmac.compare_digest(str(mac), self._mac("step", row)):
                raise _altered()
            found.append(KeptStep(*row[1:]))
        return found

    def _mac(self, what: str, told: Sequence[object]) -> str:
        plain = [each.hex() if isinstance(each, bytes) else each for each in told]
        key = derived(self._lasting_key(), "plan runs")
        return hmac.digest(key, canonical_json([what, plain]), "sha256").hex()


def _is_taken(row: Row, at: Moment) -> bool:
    """Whether somebody has the run of this row, and gives signs of life."""
    *_, owner, wall, monotonic, boot = row
    until = moment_of(wall, monotonic, boot)
    return owner is not None and until is not None and until.remaining_s(at) > 0


def _altered() -> StoreError:
    return StoreError(
        "corrupt",
        "what a plan has done was changed by hand",
        hint="nothing of it runs; make the call anew once the row is gone",
    )


def _told(run: PlanRun) -> tuple[object, ...]:
    return tuple(getattr(run, name) for name in _NAMES)


def _row(key: str, step: KeptStep) -> tuple[object, ...]:
    return key, step.slot, step.state, step.approval, step.body


def plan_above(session: Session, approval: str) -> str | None:
    """The name of the outermost plan that waits for this approval at one of its steps."""
    above = _outermost(session, approval)
    row = None if above is None else session.row("SELECT tool FROM plan_runs WHERE key = ?", above)
    return None if row is None else str(row[0])


def _outermost(session: Session, approval: str) -> str | None:
    """The key of the run of that plan."""
    waits = session.rows(_WAITING, approval)
    above = min(waits, key=lambda each: (_calls_above(each[1]), str(each[0])), default=None)
    return None if above is None else str(above[0])


def _calls_above(body: object) -> int:
    """How many calls stand above a plan that waits; whoever changed that by hand changes only with
    which of those that wait for the same approval somebody goes on.
    """
    try:
        return int(json.loads(bytes(body))[0]) if isinstance(body, bytes | memoryview) else 0
    except (ValueError, TypeError, LookupError):
        return 0


def _forget(session: Session, which: str, *parameters: object) -> None:
    within = f"key IN (SELECT key FROM plan_runs WHERE {which})"  # noqa: S608 - our own words
    session.change(f"DELETE FROM plan_steps WHERE {within}", *parameters)  # noqa: S608 - as above
    session.change(f"DELETE FROM plan_runs WHERE {which}", *parameters)  # noqa: S608 - as above


_NAMES: Final = ("key", "likeness", "tool", "caller", "arguments", "approval", "thought")
_WIDTH: Final = len(_NAMES)
_COLUMNS = ", ".join(_NAMES)
_LEASE = "lease_wall = ?, lease_s = ?, lease_boot = ?"
_CHANGED = "changed_wall = ?, changed_s = ?, changed_boot = ?"
_MINE = "WHERE key = ? AND owner = ?"
_SELECT = f"SELECT {_COLUMNS}, mac, owner, lease_wall, lease_s, lease_boot FROM plan_runs"  # noqa: S608 - our own words
_INSERT = (
    f"INSERT INTO plan_runs ({_COLUMNS}, mac, owner, lease_wall, lease_s, lease_boot,"  # noqa: S608 - as above
    " changed_wall, changed_s, changed_boot) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
)
_TAKE = f"UPDATE plan_runs SET owner = ?, {_LEASE}, {_CHANGED} WHERE key = ?"  # noqa: S608 - as above
_TOUCH = f"UPDATE plan_runs SET {_LEASE}, {_CHANGED} {_MINE}"  # noqa: S608 - as above
_THINK = f"UPDATE plan_runs SET thought = ?, mac = ? {_MINE}"  # noqa: S608 - as above
_FREE = f"UPDATE plan_runs SET owner = NULL {_MINE}"  # noqa: S608 - as above
_OF_TOOL = "SELECT 1 FROM plan_runs WHERE tool = ? LIMIT 1"
_WAITING = "SELECT key, body FROM plan_steps WHERE approval = ? AND state = 'waiting'"
_STEPS = "SELECT key, slot, state, approval, body, mac FROM plan_steps WHERE key = ? ORDER BY slot"
_PUT_STEP = (
    "INSERT INTO plan_steps (key, slot, state, approval, body, mac) VALUES (?, ?, ?, ?, ?, ?)"
    " ON CONFLICT (key, slot) DO UPDATE SET state = excluded.state,"
    " approval = excluded.approval, body = excluded.body, mac = excluded.mac"
)
