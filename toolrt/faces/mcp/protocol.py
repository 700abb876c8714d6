"""The protocol itself, for both eras and without any transport.

A transport reads messages, says who sent each (a `Peer`), and sends what `answer` gives. Each
method is a function in one of two tables; what a request does wrong comes back as a `Wrong`.
"""

import secrets
from collections.abc import Awaitable, Callable, Iterable, Mapping
from typing import Any

from toolrt.catalog.instructions import instructions, written
from toolrt.core import logs
from toolrt.core.calls import Caller
from toolrt.core.names import did_you_mean
from toolrt.faces.mcp import eras
from toolrt.faces.mcp.asking import Desk, PageOf
from toolrt.faces.mcp.calling import Calls
from toolrt.faces.mcp.changes import Changes, watch
from toolrt.faces.mcp.completing import completed
from toolrt.faces.mcp.contents import LISTED_TAIL, listed
from toolrt.faces.mcp.listing import Lists
from toolrt.faces.mcp.messages import (
    CANCELLED,
    INTERNAL_ERROR,
    INVALID_PARAMS,
    METHOD_NOT_FOUND,
    UNSUPPORTED_VERSION,
    Message,
    Wrong,
    answer,
    answer_of_bytes,
    object_of,
    text_of,
)
from toolrt.faces.mcp.owners import mark_of
from toolrt.faces.mcp.parking import Lot
from toolrt.faces.mcp.peers import Peer, Session
from toolrt.faces.mcp.prompts import get_prompt, list_prompts
from toolrt.faces.mcp.resources import list_resources, list_templates, read_resource
from toolrt.faces.mcp.shelves import Shelf, offering
from toolrt.opened import Runtime
from toolrt.pipeline.approvals import Channel

Method = Callable[["Protocol", Message, Peer], Awaitable[bytes]]
_LONGEST_INSTRUCTIONS = 8000


class Protocol:
    """One MCP server over an open project.

    `page_of` is where people decide about approvals, `key` seals what clients bring back: where
    several processes serve one address they have the same, and each its `number`.
    """

    def __init__(
        self,
        runtime: Runtime,
        *,
        channel: Channel = "http",
        page_of: PageOf = lambda _id: None,
        key: Callable[[], bytes] | None = None,
        page: int | None = None,
        number: int | None = None,
    ) -> None:
        self.mark = mark_of(number)
        self.runtime = runtime
        made = secrets.token_bytes(32)
        self.key = key or (lambda: made)
        self.lot = Lot(self.key, self.mark)
        self.calls = Calls(runtime, Desk(runtime, page_of, channel), self.lot)
        self._page = {} if page is None else {"page": page}
        self._shelves: dict[str | None, tuple[Shelf, Lists]] = {}
        self.tasks = self.calls.tasks
        self.tasks.mark = self.mark
        self.changes = Changes(self)

    async def answer(self, message: Message, peer: Peer) -> bytes:
        """The answer to a request. Raises Wrong, or CancelledError if the task is cancelled."""
        methods = MODERN if peer.era == "modern" else HANDSHAKE
        method = methods.get(message.method)
        if method is None:
            raise Wrong(METHOD_NOT_FOUND, f"there is no method `{message.method[:100]}`")
        try:
            return await method(self, message, peer)
        except Wrong:
            raise
        except Exception as error:  # the outer ring: a bug of ours is one answer, no lost client
            logs.BUGS.exception("a bug ended an MCP request %r", message.method[:100])
            text = "toolrt failed inside; its log has the details"
            raise Wrong(INTERNAL_ERROR, text) from error

    def notified(self, message: Message, session: Session) -> None:
        """Take a notification."""
        id_ = message.params.get("requestId")
        if message.method == "notifications/cancelled" and type(id_) in {int, float, str}:
            task = session.running.pop(id_, None)
            if task is not None:
                task.cancel()

    def responded(self, message: Message, session: Session, caller: Caller) -> None:
        """Take the response to a request of ours; `caller` is who sends it."""
        future = session.asked.pop(message.id, None) if type(message.id) is str else None
        if future is None or future.done():
            return
        if type(message.result) is dict:
            future.set_result((message.result, caller))
            return
        error = message.error if type(message.error) is dict else {}
        why = str(error.get("message", "it is an error without a word"))[:200]
        future.set_exception(ConnectionError(why))

    def shelf(self, toolset: str | None) -> Shelf:
        """The tools of now that an endpoint offers. Raises Wrong for one that is gone."""
        return self._of_now(toolset)[0]

    def shelf_now(self, toolset: str | None) -> Shelf | None:
        """The same where it is made already, else None."""
        known = self._shelves.get(toolset)
        is_of_now = known is not None and known[0].snapshot is self.runtime.snapshot
        return known[0] if known is not None and is_of_now else None

    def lists(self, toolset: str | None) -> Lists:
        return self._of_now(toolset)[1]

    def close(self) -> None:
        """End the calls that wait for clients, and tell of nothing any more."""
        self.changes.close()
        self.lot.close()
        self.tasks.close()

    def _of_now(self, toolset: str | None) -> tuple[Shelf, Lists]:
        snapshot = self.runtime.snapshot
        known = self._shelves.get(toolset)
        if known is not None and known[0].snapshot is snapshot:
            return known
        named = None
        if toolset is not None:
            named = snapshot.toolsets.get(toolset)
            if named is None:
                raise Wrong(INVALID_PARAMS, _no_toolset(toolset, snapshot.toolsets))
        shelf = Shelf(snapshot, offering(named))
        made = self._shelves[toolset] = shelf, Lists(shelf, self.runtime, **self._page)
        return made

    def instructions(self, caller: Caller, toolset: str | None) -> str | None:
        """What the authors of the toolset and its tools have to say about using them. Raises Wrong
        for a toolset that is none.
        """
        shelf = self.shelf(toolset)
        of_set = shelf.snapshot.toolsets[toolset].description if toolset else None
        seen = shelf.seen_by(caller)
        said = instructions(((each.wire, each.entry) for each in seen), of_set)
        return written(said)[:_LONGEST_INSTRUCTIONS] or None

    async def call(self, message: Message, peer: Peer) -> bytes:
        return await self.calls.call(message, peer, self.shelf(peer.toolset))

    async def list_tools(self, message: Message, peer: Peer) -> bytes:
        shelf, lists = self._of_now(peer.toolset)
        told = shelf.told_to if peer.toolset is None else shelf.seen_by
        page = lists.page(told(peer.caller), peer.era, message.params.get("cursor"))
        return answer_of_bytes(message.id, b"{%b%b}" % (page, LISTED_TAIL[peer.era]))


