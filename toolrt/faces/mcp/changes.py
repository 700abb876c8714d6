"""What changes while clients are there: lists of tools, prompts and resources, and resources.

After each reload, and when a breaker hides or shows a tool, every session of the handshake era is
told, and every modern client that listens for it.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any

from toolrt.faces.mcp import eras
from toolrt.faces.mcp.contents import complete
from toolrt.faces.mcp.messages import (
    INTERNAL_ERROR,
    INVALID_PARAMS,
    Message,
    Wrong,
    answer,
    notification,
)
from toolrt.faces.mcp.peers import Peer, Session
from toolrt.reloading.outcome import Reload

if TYPE_CHECKING:
    from toolrt.faces.mcp.protocol import Protocol

_LOOK_S = 1.0
_KINDS: Mapping[str, str] = {
    "toolsListChanged": "notifications/tools/list_changed",
    "promptsListChanged": "notifications/prompts/list_changed",
    "resourcesListChanged": "notifications/resources/list_changed",
}
_MOST_URIS = 1000
MOST_LISTENERS = 256
"""Each is a connection that stays open."""
_LONGEST_URI = 4096


class Listener:
    """A modern client that listens: what for, and the number that it knows its stream by."""

    __slots__ = ("asked", "ended", "id", "peer", "uris")

    def __init__(self, peer: Peer, id_: Any, asked: Iterable[str], uris: Iterable[str]) -> None:
        self.peer = peer
        self.id = id_
        self.asked = frozenset(asked)
        self.uris = frozenset(uris)
        self.ended: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    def tell(self, method: str, params: Mapping[str, Any]) -> None:
        meta = {eras.SUBSCRIPTION_KEY: self.id}
        self.peer.send(notification(method, {**params, "_meta": meta}))


class Changes:
    """Tells whoever is there."""

    def __init__(self, protocol: "Protocol") -> None:
        self._protocol = protocol
        self._sessions: set[Session] = set()
        self._listeners: set[Listener] = set()
        self._stop: Callable[[], None] = protocol.runtime.on_reload(self._reloaded)
        self._epoch: frozenset[str] = frozenset()
        self._looking: asyncio.TimerHandle | None = None
        self._before = _prints(protocol)
        self._is_closed = False

    def join(self, session: Session) -> None:
        """Tell this session from now on."""
        self._sessions.add(session)
        self._look_later()

    def leave(self, session: Session) -> None:
        self._sessions.discard(session)

    async def listen(self, message: Message, peer: Peer) -> bytes:
        """Tell this client until it goes, or the server ends. Raises Wrong."""
        if len(self._listeners) >= MOST_LISTENERS:
            raise Wrong(INTERNAL_ERROR, "too many clients listen already: try again later")
        wanted = message.params.get("notifications")
        if type(wanted) is not dict:
            raise Wrong(INVALID_PARAMS, "`params.notifications` must be an object")
        asked = [name for name in _KINDS if wanted.get(name) is True]
        uris = wanted.get("resourceSubscriptions") or []
        if type(uris) is not list or len(uris) > _MOST_URIS or not all(map(_is_uri, uris)):
            why = f"`resourceSubscriptions` must be a list of URIs, {_MOST_URIS} at most"
            raise Wrong(INVALID_PARAMS, why)
        listener = Listener(peer, message.id, asked, uris)
        agreed: dict[str, Any] = dict.fromkeys(asked, True)
        if uris:
            agreed["resourceSubscriptions"] = list(uris)
        listener.tell("notifications/subscriptions/acknowledged", {"notifications": agreed})
        self._listeners.add(listener)
        self._look_later()
        try:
            await listener.ended
        finally:
            self._listeners.discard(listener)
        meta = {eras.SUBSCRIPTION_KEY: message.id}
        return answer(message.id, complete({"_meta": meta}, "modern"))

    def tell(self, kind: str) -> None:
        """Say that a list has changed: `kind` is a key of the filter."""
        method = _KINDS[kind]
        for session in list(self._sessions):
            session.tell(notification(method))
        for listener in list(self._listeners):
            if kind in listener.asked:
                listener.tell(method, {})

    def updated(self, uris: Iterable[str]) -> None:
        """Say that resources have changed, to those who watch them."""
        for uri in uris:
            for session in list(self._sessions):
                if uri in session.watched:
                    session.tell(notification("notifications/resources/updated", {"uri": uri}))
            for listener in list(self._listeners):
                if uri in listener.uris:
                    listener.tell("notifications/resources/updated", {"uri": uri})

    async def keep_only(self, is_wanted: Callable[[Peer], Awaitable[bool]]) -> None:
        """End the streams of clients that are not wanted any more."""
        for listener in list(self._listeners):
            if not await is_wanted(listener.peer) and not listener.ended.done():
                listener.ended.set_result(None)

    def close(self) -> None:
        """Tell nobody any more; may be done again."""
        if self._is_closed:
            return
        self._is_closed = True
        self._stop()
        if self._looking is not None:
            self._looking.cancel()
        self._sessions.clear()
        for listener in list(self._listeners):
            if not listener.ended.done():
                listener.ended.set_result(None)

    def _reloaded(self, outcome: Reload) -> None:
        if not outcome.is_new:
            return
        before, self._before = self._before, _prints(self._protocol)
        for kind, is_same in zip(_KINDS, map(_equal, before, self._before), strict=True):
            if not is_same:
                self.tell(kind)
        self.updated(_changed(before[2], self._before[2]))

    def _look_later(self) -> None:
        """Look about every second whether a breaker has hidden a tool, while anybody is there."""
        is_wanted = bool(self._sessions or self._listeners) and not self._is_closed
        if self._looking is None and is_wanted:
            self._looking = asyncio.get_running_loop().call_later(_LOOK_S, self._look)

    def _look(self) -> None:
        self._looking = None
        before, self._epoch = self._epoch, self._protocol.lists(None).epoch()
        if before != self._epoch:
            self.tell("toolsListChanged")
        self._look_later()


def watch(watched: set[str], uri: str) -> None:
    """Add a URI to those that a session watches. Raises Wrong."""
    if not _is_uri(uri):
        raise Wrong(INVALID_PARAMS, f"`params.uri` is longer than {_LONGEST_URI} characters")
    if len(watched) >= _MOST_URIS and uri not in watched:
        why = f"{_MOST_URIS} resources are watched already: unsubscribe from some"
        raise Wrong(INVALID_PARAMS, why)
    watched.add(uri)


def _is_uri(value: object) -> bool:
    return isinstance(value, str) and len(value) <= _LONGEST_URI


def _prints(protocol: "Protocol") -> tuple[Mapping[str, Any], Mapping[str, Any], Mapping[str, Any]]:
    """What lists of tools, prompts and resources are made of: equal where nothing has changed."""
    snapshot = protocol.runtime.snapshot
    tools = {
        name: (entry.definition_hash, entry.title, entry.deprecated, snapshot.rules.hash)
        for name, entry in snapshot.tools.items()
    }
    prompts = {name: each.print for name, each in snapshot.prompts.items()}
    resources = {name: (each.print, each.uri) for name, each in snapshot.resources.items()}
    return tools, prompts, resources


def _equal(one: object, other: object) -> bool:
    return one == other


def _changed(before: Mapping[str, Any], after: Mapping[str, Any]) -> list[str]:
    """The URIs of resources that are other than before."""
    changed = [name for name, each in after.items() if before.get(name) != each]
    return [after[name][1] for name in changed]
