"""Bindings to Python callables of this process: on the loop, or in a thread beside it.

What is known before a call is settled when the tool is bound; a call of an `async def` with plain
arguments is `await fn(**arguments)` and little else.
"""

import asyncio
import functools
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

from toolrt.bindings.python_errors import failure_of
from toolrt.bindings.python_targets import Target
from toolrt.bindings.threads import ThreadPool
from toolrt.core.calls import Invocation
from toolrt.core.context import Context
from toolrt.core.results import Answer
from toolrt.schemas.conversion import Adaptor
from toolrt.schemas.signatures import Callee
from toolrt.schemas.values import to_plain


@dataclass(frozen=True, slots=True)
class Linked:
    """A callable as it is called: `label` names it, `context` is its Context parameter, if any."""

    fn: Callable[..., Any]
    label: str
    project: Path
    adaptor: Adaptor
    context: str | None = None

    @property
    def is_direct(self) -> bool:
        return self.adaptor.is_direct and self.context is None

    def prepared(self, invocation: Invocation) -> Callable[[], Any]:
        """The call with all its arguments. Raises CallError when they do not convert."""
        if self.is_direct:
            return functools.partial(self.fn, **invocation.arguments)
        arguments = invocation.arguments
        if self.context is not None:
            arguments = {**arguments, self.context: Context(invocation)}
        try:
            args, kwargs = self.adaptor.bind(arguments)
        except Exception as error:  # noqa: BLE001 - validators of a type's own are user code
            self.reraise(error)
        return functools.partial(self.fn, *args, **kwargs)

    def preview(self, invocation: Invocation) -> dict[str, Any]:
        return {"python": self.label, "arguments": invocation.arguments}

    def reraise(self, error: BaseException) -> NoReturn:
        """Raise what the callable raised, as an error of the call."""
        failure = failure_of(error, self.project)
        if failure is error:
            raise failure
        raise failure from error

    async def awaited(self, value: Awaitable[Any]) -> Any:
        """What an awaitable comes to; only a cancellation of the call itself passes."""
        try:
            return await value
        except BaseException as error:  # the call into user code: whatever it raises ends here
            if _is_from_outside(error):
                raise
            self.reraise(error)


def link(target: Target, callee: Callee, properties: Iterable[str], project: Path) -> Linked:
    """A target with its call settled; `properties` are the names in the tool's input schema."""
    context = next((each.key for each in callee.parameters if each.is_context), None)
    return Linked(target.fn, target.label, project, Adaptor(callee, properties), context)


class OnLoop:
    """An `async def`."""

    __slots__ = ("_fn", "_is_direct", "_linked", "preview")

    def __init__(self, linked: Linked) -> None:
        self._linked = linked
        self._fn = linked.fn
        self._is_direct = linked.is_direct
        self.preview = linked.preview

    async def call(self, invocation: Invocation) -> Answer:
        invocation.sent = "maybe"
        try:
            if self._is_direct:
                value = await self._fn(**invocation.arguments)
            else:
                value = await self._linked.prepared(invocation)()
        except BaseException as error:  # the call into user code: whatever it raises ends here
            if _is_from_outside(error):
                raise
            self._linked.reraise(error)
        invocation.sent = "answered"
        return Answer(to_plain(value))


class Inline:
    """A function that never blocks, called on the loop by its manifest's word."""

    __slots__ = ("_linked", "preview")

    def __init__(self, linked: Linked) -> None:
        self._linked = linked
        self.preview = linked.preview

    async def call(self, invocation: Invocation) -> Answer:
        call = self._linked.prepared(invocation)
        invocation.sent = "maybe"
        try:
            value = call()
        except BaseException as error:  # noqa: BLE001 - as above
            self._linked.reraise(error)
        if is_awaitable(value):
            value = await self._linked.awaited(value)
        invocation.sent = "answered"
        return Answer(to_plain(value))


class InThread:
    """A function that may block, in a thread of the runtime's own pool.

    A thread cannot be stopped: when the call is cancelled it runs on, and is called orphaned.
    """

    __slots__ = ("_linked", "_pool", "preview")

    def __init__(self, linked: Linked, pool: ThreadPool) -> None:
        self._linked = linked
        self._pool = pool
        self.preview = linked.preview

    async def call(self, invocation: Invocation) -> Answer:
        call = self._linked.prepared(invocation)
        invocation.sent = "never"
        job = self._pool.start(call)
        try:
            value, error = await job.done
        except asyncio.CancelledError:
            invocation.is_orphaned = self._pool.abandon(job)
            invocation.sent = "never" if job.stage == "queued" else "maybe"
            raise
        invocation.sent = "maybe"
        if error is not None:
            self._linked.reraise(error)
        if is_awaitable(value):
            value = await self._linked.awaited(value)
        invocation.sent = "answered"
        return Answer(to_plain(value))


def is_awaitable(value: Any) -> bool:
    """Asks the type, for to ask the value runs code of its own."""
    return hasattr(type(value), "__await__")


def _is_from_outside(error: BaseException) -> bool:
    """Whether the call is cancelled, or its coroutine closed, rather than that its code failed."""
    if isinstance(error, asyncio.CancelledError):
        task = asyncio.current_task()
        return task is not None and task.cancelling() > 0
    return isinstance(error, GeneratorExit) and _current_task() is None


def _current_task() -> "asyncio.Task[Any] | None":
    try:
        return asyncio.current_task()
    except RuntimeError:
        return None