def capabilities(era: eras.Era) -> dict[str, Any]:
    """What the server can do."""
    extensions: dict[str, Any] = {"extensions": {eras.TASKS: {}}} if era == "modern" else {}
    return {
        "tools": {"listChanged": True},
        "prompts": {"listChanged": True},
        "resources": {"listChanged": True, "subscribe": True},
        "completions": {},
        "logging": {},
        **extensions,
    }


async def _initialize(protocol: Protocol, message: Message, peer: Peer) -> bytes:
    asked = text_of(message.params, "protocolVersion")
    version = asked if asked in eras.HANDSHAKE_VERSIONS else eras.LATEST_HANDSHAKE
    peer.version = version
    if peer.session is not None:
        peer.session.version = version
        peer.session.capabilities = object_of(message.params, "capabilities")
    made: dict[str, Any] = {
        "protocolVersion": version,
        "capabilities": capabilities("handshake"),
        "serverInfo": eras.SERVER,
    }
    if told := protocol.instructions(peer.caller, peer.toolset):
        made["instructions"] = told
    return answer(message.id, made)


async def _discover(protocol: Protocol, message: Message, peer: Peer) -> bytes:
    made: dict[str, Any] = {
        "supportedVersions": list(eras.MODERN_VERSIONS),
        "capabilities": capabilities("modern"),
    }
    if told := protocol.instructions(peer.caller, peer.toolset):
        made["instructions"] = told
    return answer(message.id, listed(made, "modern"))


async def _ping(_protocol: Protocol, message: Message, _peer: Peer) -> bytes:
    return answer(message.id, {})


async def _set_level(_protocol: Protocol, message: Message, peer: Peer) -> bytes:
    level = text_of(message.params, "level")
    if level not in eras.LEVELS:
        raise Wrong(INVALID_PARAMS, f"`params.level` must be one of {', '.join(eras.LEVELS)}")
    if peer.session is not None:
        peer.session.level = eras.LEVELS.index(level)
    return answer(message.id, {})


async def _subscribe(_protocol: Protocol, message: Message, peer: Peer) -> bytes:
    if peer.session is not None:
        watch(peer.session.watched, text_of(message.params, "uri"))
    return answer(message.id, {})


async def _unsubscribe(_protocol: Protocol, message: Message, peer: Peer) -> bytes:
    if peer.session is not None:
        peer.session.watched.discard(text_of(message.params, "uri"))
    return answer(message.id, {})


