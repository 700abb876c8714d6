"""Tasks that lend themselves to the coroutines of tools, so that a caller can leave one behind.

A coroutine that swallows its cancellation would hold whoever awaits it, and its own timeouts could
not be told from its caller's. So each runs in a task of its own; but a new task is the dearest
part of a fast call, and most calls never wait. The first step is therefore taken at once, in the
name of an idle task (its host), which goes on with the coroutine only when that waits.
"""

import asyncio
import contextvars
import dis
import inspect
import types
from asyncio import current_task, get_running_loop
from asyncio.tasks import _enter_task, _leave_task
from collections.abc import Awaitable, Callable, Coroutine, Generator
from contextvars import copy_context
from typing import Any

from toolrt.bindings.forks import FORKS, leave_clone
from toolrt.core.calls import Invocation
from toolrt.core.errors import RefusedError

_WAITING = frozenset(
    dis.opmap[name]
    for name in ("GET_AWAITABLE", "GET_ANEXT", "SEND", "YIELD_VALUE")
    if name in dis.opmap
)
"""Instructions of which every `await`, `async for`, `async with` and `yield` has one."""

Ran = tuple[Any, BaseException | None]
"""What a coroutine gave, and what it raised."""

GRACE_S = 0.05
"""Seconds that a cancelled coroutine has to clean up before its caller goes on without it."""

_MOST_IDLE = 8


def elsewhere() -> RefusedError:
    """The error of a call that does not come from the loop of its runtime."""
    message = "the runtime belongs to another event loop"
    hint = "call it on the loop that opened it, or open the project in this loop too"
    return RefusedError(message, code="unavailable", hint=hint)


def running_loop() -> asyncio.AbstractEventLoop | None:
    try:
        return get_running_loop()
    except RuntimeError:
        return None


def closed() -> RefusedError:
    """The error of a call that comes too late."""
    message, hint = "the runtime is closed", "open the project again with toolrt.open"
    return RefusedError(message, code="unavailable", hint=hint)


def never_waits(fn: Callable[..., Any]) -> bool:
    """Whether an `async def` has nothing to wait for in it, and so needs no host."""
    code = getattr(fn, "__code__", None)
    if not isinstance(code, types.CodeType) or not code.co_flags & inspect.CO_COROUTINE:
        return False
    return _WAITING.isdisjoint(each.opcode for each in dis.get_instructions(code))


class Hosts:
    """The host tasks of one runtime, on the loop that it was opened in, or else on the first that
    uses it; those that idle are used again.
    """

    def __init__(self) -> None:
        self._loop = running_loop()
        self._idle: list[_Host] = []
        self._busy: set[_Host] = set()
        self._is_closed = False

    def start(self, made: Awaitable[Any]) -> Any:
        """What `made` gives or raises at once; Work when it waits for something.

        Its contextvars are a copy of those of here. Raises RefusedError on another loop.
        """
        coroutine = made if isinstance(made, types.CoroutineType) else _awaited(made)
        loop = get_running_loop()
        if loop is not self._loop:
            self._adopt(loop, coroutine)
        caller, context, forks = current_task(loop), copy_context(), FORKS.count
        host = self._idle.pop() if self._idle else _Host(self, loop)
        if caller is not None:
            _leave_task(loop, caller)
        _enter_task(loop, host.task)
        try:
            waits_for = context.run(coroutine.send, None)
        except StopIteration as stop:
            self._idle.append(host)
            if FORKS.count != forks:
                leave_clone()
            return stop.value
        except BaseException as error:
            self._idle.append(host)
            if FORKS.count != forks:
                leave_clone(error)
            raise
        finally:
            _leave_task(loop, host.task)
            if caller is not None:
                _enter_task(loop, caller)
        if FORKS.count != forks:
            leave_clone()
        work = Work(coroutine, context, waits_for, host.task)
        self._busy.add(host)
        host.give(work)
        return work

    def take_back(self, host: "_Host") -> bool:
        """Keep a host for the next coroutine; False when there are enough."""
        self._busy.discard(host)
        is_kept = len(self._idle) < _MOST_IDLE and not self._is_closed
        if is_kept:
            self._idle.append(host)
        return is_kept

    def forget(self, host: "_Host") -> None:
        """The host's task is over."""
        self._busy.discard(host)
        if host in self._idle:
            self._idle.remove(host)

    async def close(self) -> None:
        """End the idle hosts, and cancel once more what was left behind."""
        self._is_closed = True
        is_here = self._loop is asyncio.get_running_loop()
        self._loop = None
        left = [host for host in self._busy if host.is_left]
        tasks = [host.task for host in (*self._idle, *left)]
        if not is_here or not tasks:
            return
        for task in tasks:
            task.cancel()
        await asyncio.wait(tasks, timeout=GRACE_S)

    def _adopt(self, loop: asyncio.AbstractEventLoop, coroutine: Coroutine[Any, Any, Any]) -> None:
        """The first loop is ours; any other is refused."""
        if self._loop is None and not self._is_closed:
            self._loop = loop
            return
        coroutine.close()
        raise closed() if self._is_closed else elsewhere()


