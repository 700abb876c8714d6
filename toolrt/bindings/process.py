"""One child process from spawn to its last byte, and the end of its whole group.

The kinds `command` and `shell` start a `Process` through the `ProcessRunner` of their runtime and
wait for it. Everything happens on the caller's event loop: a pidfd tells of the exit, loop readers
drain the pipes; no threads. A call is complete when the leader has exited and its pipes are
drained or 200 ms have passed (S8), so a daemon that keeps a pipe open holds nobody up. A waiter
that is cancelled is let go at once; the group gets TERM, two seconds, KILL behind its back (S7).
"""

import asyncio
import signal
import time
from collections.abc import Callable
from typing import NamedTuple

from toolrt.bindings.births import Births
from toolrt.bindings.exit_watch import Exits, ExitWatch
from toolrt.bindings.group import FIRST_LOOK_S, LAST_LOOK_S, LOST
from toolrt.bindings.oom import OomCount
from toolrt.bindings.outputs import Captured, Null, Streams
from toolrt.bindings.spawn import ProcessRequest, spawn, spawn_error
from toolrt.core.errors import BindingError

__all__ = ["Captured", "Finished", "Process", "ProcessRequest", "ProcessRunner"]

GRACE_S = 2.0
FLOOD_BYTES = 64 * 1024**2
_FIRST_READ_S = 0.005
"""Until then a child may fill its pipes, 64 KiB each; most are over by then."""
_DRAIN_S = 0.2
_GIVE_UP_S = 3.0


class Finished(NamedTuple):
    """How a child ended, what it said, and the seconds it took.

    `exit_code` is None when a signal ended it; both are None when somebody else took its status.
    `out_of_memory` says that the kernel killed it for want of memory, `left_none` that it has
    certainly started no process that could still run.
    """

    exit_code: int | None
    signal: int | None
    stdout: Captured
    stderr: Captured
    time_s: float
    out_of_memory: bool = False
    left_none: bool = False


class ProcessRunner:
    """Starts children and answers for them: once it is closed, none of them is left."""

    def __init__(self, grace_s: float = GRACE_S) -> None:
        self.grace_s = grace_s
        self.oom, self.exits, self.births = OomCount(), Exits(), Births()
        self.null = Null()
        self._alive: set[Process] = set()

    def start(self, request: ProcessRequest) -> "Process":
        """Spawn a child on the running loop. Raises BindingError with `sent="never"`."""
        process = Process(request, asyncio.get_running_loop(), self)
        self._alive.add(process)
        return process

    def forget(self, process: "Process") -> None:
        """Nothing is left of that child."""
        self._alive.discard(process)

    async def close(self) -> None:
        """End every child that still runs, and wait until none is left.

        A cancellation meanwhile takes the grace from them; it goes on when they are gone.
        """
        for process in tuple(self._alive):
            process.soon(process.abandon)
        cancelled: asyncio.CancelledError | None = None
        give_up = time.monotonic() + self.grace_s + 2 * _GIVE_UP_S
        while self._alive and time.monotonic() < give_up:
            try:
                await asyncio.sleep(LAST_LOOK_S)  # some belong to loops of other threads
            except asyncio.CancelledError as error:
                cancelled = error
                for process in tuple(self._alive):
                    process.soon(process.kill)
        if not self._alive:
            self.exits.close()
            self.births.close()
            self.null.close()
        if cancelled is not None:
            raise cancelled


