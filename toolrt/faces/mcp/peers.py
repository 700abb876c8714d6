"""Who is at the other end: a session of the handshake era, and the way back of one request."""

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from toolrt.core.calls import Caller
from toolrt.faces.mcp.eras import ASSUMED, LEVELS, Era
from toolrt.faces.mcp.messages import request

DEFAULT_LEVEL = "info"


class Session:
    """One client of the handshake era, from its handshake on.

    `running` are its requests that can be cancelled, `asked` the questions to it that wait, and
    `streams` are open ways to it beside any request. `caller` is who opened it, `name` what calls
    in it have as their session: all else about a caller is what the request says. `until` is when
    its id is good for nothing any more (wall time, seconds).
    """

    __slots__ = (
        "_last",
        "asked",
        "caller",
        "capabilities",
        "id",
        "level",
        "name",
        "number",
        "running",
        "streams",
        "toolset",
        "until",
        "version",
        "watched",
    )

    def __init__(
        self,
        id_: str | None = None,
        caller: Caller | None = None,
        version: str = ASSUMED,
        capabilities: Mapping[str, Any] | None = None,
        toolset: str | None = None,
    ) -> None:
        self.id = id_
        self.name: str | None = None
        self._last: tuple[Caller, Caller] | None = None
        self.caller = caller or Caller()
        self.version = version
        self.capabilities = capabilities or {}
        self.toolset = toolset
        self.level = LEVELS.index(DEFAULT_LEVEL)
        self.running: dict[Any, asyncio.Task[Any]] = {}
        self.asked: dict[str, asyncio.Future[tuple[Mapping[str, Any], Caller]]] = {}
        self.streams: list[Callable[[bytes], None]] = []
        self.watched: set[str] = set()
        self.number = 0
        self.until = 0

    def named(self, caller: Caller) -> Caller:
        """The caller of a request, as calls of this session have it; an identity may have named a
        session already.
        """
        if self.name is None or caller.session is not None:
            return caller
        last = self._last
        if last is None or last[0] is not caller:
            last = self._last = caller, replace(caller, session=self.name)
        return last[1]

    def tell(self, message: bytes) -> None:
        """Send something that belongs to no request, where there is a way: by the newest, as a
        client that opens another may have lost the others.
        """
        if self.streams:
            self.streams[-1](message)


class Peer:
    """The way back to the sender of one request; transports say how it is sent.

    `level` is the least important log message it wants, None for none at all.
    """

    __slots__ = ("caller", "capabilities", "era", "level", "session", "toolset", "version")

    def __init__(self, era: Era, version: str, caller: Caller, session: Session | None) -> None:
        self.era = era
        self.version = version
        self.caller = caller
        self.session = session
        self.toolset: str | None = session.toolset if session else None
        self.capabilities: Mapping[str, Any] = session.capabilities if session else {}
        self.level: int | None = session.level if session else None

    @property
    def peer(self) -> "Peer":
        """Itself, where a line may be that changes its peer."""
        return self

    def send(self, message: bytes) -> None:
        """Send a message that belongs to this request, before its answer."""
        raise NotImplementedError

    @property
    def can_be_sent_to(self) -> bool:
        """Whether anything but the answer reaches this client."""
        return True

    def can(self, capability: str) -> bool:
        """Whether the client said that it can be asked for this; `url` is a way of asking, too."""
        if capability == "url":
            way = self.capabilities.get("elicitation")
            return type(way) is dict and "url" in way
        found = self.capabilities.get(capability)
        if capability == "elicitation" and type(found) is dict and found:
            return "form" in found
        return found is not None

    async def ask(self, method: str, params: Mapping[str, Any]) -> Mapping[str, Any]:
        """Ask a client of the handshake era, and wait for what it says; whoever says it is the
        caller from then on, with the rights of then.

        Raises ConnectionError where it says that it will not answer, or is gone.
        """
        session = self.session
        if session is None or not self.can_be_sent_to:
            raise ConnectionError("there is no way to ask this client")
        session.number += 1
        id_ = f"toolrt-{session.number}"
        loop = asyncio.get_running_loop()
        future: asyncio.Future[tuple[Mapping[str, Any], Caller]] = loop.create_future()
        session.asked[id_] = future
        try:
            self.send(request(id_, method, params))
            said, self.caller = await future
            return said
        finally:
            session.asked.pop(id_, None)
