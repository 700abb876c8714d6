"""Workers that share the calls of a batch, or of a group of steps."""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

from toolrt.pipeline.batch_plan import AT_ONCE


async def share(work: Callable[[], Coroutine[Any, Any, None]], calls: int) -> None:
    """Run `work`, which takes one call after the other, as often as there is use for so many calls.

    None is left running, however this ends. What the first that failed has raised is raised, and
    no group: those who call know nothing of workers.
    """
    try:
        async with asyncio.TaskGroup() as tasks:
            for _ in range(min(AT_ONCE, calls)):
                tasks.create_task(work())
    except BaseExceptionGroup as group:  # of whoever listens to the progress, or of the store
        raise group.exceptions[0] from None
