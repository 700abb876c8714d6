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
from toolrt.core.offered import OFFERED
from toolrt.core.results import ToolResult
from toolrt.faces.mcp.asking import Desk
from toolrt.faces.mcp.contents import complete, result_of, words_of
from toolrt.faces.mcp.eras import Era
from toolrt.faces.mcp.lines import Answers, Line, answers_to
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
from toolrt.faces.mcp.tasks import AFTER_S, Finish, Tasks, offers_tasks
from toolrt.opened import Progress, Runtime

_SHOWN = 100
"""Characters of a name that is none."""


class Calls:
    """The calls of one server. A `Finish` makes what a result is on the wire; it raises Wrong."""

    def __init__(self, runtime: Runtime, desk: Desk, lot: Lot) -> None:
        self._runtime = runtime
        self._desk = desk
        self.lot = lot
        self.tasks = Tasks()

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
        return answer(message.id, result_of(known(result, shelved), shelved, peer.era))

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
            _refuse_lacking(result, shelved, era)
            return finish(result) if finish else result_of(known(result, shelved), shelved, era)

        def begun(line: Line) -> Awaitable[ToolResult]:
            return self._whole(shelved, arguments, line)

        parked = self._parked(message, peer, begun, may_repeat=_may_repeat(shelved))
        parked.line.token = _token(message.params.get("_meta"))
        can_wait = finish is None and offers_tasks(peer)
        is_over = await self._waited(parked, AFTER_S if can_wait else None)
        if is_over:
            return answer(message.id, finished(parked.task.result()))
        if can_wait and not parked.line.open:
            return answer(message.id, self.tasks.adopt(parked, finished, peer))
        return answer(message.id, self._asked(parked, message, peer))

    def progress(self, meta: Any, peer: Peer) -> Progress | None:
        """What tells the client how far a call is, where it asked for that with a token."""
        token = _token(meta)
        return None if token is None else Progresses(peer, token)

    async def _whole(
        self, shelved: Shelved, arguments: Mapping[str, Any], line: Line
    ) -> ToolResult:
        """A call with all that people have to say to it."""
        CLIENT.set(line)
        OFFERED.set(shelved.reach)
        name, caller = shelved.entry.name, line.peer.caller
        result = await self._runtime.call(name, arguments, caller, Progresses(line))
        return (
            result
            if result.pause is None
            else await self._desk.decided(result, line, shelved.names)
        )

    def _parked(
        self,
        message: Message,
        peer: Peer,
        begin: Callable[[Line], Awaitable[ToolResult]],
        *,
        may_repeat: bool,
    ) -> Parked:
        """The call of a request: the one that waits for it, or a new one. Raises Wrong."""
        params = message.params
        said, state = _said(params), params.get("requestState")
        given: Answers = {}
        if state is not None and peer.era == "modern":
            opened = self.lot.opened(state, named(message.method, params, peer.caller))
            given = answers_to(opened.asked, said)
            parked = self.lot.take(opened)
            if parked is not None:
                parked.line.peer = peer
                parked.line.answer(given)
                return parked
            if opened.has_begun and not may_repeat:
                raise Wrong(INVALID_PARAMS, "the call does not wait any more: make it anew")
            given = {**opened.answers, **given}
        line = Line(peer, given)
        return Parked(asyncio.ensure_future(begin(line)), line)

    async def _waited(self, parked: Parked, timeout_s: float | None) -> bool:
        """Whether the call is over; else it asks something, or has taken so long already.

        It is cancelled with whoever waits for it.
        """
        task, line = parked.task, parked.line
        ends = {task} if line.peer.era == "handshake" else {task, line.round()}
        try:
            first = asyncio.FIRST_COMPLETED
            await asyncio.wait(ends, return_when=first, timeout=timeout_s)
        except asyncio.CancelledError:
            task.cancel()
            await asyncio.wait({task})
            raise
        return task.done()

    def _asked(self, parked: Parked, message: Message, peer: Peer) -> dict[str, Any]:
        """What a client is asked before the call goes on."""
        requests = parked.line.requests()
        state = self.lot.park(parked, named(message.method, message.params, peer.caller))
        made = complete({"inputRequests": requests}, "modern")
        return {**made, "resultType": "input_required", "requestState": state}

    def _otherwise(self, name: Any, shelf: Shelf, peer: Peer) -> Shelved:
        """The tool of that name with its dot. Raises Wrong where there is none; the log is told."""
        if type(name) is not str:
            raise Wrong(INVALID_PARAMS, "`params.name` must be the name of a tool")
        shelved = shelf.of(name)
        if shelved is not None:
            return shelved
        seen = [each.wire for each in shelf.seen_by(peer.caller)]
        shown = name[:_SHOWN]
        hint = did_you_mean(shown, seen) or "list the tools to see what there is"
        refused = RefusedError(f"there is no tool `{shown}`", code="unknown-tool", hint=hint)
        raise _wrong(words_of(self._runtime.refuse(shown, refused, peer.caller)))


class Progresses:
    """Tells a client of progress: always more than before, as the protocol wants it.

    `to` has the client as its `peer`, and without `token` of our own, the token that it gave.
    """

    __slots__ = ("_so_far", "_to", "_token")

    def __init__(self, to: Peer | Line, token: str | int | None = None) -> None:
        self._to = to
        self._token = token
        self._so_far = float("-inf")

    def __call__(self, done: float, total: float | None, text: str) -> None:
        peer, token = self._to.peer, self._token
        if token is None and isinstance(self._to, Line):
            token = self._to.token
        if token is None or done <= self._so_far or not peer.can_be_sent_to:
            return
        self._so_far = done
        params: dict[str, Any] = {"progressToken": token, "progress": done}
        if total is not None:
            params["total"] = total
        if text:
            params["message"] = text
        peer.send(notification("notifications/progress", params))


def _token(meta: Any) -> str | int | None:
    token = meta.get("progressToken") if type(meta) is dict else None
    return token if type(token) in {str, int} else None


def _said(params: Mapping[str, Any]) -> dict[str, Any]:
    """The answers that a request brings, whatever they are for. Raises Wrong for what are none."""
    if "inputResponses" in params and type(params["inputResponses"]) is not dict:
        raise Wrong(INVALID_PARAMS, "`params.inputResponses` must be an object")
    return dict(object_of(dict(params), "inputResponses"))


def _may_repeat(shelved: Shelved) -> bool:
    """Whether a call may be made anew when it is not known how far it went; one that waits for an
    approval has not begun.
    """
    entry = shelved.entry
    return entry.effect == "read" or entry.may_repeat


def known(result: ToolResult, shelved: Shelved) -> ToolResult:
    """The same. Raises Wrong where there is no such tool for this caller; one that was tried may
    say the same word of something else.
    """
    error = result.error
    if error is not None and error.code == "unknown-tool" and not result.attempts:
        raise _wrong(shelved.names.told(words_of(result)))
    return result


def _wrong(words: str) -> Wrong:
    return Wrong(INVALID_PARAMS, _line_of(words))


def _line_of(words: str) -> str:
    return words.replace("\n", "; ")


def _refuse_lacking(result: ToolResult, shelved: Shelved, era: Era) -> None:
    """Raise Wrong where the client cannot be asked for what the tool needs."""
    error = result.error
    if era == "handshake" or error is None or REQUIRED not in error.details:
        return
    needed = error.details[REQUIRED]
    words = _line_of(shelved.names.told(words_of(result)))
    raise Wrong(MISSING_CAPABILITY, words, {"requiredCapabilities": needed})
