"""Turns: how many attempts of a tool run at once (`concurrency`); first come, first served.

An attempt that waits has been sent nowhere, and whoever stops waiting leaves no place taken. The
bound is one of this process.
"""

import asyncio
from collections import deque

from toolrt.catalog.snapshot import ToolEntry


class Queue:
    """The places of one tool, and those who wait for one."""

    __slots__ = ("_waiting", "limit", "running")

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self.running = 0
        self._waiting: deque[asyncio.Future[None]] = deque()

    async def enter(self) -> None:
        """Come back with a place. Raises CancelledError without one."""
        if self.running < self.limit:
            self.running += 1
            return
        turn = asyncio.get_running_loop().create_future()
        self._waiting.append(turn)
        try:
            await turn
        except BaseException:
            if turn.done() and not turn.cancelled():
                self.leave()  # it was given in the moment of the cancellation
            raise

    def leave(self) -> None:
        """Give the place to whoever has waited longest."""
        while self._waiting:
            turn = self._waiting.popleft()
            if not turn.done():
                turn.set_result(None)
                return
        self.running -= 1


class Turns:
    """The queues of a runtime: they outlive generations, as long as the limit stays."""

    def __init__(self) -> None:
        self._queues: dict[tuple[str, int], Queue] = {}

    def of(self, entry: ToolEntry) -> Queue | None:
        """The queue of a tool; None where any number of its calls may run at once."""
        written = entry.manifest.concurrency
        if written is None:
            return None
        limit = 1 if written == "serial" else written
        return self._queues.setdefault((entry.name, limit), Queue(limit))
