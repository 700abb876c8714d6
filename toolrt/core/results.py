"""What a call comes to.

A binding answers with an `Answer`; the stages pass an `Outcome` outwards; the caller gets a
`ToolResult`. Objects all the way, JSON only at the edge (`ToolResult.document`).
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from types import MappingProxyType
from typing import Any, Literal, NamedTuple

from toolrt.core.decisions import Ask, Need
from toolrt.core.errors import CallError

Status = Literal["success", "partial", "error", "paused"]

SCHEMA = "toolrt/v1"


class Answer:
    """What a binding got back: the value. `failed_when` may look at the rest where there is any.

    `truncated_bytes` counts what a cap left out of the value. `known_bytes` is how long it is as
    JSON, where somebody has looked, and found it short and harmless.
    """

    __slots__ = ("value",)
    known_bytes: int = 0
    status: int | None = None
    headers: Mapping[str, str] | None = None
    exit_code: int | None = None
    stderr: str | None = None
    truncated_bytes: int = 0

    def __init__(self, value: Any = None) -> None:
        self.value = value


class BareAnswer(Answer):
    """An answer whose value is put in afterwards, which is half the work of making one."""

    __slots__ = ()
    __init__ = object.__init__


class KnownAnswer(Answer):
    """An answer that came before: it is known how long it is. Both are put in afterwards."""

    __slots__ = ("known_bytes",)
    __init__ = object.__init__


class HttpAnswer(Answer):
    """The answer of a service."""

    __slots__ = ("headers", "status")

    def __init__(self, value: Any, status: int | None, headers: Mapping[str, str] | None) -> None:
        self.value = value
        self.status = status
        self.headers = headers


class ProcessAnswer(Answer):
    """The answer of a child process."""

    __slots__ = ("exit_code", "stderr", "truncated_bytes")

    def __init__(self, value: Any, exit_code: int, stderr: str, truncated_bytes: int) -> None:
        self.value = value
        self.exit_code = exit_code
        self.stderr = stderr
        self.truncated_bytes = truncated_bytes


class ReadyAnswer(Answer):
    """An answer that is what callers see: nothing is selected from it. Where it is not the whole
    result, `truncated_bytes` is above 0.
    """

    __slots__ = ("text", "truncated_bytes")

    def __init__(self, value: Any, text: str = "", truncated_bytes: int = 0) -> None:
        self.value = value
        self.text = text
        self.truncated_bytes = truncated_bytes


@dataclass(frozen=True, slots=True)
class Failure:
    """Why a call has no value: stable code, a sentence for the model, what to do next."""

    code: str
    message: str
    hint: str | None = None
    retryable: bool = False
    details: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def of(cls, error: CallError) -> "Failure":
        return cls(error.code, error.message, error.hint, error.retryable, error.details)

    def document(self) -> dict[str, Any]:
        """The `error` of the wire shape."""
        return {
            "code": self.code,
            "message": self.message,
            "hint": self.hint,
            "retryable": self.retryable,
            "details": dict(self.details),
        }


@dataclass(frozen=True, slots=True)
class AttemptFailure(Failure):
    """The failure of a call that was tried, as the stages see it: whether the target is to blame,
    and whether it may have taken effect all the same.
    """

    is_target_fault: bool = False
    may_have_applied: bool = False


@dataclass(frozen=True, slots=True)
class Attempt:
    """A try that failed before the end: its number, its code, the wait after it in seconds. That is
    None where nothing was repeated after all, since `verify` was asked.

    `is_in_doubt`: it, or one before it, may have taken effect, and no later one found out.
    `may_have_applied` holds for one that was answered with a failure of the target, too.
    """

    number: int
    error: str
    delay_s: float | None = 0.0
    is_in_doubt: bool = False
    may_have_applied: bool = False


@dataclass(frozen=True, slots=True)
class Pause:
    """A call that waits for people: which record holds the question, and until when.

    `fields` are the parameters that a person fills (mode `input`); `expires_at` is wall time.
    `asks` say which rules ask and why, `needs` whose yes there is and whose is missing, for people
    alone; `requester` is who made the call. `message` is for the model, too: reasons and ids only.
    `same_call` tells of an earlier approval of the very same call that may have taken effect.
    """

    approval_id: str
    mode: Literal["confirm", "input", "external"]
    expires_at: float
    message: str
    fields: tuple[str, ...] = ()
    url: str | None = None
    asks: tuple[Ask, ...] = ()
    needs: tuple[Need, ...] = ()
    requester: str = ""
    is_reopened: bool = False
    same_call: Mapping[str, Any] | None = None

    def document(self) -> dict[str, Any]:
        """The `pause` of the wire shape."""
        at = datetime.fromtimestamp(self.expires_at, UTC)
        return {
            "approval_id": self.approval_id,
            "mode": self.mode,
            "fields": list(self.fields),
            "expires_at": at.isoformat(timespec="seconds").replace("+00:00", "Z"),
            "url": self.url,
            "rules": [{"id": each.rule, "reason": each.reason} for each in self.asks],
            "needs": [each.document() for each in self.needs],
            "reopened": self.is_reopened,
            "same_call": None if self.same_call is None else dict(self.same_call),
        }


Outcome = Answer | Failure | Pause
"""What travels outwards through the stages: an answer, or a failure or a pause in its place."""


class Shown(NamedTuple):
    """What the user sees of a result that its model does not."""

    text: str
    data: Any


class ToolResult(NamedTuple):
    """What every door gives back for a call; `document()` is its wire shape.

    A named tuple, because it is made for every call and a frozen dataclass costs six times that.

    `text` and `data` are for the model. Where they are not (`to` is `user`) they only say so, and
    `for_user` has what came back. `final` ends the run of the model. `time_s` spans the whole call,
    `attempts` counts tries at the binding. `cached`: it is an answer of before. `untrusted` is
    always true: tool output is data, never instructions.
    """

    call_id: str
    tool: str
    status: Status
    text: str = ""
    data: Any = None
    error: Failure | None = None
    time_s: float = 0.0
    attempts: int = 0
    generation: int = 0
    final: bool = False
    to: Literal["both", "model", "user"] = "both"
    context: Mapping[str, Any] = MappingProxyType({})
    pause: Pause | None = None
    cached: bool = False
    for_user: Shown | None = None

    def document(self) -> dict[str, Any]:
        """JSON-ready mapping, the same for CLI, REST, MCP and journal."""
        made: dict[str, Any] = {
            "schema": SCHEMA,
            "call_id": self.call_id,
            "tool": self.tool,
            "status": self.status,
            "text": self.text,
            "data": self.data,
        }
        if self.error is not None:
            made["error"] = self.error.document()
        if self.pause is not None:
            made["pause"] = self.pause.document()
        if self.for_user is not None:
            made["for_user"] = self.for_user._asdict()
        made["control"] = {"final": self.final, "to": self.to}
        made["stats"] = {
            "time_ms": round(self.time_s * 1000, 3),
            "attempts": self.attempts,
            "cached": self.cached,
        }
        made["context"] = {"generation": self.generation, "untrusted": True, **self.context}
        return made


def nothing_of(tool: str) -> str:
    """What a model is told of an answer with nothing in it."""
    return f"{tool} completed with no output."
