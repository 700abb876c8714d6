"""Tasks: calls that take long go on without their request, for clients that know how to ask later.

The server decides: a call that has not ended after a moment becomes a task, if its client offers
the extension. Such a client can wait for people, too, as long as a question is open.
"""

import asyncio
import secrets
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from toolrt.core.results import ToolResult
from toolrt.faces.mcp.contents import complete
from toolrt.faces.mcp.eras import TASKS
from toolrt.faces.mcp.lines import answers_to
from toolrt.faces.mcp.messages import (
    INVALID_PARAMS,
    MISSING_CAPABILITY,
    Message,
    Wrong,
    answer,
    object_of,
    text_of,
)
from toolrt.faces.mcp.parking import Parked
from toolrt.faces.mcp.peers import Peer

AFTER_S = 0.5
"""How long a call is waited for before it becomes a task."""
MOST = 1000
_TTL_MS = 15 * 60 * 1000
_POLL_MS = 500
_NEEDED: Mapping[str, Any] = {"requiredCapabilities": {"extensions": {TASKS: {}}}}

Finish = Callable[[ToolResult], dict[str, Any]]


@dataclass(slots=True)
class Task:
    """One call that goes on by itself; `owner` is who may ask about it."""

    id: str
    parked: Parked
    finish: Finish
    owner: tuple[str, str | None]
    created: float
    is_called_off: bool = False

    def document(self) -> dict[str, Any]:
        """How it stands; with its result, its error or its questions."""
        made: dict[str, Any] = {
            "taskId": self.id,
            "status": "working",
            "createdAt": _iso(self.created),
            "lastUpdatedAt": _iso(time.time()),
            "ttlMs": _TTL_MS,
            "pollIntervalMs": _POLL_MS,
        }
        task, line = self.parked.task, self.parked.line
        if line.status:
            made["statusMessage"] = line.status
        if not task.done():
            if line.open:
                made |= {"status": "input_required", "inputRequests": line.requests()}
            return made
        return {**made, **self._ending()}

    def _ending(self) -> dict[str, Any]:
        if self.is_called_off or self.parked.task.cancelled():
            return {"status": "cancelled"}
        try:
            return {"status": "completed", "result": self.finish(self.parked.task.result())}
        except Wrong as wrong:
            error = {"code": wrong.code, "message": wrong.message}
            more = {} if wrong.data is None else {"data": wrong.data}
            return {"status": "failed", "error": {**error, **more}}


class Tasks:
    """All tasks of one server; their names begin with `mark`."""

    def __init__(self) -> None:
        self.mark = ""
        self._tasks: dict[str, Task] = {}

    def adopt(self, parked: Parked, finish: Finish, peer: Peer) -> dict[str, Any]:
        """Have a call go on as a task; the result that says so."""
        self._forget_old()
        owner = (peer.caller.principal, peer.caller.tenant)
        task = Task(self.mark + secrets.token_urlsafe(16), parked, finish, owner, time.time())
        parked.line.peer = Detached(peer)
        self._tasks[task.id] = task
        return {**complete(task.document(), "modern"), "resultType": "task"}

    def get(self, message: Message, peer: Peer) -> bytes:
        """tasks/get. Raises Wrong."""
        task = self._task(message, peer)
        return answer(message.id, complete(task.document(), "modern"))

    def update(self, message: Message, peer: Peer) -> bytes:
        """tasks/update: answers to what a task asks. Raises Wrong."""
        task = self._task(message, peer)
        line = task.parked.line
        line.answer(answers_to(line.asked, object_of(message.params, "inputResponses")))
        return answer(message.id, complete({}, "modern"))

    async def cancel(self, message: Message, peer: Peer) -> bytes:
        """tasks/cancel: it is over, with its children, when this is answered. Raises Wrong."""
        task = self._task(message, peer)
        running = task.parked.task
        if not running.done():
            task.is_called_off = True
            running.cancel()
            await asyncio.wait({running})
        return answer(message.id, complete({}, "modern"))

    def close(self) -> None:
        """End all of them."""
        for task in self._tasks.values():
            task.parked.task.cancel()
        self._tasks.clear()

    def _task(self, message: Message, peer: Peer) -> Task:
        if not offers_tasks(peer):
            raise Wrong(MISSING_CAPABILITY, "tasks are for clients that offer them", _NEEDED)
        task = self._tasks.get(text_of(message.params, "taskId"))
        if task is None or task.owner != (peer.caller.principal, peer.caller.tenant):
            raise Wrong(INVALID_PARAMS, "there is no such task")
        return task

    def _forget_old(self) -> None:
        oldest = time.time() - _TTL_MS / 1000
        for id_, task in list(self._tasks.items()):
            if task.parked.task.done() and task.created < oldest:
                del self._tasks[id_]
        if len(self._tasks) >= MOST:
            first = next(iter(self._tasks))
            self._tasks.pop(first).parked.task.cancel()


class Detached(Peer):
    """The client of a task: it asks by itself, and nothing is sent to it."""

    __slots__ = ()

    def __init__(self, peer: Peer) -> None:
        super().__init__(peer.era, peer.version, peer.caller, None)
        self.toolset = peer.toolset
        self.capabilities = peer.capabilities

    @property
    def can_be_sent_to(self) -> bool:
        return False

    def send(self, message: bytes) -> None:
        del message


def offers_tasks(peer: Peer) -> bool:
    """Whether a client of the modern era knows tasks."""
    extensions: Any = peer.capabilities.get("extensions")
    return peer.era == "modern" and isinstance(extensions, Mapping) and TASKS in extensions


def _iso(at: float) -> str:
    made = datetime.fromtimestamp(at, UTC).isoformat(timespec="milliseconds")
    return made.replace("+00:00", "Z")
