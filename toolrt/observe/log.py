"""One JSON line a call, on the logger `toolrt.calls` at level INFO; nothing when that is off.

Arguments and results stay out of it; whatever a name holds, it is one line of plain ASCII.
"""

import json
from math import isfinite

from toolrt.core import logs
from toolrt.core.calls import Invocation
from toolrt.core.redaction import redacted
from toolrt.core.results import ToolResult

logger = logs.CALLS

_LONGEST_NAME = 200


def log_call(invocation: Invocation, result: ToolResult) -> None:
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
    }
    logger.info("%s", json.dumps(line, default=str))


def _short(name: object) -> str:
    """A name of whatever type, masked before it is cut."""
    return redacted(str(name))[:_LONGEST_NAME]


def _rounded(seconds: float) -> float | None:
    return round(seconds, 3) if isfinite(seconds) else None