class Work:
    """A coroutine that waits for something: its host goes on with it, somebody awaits the end."""

    def __init__(
        self,
        coroutine: Coroutine[Any, Any, Any],
        context: contextvars.Context,
        waits_for: Any,
        task: "asyncio.Task[None]",
    ) -> None:
        self._coroutine = coroutine
        self._context = context
        self._task = task
        self._loop = task.get_loop()
        self._woken = self._loop.create_future()
        self._ran: Ran | None = None
        self.waits_for = waits_for
        self.is_left = False

    async def outcome(self, invocation: Invocation) -> Ran:
        """What the coroutine gave, or raised. Raises CancelledError only when its caller, who
        awaits this, is cancelled: then the coroutine is too, whatever it makes of that, and when
        its grace is over it is left to itself, and the invocation is orphaned.
        """
        try:
            await self._woken
        except asyncio.CancelledError:
            await self._stop(invocation)
            raise
        return self._ran or (None, asyncio.CancelledError())

    async def _stop(self, invocation: Invocation) -> None:
        if self._ran is not None:
            return
        self._woken = woken = self._loop.create_future()
        self._loop.call_soon(self._cancel)  # after the first step of a new task
        timer = self._loop.call_later(GRACE_S, _wake, woken)
        try:
            await woken
        finally:
            timer.cancel()
            self.is_left = invocation.is_orphaned = self._ran is None

    def _cancel(self) -> None:
        """Cancel the task while it is ours: one that is done may serve another by now."""
        if self._ran is None:
            self._task.cancel()

    def end(self, ran: Ran) -> None:
        """Tell whoever still waits how it ended."""
        self._ran = ran
        _wake(self._woken)

    def step(self, error: BaseException | None) -> Ran | None:
        """Go on, with what was raised where it waited; None when it waits again."""
        if error is None:
            return self._moved(self._coroutine.send, None)
        ran = self._moved(self._coroutine.throw, error)
        if ran is None and self.is_left and isinstance(error, asyncio.CancelledError):
            self._moved(self._coroutine.throw, GeneratorExit())
            return None, error  # it had its chance, and whoever ends the loop waits for it
        return ran

    def give_up(self) -> None:
        """The host is gone."""
        ran = self._moved(self._coroutine.throw, asyncio.CancelledError())
        self.end(ran or (None, asyncio.CancelledError()))

    def cancel_what_it_waits_for(self) -> bool:
        return self.waits_for is not None and bool(self.waits_for.cancel())

    def _moved(self, move: Callable[[Any], Any], argument: Any) -> Ran | None:
        forks = FORKS.count
        ran: Ran | None = None
        try:
            self.waits_for = self._context.run(move, argument)
        except StopIteration as stop:
            ran = stop.value, None
        except BaseException as error:  # noqa: BLE001 - user code: whatever it raises ends here
            ran = None, error
        if FORKS.count != forks:
            leave_clone(ran[1] if ran else None)
        return ran


class _Host:
    """A task with one coroutine at a time."""

    __slots__ = ("_hosts", "_loop", "_wanted", "_work", "task")

    def __init__(self, hosts: Hosts, loop: asyncio.AbstractEventLoop) -> None:
        self._hosts = hosts
        self._loop = loop
        self._work: Work | None = None
        self._wanted = loop.create_future()
        self.task = loop.create_task(self._serve(), name="toolrt-python")
        self.task.add_done_callback(self._is_over)

    @property
    def is_left(self) -> bool:
        return self._work is not None and self._work.is_left

    def give(self, work: Work) -> None:
        self._work = work
        _wake(self._wanted)

    async def _serve(self) -> None:
        is_kept = True
        while is_kept:
            cancelled = await self._call()
            if self._work is None:
                return
            self._work.end(await _rest(self._work, cancelled))
            self._work, self._wanted = None, self._loop.create_future()
            is_kept = not self.task.cancelling() and self._hosts.take_back(self)

    async def _call(self) -> asyncio.CancelledError | None:
        """Wait for work; it may come along with a cancellation."""
        try:
            await self._wanted
        except asyncio.CancelledError as error:
            return error
        return None

    def _is_over(self, _task: "asyncio.Task[None]") -> None:
        self._hosts.forget(self)
        if self._work is not None:
            self._work.give_up()


@types.coroutine
def _rest(work: Work, error: BaseException | None) -> Generator[Any, None, Ran]:
    """Take a coroutine to its end, in the task that this is awaited in."""
    if error is not None and work.cancel_what_it_waits_for():
        error = None
    ran = None
    while ran is None:
        if error is None:
            error = yield from _waited(work.waits_for)
        ran, error = work.step(error), None
    return ran


def _waited(waits_for: Any) -> Generator[Any, None, BaseException | None]:
    """Let the task wait; gives what it was woken with, other than nothing."""
    try:
        yield waits_for
    except GeneratorExit:
        raise
    except BaseException as error:  # noqa: BLE001 - it is thrown into the user's coroutine
        return error
    return None


async def _awaited(value: Awaitable[Any]) -> Any:
    return await value


def _wake(waiter: "asyncio.Future[None]") -> None:
    if not waiter.done():
        waiter.set_result(None)
