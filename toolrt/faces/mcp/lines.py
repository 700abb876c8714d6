"""The line of one call to its client: progress and log go out at once, questions are asked in the
way of the era.

In the handshake era a question is a request of ours, and its answer comes meanwhile. In the modern
era it ends the round: the call waits here, and goes on when its client calls again with answers.
"""

import asyncio
from collections.abc import Mapping
from typing import Any

from toolrt.core.client import Capability, Question, is_answer
from toolrt.core.errors import ToolError
from toolrt.faces.mcp.eras import LEVELS
from toolrt.faces.mcp.messages import notification
from toolrt.faces.mcp.peers import Peer

Answers = dict[str, Any]
_LIKE = {"warn": "warning", "fatal": "critical", "trace": "debug"}


class Line:
    """What `toolrt.Context` reaches. `peer` is who made the round that runs, and `token` what it
    calls the progress; `given` are answers that came ahead of their questions, by key. `status`
    says what the call waits for, in words.
    """

    __slots__ = ("_round", "answered", "given", "open", "peer", "status", "token")

    def __init__(self, peer: Peer, given: Answers | None = None) -> None:
        self.peer = peer
        self.given = given or {}
        self.answered: Answers = {}
        self.token: str | int | None = None
        self.status = ""
        self.open: dict[str, tuple[Question, asyncio.Future[Mapping[str, Any]]]] = {}
        self._round: asyncio.Future[None] | None = None

    def can(self, capability: Capability) -> bool:
        return self.peer.can(capability)

    def log(self, level: str, message: str, tool: str) -> None:
        peer = self.peer
        name = _LIKE.get(level, level)
        number = LEVELS.index(name) if name in LEVELS else 1
        if peer.level is None or number < peer.level or not peer.can_be_sent_to:
            return
        params = {"level": LEVELS[number], "logger": tool, "data": message}
        peer.send(notification("notifications/message", params))

    async def ask(self, question: Question) -> Mapping[str, Any]:
        if self.peer.era == "handshake":
            return await self._ask_now(question)
        answer = self.given.pop(question.key, None)
        if is_answer(question, answer):
            self.answered[question.key] = answer
            return dict(answer)
        loop = asyncio.get_running_loop()
        future: asyncio.Future[Mapping[str, Any]] = loop.create_future()
        self.open[question.key] = question, future
        loop.call_soon(self._end_round)  # those that are asked at the same time go together
        try:
            return await future
        finally:
            self.open.pop(question.key, None)

    def round(self) -> asyncio.Future[None]:
        """Done as soon as something waits for the client."""
        self._round = asyncio.get_running_loop().create_future()
        if self.open:
            self._end_round()
        return self._round

    def answer(self, answers: Mapping[str, Any]) -> bool:
        """Give the open questions their answers; whether there was any for them."""
        found = False
        for key, (question, future) in list(self.open.items()):
            if is_answer(question, answers.get(key)) and not future.done():
                self.answered[key] = answers[key]
                future.set_result(answers[key])
                self.open.pop(key)
                found = True
        return found

    def requests(self) -> dict[str, Any]:
        """The open questions as a client is asked them."""
        return {
            key: {"method": question.method, "params": _modern(question.params)}
            for key, (question, _) in self.open.items()
        }

    def _end_round(self) -> None:
        if self.open and self._round is not None and not self._round.done():
            self._round.set_result(None)

    async def _ask_now(self, question: Question) -> Mapping[str, Any]:
        try:
            answer = await self.peer.ask(question.method, _of_old(question.params, self.peer))
        except ConnectionError as error:
            raise ToolError(f"the client did not answer: {error}", code="unavailable") from None
        if not is_answer(question, answer):
            raise ToolError("the client answered something else", code="bad-response")
        return answer


def _modern(params: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in params.items() if name != "elicitationId"}


def _of_old(params: Mapping[str, Any], peer: Peer) -> Mapping[str, Any]:
    """Before 2025-11-25 there was one way of asking, which had no name."""
    if peer.version >= "2025-11-25" or params.get("mode") != "form":
        return params
    return {name: value for name, value in params.items() if name != "mode"}
