"""Points of time that neither a clock set anew nor a restart can bend.

Within one boot of the machine only the time since boot counts, so a wall clock moved back revives
nothing and one moved forward shortens nothing. After another boot only the wall clock is left; it
is never believed to be earlier than the latest one that the store has seen.
"""

import time
import uuid
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Protocol

from toolrt.stores.base import Session

_BOOT_ID = Path("/proc/sys/kernel/random/boot_id")
_REMEMBER_S = 1.0
"""How far the wall clock goes on before that is worth a write."""


@dataclass(frozen=True, slots=True)
class Moment:
    """Seconds of the wall clock since the epoch, and seconds since the boot named by `boot_id`."""

    wall: float
    boot_s: float
    boot_id: str

    def plus(self, seconds: float) -> "Moment":
        return replace(self, wall=self.wall + seconds, boot_s=self.boot_s + seconds)

    def remaining_s(self, now: "Moment") -> float:
        """Seconds from `now` until this moment; not above zero once it has come."""
        if self.boot_id == now.boot_id:
            return self.boot_s - now.boot_s
        return self.wall - now.wall


class Moments(Protocol):
    """Where the present moment comes from."""

    def now(self) -> Moment: ...


class SystemMoments:
    """The machine's clocks. Where no boot id can be read, each process is a boot of its own."""

    def __init__(self) -> None:
        self._boot_id = _boot_id()
        self._clock = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)

    def now(self) -> Moment:
        return Moment(time.time(), time.clock_gettime(self._clock), self._boot_id)


class ManualMoments:
    """Clocks that move only when told; for tests."""

    def __init__(self, wall: float = 1_700_000_000.0) -> None:
        self._now = Moment(wall, 1000.0, "boot-1")
        self._boots = 1

    def now(self) -> Moment:
        return self._now

    def advance(self, seconds: float) -> None:
        self._now = self._now.plus(seconds)

    def jump(self, seconds: float) -> None:
        """Set the wall clock forward, or back, while no time passes."""
        self._now = replace(self._now, wall=self._now.wall + seconds)

    def reboot(self) -> None:
        self._boots += 1
        self._now = Moment(self._now.wall, 10.0, f"boot-{self._boots}")


@dataclass(frozen=True, slots=True)
class Condition:
    """A part of a `WHERE`, with its parameters."""

    sql: str
    parameters: Sequence[object]


def columns(name: str) -> tuple[str, str, str]:
    """The columns that keep the moment `name` in a table."""
    return f"{name}_wall", f"{name}_s", f"{name}_boot"


def values(moment: Moment | None) -> tuple[float | None, float | None, str | None]:
    """What those columns hold."""
    return (None, None, None) if moment is None else (moment.wall, moment.boot_s, moment.boot_id)


def moment_of(wall: float | None, boot_s: float | None, boot_id: str | None) -> Moment | None:
    """The moment that such columns keep."""
    if wall is None or boot_s is None or boot_id is None:
        return None
    return Moment(wall, boot_s, boot_id)


def passed(name: str, now: Moment, after_s: float = 0.0) -> Condition:
    """Whether `after_s` seconds have gone by since the moment `name` of a row; `now` is settled."""
    return _compared(name, "<=", now, after_s)


def ahead(name: str, now: Moment, after_s: float = 0.0) -> Condition:
    """The opposite of `passed`; false as well where there is no such moment."""
    return _compared(name, ">", now, after_s)


def recent(name: str, moment: Moment, now: Moment, within_s: float) -> Condition:
    """Whether it was less than `within_s` seconds ago, by the clock of `moment` or by `now`, which
    is the same one settled: that may be ahead of the truth for good.
    """
    wall, boot_s, boot = columns(name)
    by_wall = f"{boot} <> ? AND {wall} > ? AND ({wall} <= ? OR {wall} > ?)"
    walls = (moment.boot_id, moment.wall - within_s, moment.wall, now.wall - within_s)
    sql = f"(({boot} = ? AND {boot_s} > ?) OR ({by_wall}))"
    return Condition(sql, (moment.boot_id, moment.boot_s - within_s, *walls))


def _compared(name: str, sign: str, now: Moment, after_s: float) -> Condition:
    """In a form that an index over the columns of the moment can answer."""
    wall, boot_s, boot = columns(name)
    sql = f"(({boot} = ? AND {boot_s} {sign} ?) OR ({boot} <> ? AND {wall} {sign} ?))"
    return Condition(sql, (now.boot_id, now.boot_s - after_s, now.boot_id, now.wall - after_s))


def settled(session: Session, now: Moment) -> Moment:
    """`now` with a wall clock that never runs back; remembers it, by the second.

    For comparisons only. A deadline is counted from the clock as it is: should that once have been
    far ahead, deadlines of before end early after the next boot, and none ends late.
    """
    latest = _latest(session)
    if latest is None or now.wall >= latest + _REMEMBER_S:
        session.change(
            "INSERT INTO meta (name, value) VALUES ('wall', ?)"
            " ON CONFLICT (name) DO UPDATE SET value = excluded.value",
            repr(now.wall),
        )
    return _not_before(now, latest)


def looked_at(session: Session, now: Moment) -> Moment:
    """The same without remembering it, where nothing is to be changed."""
    return _not_before(now, _latest(session))


def _latest(session: Session) -> float | None:
    row = session.row("SELECT value FROM meta WHERE name = 'wall'")
    return None if row is None else float(row[0])


def _not_before(now: Moment, latest: float | None) -> Moment:
    return now if latest is None else replace(now, wall=max(now.wall, latest))


def _boot_id() -> str:
    try:
        return _BOOT_ID.read_text(encoding="ascii").strip()
    except OSError:
        return f"process-{uuid.uuid4()}"
