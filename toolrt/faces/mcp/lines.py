"""The line of one call to its client: progress and log go out at once, questions are asked in the
way of the era.

In the handshake era a question is a request of ours, and its answer comes meanwhile. In the modern
era it ends the round: the call waits here, and goes on when its client calls again with answers.
"""

import asyncio
from collections.abc import Mapping
from hashlib import sha256
from typing import Any

from pydantic_core import to_json

from toolrt.core.client import Capability, Question, is_answer
from toolrt.core.errors import ToolError
from toolrt.faces.mcp.eras import LEVELS
from toolrt.faces.mcp.messages import notification
from toolrt.faces.mcp.peers import Peer

Asked = Mapping[str, str]
"""Which questions were asked: the print of each, by its key."""
Answers = dict[str, tuple[str, Any]]
"""What was answered, by key: the print of the question that it is for, and the answer."""
_NO_ANSWER: tuple[str, Any] = "", None
_LIKE = {"warn": "warning", "fatal": "critical", "trace": "debug"}


class Line:
    """What `toolrt.Context` reaches. `peer` is who made the round that runs, and `token` what it
    calls the progress; `given` are answers to questions of before, when the call was made the last
    time. `asked` are the questions that its client was shown. `status` says what the call waits
    for, in words.
    """

    __slots__ = ("_round", "answered", "asked", "given", "open", "peer", "status", "token")

    def __init__(self, peer: Peer, given: Answers | None = None) -> None:
        self.peer = peer
        self.given = given or {}
        self.answered: Answers = {}
        self.asked: dict[str, str] = {}
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
        for_, answer = self.given.pop(question.key, _NO_ANSWER)
        if for_ == _print(question) and is_answer(question, answer):
            self.answered[question.key] = for_, answer
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

    def answer(self, answers: Answers) -> None:
        """Give the open questions their answers."""
        for key, (question, future) in list(self.open.items()):
            for_, answer = answers.get(key, _NO_ANSWER)
            is_for_it = for_ == _print(question) and is_answer(question, answer)
            if is_for_it and not future.done():
                self.answered[key] = for_, answer
                future.set_result(answer)
                self.open.pop(key)

    def requests(self) -> dict[str, Any]:
        """The open questions as a client is asked them."""
        self.asked = {key: _print(question) for key, (question, _) in self.open.items()}
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


def answers_to(asked: Asked, said: Mapping[str, Any]) -> Answers:
    """What a client said to the questions that it was asked; anything else it says is dropped."""
    return {key: (asked[key], said[key]) for key in asked if key in said}


def _print(question: Question) -> str:
    """The same for the same question alone, in every process."""
    asked = [question.key, question.method, question.about, _modern(question.params)]
    return sha256(to_json(asked)).hexdigest()[:32]


def _modern(params: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in params.items() if name != "elicitationId"}


def _of_old(params: Mapping[str, Any], peer: Peer) -> Mapping[str, Any]:
    """Before 2025-11-25 there was one way of asking, which had no name."""
    if peer.version >= "2025-11-25" or params.get("mode") != "form":
        return params
    return {name: value for name, value in params.items() if name != "mode"}
