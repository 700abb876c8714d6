"""The connections to all servers of one runtime.

What is known of a server can be asked from any thread and costs nothing; connections belong to the
event loop that made them, and are known by what a server is, not by its name.
"""

import asyncio
from collections.abc import Callable, Hashable, Iterable, Mapping
from contextlib import suppress
from functools import partial

from toolrt.bindings.mcp.connection import Connection
from toolrt.bindings.mcp.definitions import Listing
from toolrt.bindings.mcp.server import Server
from toolrt.core.calls import Invocation
from toolrt.core.errors import CallError
from toolrt.core.results import Answer


class Servers:
    """Made on first use by `Services.share(Servers)`."""

    def __init__(self) -> None:
        self._connections: dict[Hashable, Connection] = {}
        self._listeners: list[Callable[[], None]] = []
        self._withheld: dict[Hashable, Mapping[str, str]] = {}
        self._held: frozenset[object] = frozenset()
        self._used: frozenset[object] | None = None
        self._ending: set[asyncio.Task[None]] = set()
        self._is_closed = False

    def listing(self, server: Server) -> Listing | None:
        """What it listed last; None where nobody has asked, or it never answered."""
        known = self._connections.get(server.key)
        return known.listing if known else None

    def fault(self, server: Server) -> str | None:
        """Why it cannot be reached now; None where it can, or nobody has tried."""
        known = self._connections.get(server.key)
        return known.fault if known else None

    def said(self, server: Server) -> str:
        """What it printed last before it could not be reached, for the operator."""
        known = self._connections.get(server.key)
        return known.said if known else ""

    def withhold(self, server: Server, tools: Mapping[str, str]) -> None:
        """From now on these tools of the project, and no others of that server, are not called:
        why, by their names. It holds at once, whatever becomes of the reload that found it out.
        """
        self._withheld[server.key] = tools

    def why_withheld(self, server: Server, name: str) -> str | None:
        """Why the tool of that name is not called; None where it may be."""
        known = self._withheld.get(server.key)
        return known.get(name) if known else None

    def on_change(self, listener: Callable[[], None]) -> Callable[[], None]:
        """Call `listener` whenever a list changes, or a server goes or comes back."""
        self._listeners.append(listener)
        return partial(self._listeners.remove, listener)

    def hold(self, servers: Iterable[Server]) -> None:
        """Keep these connections, whether or not any tool needs them, and no others for long."""
        self._held = frozenset(each.key for each in servers)
        self._end_unused()

    async def discover(self, servers: Iterable[Server]) -> None:
        """Ask all of them at once what tools they have; who does not answer has a `fault`."""
        await asyncio.gather(*(self._discover(each) for each in servers))

    async def call(
        self, server: Server, tool: str, invocation: Invocation, *, has_schema: bool
    ) -> Answer:
        """The answer of one tool. Raises CallError."""
        connection = self._connections.get(server.key) or self._of(server)
        return await connection.call(tool, invocation, has_schema=has_schema)

    def keep_only(self, used: frozenset[object]) -> None:
        """End the connections that no tool needs any more."""
        self._used = used
        self._end_unused()

    def _end_unused(self) -> None:
        used = self._used
        if used is None:
            return
        for key in [each for each in self._connections if each not in used | self._held]:
            self._withheld.pop(key, None)
            task = asyncio.get_running_loop().create_task(self._connections.pop(key).close())
            self._ending.add(task)
            task.add_done_callback(self._ending.discard)

    async def close(self) -> None:
        """End every connection, and every process with it."""
        self._is_closed = True
        self._listeners.clear()
        closing = [each.close() for each in self._connections.values()]
        self._connections.clear()
        await asyncio.gather(*closing, *self._ending, return_exceptions=True)

    async def _discover(self, server: Server) -> None:
        connection = self._of(server)
        with suppress(CallError):
            await connection.discover()

    def _of(self, server: Server) -> Connection:
        known = self._connections.get(server.key)
        if known is None:
            known = self._connections[server.key] = Connection(server, self._changed)
            known.is_closed = self._is_closed
        return known

    def _changed(self) -> None:
        for listener in list(self._listeners):
            listener()
