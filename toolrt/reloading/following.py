"""Reloads a project whenever its files change, for as long as somebody has it open."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import aclosing, asynccontextmanager, suppress
from typing import Final

from toolrt.core.clock import Clock
from toolrt.loading.loader import PROJECT_FILE
from toolrt.loading.watcher import Interest, Watcher
from toolrt.reloading.outcome import Reload
from toolrt.reloading.reloader import Reloader

_MARGIN_S: Final = 0.05
_MISNAMED: Final = ("toolrt.yml", "toolrt.json")
"""How the project file is most often called by mistake; others are seen by the next look."""


@asynccontextmanager
async def following(reloader: Reloader, clock: Clock, *, is_on: bool) -> AsyncIterator[None]:
    """Reload on changes while inside; nothing happens unless `is_on`."""
    if not is_on:
        yield
        return
    second = _SecondLook(reloader, clock)
    stop_telling = reloader.on_reload(second.after)
    task = asyncio.create_task(_follow(reloader))
    try:
        yield
    finally:
        stop_telling()
        second.stop()
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task


async def _follow(reloader: Reloader) -> None:
    async with aclosing(Watcher(lambda: _interest(reloader)).asks()) as asks:
        async for reason in asks:
            await reloader.reload(reason)


def _interest(reloader: Reloader) -> Interest:
    """The folders and files of what is in force, and of what was refused."""
    folders = {folder for stock in reloader.stocks for folder in stock.folders}
    paths = {path for stock in reloader.stocks for path in stock.paths}
    ours = {reloader.stock.root / name for name in (PROJECT_FILE, *_MISNAMED)}
    return Interest.of(folders, paths | ours)


class _SecondLook:
    """Looks again at a policy that protects less, once the loss has been there for 10 s (L6)."""

    def __init__(self, reloader: Reloader, clock: Clock) -> None:
        self._reloader = reloader
        self._clock = clock
        self._task: asyncio.Task[None] | None = None

    def after(self, outcome: Reload) -> None:
        """Come back later, if the outcome is one that time may confirm."""
        self.stop()
        left_s = self._reloader.second_look_s
        if outcome.losses and left_s is not None:
            self._task = asyncio.create_task(self._look(left_s))

    def stop(self) -> None:
        """Look no more."""
        if self._task is not None:
            self._task.cancel()
        self._task = None

    async def _look(self, left_s: float) -> None:
        await self._clock.sleep(left_s + _MARGIN_S)
        await self._reloader.reload("second look")
