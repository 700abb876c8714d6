"""`run --wait`: a call that waits for people is run here once they said yes (A19)."""

import asyncio
import time
from typing import TYPE_CHECKING

from toolrt.core.calls import Caller
from toolrt.core.results import Pause, ToolResult
from toolrt.faces.cli.approvals_desk import refusals
from toolrt.faces.cli.caller import at_terminal
from toolrt.faces.cli.options import Settings
from toolrt.faces.cli.progress import watched
from toolrt.faces.cli.told import SHORT_ID, pause_lines

if TYPE_CHECKING:
    from toolrt.opened import Runtime


async def answered(
    opened: "Runtime", result: ToolResult, patience_s: float, settings: Settings
) -> ToolResult:
    """What the paused call came to: run, refused, or paused still after `patience_s` seconds."""
    until = time.monotonic() + patience_s
    me = at_terminal(opened.snapshot.identities)
    with refusals(settings):
        while result.pause is not None:
            settings.screen.say(_waiting(result.tool, result.pause, settings, me))
            if not await _is_decided(opened, result.pause, until, settings, me):
                return result
            async with watched(result.tool, settings.screen):
                result = await opened.approvals.run(result.pause.approval_id)
    return result


def _waiting(tool: str, pause: Pause, settings: Settings, me: Caller) -> str:
    first, *lines = pause_lines(settings, pause, me)
    again = [first] if pause.is_reopened or pause.same_call else []
    wait = f"waiting: a person has to say yes to `{tool}`; ^C stops waiting"
    return "\n".join([*again, wait, *lines])


async def _is_decided(
    opened: "Runtime", pause: Pause, until: float, settings: Settings, me: Caller
) -> bool:
    """Waits, at most until then. Whoever interrupts is told that the question stays."""
    try:
        return await _decided(opened, pause, until, settings, me)
    except asyncio.CancelledError:
        look = settings.command(f"approvals show {pause.approval_id[:SHORT_ID]}")
        settings.screen.complain(f"the approval is still pending; look: {look}")
        raise


async def _decided(
    opened: "Runtime", pause: Pause, until: float, settings: Settings, me: Caller
) -> bool:
    """Tells of each yes that is not enough."""
    from toolrt.faces.cli.approvals_text import needed  # noqa: PLC0415 - few calls wait

    approvals = opened.approvals
    record = await approvals.get(pause.approval_id)
    while record.state == "pending" and (left_s := until - time.monotonic()) > 0:
        revision = record.revision
        record = await approvals.wait(record.id, left_s, revision)
        if record.state == "pending" and record.revision != revision:
            [viewed] = await approvals.viewed(record)
            if any(each.said for each in viewed.needs):
                settings.screen.say(needed(viewed, me))
    return record.state != "pending"
