"""Asks the servers of a project's sources what tools they have, and hears when that changes.

When a project is opened its files are compiled, its servers are asked all at once, and the files
are compiled again with what they said. Later changes, servers that go and come back, and sources
that are new in a reload lead to a reload with the reason "source".
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Coroutine, Iterable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import Any, Final

from toolrt.bindings.base import Services
from toolrt.catalog.compiler import Compiled
from toolrt.loading.loader import LoadedFiles
from toolrt.reloading.outcome import Reload
from toolrt.reloading.reloader import SECOND_LOOK_S, Reloader
from toolrt.stores.base import StoreError
from toolrt.stores.pins import KeptPins, StoredPin

REASON: Final = "source"
_SETTLE_S: Final = 0.05

Stored = Callable[[], Awaitable[Iterable[StoredPin]]]
"""What was pinned, as it stands in the store."""

log = logging.getLogger("toolrt.mcp")


class Discovery:
    """The servers of one open project; nothing is imported where it has none."""

    def __init__(self, services: Services, pins: KeptPins) -> None:
        self._services = services
        self._pins = pins
        self._has_pins = False
        self._reloader: Reloader | None = None
        self._waiting: asyncio.Task[None] | None = None
        self._asking: set[asyncio.Task[None]] = set()
        self._is_closed = False

    async def first(self, compiled: Compiled, again: Callable[[], Compiled]) -> Compiled:
        """What `again` compiles once all servers were asked; `compiled` where there are none."""
        if not compiled.files.servers or not compiled.ok:
            return compiled
        await self._load_pins()
        await self._ask(compiled.files.servers.values())
        made = again()
        return again() if await self.keep() else made

    async def known(
        self,
        compiled: Compiled,
        again: Callable[[], Compiled],
        stored: Stored | None,
        close: Callable[[], Awaitable[None]],
    ) -> Compiled:
        """The same for who only looks: where there is `stored`, nobody is asked, and what was
        approved counts. All is closed in the end.
        """
        try:
            if stored is None:
                return await self.first(compiled, again)
            await self._load(stored)
            return again()
        finally:
            await self._services.close()
            await close()

    def follow(self, reloader: Reloader, files: LoadedFiles) -> None:
        """From now on, reload when a server has something new to say."""
        self._reloader = reloader
        reloader.on_reload(self._reloaded)
        if files.servers:
            self._listen()

    async def keep(self) -> bool:
        """Write down what was seen for the first time, and what the lock approves; whether another
        process was first, and had seen something else.
        """
        if not self._has_pins:
            return False
        book = _book(self._services)
        fresh, approved = book.take_fresh(), book.take_approved()
        if not fresh and not approved:
            return False
        try:
            await self._pins.keep(fresh)
            await self._pins.replace(approved)
            return bool(book.load(await self._pins.all()))
        except StoreError as error:
            log.warning("what servers say is not pinned: %s", error.message)
            return False

    async def close(self) -> None:
        """Ask nobody any more."""
        self._is_closed = True
        for task in tuple(self._asking):
            task.cancel()
        await asyncio.gather(*self._asking, return_exceptions=True)
        if self._waiting is not None:
            self._waiting.cancel()
            with suppress(asyncio.CancelledError):
                await self._waiting

    def _listen(self) -> None:
        if self._reloader is not None and self._waiting is None:
            self._waiting = asyncio.create_task(self._follow(_servers(self._services)))

    async def _follow(self, servers: Any) -> None:
        """Reload after each change; those that come together are one."""
        changed = asyncio.Event()
        stop = servers.on_change(changed.set)
        try:
            while self._reloader is not None:
                await changed.wait()
                await asyncio.sleep(_SETTLE_S)
                changed.clear()
                await self._again(self._reloader)
        finally:
            with suppress(ValueError):
                stop()

    async def _again(self, reloader: Reloader) -> None:
        """Reload, and once more for what others had seen first. A loss gets its second look, for
        nobody writes a file that would lead to one.
        """
        outcome = await reloader.reload(REASON)
        if await self.keep():
            outcome = await reloader.reload(REASON)
        if outcome.losses and not self._is_closed:
            self._spawn(self._second_look(reloader))

    async def _second_look(self, reloader: Reloader) -> None:
        await asyncio.sleep(SECOND_LOOK_S)
        await reloader.reload(REASON)
        await self.keep()

    def _reloaded(self, outcome: Reload) -> None:
        """A reload may have brought a server that nobody has asked."""
        reloader = self._reloader
        if reloader is None or not outcome.is_new or self._is_closed:
            return
        if not reloader.files.servers and self._waiting is None:
            return
        self._listen()
        self._spawn(self._ask_new(reloader))

    def _spawn(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.get_running_loop().create_task(work)
        self._asking.add(task)
        task.add_done_callback(self._asking.discard)

    async def _ask_new(self, reloader: Reloader) -> None:
        """Ask the servers of what is in force that nobody has asked; let go of those that left."""
        known, every = _servers(self._services), list(reloader.files.servers.values())
        new = [each for each in every if known.listing(each) is None and known.fault(each) is None]
        if await self._load_pins():
            await reloader.reload(REASON)
        known.hold(every)
        await known.discover(new)

    async def _ask(self, servers: Iterable[Any]) -> None:
        known, every = _servers(self._services), list(servers)
        known.hold(every)
        await known.discover(every)

    async def _load_pins(self) -> bool:
        """Read what was pinned, unless that is known; whether it could not be read before."""
        if self._has_pins:
            return False
        was_unread = bool(_book(self._services).is_unread)
        self._has_pins = await self._load(self._pins.all)
        return self._has_pins and was_unread

    async def _load(self, stored: Stored) -> bool:
        """Take over what was pinned; where that cannot be read nothing is taken for new."""
        book = _book(self._services)
        try:
            book.load(await stored())
        except StoreError as error:
            book.is_unread = True
            log.warning("what was approved of servers cannot be read: %s", error.message)
            return False
        return True


def alone(work: Coroutine[Any, Any, Compiled]) -> Compiled:
    """What `work` gives in an event loop of its own, whether or not there is one already."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(work)
    with ThreadPoolExecutor(1) as aside:
        return aside.submit(asyncio.run, work).result()


def _servers(services: Services) -> Any:
    from toolrt.bindings.mcp import Servers  # noqa: PLC0415 - few projects have servers

    return services.share(Servers)


def _book(services: Services) -> Any:
    from toolrt.catalog.sources.pins import PinBook  # noqa: PLC0415 - as above

    return services.share(PinBook)
