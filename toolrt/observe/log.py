"""One JSON line a call, on the logger `toolrt.calls` at level INFO; nothing when that is off.

Results stay out of it, and so do arguments unless the project wants them (`telemetry.logs`); then
what is sensitive is masked before. Whatever is told, it is one line of plain ASCII (O4).
"""

import hmac
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from math import isfinite
from typing import Any, Final, Literal

from pydantic_core import PydanticSerializationError, to_json

from toolrt.core import logs
from toolrt.core.calls import Invocation
from toolrt.core.redaction import redacted, redacted_value
from toolrt.core.results import ToolResult
from toolrt.observe.journal_entries import PerTool, shown_arguments
from toolrt.schemas.plain import NotJsonError, plain

logger = logs.CALLS

MOST_BYTES: Final = 4096
"""Arguments that are longer are told by their length alone."""

_LONGEST_NAME = 200
_NOTHING: Mapping[str, Any] = {}


def log_call(
    invocation: Invocation, result: ToolResult, more: Mapping[str, Any] = _NOTHING
) -> None:
    """Write the line of a finished call."""
    line = {
        "time": _rounded(invocation.clock.wall()),
        "event": "completed" if result.error is None else "failed",
        "call_id": result.call_id,
        "tool": _short(result.tool),
        "caller": _short(invocation.caller.principal),
        "status": result.status,
        "code": _short(result.error.code) if result.error else None,
        "attempts": result.attempts,
        "time_ms": _rounded(result.time_s * 1000),
        "generation": result.generation,
        **more,
    }
    logger.info("%s", json.dumps(line, default=str))


@dataclass(frozen=True, slots=True)
class CallLog:
    """Writes the lines of one runtime: `arguments` says what they tell of arguments.

    `key` gives what hashes are made with; None is a key that cannot be had.
    """

    is_on: bool = True
    arguments: Literal["off", "redacted", "hash"] = "off"
    key: Callable[[], bytes | None] = lambda: None

    def write(self, invocation: Invocation, result: ToolResult, tool: PerTool | None) -> None:
        """The line of a finished call; `tool` is None where there is none of that name."""
        if not self.is_on:
            return
        if self.arguments == "off":
            log_call(invocation, result)
        elif self.arguments == "hash":
            log_call(invocation, result, {"arguments_hash": self._hash(invocation)})
        else:
            log_call(invocation, result, {"arguments": _masked(invocation, result, tool)})

    def _hash(self, invocation: Invocation) -> str | None:
        """Equal for equal arguments, and worth nothing to who guesses without the key."""
        key = self.key()
        if key is None:
            return None
        try:
            told = json.dumps(plain(invocation.arguments), sort_keys=True)
        except NotJsonError:  # a caller may hand over anything
            return None
        return hmac.digest(key, told.encode(), "sha256").hex()


def _masked(invocation: Invocation, result: ToolResult, tool: PerTool | None) -> Any:
    """Arguments as the journal keeps them: sensitive ones and secrets masked, and not too long."""
    shown = redacted_value(shown_arguments(invocation, result, tool))
    try:
        size = len(to_json(shown))
    except (PydanticSerializationError, ValueError):
        return {"unreadable": "is no JSON"}
    return shown if size <= MOST_BYTES else {"bytes": size}


def _short(name: object) -> str:
    """A name of whatever type, masked before it is cut."""
    return redacted(str(name))[:_LONGEST_NAME]


def _rounded(seconds: float) -> float | None:
    return round(seconds, 3) if isfinite(seconds) else None
