"""`run --wait`: a call that waits for people is run here once they said yes (A19)."""

import asyncio
import time
from typing import TYPE_CHECKING

from toolrt.core.results import Pause, ToolResult
from toolrt.faces.cli.approvals_desk import refusals
from toolrt.faces.cli.options import Settings
from toolrt.faces.cli.progress import watched
from toolrt.faces.cli.told import SHORT_ID, pause_lines

if TYPE_CHECKING:
    from toolrt.runtime import Runtime


async def answered(
    opened: "Runtime", result: ToolResult, patience_s: float, settings: Settings
) -> ToolResult:
    """What the paused call came to: run, refused, or paused still after `patience_s` seconds."""
    until = time.monotonic() + patience_s
    with refusals(settings):
        while result.pause is not None:
            settings.screen.say(_waiting(result.tool, result.pause, settings))
            if not await _is_decided(opened, result.pause, until, settings):
                return result
            async with watched(result.tool, settings.screen):
                result = await opened.approvals.run(result.pause.approval_id)
    return result


def _waiting(tool: str, pause: Pause, settings: Settings) -> str:
    _, *lines = pause_lines(settings, pause)
    return "\n".join([f"waiting: a person has to say yes to `{tool}`; ^C stops waiting", *lines])


async def _is_decided(opened: "Runtime", pause: Pause, until: float, settings: Settings) -> bool:
    """Waits, at most until then. Whoever interrupts is told that the question stays."""
    left_s = max(0.0, until - time.monotonic())
    try:
        record = await opened.approvals.wait(pause.approval_id, left_s)
    except asyncio.CancelledError:
        look = settings.command(f"approvals show {pause.approval_id[:SHORT_ID]}")
        settings.screen.complain(f"the approval is still pending; look: {look}")
        raise
    return record.state != "pending"
