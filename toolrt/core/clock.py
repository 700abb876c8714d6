"""Time as the pipeline sees it, so that tests can hold it still."""

import asyncio
import time
from typing import Protocol


class Clock(Protocol):
    """Seconds: `monotonic` for deadlines, `wall` since the epoch, `sleep` between attempts."""

    def monotonic(self) -> float: ...

    def wall(self) -> float: ...

    async def sleep(self, seconds: float) -> None: ...


class SystemClock:
    """The machine's own clock."""

    monotonic = staticmethod(time.monotonic)
    wall = staticmethod(time.time)

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)


class ManualClock:
    """A clock that moves only when told, or when somebody sleeps on it."""

    def __init__(self, wall: float = 1_700_000_000.0) -> None:
        self._now = 1000.0
        self._wall_offset = wall - self._now
        self.slept: list[float] = []

    def monotonic(self) -> float:
        return self._now

    def wall(self) -> float:
        return self._now + self._wall_offset

    def advance(self, seconds: float) -> None:
        self._now += seconds

    async def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.advance(seconds)
        await asyncio.sleep(0)
