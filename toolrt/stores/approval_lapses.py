"""Approvals whose time has come: a question or a yes expires, a claim that went silent is unknown.

Nothing waits for a sweeper: whoever looks at a record in order to change it finds it as the clock
says, and every change asks the clock again in its own statement.
"""

from collections.abc import Mapping
from types import MappingProxyType

from toolrt.stores.approvals import Approval, State, found, get, move, note
from toolrt.stores.base import Audit, Session, no_audit
from toolrt.stores.moments import Condition, Moment, looked_at, passed, settled

_ENDS: Mapping[State, tuple[str, State]] = MappingProxyType(
    {
        "pending": ("expires", "expired"),
        "approved": ("execute_by", "expired"),
        "claimed": ("lease", "unknown"),
    }
)
"""State -> the moment that ends it, and what it becomes then."""


def sweep(session: Session, moment: Moment, audit: Audit = no_audit) -> list[Approval]:
    """End all that is due; gives those that were ended."""
    now = settled(session, moment)
    return [lapsed(session, record, now, audit) for record in found(session, _due(now))]


def is_due(session: Session, moment: Moment) -> bool:
    """Whether `sweep` would end anything; changes nothing itself."""
    due = _due(looked_at(session, moment))
    sql = f"SELECT 1 FROM approvals WHERE {due.sql} LIMIT 1"  # noqa: S608 - words of ours
    return session.row(sql, *due.parameters) is not None


def _due(now: Moment) -> Condition:
    ends = [(state, passed(name, now)) for state, (name, _) in _ENDS.items()]
    return Condition(
        " OR ".join(f"(state = '{state}' AND {end.sql})" for state, end in ends),
        [value for _, end in ends for value in end.parameters],
    )


def current(session: Session, prefix: str, now: Moment, audit: Audit) -> Approval:
    """The approval as it is by now. `now` is settled. Raises as `get` does."""
    return lapsed(session, get(session, prefix), now, audit)


def lapsed(session: Session, record: Approval, now: Moment, audit: Audit) -> Approval:
    """The record, ended if that is due."""
    if record.state not in _ENDS:
        return record
    name, state = _ENDS[record.state]
    end: Moment | None = getattr(record, name)
    if end is None or end.remaining_s(now) > 0:
        return record
    sets = {"state": state} if state == "unknown" else {"state": state, "ended": end}
    is_ours = move(session, record, sets, passed(name, now))
    record = get(session, record.id)
    if is_ours:
        note(audit, session, state, record, now)
    return record
