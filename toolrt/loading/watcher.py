"""Watches the folders of a project and asks for a reload once its files are at rest.

Folders are watched, not files: editors and deployments put another file in the place of the old
one. A look each half minute is for file systems that tell nothing. What has changed is not said,
whoever is asked looks for himself.
"""

import asyncio
import logging
import os
from collections.abc import AsyncGenerator, Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from toolrt.loading.files import is_manifest_name

QUIET_S: Final = 0.12
"""How long nothing has happened before files are at rest; the reader adds a look of his own."""
MOST_S: Final = 2.0
POLL_S: Final = 30.0
_STEP_MS: Final = 20
_TICK_MS: Final = 1000
_SWAPPED: Final = "..data"
"""The link that a mounted ConfigMap changes when it is updated."""

log = logging.getLogger("toolrt.reload")


@dataclass(frozen=True, slots=True)
class Interest:
    """What to watch: `folders` are told to the system, the others say what counts in them.

    In `manifests` every manifest counts; elsewhere only `paths`.
    """

    folders: frozenset[Path]
    manifests: frozenset[Path]
    paths: frozenset[Path]

    @classmethod
    def of(cls, manifests: Iterable[Path], paths: Iterable[Path]) -> "Interest":
        """Interest in all manifests of some folders, and in some files; links are followed."""
        inside = frozenset(each for folder in manifests for each in _hops(folder))
        named = frozenset(each for path in paths for each in _hops(path)) | inside
        parents = {_existing(path.parent) for path in named}
        ways = {way for path in named for way in _missing(path.parent)}
        there = {folder for folder in inside if folder.is_dir()}
        return cls(frozenset(parents | there), inside, named | ways)

    def counts(self, path: Path) -> bool:
        """Whether it matters that something has happened to `path`."""
        if path.name == _SWAPPED or path in self.paths:
            return True
        return path.parent in self.manifests and is_manifest_name(path.name)

    def identities(self) -> dict[Path, tuple[int, int] | None]:
        """Which folders they are now: one that was made again is another."""
        return {folder: _identity(folder) for folder in self.folders}


class Watcher:
    """Asks for reloads of what `interest` gives, which is looked up again after each."""

    def __init__(self, interest: Callable[[], Interest]) -> None:
        self._interest = interest
        self._is_stale = False
        self._current = Interest(frozenset(), frozenset(), frozenset())

    async def asks(self) -> AsyncGenerator[str, None]:
        """`watch` when files have changed and are at rest again, `poll` each 30 s."""
        news: asyncio.Queue[bool] = asyncio.Queue()
        pump = asyncio.create_task(self._pump(news))
        now = asyncio.get_running_loop().time
        looked = now()
        try:
            while True:
                has_changed = await news.get()
                if has_changed:
                    await _rest(news)
                elif now() - looked < POLL_S:
                    continue
                looked = now()
                yield "watch" if has_changed else "poll"
                self._is_stale = True
        finally:
            pump.cancel()
            with suppress(asyncio.CancelledError):
                await pump

    async def _pump(self, news: "asyncio.Queue[bool]") -> None:
        """Put True for each change and False for each second without one."""
        while True:
            self._is_stale = False
            try:
                await self._pump_of(await asyncio.to_thread(self._interest), news)
            except OSError as error:
                log.warning("cannot watch for changes (%s): looking each %g s", error, POLL_S)
                await asyncio.sleep(POLL_S)
                news.put_nowait(True)

    async def _pump_of(self, interest: Interest, news: "asyncio.Queue[bool]") -> None:
        """Watch until the folders are not those that they were."""
        from watchfiles import awatch  # noqa: PLC0415 - only those who watch need it

        self._current = interest
        before = interest.identities()
        is_first = True  # what happened while nobody watched
        async for changes in awatch(
            *(folder for folder, identity in before.items() if identity),
            watch_filter=lambda _change, path: self._current.counts(Path(path)),
            debounce=_STEP_MS * 2,
            step=_STEP_MS,
            rust_timeout=_TICK_MS,
            yield_on_timeout=True,
            recursive=False,
        ):
            news.put_nowait(bool(changes) or is_first)
            is_first = False
            if self._is_stale:
                self._is_stale = False
                self._current = await asyncio.to_thread(self._interest)
            if self._current.folders != interest.folders or interest.identities() != before:
                return


async def _rest(news: "asyncio.Queue[bool]") -> None:
    """Wait until nothing has changed for 120 ms, 2 s at most."""
    with suppress(TimeoutError):
        async with asyncio.timeout(MOST_S):
            while await _changes_soon(news):
                pass


async def _changes_soon(news: "asyncio.Queue[bool]") -> bool:
    try:
        async with asyncio.timeout(QUIET_S):
            while not await news.get():
                pass
    except TimeoutError:
        return False
    return True


def _hops(path: Path) -> Iterator[Path]:
    """The path, and where the links lead that stand at its end."""
    for _ in range(40):  # as many as the system follows
        yield path
        if not path.is_symlink():
            return
        path = Path(os.path.normpath(path.parent / path.readlink()))


def _existing(folder: Path) -> Path:
    """The folder, or the nearest above it that is there."""
    return next(each for each in (folder, *folder.parents) if each.is_dir())


def _missing(folder: Path) -> Iterator[Path]:
    """The folder and those above it, as far as they are not there."""
    for each in (folder, *folder.parents):
        if each.is_dir():
            return
        yield each


def _identity(folder: Path) -> tuple[int, int] | None:
    try:
        found = folder.stat()
    except OSError:
        return None
    return found.st_dev, found.st_ino
