"""One JSON line a call, on the logger `toolrt.calls` at level INFO; nothing when that is off.

Arguments and results stay out of it; whatever a name holds, it is one line of plain ASCII.
"""

import json
import logging

from toolrt.core.calls import Invocation
from toolrt.core.results import ToolResult

logger = logging.getLogger("toolrt.calls")

_LONGEST_NAME = 200


def log_call(invocation: Invocation, result: ToolResult) -> None:
    """Write the line of a finished call."""
    line = {
        "time": round(invocation.clock.wall(), 3),
        "event": "completed" if result.error is None else "failed",
        "call_id": result.call_id,
        "tool": result.tool[:_LONGEST_NAME],
        "caller": invocation.caller.principal[:_LONGEST_NAME],
        "status": result.status,
        "code": result.error.code if result.error else None,
        "attempts": result.attempts,
        "time_ms": round(result.time_s * 1000, 3),
        "generation": result.generation,
    }
    logger.info("%s", json.dumps(line, default=str))
