"""Bindings to Python callables of this process: on the loop, or in a thread beside it.

What is known before a call is settled when the tool is bound; a call of an `async def` with plain
arguments that waits for nothing is the first step of `fn(**arguments)` and little else.
"""

import asyncio
import functools
import inspect
from collections.abc import Callable, Coroutine, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

from toolrt.bindings.forks import FORKS, leave_clone
from toolrt.bindings.python_errors import failure_of
from toolrt.bindings.python_hosts import Hosts, Work
from toolrt.bindings.python_targets import Target
from toolrt.bindings.threads import ThreadPool
from toolrt.core.calls import Invocation
from toolrt.core.context import Context
from toolrt.core.errors import BindingError, CallError
from toolrt.core.results import Answer
from toolrt.schemas.conversion import Adaptor
from toolrt.schemas.signatures import Callee
from toolrt.schemas.values import fresh, to_plain

_FLAT = (str, int, float, bool, type(None))
"""Types of values that nobody can change."""


@dataclass(frozen=True, slots=True)
class Linked:
    """A callable as it is called: `label` names it, `context` is its Context parameter, if any.

    `is_flat` says that no argument of it can be changed in place.
    """

    fn: Callable[..., Any]
    label: str
    project: Path
    adaptor: Adaptor
    context: str | None = None
    is_flat: bool = False

    @property
    def is_direct(self) -> bool:
        return self.is_flat and self.adaptor.is_direct and self.context is None

    def prepared(self, invocation: Invocation) -> Callable[[], Any]:
        """The call with all its arguments. Raises CallError when they do not convert."""
        if self.is_direct:
            return functools.partial(self.fn, **invocation.arguments)
        arguments = invocation.arguments if self.is_flat else fresh(invocation.arguments)
        if self.context is not None:
            arguments = {**arguments, self.context: Context(invocation, self.project)}
        try:
            args, kwargs = self.adaptor.bind(arguments)
        except Exception as error:  # validators of a type's own are user code
            raise self._unbegun(error) from error
        return functools.partial(self.fn, *args, **kwargs)

    def preview(self, invocation: Invocation) -> dict[str, Any]:
        return {"python": self.label, "arguments": invocation.arguments}

    def _unbegun(self, error: Exception) -> CallError:
        """The failure of a call whose arguments did not convert: nothing ran."""
        failure = failure_of(error, self.project)
        if isinstance(failure, BindingError):
            failure.sent, failure.is_midway = "never", False
        return failure

    def reraise(self, error: BaseException) -> NoReturn:
        """Raise what the callable raised, as an error of the call."""
        failure = failure_of(error, self.project)
        if failure is error:
            raise failure
        raise failure from error


def link(target: Target, callee: Callee, properties: Iterable[str], project: Path) -> Linked:
    """A target with its call settled; `properties` are the names in the tool's input schema."""
    context = next((each.key for each in callee.parameters if each.is_context), None)
    filled = [each for each in callee.parameters if not each.is_context]
    is_flat = all(any(each.annotation is kind for kind in _FLAT) for each in filled)
    adaptor = Adaptor(callee, properties)
    return Linked(target.fn, target.label, project, adaptor, context, is_flat)


class AtOnce:
    """An `async def` with nothing to wait for in it: it needs no task, and its call no deadline.

    It is awaited, for that costs half of what it does to send to it and catch its StopIteration.
    Where its arguments go as they are, `direct` is all there is to call.
    """

    __slots__ = ("_linked", "direct", "failed", "preview")
    never_waits = True

    def __init__(self, linked: Linked) -> None:
        self._linked = linked
        self.direct = linked.fn if linked.is_direct else None
        self.failed = linked.reraise
        self.preview = linked.preview

    async def call(self, invocation: Invocation) -> Answer:
        invocation.sent = "maybe"
        forks = FORKS.count
        try:
            value = await self._linked.prepared(invocation)()
        except BaseException as error:  # noqa: BLE001 - the call into user code
            if FORKS.count != forks:
                leave_clone(error)
            self._linked.reraise(error)
        if FORKS.count != forks:
            leave_clone()
        invocation.sent = "answered"
        return Answer(to_plain(value))


