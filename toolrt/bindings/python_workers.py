"""`run_in: process`: callables in processes of their own, which can be stopped.

A few spawned workers are kept and used again; a call that is cancelled kills its worker with
everything that it started, and the next call starts another. Threads wait for the workers, so
that the loop stays free.
"""

import asyncio
import json
import os
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

from toolrt.bindings.python_calls import Linked
from toolrt.bindings.python_process import Worker, WorkerTracebackError
from toolrt.bindings.threads import ThreadPool, aside
from toolrt.core.calls import Invocation
from toolrt.core.context import Context
from toolrt.core.errors import BindingError
from toolrt.core.results import Answer

_PATIENCE_S = 3.0
_LOOK_S = 0.005


class WorkerPool:
    """The workers of one runtime, at most one a processor."""

    def __init__(self) -> None:
        self.threads = ThreadPool(os.cpu_count() or 1)
        self._lock = threading.Lock()
        self._idle: list[Worker] = []
        self._workers: set[Worker] = set()
        self._served: dict[Worker, set[str]] = {}
        self._used: frozenset[object] | None = None
        self._is_closed = False

    def take(self, target: str) -> Worker:
        """A worker for one call of `target`; blocks while a new one starts."""
        while (idle := self._idle_one()) is not None:
            if idle.is_alive:
                self._served[idle].add(target)
                return idle
            self.drop(idle)
        made = Worker()
        with self._lock:
            self._workers.add(made)
            self._served[made] = {target}
            is_closed = self._is_closed
        if not is_closed:
            return made
        self.drop(made)
        raise BindingError("the runtime is closed", code="unavailable", sent="never")

    def give_back(self, worker: Worker) -> None:
        """Keep a worker for the next call, unless it cannot take one."""
        with self._lock:
            is_kept = worker.is_alive and not self._is_closed and self._is_of_use(worker)
            if is_kept:
                self._idle.append(worker)
        if not is_kept:
            threading.Thread(target=self.drop, args=(worker,), daemon=True).start()

    def drop(self, worker: Worker) -> None:
        """End a worker, which may tear down its objects before; blocks until it is gone."""
        worker.retire()
        worker.end()
        with self._lock:
            self._workers.discard(worker)
            self._served.pop(worker, None)

    def keep_only(self, used: frozenset[object]) -> None:
        """End the workers that hold what no tool uses any more; one at work ends after its call."""
        with self._lock:
            self._used = used
            ended = [each for each in self._idle if not self._is_of_use(each)]
            self._idle = [each for each in self._idle if each not in ended]
        for each in ended:
            threading.Thread(target=self.drop, args=(each,), daemon=True).start()

    def _is_of_use(self, worker: Worker) -> bool:
        return self._used is None or self._served[worker] <= self._used

    async def close(self) -> None:
        """End the idle workers, kill the others, and wait until none is left."""
        with self._lock:
            self._is_closed = True
            idle = tuple(self._idle)
            self._idle.clear()
            busy = self._workers.difference(idle)
        for worker in busy:
            worker.stop()
        await asyncio.gather(*(aside(partial(self.drop, worker)) for worker in idle))
        give_up = time.monotonic() + _PATIENCE_S
        while self._workers and time.monotonic() < give_up:  # noqa: ASYNC110 - threads do it
            await asyncio.sleep(_LOOK_S)
        await self.threads.close()

    def _idle_one(self) -> Worker | None:
        with self._lock:
            return self._idle.pop() if self._idle else None


class _Errand:
    """One call on its way to a worker and back, in a thread; `stop` comes from the loop."""

    def __init__(
        self, pool: WorkerPool, target: str, call: dict[str, Any], context: Context
    ) -> None:
        self._pool = pool
        self._target = target
        self._call = call
        self._context = context
        self._lock = threading.Lock()
        self._worker: Worker | None = None
        self._is_stopped = False
        self.has_begun = False

    def run(self) -> Any:
        """The value of the call; a worker that dies before it has taken it is replaced once."""
        try:
            return self._once()
        except BindingError as error:
            is_its_word = isinstance(error.__cause__, WorkerTracebackError)
            if error.sent != "never" or self._is_stopped or is_its_word:
                raise
        return self._once()

    def stop(self) -> None:
        """Nobody waits any more: kill the worker, if one is at it."""
        with self._lock:
            self._is_stopped = True
            if self._worker is not None:
                self._worker.stop()

    def _once(self) -> Any:
        worker = self._pool.take(self._target)
        try:
            self._begin(worker)
            return worker.ask(self._call, self._context)
        finally:
            with self._lock:
                self._worker = None
            self._pool.give_back(worker)

    def _begin(self, worker: Worker) -> None:
        with self._lock:
            if self._is_stopped:
                raise BindingError("nobody waits any more", code="cancelled", sent="never")
            self._worker = worker
            self.has_begun = True


class InProcess:
    """A callable that a worker finds by its dotted name.

    `init` gives the arguments of its object's class; `properties` as for `link`. `written` is all
    of it as the manifest has it: what a worker holds for one is of no use to another.
    """

    __slots__ = ("_init", "_linked", "_name", "_pool", "_target", "preview", "uses")

    def __init__(
        self,
        linked: Linked,
        target: Mapping[str, Any],
        init: Callable[[], Mapping[str, Any]],
        properties: Iterable[str],
        pool: WorkerPool,
        *,
        written: Any = None,
    ) -> None:
        self._linked = linked
        self._target = {**target, "properties": list(properties)}
        self._init = init
        self._pool = pool
        self._name = json.dumps([self._target, written], default=str)
        self.uses = frozenset({self._name})
        self.preview = linked.preview

    async def call(self, invocation: Invocation) -> Answer:
        request = self._request(invocation, self._linked.project)
        errand = _Errand(self._pool, self._name, request, Context(invocation, self._linked.project))
        invocation.sent = "never"
        job = self._pool.threads.start(errand.run, invocation.tool)
        try:
            value, error = await job.done
        except asyncio.CancelledError:
            if self._pool.threads.abandon(job):
                errand.stop()
            invocation.sent = "maybe" if errand.has_begun else "never"
            raise
        if error is not None:
            was_sent = errand.has_begun and getattr(error, "sent", None) != "never"
            invocation.sent = "maybe" if was_sent else "never"
            self._linked.reraise(error)
        invocation.sent = "answered"
        return Answer(value)

    def _request(self, invocation: Invocation, project: Path) -> dict[str, Any]:
        return {
            "target": {**self._target, "init": dict(self._init())},
            "project": str(project),
            "tool": invocation.tool,
            "call_id": invocation.call_id,
            "caller": invocation.caller.document(),
            "remaining_s": invocation.remaining_s(),
            "idempotency_key": invocation.idempotency_key,
            "expected": invocation.sighting and invocation.sighting.expected,
            "arguments": invocation.arguments,
        }
