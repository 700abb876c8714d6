"""Tells people of new questions, by the tool that `approvals.notify` of the project names.

The tool is called through the gateway like any other, by a caller of its own, while the call that
asked has gone on: it neither waits for the notice nor fails with it.
"""

import asyncio
import json
import logging
from collections.abc import Mapping
from typing import Any

from toolrt.catalog.notices import FIELDS
from toolrt.catalog.registry import Registry
from toolrt.catalog.snapshot import ToolEntry
from toolrt.core.calls import Caller
from toolrt.core.results import Pause, ToolResult
from toolrt.pipeline.gateway import Gateway
from toolrt.pipeline.viewing import Viewed, viewed
from toolrt.policy.needs import told
from toolrt.schemas.phrases import visible
from toolrt.stores.approvals import Approval

NOTIFIER = Caller("toolrt")
"""Who calls the tool. Questions of this very object are told to nobody."""

PATIENCE_S = 5.0
"""How long notices that are under way may take once the runtime closes."""

_MOST_VIEW = 8000
"""Characters of `view`: it is to be read in a mail or a chat, not to be decided by."""
_REFUSED = frozenset({"unknown-tool", "denied", "no-rule"})
"""What the rules say; a tool that they hide is called unknown."""

log = logging.getLogger("toolrt")


class Notices:
    """The notices of one runtime."""

    def __init__(self, gateway: Gateway, registry: Registry) -> None:
        self._gateway = gateway
        self._registry = registry
        self._running: set[asyncio.Task[None]] = set()
        self._has_failed = False
        self._is_closed = False

    def asked(self, record: Approval, caller: Caller) -> None:
        """A question was asked for the first time: begin to tell, and come back at once."""
        snapshot = self._registry.current
        entry = snapshot.tool(snapshot.approvals.notify or "")
        if entry is None or caller is NOTIFIER or self._is_closed:
            return
        task = asyncio.get_running_loop().create_task(self._tell(entry, record))
        self._running.add(task)
        task.add_done_callback(self._running.discard)

    async def close(self) -> None:
        """Let notices that are under way end, for a while; there are no more after that."""
        self._is_closed = True
        if not self._running:
            return
        _, late = await asyncio.wait(set(self._running), timeout=PATIENCE_S)
        for task in late:
            task.cancel()
        await asyncio.gather(*late, return_exceptions=True)

    async def _tell(self, entry: ToolEntry, record: Approval) -> None:
        said = said_of(viewed(record, (), self._gateway.masked))
        result = await self._gateway.call(entry.name, notice(entry, said), NOTIFIER)
        why = _why_failed(result)
        if why is not None and not self._has_failed:
            log.warning("nobody is told of questions: `%s` %s", entry.name, why)
        self._has_failed = why is not None


def notice(entry: ToolEntry, said: Mapping[str, str | None]) -> dict[str, Any]:
    """The arguments of the notice: those that the tool takes.

    What a question has not is left out, or an empty text where the tool insists.
    """
    schema = entry.input_schema
    taken, insists = schema.get("properties", {}), schema.get("required", ())
    return {
        name: "" if said[name] is None else said[name]
        for name in FIELDS
        if name in taken and (said[name] is not None or name in insists)
    }


def said_of(viewed: Viewed) -> Mapping[str, str | None]:
    """Sensitive arguments stay where people decide: with any, `view` shows the masked arguments."""
    record, asks = viewed.record, viewed.record.terms.asks
    pause = Pause(record.id, record.terms.mode, record.expires.wall, "").document()
    view = record.view if record.sealed is None else record.arguments
    return {
        "approval_id": record.id,
        "tool": record.tool,
        "reason": record.reason,
        "rules": ", ".join(record.rules),
        "needs": "; ".join(told(each, record.principal, of=asks) for each in viewed.needs),
        "principal": record.principal,
        "tenant": record.tenant,
        "mode": record.mode,
        "expires_at": pause["expires_at"],
        "url": pause["url"],
        "view": _readable(view) if view else None,
    }


def _readable(view: str) -> str:
    """JSON for people: invisible characters as escapes, and not all of it when it is long."""
    lines = json.dumps(json.loads(view), ensure_ascii=False, indent=2).split("\n")
    text = "\n".join(visible(line, _MOST_VIEW) for line in lines)
    left = len(text) - _MOST_VIEW
    return f"{text[:_MOST_VIEW]}… ({left} characters more)" if left > 0 else text


def _why_failed(result: ToolResult) -> str | None:
    """Why the notice has reached nobody; None when it has."""
    if result.pause is not None:
        return "waits for a person itself"
    if result.error is None:
        return None
    if result.error.code in _REFUSED:
        return f"may not be called by `{NOTIFIER.principal}`"
    return f"failed with {result.error.code}"