async def _listen(protocol: Protocol, message: Message, peer: Peer) -> bytes:
    return await protocol.changes.listen(message, peer)


async def _list_prompts(protocol: Protocol, message: Message, peer: Peer) -> bytes:
    return list_prompts(message, peer, protocol.shelf(peer.toolset))


async def _get_prompt(protocol: Protocol, message: Message, peer: Peer) -> bytes:
    shelf = protocol.shelf(peer.toolset)
    return await get_prompt(message, peer, shelf, protocol.calls)


async def _list_resources(protocol: Protocol, message: Message, peer: Peer) -> bytes:
    return list_resources(message, peer, protocol.shelf(peer.toolset))


async def _list_templates(protocol: Protocol, message: Message, peer: Peer) -> bytes:
    return list_templates(message, peer, protocol.shelf(peer.toolset))


async def _read_resource(protocol: Protocol, message: Message, peer: Peer) -> bytes:
    shelf = protocol.shelf(peer.toolset)
    return await read_resource(message, peer, shelf, protocol.calls, protocol.runtime)


async def _complete(protocol: Protocol, message: Message, peer: Peer) -> bytes:
    return completed(message, peer, protocol.shelf(peer.toolset))


async def _get_task(protocol: Protocol, message: Message, peer: Peer) -> bytes:
    return protocol.tasks.get(message, peer)


async def _update_task(protocol: Protocol, message: Message, peer: Peer) -> bytes:
    return protocol.tasks.update(message, peer)


async def _cancel_task(protocol: Protocol, message: Message, peer: Peer) -> bytes:
    return await protocol.tasks.cancel(message, peer)


_BOTH: Mapping[str, Method] = {
    "tools/call": Protocol.call,
    "tools/list": Protocol.list_tools,
    "prompts/list": _list_prompts,
    "prompts/get": _get_prompt,
    "resources/list": _list_resources,
    "resources/templates/list": _list_templates,
    "resources/read": _read_resource,
    "completion/complete": _complete,
}
HANDSHAKE: Mapping[str, Method] = {
    **_BOTH,
    "initialize": _initialize,
    "ping": _ping,
    "logging/setLevel": _set_level,
    "resources/subscribe": _subscribe,
    "resources/unsubscribe": _unsubscribe,
}
MODERN: Mapping[str, Method] = {
    **_BOTH,
    "server/discover": _discover,
    "subscriptions/listen": _listen,
    "tasks/get": _get_task,
    "tasks/update": _update_task,
    "tasks/cancel": _cancel_task,
}


def _no_toolset(name: str, known: Iterable[str]) -> str:
    shown = name[:100]
    hint = did_you_mean(shown, known) or "`/mcp` has all tools"
    return f"there is no toolset `{shown}`; {hint}"


def check_envelope(params: Mapping[str, Any]) -> Mapping[str, Any]:
    """What a modern request says of itself. Raises Wrong where it does not say enough."""
    meta = params.get("_meta")
    if type(meta) is not dict:
        raise Wrong(INVALID_PARAMS, f"`params._meta` must be an object with `{eras.VERSION_KEY}`")
    for key in (eras.VERSION_KEY, eras.CAPABILITIES_KEY):
        if key not in meta:
            raise Wrong(INVALID_PARAMS, f"`params._meta` must have `{key}`")
    if type(meta[eras.VERSION_KEY]) is not str or type(meta[eras.CAPABILITIES_KEY]) is not dict:
        raise Wrong(INVALID_PARAMS, "`params._meta` must have a version and an object")
    return meta


def check_version(version: object) -> None:
    """Raise Wrong for a version that nobody speaks here."""
    if version not in eras.MODERN_VERSIONS:
        told = {"supported": list(eras.MODERN_VERSIONS), "requested": version}
        raise Wrong(UNSUPPORTED_VERSION, "unsupported protocol version", told)


def modern_peer(peer: Peer, meta: Mapping[str, Any]) -> None:
    """Have the peer say what its request says of it."""
    peer.capabilities = meta[eras.CAPABILITIES_KEY]
    level = meta.get(eras.LOG_LEVEL_KEY)
    peer.level = eras.LEVELS.index(level) if level in eras.LEVELS else None


def ended() -> Wrong:
    """What a request is answered with that was running when this process ended."""
    return Wrong(CANCELLED, "the server ended before the request did")


def cancelled() -> Wrong:
    """What a request that was called off is answered with, where an answer must be."""
    return Wrong(CANCELLED, "the request was cancelled")
