"""One connection, from its first use to the end of the runtime: made when it is needed, made again
when it is lost, and never twice at a time.

The SDK wants to be entered and left by one task, so each connection has its own, which also ends
the child. After a failure the next try waits, longer each time; a call meanwhile is told so at
once.
"""

import asyncio
import logging
from collections.abc import Callable, Coroutine
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final, TypeVar

from toolrt.bindings.mcp.definitions import Listing
from toolrt.bindings.mcp.lost import CLOSED, Ending, LostError, UnreachableError, ending_of
from toolrt.bindings.mcp.server import Server
from toolrt.bindings.threads import aside
from toolrt.core.calls import Invocation
from toolrt.core.errors import BindingError, CallError
from toolrt.core.results import Answer

if TYPE_CHECKING:
    from toolrt.bindings.mcp.session import Session

T = TypeVar("T")
log = logging.getLogger("toolrt.mcp")

FIRST_WAIT_S: Final = 0.5
LONGEST_WAIT_S: Final = 60.0
_STEADY_S: Final = 30.0
"""A connection that has lasted so long was a good one: what follows begins anew."""
_SETTLE_S: Final = 0.2
_PAUSE_S: Final = 1.0
"""Between two looks at a list that keeps changing."""
_LISTEN_AGAIN_S: Final = 5.0
_LEAVE_S: Final = 8.0
_EXTRA: Final = "pip install 'toolrt[mcp]'"


