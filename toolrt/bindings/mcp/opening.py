"""Opens one connection: starts the child or goes out to the URL, and tells how it ended.

The first module of a connection that imports the SDK.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

from toolrt.bindings.mcp.child import Child
from toolrt.bindings.mcp.lost import CLOSED, Ending, LostError, UnreachableError, leaf_of
from toolrt.bindings.mcp.server import Launch, Server
from toolrt.bindings.mcp.session import Session, by_pipes, by_web
from toolrt.bindings.mcp.stdio import Lines

Ended = Callable[[], Awaitable[Ending]]
Opened = tuple[Session, Ended]

_LAST_WORDS_S = 0.3


@asynccontextmanager
async def opened(
    server: Server, told: Callable[[], None], leave: asyncio.Event
) -> AsyncIterator[Opened]:
    """A session, and what waits for its end: for `leave`, or that the server goes.

    `told` is called when the server says that its list has changed. Raises CallError, LostError, or
    a group of them.
    """
    if server.launch is not None:
        async with _child(server, server.launch, told, leave) as made:
            yield made
    elif server.web is not None:
        async with by_web(server, server.web, told) as session:
            yield session, _until(leave)


@asynccontextmanager
async def _child(
    server: Server, launch: Launch, told: Callable[[], None], leave: asyncio.Event
) -> AsyncIterator[Opened]:
    env = launch.environ(await server.prepared())
    child = await Child.start(launch, env)
    try:
        lines = Lines(child)
        async with by_pipes(server, lines, child, told) as session:
            yield session, _until_gone(child, lines, leave)
    except (LostError, ExceptionGroup) as error:
        if not isinstance(leaf_of(error), LostError):
            raise
        raise UnreachableError(await _last_words(child, lines)) from error
    finally:
        await child.end()


def _until(leave: asyncio.Event) -> Ended:
    async def ended() -> Ending:
        await leave.wait()
        return CLOSED

    return ended


def _until_gone(child: Child, lines: Lines, leave: asyncio.Event) -> Ended:
    async def ended() -> Ending:
        waiting = [asyncio.create_task(each.wait()) for each in (leave, lines.over)]
        try:
            await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for each in waiting:
                each.cancel()
        return await _last_words(child, lines) if lines.over.is_set() else CLOSED

    return ended


async def _last_words(child: Child, lines: Lines) -> Ending:
    if lines.flaw is not None:
        return Ending(lines.flaw, child.said)
    await child.settled(_LAST_WORDS_S)
    return Ending(child.epitaph(), child.said)
