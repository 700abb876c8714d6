"""Deadlines of running attempts, with one timer for all of them.

A timer an attempt is the dearest part of a fast call. Here an attempt only signs in; the loop's
one timer stands at the earliest deadline, so that in the common case none is set or cancelled at
all. See docs/decisions for the figures.
"""

import asyncio
import math


class Watch:
    """One awaiting task and when its patience ends, in seconds of the loop's clock."""

    __slots__ = ("_already", "at", "has_fired", "task")

    def __init__(self, task: "asyncio.Task[object]", at: float) -> None:
        self.task = task
        self.at = at
        self.has_fired = False
        self._already = task.cancelling()

    def is_ours(self) -> bool:
        """Whether a cancellation just caught was this deadline's and nobody else's."""
        return self.has_fired and self.task.uncancel() <= self._already


class Deadlines:
    """The watches of one event loop.

    `watch` and `release` bracket an `await`; when the time comes, the task is cancelled, and
    `Watch.is_ours` tells that cancellation from a stranger's.
    """

    __slots__ = ("_next", "_timer", "_watches", "loop")

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self.loop = loop
        self._watches: set[Watch] = set()
        self._next = math.inf
        self._timer: asyncio.TimerHandle | None = None

    def watch(self, at: float) -> Watch:
        """Cancel the current task at `at` unless the watch is released before."""
        task = asyncio.current_task(self.loop)
        if task is None:
            raise RuntimeError("a deadline needs a running task")
        watch = Watch(task, at)
        self._watches.add(watch)
        if at < self._next:
            self._set(at)
        return watch

    def release(self, watch: Watch) -> None:
        self._watches.discard(watch)

    def close(self) -> None:
        """Drop the timer; attempts that still run lose their deadline."""
        if self._timer is not None:
            self._timer.cancel()
        self._timer, self._next = None, math.inf

    def _set(self, at: float) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._next = at
        self._timer = self.loop.call_at(at, self._sweep)

    def _sweep(self) -> None:
        now = self.loop.time()
        overdue = [watch for watch in self._watches if watch.at <= now]
        for watch in overdue:
            self._watches.discard(watch)
            watch.has_fired = True
            watch.task.cancel()
        self._timer, self._next = None, math.inf
        if self._watches:
            self._set(min(watch.at for watch in self._watches))
