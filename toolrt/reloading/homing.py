"""Work that belongs to the event loop which has a project open, whoever asks for it."""

import asyncio
from collections.abc import Callable, Coroutine
from contextlib import suppress
from typing import Any, TypeVar

T = TypeVar("T")


def loop_here() -> asyncio.AbstractEventLoop | None:
    """The loop that runs here, if one does."""
    with suppress(RuntimeError):
        return asyncio.get_running_loop()
    return None


async def at_home(
    home: asyncio.AbstractEventLoop | None, work: Callable[[], Coroutine[Any, Any, T]]
) -> T:
    """What `work` gives where it is at home: another thread's loop hands it over and waits."""
    if home is None or home is loop_here() or not home.is_running():
        return await work()
    return await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(work(), home))
