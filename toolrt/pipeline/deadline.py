"""Deadlines of running attempts, with one timer for all of them.

A timer an attempt is the dearest part of a fast call. Here an attempt only signs in; the loop's
one timer stands at the earliest deadline, so that in the common case none is set or cancelled at
all. See docs/decisions for the figures.
"""

import asyncio
import math
from collections.abc import Coroutine
from typing import Any

from toolrt.bindings.python_hosts import closed, elsewhere, running_loop
from toolrt.core.calls import Invocation
from toolrt.core.errors import AttemptTimeoutError, CallError, Sent
from toolrt.core.results import Answer


class Deadlines:
    """The attempts that somebody waits for, all on the event loop that the runtime belongs to.

    When the time of one comes, the awaiting task is cancelled. Times are seconds of the loop's
    clock.
    """

    __slots__ = ("_is_closed", "_loop", "_next", "_timer", "_watched")

    def __init__(self) -> None:
        self._loop = running_loop()
        self._is_closed = False
        self._watched: set[Invocation] = set()
        self._next = math.inf
        self._timer: asyncio.TimerHandle | None = None

    async def keep(
        self, answering: Coroutine[Any, Any, Answer], invocation: Invocation, allowed_s: float
    ) -> Answer:
        """What `answering` gives or raises within `allowed_s`.

        Whatever it makes of a cancellation: one by somebody else goes on, and wins.

        Raises:
            AttemptTimeoutError: time was up.
            RefusedError: the runtime is closed, or belongs to another loop.
        """
        task = self._watch(invocation, allowed_s, answering)
        try:
            answer = await answering
        except (asyncio.CancelledError, CallError) as error:
            if not self._is_over(invocation, task) or isinstance(error, AttemptTimeoutError):
                raise  # one that says itself what there was no time for
            raise late(allowed_s, invocation) from error
        finally:
            self._release(invocation)
        if self._is_over(invocation, task):
            raise late(allowed_s, invocation)
        return answer

    def renew(self, invocation: Invocation, allowed_s: float) -> None:
        """The time of a running attempt begins anew, for what it waited before was not its own."""
        loop = asyncio.get_running_loop()
        invocation.patience_ends = at = loop.time() + allowed_s
        if at < self._next:
            self._set(loop, at)

    def close(self) -> None:
        """Take no more attempts; those that still run keep their deadlines."""
        self._is_closed = True
        if self._timer is not None and not self._watched:
            self._timer.cancel()

    def _watch(
        self, invocation: Invocation, allowed_s: float, answering: Coroutine[Any, Any, Answer]
    ) -> "asyncio.Task[Any]":
        loop = asyncio.get_running_loop()
        if loop is not self._loop or self._is_closed:
            self._settle_in(loop, answering)
        invocation.task = task = asyncio.current_task(loop)
        if task is None:
            raise RuntimeError("a deadline needs a running task")
        invocation.has_expired = False
        invocation.cancelled_before = task.cancelling()
        invocation.patience_ends = at = loop.time() + allowed_s
        self._watched.add(invocation)
        if at < self._next:
            self._set(loop, at)
        return task

    def _settle_in(
        self, loop: asyncio.AbstractEventLoop, answering: Coroutine[Any, Any, Answer]
    ) -> None:
        """Belong to the first loop; refuse any other, and what comes too late."""
        if self._loop is None and not self._is_closed:
            self._loop = loop
            return
        answering.close()
        raise closed() if self._is_closed else elsewhere()

    def _release(self, invocation: Invocation) -> None:
        """Take back our cancellation, if there was one: it was for this attempt alone."""
        self._watched.discard(invocation)
        if invocation.has_expired and invocation.task is not None:
            invocation.task.uncancel()
        invocation.task = None

    def _is_over(self, invocation: Invocation, task: "asyncio.Task[Any]") -> bool:
        """Whether time is up. Raises CancelledError when somebody else cancelled, too."""
        self._release(invocation)
        if task.cancelling() > invocation.cancelled_before:
            raise asyncio.CancelledError
        return invocation.has_expired

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


def late(after_s: float, invocation: Invocation) -> AttemptTimeoutError:
    """The failure of an attempt whose answer did not come in `after_s`, or came too late."""
    sent: Sent = "never" if invocation.sent == "never" else "maybe"
    return AttemptTimeoutError(f"no answer within {after_s:.3g} s", sent=sent)
