"""Threads of our own for callables that block, so that neither the loop nor the exit waits.

The threads are daemons: a callable that never returns holds up its own thread and nothing else.
One whose caller has gone away does not count, so that others can still run.
"""

import asyncio
import contextvars
import itertools
import os
import threading
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from queue import SimpleQueue
from typing import Any, Literal, TypeVar, cast

from toolrt.bindings.forks import FORKS, leave_clone
from toolrt.core.errors import BindingError

Ran = tuple[Any, BaseException | None]
"""What a callable gave, and what it raised."""

T = TypeVar("T")

MOST_ORPHANS = 256
"""Threads that may be lost to calls which nobody waits for, beside those that are of use."""


class Job:
    """One call on its way through a thread; `done` comes to what it gave, or raised."""

    __slots__ = ("call", "context", "done", "is_abandoned", "loop", "stage", "tool")

    def __init__(self, call: Callable[[], Any], tool: str = "") -> None:
        self.call = call
        self.tool = tool
        self.context = contextvars.copy_context()
        self.loop = asyncio.get_running_loop()
        self.done: asyncio.Future[Ran] = self.loop.create_future()
        self.stage: Literal["queued", "running", "over"] = "queued"
        self.is_abandoned = False

    def run(self) -> Ran:
        forks = FORKS.count
        ran: Ran
        try:
            ran = self.context.run(self.call), None
        except BaseException as error:  # noqa: BLE001 - the top of a thread: nothing may pass
            ran = None, error
        if FORKS.count != forks:
            leave_clone(ran[1])
        return ran

    def settle(self, ran: Ran) -> None:
        """Hand the outcome to the loop that waits, if it still does."""
        try:
            self.loop.call_soon_threadsafe(self._settle, ran)
        except RuntimeError:
            return  # a closed loop has nobody waiting

    def _settle(self, ran: Ran) -> None:
        if not self.done.done():
            self.done.set_result(ran)


async def aside(call: Callable[[], T]) -> T:
    """What `call` gives or raises, from a thread of its own that nothing has to wait for."""
    job = Job(call)
    threading.Thread(target=lambda: job.settle(job.run()), daemon=True).start()
    value, error = await job.done
    if error is not None:
        raise error
    return cast("T", value)


class ThreadPool:
    """At most `size` useful threads, made as they are needed; shared by a runtime's callables.

    A thread whose call nobody waits for any more is an orphan: it does not count, until it is
    back. Only when there are too many orphans is a call refused, at once.
    """

    def __init__(self, size: int | None = None) -> None:
        self._size = size or min(32, (os.cpu_count() or 1) + 4)
        self._jobs: SimpleQueue[Job | None] = SimpleQueue()
        self._numbers = itertools.count(1)
        self._lock = threading.Lock()
        self._threads = 0
        self._wanted = 0
        self._orphans: Counter[str] = Counter()
        self._abandoned = 0

    def start(self, call: Callable[[], Any], tool: str = "") -> Job:
        """Run `call` of `tool` in a thread, with the contextvars of here.

        Raises BindingError (unavailable) when every thread is lost to a call that does not return.
        """
        job = Job(call, tool)
        with self._lock:
            self._wanted += 1
            self._grow()
            if self._threads == self._abandoned:
                self._wanted -= 1
                raise self._exhausted()
        self._jobs.put(job)
        return job

    def abandon(self, job: Job) -> bool:
        """Nobody waits for `job` any more: True when it runs on, False when not begun or over."""
        with self._lock:
            if job.stage == "over":
                return False
            job.is_abandoned = True
            self._wanted -= 1
            if job.stage == "queued":
                return False
            self._abandoned += 1
            self._orphans[job.tool] += 1
            self._grow()
        return True

    async def close(self) -> None:
        """Let the idle threads end; those that run are left behind."""
        for _ in range(self._threads):
            self._jobs.put(None)

    def _grow(self) -> None:
        useful = self._threads - self._abandoned
        if useful < min(self._wanted, self._size) and self._threads < self._size + MOST_ORPHANS:
            name = f"toolrt-python-{next(self._numbers)}"
            thread = threading.Thread(target=self._work, name=name, daemon=True)
            with suppress(RuntimeError):  # the system gives no more
                thread.start()
                self._threads += 1

    def _exhausted(self) -> BindingError:
        held = ", ".join(f"{count} by `{tool}`" for tool, count in self._orphans.most_common(3))
        return BindingError(
            f"every thread is held by a call that ran out of time and never returned: {held}",
            code="unavailable",
            hint="`run_in: process` makes a tool one that can be stopped",
            sent="never",
        )

    def _work(self) -> None:
        while (job := self._jobs.get()) is not None:
            if not self._begin(job):
                continue
            ran = job.run()
            is_needed = self._end(job)
            job.settle(ran)
            if not is_needed:
                return
            del job, ran  # an idle thread keeps nobody's values alive

    def _begin(self, job: Job) -> bool:
        with self._lock:
            if not job.is_abandoned:
                job.stage = "running"
            return not job.is_abandoned

    def _end(self, job: Job) -> bool:
        """Count `job` off; False when this thread is one too many."""
        with self._lock:
            job.stage = "over"
            if not job.is_abandoned:
                self._wanted -= 1
                return True
            self._abandoned -= 1
            self._orphans -= Counter([job.tool])
            if self._threads - self._abandoned <= self._size:
                return True
            self._threads -= 1
            return False