class OnLoop:
    """An `async def`, in a task of its own as soon as it waits for something."""

    __slots__ = ("_fn", "_is_direct", "_linked", "_start", "preview")

    def __init__(self, linked: Linked, hosts: Hosts) -> None:
        self._linked = linked
        self._start = hosts.start
        self._fn = linked.fn
        self._is_direct = linked.is_direct
        self.preview = linked.preview

    async def call(self, invocation: Invocation) -> Answer:
        begun = self.begin(invocation)
        return begun if isinstance(begun, Answer) else await begun

    def begin(self, invocation: Invocation) -> Answer | Coroutine[Any, Any, Answer]:
        """The answer, where there is nothing to wait for; such a call needs no deadline."""
        invocation.sent = "maybe"
        try:
            if self._is_direct:
                value = self._start(self._fn(**invocation.arguments))
            else:
                value = self._start(self._linked.prepared(invocation)())
        except BaseException as error:  # noqa: BLE001 - the call into user code
            self._linked.reraise(error)
        if type(value) is Work:
            return _answered(value, self._linked, invocation)
        invocation.sent = "answered"
        return Answer(to_plain(value))


class Inline:
    """A function that never blocks, called on the loop by its manifest's word."""

    __slots__ = ("_hosts", "_linked", "preview")

    def __init__(self, linked: Linked, hosts: Hosts) -> None:
        self._linked = linked
        self._hosts = hosts
        self.preview = linked.preview

    async def call(self, invocation: Invocation) -> Answer:
        call = self._linked.prepared(invocation)
        invocation.sent = "maybe"
        forks = FORKS.count
        try:
            value = call()
        except BaseException as error:  # noqa: BLE001 - as above
            if FORKS.count != forks:
                leave_clone(error)
            self._linked.reraise(error)
        if FORKS.count != forks:
            leave_clone()
        return await _settled(value, self._linked, self._hosts, invocation)


class InThread:
    """A function that may block, in a thread of the runtime's own pool.

    A thread cannot be stopped: when the call is cancelled it runs on, and is called orphaned.
    """

    __slots__ = ("_hosts", "_linked", "_pool", "preview")

    def __init__(self, linked: Linked, pool: ThreadPool, hosts: Hosts) -> None:
        self._linked = linked
        self._pool = pool
        self._hosts = hosts
        self.preview = linked.preview

    async def call(self, invocation: Invocation) -> Answer:
        call = self._linked.prepared(invocation)
        invocation.sent = "never"
        job = self._pool.start(call, invocation.tool)
        try:
            value, error = await job.done
        except asyncio.CancelledError:
            invocation.is_orphaned = self._pool.abandon(job)
            invocation.sent = "never" if job.stage == "queued" else "maybe"
            raise
        invocation.sent = "maybe"
        if error is not None:
            self._linked.reraise(error)
        return await _settled(value, self._linked, self._hosts, invocation)


def is_async(declared: Any) -> bool:
    """Whether it is an `async def`, or an object that is called like one."""
    return inspect.iscoroutinefunction(declared) or inspect.iscoroutinefunction(
        getattr(type(declared), "__call__", None)  # noqa: B004 - it is read, not asked for
    )


def is_awaitable(value: Any) -> bool:
    """Asks the type, for to ask the value runs code of its own."""
    return hasattr(type(value), "__await__")


async def _settled(value: Any, linked: Linked, hosts: Hosts, invocation: Invocation) -> Answer:
    """The answer that a plain function gave, which may have given something to await."""
    if is_awaitable(value):
        try:
            value = hosts.start(value)
        except BaseException as error:  # noqa: BLE001 - the call into user code
            linked.reraise(error)
    if type(value) is Work:
        return await _answered(value, linked, invocation)
    invocation.sent = "answered"
    return Answer(to_plain(value))


async def _answered(work: Work, linked: Linked, invocation: Invocation) -> Answer:
    """The answer of a coroutine that had to wait; a cancellation is always its caller's."""
    value, error = await work.outcome(invocation)
    if error is not None:
        linked.reraise(error)
    invocation.sent = "answered"
    return Answer(to_plain(value))
