"""Objects in a worker process, set up there before their first use and torn down in the end (U49).

As `python_owners` in the parent, but one call at a time: each worker has objects of its own.
"""

import asyncio
import contextvars
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

from toolrt.bindings.python_calls import is_awaitable
from toolrt.bindings.python_errors import message_of
from toolrt.bindings.python_owners import begun, not_set_up, owner_of
from toolrt.bindings.python_targets import Target
from toolrt.core import logs


class Loop:
    """The event loop of a worker: what an object has opened on it is there for all its calls."""

    def __init__(self) -> None:
        self._runner = asyncio.Runner()

    def given(self, made: Any) -> Any:
        """What `made` gives, awaited where it has to be."""
        if not is_awaitable(made):
            return made
        return self._runner.run(_awaited(made), context=contextvars.copy_context())

    def given_alone(self, made: Any) -> Any:
        """The same for a call: tasks that it leaves behind are cancelled."""
        return self.given(_alone(made)) if is_awaitable(made) else made


class Upkeep:
    """The objects of one worker that want to be set up."""

    def __init__(self, loop: Loop, project: Path) -> None:
        self._loop = loop
        self._project = project
        self._ready: dict[int, tuple[str, Callable[[], Any]]] = {}

    def ready(self, target: Target) -> bool:
        """Set up what a target belongs to; whether that was the first time.

        Raises BindingError (unavailable, sent: never) where it fails.
        """
        key, found = id(target.owner), owner_of(target)
        if found is None or key in self._ready:
            return False
        error = self._step(found[1], "setup")
        if error is not None:
            logs.TOOLS.error("`%s` could not be set up", found[0], exc_info=error)
            raise not_set_up(found[0], error, self._project)
        self._ready[key] = found
        return True

    def end(self) -> None:
        """Tear down every one of them, the latest first; what goes wrong is for the log."""
        for label, find in reversed(self._ready.values()):
            error = self._step(find, "teardown")
            if error is not None:
                why = message_of(error, self._project)
                logs.TOOLS.error("`%s` could not be torn down: %s", label, why)
        self._ready.clear()

    def _step(self, find: Callable[[], Any], name: str) -> BaseException | None:
        try:
            self._loop.given(begun(find(), name))
        except BaseException as error:  # noqa: BLE001 - the `setup` and `teardown` of user code
            return error
        return None


async def _awaited(made: Awaitable[Any]) -> Any:
    return await made


async def _alone(made: Awaitable[Any]) -> Any:
    before = asyncio.all_tasks()
    try:
        return await made
    finally:
        left = asyncio.all_tasks() - before
        for task in left:
            task.cancel()
        await asyncio.gather(*left, return_exceptions=True)
