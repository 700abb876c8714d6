"""tools/call: from a request to the bytes of its result.

A call that can ask nobody is made right here. Any other runs in a task of its own, so that in the
modern era it can outlast the request that began it.
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from toolrt.core.client import CLIENT, REQUIRED
from toolrt.core.errors import RefusedError
from toolrt.core.names import did_you_mean
from toolrt.core.results import ToolResult
from toolrt.faces.mcp.asking import Desk
from toolrt.faces.mcp.contents import complete, result_of, words_of
from toolrt.faces.mcp.eras import Era
from toolrt.faces.mcp.lines import Line
from toolrt.faces.mcp.messages import (
    INVALID_PARAMS,
    MISSING_CAPABILITY,
    Message,
    Wrong,
    answer,
    notification,
    object_of,
)
from toolrt.faces.mcp.parking import Lot, Parked, named
from toolrt.faces.mcp.peers import Peer
from toolrt.faces.mcp.shelves import Shelf, Shelved
from toolrt.runtime import Progress, Runtime

Finish = Callable[[ToolResult], dict[str, Any]]
"""What a result becomes on the wire. Raises Wrong."""


class Calls:
    """The calls of one server."""

    def __init__(self, runtime: Runtime, desk: Desk, lot: Lot) -> None:
        self._runtime = runtime
        self._desk = desk
        self.lot = lot

    async def call(self, message: Message, peer: Peer, shelf: Shelf) -> bytes:
        """The answer to tools/call. Raises Wrong."""
        params = message.params
        name, arguments = params.get("name"), params.get("arguments")
        shelved = shelf.tools.get(name) if type(name) is str else None
        if shelved is None:
            shelved = self._otherwise(name, shelf, peer)
        if arguments is None:
            arguments = {}
        meta = params.get("_meta")
        progress = self.progress(meta, peer) if meta else None
        if shelved.may_wait:
            return await self.at_length(message, peer, shelved, arguments)
        result = await self._runtime.call(shelved.entry.name, arguments, peer.caller, progress)
        return answer(message.id, result_of(_known(result), shelved, peer.era))

    async def at_length(
        self,
        message: Message,
        peer: Peer,
        shelved: Shelved,
        arguments: Mapping[str, Any],
        finish: Finish | None = None,
    ) -> bytes:
        """The same of a call that may ask: the client, its person, or somebody who may approve."""
        era = peer.era

        def finished(result: ToolResult) -> dict[str, Any]:
            _refuse_lacking(result, era)
            return finish(result) if finish else result_of(_known(result), shelved, era)

        def begun(line: Line) -> Awaitable[ToolResult]:
            return self._whole(shelved, arguments, line, message)

        result = await self._rounds(message, peer, begun, may_repeat=_may_repeat(shelved))
        return answer(message.id, result if isinstance(result, dict) else finished(result))

    def progress(self, meta: Any, peer: Peer) -> Progress | None:
        """What tells the client how far a call is, where it asked for that with a token."""
        token = meta.get("progressToken") if type(meta) is dict else None
        if type(token) not in {str, int}:
            return None
        return Progresses(token, peer)

    async def _whole(
        self, shelved: Shelved, arguments: Mapping[str, Any], line: Line, message: Message
    ) -> ToolResult:
        """A call with all that people have to say to it."""
        CLIENT.set(line)
        meta = message.params.get("_meta")
        progress = self.progress(meta, line.peer) if meta else None
        name, caller = shelved.entry.name, line.peer.caller
        result = await self._runtime.call(name, arguments, caller, progress)
        return result if result.pause is None else await self._desk.decided(result, line)

    async def _rounds(
        self,
        message: Message,
        peer: Peer,
        begin: Callable[[Line], Awaitable[ToolResult]],
        *,
        may_repeat: bool,
    ) -> ToolResult | dict[str, Any]:
        """The result of a call, or what its client is asked before it goes on."""
        params = message.params
        given = _given(params)
        state, parked = params.get("requestState"), None
        what = "" if peer.era == "handshake" else named(message.method, params, peer.caller)
        if state is not None:
            opened = self.lot.opened(state, what)
            parked = self.lot.take(opened)
            if parked is None and not may_repeat:
                raise Wrong(INVALID_PARAMS, "the call does not wait any more: make it anew")
            given = {**opened.answers, **given}
        if parked is None:
            line = Line(peer, given)
            parked = Parked(asyncio.ensure_future(begin(line)), line)
        else:
            parked.line.peer = peer
            parked.line.answer(given)
        return await self._round(parked, what)

    async def _round(self, parked: Parked, what: str) -> ToolResult | dict[str, Any]:
        task, line = parked.task, parked.line
        if line.peer.era == "handshake":
            return await _awaited(task)
        ended = line.round()
        try:
            await asyncio.wait({task, ended}, return_when=asyncio.FIRST_COMPLETED)
        except asyncio.CancelledError:
            task.cancel()
            await asyncio.wait({task})
            raise
        if task.done():
            return task.result()
        state = self.lot.park(parked, what)
        made = {"resultType": "input_required", "inputRequests": line.requests()}
        return {**complete(made, "modern"), "resultType": "input_required", "requestState": state}

    def _otherwise(self, name: Any, shelf: Shelf, peer: Peer) -> Shelved:
        """The tool of that name with its dot. Raises Wrong where there is none; the log is told."""
        if type(name) is not str:
            raise Wrong(INVALID_PARAMS, "`params.name` must be the name of a tool")
        shelved = shelf.of(name)
        if shelved is not None:
            return shelved
        seen = [each.wire for each in shelf.seen_by(peer.caller)]
        hint = did_you_mean(name, seen) or "list the tools to see what there is"
        refused = RefusedError(f"there is no tool `{name[:100]}`", code="unknown-tool", hint=hint)
        raise _wrong(self._runtime.refuse(name, refused, peer.caller))


class Progresses:
    """Tells a client of progress: always more than before, as the protocol wants it."""

    __slots__ = ("_peer", "_so_far", "_token")

    def __init__(self, token: str | int, peer: Peer) -> None:
        self._token = token
        self._peer = peer
        self._so_far = float("-inf")

    def __call__(self, done: float, total: float | None, text: str) -> None:
        if done <= self._so_far or not self._peer.can_be_sent_to:
            return
        self._so_far = done
        params: dict[str, Any] = {"progressToken": self._token, "progress": done}
        if total is not None:
            params["total"] = total
        if text:
            params["message"] = text
        self._peer.send(notification("notifications/progress", params))


async def _awaited(task: "asyncio.Task[ToolResult]") -> ToolResult:
    """What a task comes to; it is cancelled with its waiter, which waits for its end."""
    try:
        return await asyncio.shield(task)
    except asyncio.CancelledError:
        if not task.done():
            task.cancel()
            await asyncio.wait({task})
        raise


def _given(params: Mapping[str, Any]) -> dict[str, Any]:
    """The answers that a request brings. Raises Wrong for what are none."""
    if "inputResponses" in params and type(params["inputResponses"]) is not dict:
        raise Wrong(INVALID_PARAMS, "`params.inputResponses` must be an object")
    return dict(object_of(dict(params), "inputResponses"))


def _may_repeat(shelved: Shelved) -> bool:
    """Whether a call may be made anew when it is not known how far it went; one that waits for an
    approval has not begun.
    """
    entry = shelved.entry
    return entry.effect == "read" or entry.may_repeat


def _known(result: ToolResult) -> ToolResult:
    """The same. Raises Wrong where there is no such tool for this caller."""
    if result.error is not None and result.error.code == "unknown-tool":
        raise _wrong(result)
    return result


def _wrong(result: ToolResult) -> Wrong:
    return Wrong(INVALID_PARAMS, words_of(result).replace("\n", "; "))


def _refuse_lacking(result: ToolResult, era: Era) -> None:
    """Raise Wrong where the client cannot be asked for what the tool needs."""
    error = result.error
    if era == "handshake" or error is None or REQUIRED not in error.details:
        return
    needed = error.details[REQUIRED]
    raise Wrong(MISSING_CAPABILITY, error.message, {"requiredCapabilities": needed})
