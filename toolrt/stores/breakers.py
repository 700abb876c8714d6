"""Breakers as all processes of a project see them: a row each, changed by compare-and-swap.

A process counts and decides in its own memory, and tells what changed; one that asks for the trial
of a half-open breaker gets it only here, so that there is one trial over all processes (B5).
"""

from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from typing import Literal

from toolrt.stores.base import Row, Session
from toolrt.stores.moments import Moment, columns, moment_of, values

State = Literal["closed", "open", "half-open"]

_TRIES = 20


@dataclass(frozen=True, slots=True)
class Key:
    """Whose breaker: a target's or a tool's, and how it is set. Other settings, another breaker."""

    kind: Literal["target", "tool"]
    name: str
    options: str


@dataclass(frozen=True, slots=True)
class Stored:
    """A breaker as it is kept.

    `until`: when the trial may begin (open), or is given up (half-open, made by `owner`). `why` is
    the code of the fault that opened it, `changed` wall time.
    """

    kind: Literal["target", "tool"]
    name: str
    options: str
    revision: int = 0
    state: State = "closed"
    failures: int = 0
    reopened: int = 0
    owner: str | None = None
    why: str | None = None
    until: Moment | None = None
    changed: float = 0.0

    @property
    def key(self) -> Key:
        return Key(self.kind, self.name, self.options)

    def refusal_s(self, now: Moment) -> float:
        """How long a call of now would have to wait; zero where it would be let through."""
        if self.state == "closed" or self.until is None:
            return 0.0
        return max(0.0, self.until.remaining_s(now))


Step = Callable[[Stored], Stored]
"""What a change makes of a breaker; the same where it changes nothing."""

_PLAIN = tuple(each.name for each in fields(Stored) if each.name not in {"until", "changed"})
_COLUMNS = (*_PLAIN, *columns("until"), "changed")
_SELECT = f"SELECT {', '.join(_COLUMNS)} FROM breakers"  # noqa: S608 - names of our own
_OF_KEY = "kind = ? AND name = ? AND options = ?"


def find(session: Session, key: Key) -> Stored | None:
    """The breaker, where anything was ever told of it."""
    row = session.row(f"{_SELECT} WHERE {_OF_KEY}", key.kind, key.name, key.options)
    return None if row is None else _read(row)


def listed(session: Session, name: str | None = None) -> list[Stored]:
    """All breakers, or those of one name."""
    sql = f"{_SELECT} WHERE name = coalesce(?, name) ORDER BY kind, name, options"
    return [_read(row) for row in session.rows(sql, name)]


def change(session: Session, key: Key, wall: float, step: Step) -> tuple[Stored, Stored]:
    """The breaker before and after `step`; by whomever it is changed meanwhile, none is lost."""
    for _ in range(_TRIES):
        found = find(session, key)
        before = found or Stored(key.kind, key.name, key.options)
        after = step(before)
        if after == before:
            return before, before
        after = replace(after, revision=before.revision + 1, changed=wall)
        written = _insert(session, after) if found is None else _update(session, after, before)
        if written:
            return before, after
    raise RuntimeError(f"the breaker of {key.name} changes faster than it can be written")


def opened(moment: Moment, recovery_s: float, reopened: int, owner: str, why: str | None) -> Step:
    """A process opens it. One that is open still, or on trial by another, stays as it is."""

    def step(before: Stored) -> Stored:
        if before.refusal_s(moment) > 0 and before.owner != owner:
            return before
        until = moment.plus(recovery_s)
        return replace(
            before, state="open", failures=0, reopened=reopened, owner=None, why=why, until=until
        )

    return step


def tried(now: Moment, lease_s: float, owner: str) -> Step:
    """A process takes the trial, if it is time for one; then it is the owner."""

    def step(before: Stored) -> Stored:
        if before.state == "closed" or before.refusal_s(now) > 0:
            return before
        return replace(before, state="half-open", owner=owner, until=now.plus(lease_s))

    return step


def passed(moment: Moment, owner: str) -> Step:
    """The trial of `owner` went well; it may have been made while the store could not be asked."""

    def step(before: Stored) -> Stored:
        if before.owner != owner and (before.state != "open" or before.refusal_s(moment) > 0):
            return before
        return _closed(before)

    return step


def released(moment: Moment, owner: str) -> Step:
    """The trial of `owner` ended without a verdict: the next call is one."""

    def step(before: Stored) -> Stored:
        if before.state != "half-open" or before.owner != owner:
            return before
        return replace(before, state="open", owner=None, until=moment)

    return step


def counted(
    moment: Moment, failures: int, most: int, recovery_s: float, why: str | None, *, anew: bool
) -> Step:
    """Failures of a process that ends, on top of those of others; `anew` after a success."""

    def step(before: Stored) -> Stored:
        if before.state != "closed":
            return before
        count = failures + (0 if anew else before.failures)
        if count < most:
            return replace(before, failures=count)
        until = moment.plus(recovery_s)
        return replace(before, state="open", failures=0, reopened=0, why=why, until=until)

    return step


def reset(before: Stored) -> Stored:
    """An operator closes it; what it counted is forgotten."""
    return _closed(before)


def _closed(before: Stored) -> Stored:
    return replace(before, state="closed", failures=0, reopened=0, owner=None, why=None, until=None)


def _insert(session: Session, stored: Stored) -> bool:
    places = ", ".join("?" * len(_COLUMNS))
    sql = (
        f"INSERT INTO breakers ({', '.join(_COLUMNS)}) VALUES ({places})"  # noqa: S608 - names of our own
        " ON CONFLICT (kind, name, options) DO NOTHING"
    )
    return session.change(sql, *_values(stored)) == 1


def _update(session: Session, stored: Stored, before: Stored) -> bool:
    places = ", ".join(f"{column} = ?" for column in _COLUMNS)
    sql = f"UPDATE breakers SET {places} WHERE {_OF_KEY} AND revision = ?"  # noqa: S608 - as above
    key = (before.kind, before.name, before.options, before.revision)
    return session.change(sql, *_values(stored), *key) == 1


def _values(stored: Stored) -> tuple[object, ...]:
    plain = (getattr(stored, name) for name in _PLAIN)
    return (*plain, *values(stored.until), stored.changed)


def _read(row: Row) -> Stored:
    cells = dict(zip(_COLUMNS, row, strict=True))
    plain = {name: cells[name] for name in _PLAIN}
    until = moment_of(*(cells[column] for column in columns("until")))
    return Stored(**plain, until=until, changed=cells["changed"])
