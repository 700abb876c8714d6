"""The event loop of one verb, which ends in order when the process is asked to end."""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

import click

from toolrt.faces.cli.stopping import Stopping
from toolrt.faces.exits import Exit

Work = Callable[[], Coroutine[Any, Any, Exit]]


def run(work: Work) -> Exit:
    """What `work` returns; a signal cancels it. Raises `click.Abort` where it was interrupted."""

    def gently(stopping: Stopping) -> Coroutine[Any, Any, Exit]:
        stopping.be_gentle()
        return work()

    return run_harshly(gently)


def run_harshly(work: Callable[[Stopping], Coroutine[Any, Any, Exit]]) -> Exit:
    """The same for work that a signal may end anywhere until it says `be_gentle`."""

    async def stoppable() -> Exit:
        with Stopping() as stopping:
            return await work(stopping)

    try:
        return asyncio.run(stoppable())
    except asyncio.CancelledError:
        raise click.Abort from None
