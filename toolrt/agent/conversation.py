"""One conversation with a model: what was said, how far its last calls have come, how it stands."""

import secrets
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, Literal

from pydantic_core import from_json, to_json

from toolrt.core.calls import Caller
from toolrt.core.results import SCHEMA, Failure, ToolResult
from toolrt.dialects.wires import Message
from toolrt.stores.conversations import Kept, State

Standing = Literal["begun", "waiting", "done"]


OnCall = Callable[[ToolResult], object]
"""Hears of each call once it is over, or waits."""


@dataclass(slots=True)
class Slot:
    """One call of an answer: `begun` (it may have taken effect), `waiting` for its approval, or
    `done`, with the messages that tell the model. `ends` is what the run ends with, where the tool
    says that it does. One `is_ours` was wanted in this process.
    """

    tool: str
    standing: Standing = "begun"
    approval: str | None = None
    status: str = ""
    messages: list[Message] = field(default_factory=list)
    ends: str | None = None
    is_ours: bool = field(default=True, compare=False)

    def take(self, result: ToolResult, messages: list[Message]) -> None:
        """Note what the call came to."""
        self.approval = result.pause.approval_id if result.pause else None
        self.standing = "waiting" if result.pause else "done"
        self.status, self.messages = result.status, messages
        self.ends = (result.text or "") if result.final and result.error is None else None


@dataclass(slots=True)
class Conversation:
    """All of it, as it is kept. `question` is what its tools are looked for by; `answer` are the
    calls that a model wants, while they are on their way; `failures` counts the turns in a row that
    brought nothing but errors, `unusable` the answers in a row that could not be used; `text` is
    what the model answered.
    """

    id: str
    question: str
    dialect: str
    messages: list[Message] = field(default_factory=list)
    iterations: int = 0
    failures: int = 0
    unusable: int = 0
    answer: Any = None
    slots: list[Slot] = field(default_factory=list)
    used: list[str] = field(default_factory=list)
    text: str = ""

    def waiting(self) -> Iterator[Slot]:
        """The calls that wait for people."""
        return (slot for slot in self.slots if slot.standing == "waiting")

    def written(self) -> bytes:
        """It as it is kept, without its id."""
        told = {name: getattr(self, name) for name in _KEPT}
        slots = [[getattr(slot, name) for name in _OF_SLOT] for slot in self.slots]
        return to_json({**told, "slots": slots})

    @classmethod
    def read(cls, id_: str, body: bytes) -> "Conversation":
        """What was written."""
        told = from_json(body)
        named = (dict(zip(_OF_SLOT, each, strict=True)) for each in told.pop("slots"))
        slots = [Slot(**each, is_ours=False) for each in named]
        return cls(id_, **told, slots=slots)


@dataclass(frozen=True, slots=True)
class Reply:
    """How a conversation stands: `answered`, `paused` (for the approvals `waits_for`), at its
    `limit` of iterations, or `failed`. `text` is what the model said last.
    """

    id: str
    status: Literal["answered", "paused", "limit", "failed"]
    text: str = ""
    iterations: int = 0
    waits_for: tuple[str, ...] = ()
    error: Failure | None = None

    def document(self) -> dict[str, Any]:
        """JSON-ready."""
        return {
            "schema": SCHEMA,
            "id": self.id,
            "status": self.status,
            "text": self.text,
            "iterations": self.iterations,
            "waits_for": list(self.waits_for),
            "error": self.error.document() if self.error else None,
        }


@dataclass(frozen=True, slots=True)
class Talk:
    """One conversation as it goes on: for whom, and who hears of its calls."""

    conversation: Conversation
    caller: Caller
    owner: str = field(default_factory=lambda: secrets.token_hex(8))
    on_call: OnCall | None = None

    def kept(self, state: State) -> Kept:
        """It as it is kept."""
        caller, conversation = self.caller, self.conversation
        body = conversation.written()
        return Kept(conversation.id, caller.principal, caller.tenant or "", state, body)


_KEPT = (
    "question",
    "dialect",
    "messages",
    "iterations",
    "failures",
    "unusable",
    "answer",
    "used",
    "text",
)
_OF_SLOT = ("tool", "standing", "approval", "status", "messages", "ends")