class Process:
    """A running child. `finished()` waits for its end; whoever stops waiting ends its group."""

    def __init__(
        self, request: ProcessRequest, loop: asyncio.AbstractEventLoop, runner: ProcessRunner
    ) -> None:
        self._loop, self._runner = loop, runner
        self._done: asyncio.Future[Finished] = loop.create_future()
        self._is_over = self._is_ending = False
        self._look_s, self._kill_at = FIRST_LOOK_S, 0.0
        self._started = time.perf_counter()
        self._streams = _streams(request, loop, self._on_read, runner.null)
        try:
            ends = (*self._streams.child_ends(), *request.given)
            self._leader = request.lead(spawn(request, ends, runner.births))
        except BaseException:
            self._streams.close()
            raise
        self._watch = ExitWatch(loop, runner.exits.board(loop), self._leader, self._on_exit)
        self._streams.begin()
        # many commands are over before it is worth watching their pipes: those are read once
        self._timer = loop.call_later(_FIRST_READ_S, self._streams.watch)
        self._oom_kills = runner.oom.recent()

    @property
    def pid(self) -> int:
        return self._leader.pid

    async def finished(self) -> Finished:
        """Wait for the end. Raises BindingError: `output-flood` for more than 64 MiB of output,
        `unavailable` when the runner is closed meanwhile.
        """
        try:
            return await self._done
        finally:
            self.abandon()

    def abandon(self) -> None:
        """Nobody waits any more: end the group, TERM first. Does not wait for it."""
        if not self._is_over:
            self._end_group(signal.SIGTERM, self._runner.grace_s)

    def kill(self) -> None:
        """The same without grace, or with an end to the grace that the group has."""
        if self._is_over:
            return
        if not self._is_ending:
            self._end_group(signal.SIGKILL, 0.0)
            return
        self._kill_at = min(self._kill_at, self._loop.time())
        self._timer.cancel()
        self._look()

    def soon(self, end: Callable[[], None]) -> None:
        """Call `abandon` or `kill` from any thread, also when the loop is closed already."""
        if self._loop.is_closed():
            self._end_at_once()
            return
        self._loop.call_soon_threadsafe(end)

    def _on_read(self) -> None:
        if self._streams.total > FLOOD_BYTES:
            self._flooded()
        elif self._has_exited_by_itself() and not self._streams.is_draining:
            self._finish()

    def _on_exit(self) -> None:
        self._streams.read_rest()
        if not self._has_exited_by_itself():
            return
        if not self._streams.is_draining:
            self._finish()
            return
        self._timer.cancel()
        self._streams.watch()
        self._timer = self._loop.call_later(_DRAIN_S, self._finish)

    def _has_exited_by_itself(self) -> bool:
        return self._leader.status is not None and not self._is_ending

    def _finish(self) -> None:
        if not self._done.done():
            self._done.set_result(self._finished())
        if not self._leader.ends_all or self._leader.is_group_gone():
            self._over()
            return
        self._end_rest()

    def _end_rest(self) -> None:
        """It has ended by itself, and what it has started does as well: see to it that it has."""
        self._is_ending = True
        self._streams.close()
        self._timer.cancel()
        self._kill_at, self._look_s = self._loop.time(), LAST_LOOK_S
        self._look()

    def _finished(self) -> Finished:
        status = self._leader.status
        has_code = status is not None and 0 <= status < LOST
        return Finished(
            exit_code=status if has_code else None,
            signal=-status if status is not None and status < 0 else None,
            stdout=self._streams.stdout.captured(),
            stderr=self._streams.stderr.captured(),
            time_s=time.perf_counter() - self._started,
            out_of_memory=status == -signal.SIGKILL and self._runner.oom.has_grown(self._oom_kills),
            left_none=status is not None and self._runner.births.has_left_none(self.pid),
        )

    def _flooded(self) -> None:
        if not self._done.done():
            self._done.set_exception(_flood())
        self.kill()

    def _end_group(self, first: int, grace_s: float) -> None:
        if self._is_ending:
            return
        self._is_ending = True
        self._streams.forget()
        if self._loop.is_closed():
            self._end_at_once()
            return
        self._timer.cancel()
        self._streams.watch()
        self._leader.signal_group(first)
        self._kill_at = self._loop.time() + grace_s
        self._look()

    def _look(self) -> None:
        if self._leader.ends_all and self._leader.status is not None:
            self._kill_at = min(self._kill_at, self._loop.time())  # nobody is left to be waited for
        late_s = self._loop.time() - self._kill_at
        if self._leader.is_group_gone() or late_s > self._patience_s():
            self._over()
            return
        if late_s >= 0:
            self._leader.signal_group(signal.SIGKILL)
        self._timer = self._loop.call_later(self._look_s, self._look)
        self._look_s = min(2 * self._look_s, LAST_LOOK_S)

    def _patience_s(self) -> float:
        """How long after KILL to wait: with the leader gone, only for others' zombies."""
        return _GIVE_UP_S if self._leader.status is None else _DRAIN_S

    def _end_at_once(self) -> None:
        self._leader.signal_group(signal.SIGKILL)
        killed = time.monotonic()
        while not self._leader.is_group_gone():
            if time.monotonic() - killed > self._patience_s():
                break
            time.sleep(FIRST_LOOK_S)
        self._over()

    def _over(self) -> None:
        self._is_over = True
        if not self._done.done():
            self._done.set_exception(_closed())
            self._done.exception()  # there may be nobody who waits
        self._timer.cancel()
        self._watch.stop()
        self._streams.close()
        self._runner.forget(self)


def _streams(
    request: ProcessRequest,
    loop: asyncio.AbstractEventLoop,
    on_read: Callable[[], None],
    null: Null,
) -> Streams:
    try:
        return Streams(loop, request.stdin, request.keep_bytes, on_read, null)
    except OSError as error:
        raise spawn_error(error, request) from error


def _closed() -> BindingError:
    message, hint = "the runtime was closed while it ran", "open the project again with toolrt.open"
    return BindingError(message, code="unavailable", hint=hint, sent="maybe")


def _flood() -> BindingError:
    return BindingError(
        f"stopped after {FLOOD_BYTES // 1024**2} MiB of output",
        code="output-flood",
        hint="ask for less, or narrow the question",
        sent="answered",
    )
