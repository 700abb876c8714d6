"""Objects that tools belong to, set up before their first use and torn down in the end (U49).

An object of `python: {object: …}` may have `setup` and `teardown`, plain or async. Whoever comes
first waits for `setup`, and so do all others; a failure is theirs alone, and the next call tries
again. `teardown` runs when no generation has the object any more, at the latest when the runtime
closes. Workers of `run_in: process` see to their own objects: `python_upkeep`.
"""

import asyncio
import inspect
import weakref
from collections.abc import Callable, Coroutine
from contextlib import suppress
from pathlib import Path
from types import ModuleType
from typing import Any

from toolrt.bindings.base import BindContext, Binding
from toolrt.bindings.python_calls import is_awaitable
from toolrt.bindings.python_errors import message_of
from toolrt.bindings.python_live import LateObject
from toolrt.bindings.python_targets import Target
from toolrt.bindings.threads import Ran, aside
from toolrt.core import logs
from toolrt.core.calls import Invocation
from toolrt.core.errors import BindingError
from toolrt.core.results import Answer

TEARDOWN_S = 5.0
"""Seconds that one object has to be torn down."""

_STEPS = ("setup", "teardown")


class Owner:
    """One object; `users` counts the tools that have it."""

    def __init__(self, label: str, find: Callable[[], Any], project: Path) -> None:
        self.label = label
        self.users = 0
        self.is_ready = False
        self._find = find
        self._project = project
        self._setting_up: asyncio.Task[BaseException | None] | None = None

    async def ready(self) -> None:
        """Come back once it is set up. Raises BindingError (unavailable) where that fails."""
        if self._setting_up is None:
            self._setting_up = asyncio.create_task(self._step("setup"))
        task = self._setting_up
        error = await asyncio.shield(task)  # a caller whose time is up leaves it to the others
        if error is None:
            self.is_ready = True
            return
        if self._setting_up is task:
            self._setting_up = None
            logs.TOOLS.error("`%s` could not be set up", self.label, exc_info=error)
        raise not_set_up(self.label, error, self._project)

    async def tear_down(self) -> None:
        """Run `teardown`, if it was set up; what goes wrong is for the log."""
        task, self._setting_up = self._setting_up, None
        self.is_ready = False
        if task is None:
            return
        with suppress(TimeoutError):
            async with asyncio.timeout(TEARDOWN_S):
                error = await asyncio.shield(task) or await self._step("teardown")
                if error is not None:
                    logs.TOOLS.error("`%s` could not be torn down", self.label, exc_info=error)
                return
        logs.TOOLS.error("`%s` took too long to be torn down", self.label)

    async def _step(self, name: str) -> BaseException | None:
        """Run one of its methods, if it has it; gives what was raised."""
        made, error = await _caught(aside(lambda: begun(self._find(), name)))
        if error is None and is_awaitable(made):
            _, error = await _caught(made)
        return error


class Owners:
    """The objects of one runtime that want to be set up."""

    def __init__(self) -> None:
        self._owners: dict[int, Owner] = {}
        self._tasks: set[asyncio.Task[None]] = set()

    def of(self, key: object, make: Callable[[], Owner]) -> Owner:
        """The owner of an object, the same for all tools that have it."""
        owner = self._owners.get(id(key))
        if owner is None:
            owner = self._owners[id(key)] = make()
        return owner

    def release(self, key: int, loop: asyncio.AbstractEventLoop | None) -> None:
        """A tool that had it is gone; in whatever thread the collector ran."""
        owner = self._owners.get(key)
        if owner is None:
            return
        owner.users -= 1
        if owner.users > 0 or loop is None or loop.is_closed():
            return
        del self._owners[key]
        with suppress(RuntimeError):  # the loop is over: `close` was there before
            loop.call_soon_threadsafe(self._end, owner)

    async def close(self) -> None:
        """Tear down every one of them, the latest first."""
        owners = [*reversed(self._owners.values())]
        self._owners.clear()
        for owner in owners:
            await owner.tear_down()
        if self._tasks:
            await asyncio.wait(self._tasks, timeout=TEARDOWN_S)

    def _end(self, owner: Owner) -> None:
        task = asyncio.create_task(owner.tear_down())
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)


class Owned:
    """A binding whose object is set up before its first call."""

    def __init__(self, binding: Binding, owner: Owner, owners: Owners, key: object) -> None:
        self._binding = binding
        self._owner = owner
        self._key = key  # kept alive, for its id stands for it
        self._release: Any = None
        self._owners = owners
        self.preview = binding.preview
        owner.users += 1

    async def call(self, invocation: Invocation) -> Answer:
        if self._release is None:
            loop = asyncio.get_running_loop()
            self._release = weakref.finalize(self, self._owners.release, id(self._key), loop)
            self._release.atexit = False
        if not self._owner.is_ready:
            invocation.sent = "never"
            await self._owner.ready()
        return await self._binding.call(invocation)


def owned(binding: Binding, target: Target, context: BindContext) -> Binding:
    """The binding, where its object has neither step; else one that sees to them."""
    found = owner_of(target)
    if found is None:
        return binding
    label, find = found
    key = target.owner
    owners = context.services.share(Owners)
    owner = owners.of(key, lambda: Owner(label, find, context.project))
    return Owned(binding, owner, owners, key)


def owner_of(target: Target) -> tuple[str, Callable[[], Any]] | None:
    """The name of an object that wants to be set up or torn down, and what finds it."""
    key = target.owner
    late = key if isinstance(key, LateObject) else None
    kind = late.cls if late else type(key)
    if key is None or isinstance(key, ModuleType) or not any(_has(kind, name) for name in _STEPS):
        return None
    if getattr(target.declared, "__name__", "") in _STEPS:
        return None  # they are tools themselves
    return kind.__name__, late.made if late else lambda: key


def begun(found: object, name: str) -> Any:
    """Call that step of an object, if it has it; what it gives may have to be awaited."""
    return getattr(found, name)() if _has(type(found), name) else None


def not_set_up(label: str, error: BaseException, project: Path) -> BindingError:
    """The error of a call whose object could not be set up."""
    message = f"`{label}` could not be set up: {message_of(error, project)}"
    return BindingError(message, code="unavailable", hint="nothing ran", sent="never")


def _has(kind: type, name: str) -> bool:
    """Whether objects of that class have a method of that name that takes nothing."""
    method = inspect.getattr_static(kind, name, None)
    if not inspect.isfunction(method):
        return False
    try:
        inspect.signature(method).bind(None)
    except (TypeError, ValueError):
        return False
    return True


async def _caught(made: Coroutine[Any, Any, Any]) -> Ran:
    """What it gives and what it raises; a cancellation of ours goes on."""
    try:
        return await made, None
    except BaseException as error:  # the `setup` and `teardown` of user code
        task = asyncio.current_task()
        if isinstance(error, asyncio.CancelledError) and task is not None and task.cancelling():
            raise
        return None, error
