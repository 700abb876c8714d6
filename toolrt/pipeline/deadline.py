"""Deadlines of running attempts, with one timer for all of them.

A timer an attempt is the dearest part of a fast call. Here an attempt only signs in; the loop's
one timer stands at the earliest deadline, so that in the common case none is set or cancelled at
all. See docs/decisions for the figures.
"""

import asyncio
import math
from typing import Any

from toolrt.core.calls import Invocation


class Deadlines:
    """The attempts that somebody waits for, all on one event loop: the one that runs them.

    `watch` and `release` bracket an `await` of one invocation; when its time comes, the awaiting
    task is cancelled, and `is_ours` tells that cancellation from a stranger's. Times are seconds
    of the loop's clock.
    """

    __slots__ = ("_loop", "_next", "_timer", "_watched")

    def __init__(self) -> None:
        self._loop: asyncio.AbstractEventLoop | None = None
        self._watched: set[Invocation] = set()
        self._next = math.inf
        self._timer: asyncio.TimerHandle | None = None

    def watch(self, invocation: Invocation, allowed_s: float) -> None:
        """Cancel the current task in `allowed_s` unless the invocation is released before."""
        loop = self._loop
        task = asyncio.current_task(loop) if loop is not None else None
        if loop is None or task is None:
            loop, task = self._moved()
        invocation.task = task
        invocation.has_expired = False
        invocation.cancelled_before = task.cancelling()
        invocation.patience_ends = at = loop.time() + allowed_s
        self._watched.add(invocation)
        if at < self._next:
            self._set(loop, at)

    def release(self, invocation: Invocation) -> None:
        self._watched.discard(invocation)
        invocation.task = None

    def close(self) -> None:
        """Drop the timer; attempts that still run lose their deadline."""
        if self._timer is not None:
            self._timer.cancel()
        self._timer, self._next = None, math.inf

    def _moved(self) -> "tuple[asyncio.AbstractEventLoop, asyncio.Task[Any]]":
        """The running loop and task, from now on; the runtime may be used by one loop at a time."""
        self.close()
        self._watched.clear()
        self._loop = loop = asyncio.get_running_loop()
        task = asyncio.current_task(loop)
        if task is None:
            raise RuntimeError("a deadline needs a running task")
        return loop, task

    def _set(self, loop: asyncio.AbstractEventLoop, at: float) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._next = at
        self._timer = loop.call_at(at, self._sweep, loop)

    def _sweep(self, loop: asyncio.AbstractEventLoop) -> None:
        now = loop.time()
        for invocation in [one for one in self._watched if one.patience_ends <= now]:
            self._watched.discard(invocation)
            invocation.has_expired = True
            if invocation.task is not None:
                invocation.task.cancel()
        self._timer, self._next = None, math.inf
        if self._watched:
            self._set(loop, min(one.patience_ends for one in self._watched))


def is_ours(invocation: Invocation) -> bool:
    """Whether a cancellation just caught was the deadline's and nobody else's."""
    if not invocation.has_expired or invocation.task is None:
        return False
    return invocation.task.uncancel() <= invocation.cancelled_before