class Connection:
    """The way to one server. `listing` is what it listed last; `fault` is why it cannot be reached,
    and `said` what it printed then, for the operator. `changed` is called when either changes.
    """

    def __init__(self, server: Server, changed: Callable[[], None]) -> None:
        self.server = server
        self.listing: Listing | None = None
        self.fault: str | None = None
        self.said = ""
        self._changed = changed
        self._turn = asyncio.Lock()
        self._session: Session | None = None
        self._living: asyncio.Task[None] | None = None
        self._leave = asyncio.Event()
        self._tasks: set[asyncio.Task[Any]] = set()
        self._fails = 0
        self._not_before = 0.0
        self._is_stale = self.is_closed = False
        self._looking: asyncio.Task[None] | None = None

    async def call(self, tool: str, invocation: Invocation, *, has_schema: bool) -> Answer:
        """The answer of a tool. Raises CallError."""
        invocation.sent = "never"
        session = self._session or await self.session()
        invocation.sent = "maybe"
        try:
            if session.is_prompt:
                answer = await session.call(tool, invocation, has_schema=has_schema)
            else:
                answer = await self._apart(session.call(tool, invocation, has_schema=has_schema))
        except LostError as error:
            self._drop(session)
            raise _gone(error) from error
        invocation.sent = "answered"
        return answer

    async def session(self) -> "Session":
        """The session, which is made if there is none. Raises BindingError `unavailable`."""
        async with self._turn:
            if self._session is not None:
                return self._session
            self._check()
            if self._living is not None:
                await asyncio.wait([self._living])
            try:
                return await self._connected()
            except CallError as error:
                self._failed(ending_of(error))
                raise self._unavailable() from error

    async def discover(self) -> Listing:
        """What tools there are now. Raises CallError."""
        timeouts = self.server.timeouts
        try:
            async with asyncio.timeout(timeouts.total_s):
                session = await self.session()
                listing = await session.listing()
        except TimeoutError:
            message = f"it did not say what tools it has within {timeouts.total_s:g} s"
            raise BindingError(message, code="timeout", target_fault=True) from None
        except LostError as error:
            self._drop(session)
            raise _gone(error) from error
        self._note(listing)
        return listing

    async def close(self) -> None:
        """End it, its process and its tasks; every wait is bounded."""
        self.is_closed = True
        tasks = set(self._tasks)
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks, timeout=_LEAVE_S)
        self._leave.set()
        living = self._living
        if living is None:
            return
        await asyncio.wait([living], timeout=_LEAVE_S)
        if not living.done():
            living.cancel()
            await asyncio.wait([living], timeout=_LEAVE_S)

    def _check(self) -> None:
        """Raises BindingError where it is not tried now."""
        if self.is_closed:
            raise _closed()
        if self.server.lacks is not None:
            self.fault = self.server.lacks
            raise self._unavailable()
        if asyncio.get_running_loop().time() < self._not_before:
            raise self._unavailable()

    async def _connected(self) -> "Session":
        """A new session, in time. Raises BindingError."""
        loop = asyncio.get_running_loop()
        ready: asyncio.Future[Session] = loop.create_future()
        self._leave = asyncio.Event()
        self._living = living = asyncio.create_task(self._live(ready))
        limit_s = self.server.timeouts.connect_s
        try:
            async with asyncio.timeout(limit_s):
                session = await asyncio.shield(ready)
        except TimeoutError:
            living.cancel()
            message = f"it did not answer within {limit_s:g} s"
            raise BindingError(message, code="timeout", sent="never") from None
        except asyncio.CancelledError:
            living.cancel()
            raise
        if self.fault is not None:
            self.fault = None
            self._changed()
        return session

    async def _live(self, ready: "asyncio.Future[Session]") -> None:
        """The whole life of one connection, in one task."""
        started = asyncio.get_running_loop().time()
        try:
            ending = await self._lived(ready)
        except Exception as error:  # noqa: BLE001 - groups of whatever went wrong in the SDK
            ending = ending_of(error)
        self._session = None
        if not ready.done():
            ready.set_exception(UnreachableError(ending))
            ready.exception()  # whoever waited may be gone
            return
        if asyncio.get_running_loop().time() - started > _STEADY_S:
            self._fails = 0
        if ending is not CLOSED:
            self._failed(ending)

    async def _lived(self, ready: "asyncio.Future[Session]") -> Ending:
        """How the connection ended."""
        try:
            opened = await aside(_opening)
        except ImportError:
            return Ending(f"the SDK of MCP is not installed: {_EXTRA}")
        leave = self._leave
        async with opened(self.server, self._told, leave) as (session, ended):
            self._session = session
            ready.set_result(session)
            listening = self._spawn(self._listen(session)) if session.is_modern else None
            try:
                ending: Ending = await ended()
                return ending
            finally:
                if listening is not None:
                    listening.cancel()

    def _failed(self, ending: Ending) -> None:
        """It cannot be reached: the next try waits, and comes by itself."""
        if self.is_closed:
            return
        wait_s = min(FIRST_WAIT_S * 2**self._fails, LONGEST_WAIT_S)
        now = asyncio.get_running_loop().time()
        self._not_before = now + wait_s if self._fails else now
        self._fails += 1
        self.fault, self.said = ending.why, ending.said
        log.warning("server `%s` cannot be reached: %s", self.server.name, self._told_of(ending))
        self._changed()
        self._spawn(self._come_back(wait_s))

    async def _come_back(self, wait_s: float) -> None:
        await asyncio.sleep(wait_s)
        if self._session is None and not self.is_closed:
            with suppress(CallError):
                await self.discover()

    def _drop(self, session: "Session") -> None:
        """A session that was found dead is not given to the next call."""
        if self._session is session:
            self._session = None
            self._leave.set()
            self._not_before = 0.0

    def _told(self) -> None:
        """The server says that its list has changed: look, but not for each word of a storm."""
        self._is_stale = True
        if self._looking is None or self._looking.done():
            self._looking = self._spawn(self._look())

    async def _look(self) -> None:
        await asyncio.sleep(_SETTLE_S)
        while self._is_stale:
            self._is_stale = False
            with suppress(CallError):
                await self.discover()
            await asyncio.sleep(_PAUSE_S)

    async def _listen(self, session: "Session") -> None:
        """Hear of changes from a server of the new era, which tells those who listen."""
        while True:
            try:
                await session.changes(self._told)
            except LostError:
                await asyncio.sleep(_LISTEN_AGAIN_S)
                self._told()
            else:
                return

    def _note(self, listing: Listing) -> None:
        is_new = listing != self.listing
        self.listing, self._fails = listing, 0
        if is_new:
            self._changed()

    def _spawn(self, work: Coroutine[Any, Any, T]) -> "asyncio.Task[T]":
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._done)
        return task

    def _done(self, task: "asyncio.Task[Any]") -> None:
        self._tasks.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            log.debug("server `%s`: %r", self.server.name, error)

    async def _apart(self, calling: Coroutine[Any, Any, Answer]) -> Answer:
        """The same in a task of its own: who stops waiting is not kept by a slow server."""
        task = self._spawn(calling)
        try:
            return await asyncio.shield(task)
        except asyncio.CancelledError:
            task.cancel()
            raise

    def _told_of(self, ending: Ending) -> str:
        """The same for the log, with what the server printed; secrets masked."""
        text = f"{ending.why}: {ending.said}" if ending.said else ending.why
        references = self.server.references
        return references.redactor.text(text) if references is not None else text

    def _unavailable(self) -> BindingError:
        wait_s = max(self._not_before - asyncio.get_running_loop().time(), 0.0)
        hint = f"it is tried again in {wait_s:.0f} s" if wait_s >= 1 else "it is tried again soon"
        return BindingError(
            f"its server `{self.server.name}` cannot be reached: {self.fault}",
            code="unavailable",
            hint=hint,
            retryable=True,
            sent="never",
            retry_after_s=wait_s or None,
            target_fault=True,
        )


def _opening() -> Any:
    from toolrt.bindings.mcp.opening import opened  # noqa: PLC0415 - the SDK takes a while

    return opened


def _gone(error: LostError) -> BindingError:
    sent = error.sent
    return BindingError(
        "the server went away before it answered",
        code="unavailable",
        retryable=True,
        sent=sent,
        target_fault=True,
    )


def _closed() -> BindingError:
    hint = "call tools before the runtime is closed, such as inside of `async with toolrt.open(…)`"
    return BindingError("the runtime is closed", code="unavailable", sent="never", hint=hint)
