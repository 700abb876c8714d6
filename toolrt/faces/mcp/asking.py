"""Approvals by way of the client: a person says yes or no in a form of it, or on the page of the
server that it opens.

The stored record is the authority; here a decision is only written. Where nobody can be asked, the
call stays paused: its result says so at once, and the same call again runs once it was approved.
"""

import asyncio
import json
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from toolrt.core.client import Elicited, Question, elicited
from toolrt.core.errors import CallError, RefusedError
from toolrt.core.results import Pause, ToolResult
from toolrt.dialects.names import WireNames
from toolrt.faces.mcp.contents import words_of
from toolrt.faces.mcp.lines import Line
from toolrt.faces.mcp.parking import APPROVAL
from toolrt.faces.mcp.tasks import offers_tasks
from toolrt.opened import Runtime
from toolrt.pipeline.approvals import Channel
from toolrt.pipeline.asking import ASK_AGAIN
from toolrt.stores.approvals import Approval
from toolrt.stores.base import StoreError

WAIT_S = 300.0
"""How long a call waits for somebody, at the client or on another page, before it is paused."""

_YES, _NO = "approve", "deny"
_SIMPLE = {"string", "number", "integer", "boolean"}
PageOf = Callable[[str], str | None]
"""The URL of the page where the approval of that id is decided; None where there is no page."""


class Desk:
    """Where paused calls go."""

    def __init__(self, runtime: Runtime, page_of: PageOf, channel: Channel) -> None:
        self._runtime = runtime
        self._approvals = runtime.approvals.through(channel)
        self._page_of = page_of

    async def decided(self, result: ToolResult, line: Line, names: WireNames) -> ToolResult:
        """What becomes of a paused call once its client was asked, as far as it can be; `names` are
        those that the client knows.
        """
        pause = result.pause
        if pause is None:
            return result
        pause = replace(pause, url=self._page_of(pause.approval_id))
        result = result._replace(pause=pause)
        try:
            if self._may_decide(pause, line):
                return await self._by_form(result, pause, line, names)
            if pause.url is not None and line.peer.can("url"):
                return await self._by_page(result, pause, line, names)
            if offers_tasks(line.peer):
                return await self._by_waiting(result, line, names)
        except (CallError, StoreError) as error:
            return _noted(result, error.message)
        return result

    def _may_decide(self, pause: Pause, line: Line) -> bool:
        """Whether a yes of whoever calls would count, and a form can be shown."""
        by = line.peer.caller
        is_allowed = "approve" in by.may and line.peer.can("elicitation")
        if not is_allowed or pause.mode not in {"confirm", "input"}:
            return False
        is_strict = any(each.is_strict for each in pause.needs)
        return not is_strict and any(
            each.group.holds(by.principal, by.roles) for each in pause.needs
        )

    async def _by_form(
        self, result: ToolResult, pause: Pause, line: Line, names: WireNames
    ) -> ToolResult:
        record = await self._approvals.get(pause.approval_id, line.peer.caller)
        asked = _fields_of(record)
        if asked is None:
            return result
        shown = (await self._approvals.viewed(record))[0].record
        question = _form(shown, asked, names)
        said = await _said(line, question)
        if _decision(said) is None:
            return result
        await self._decide(record, said, asked, line)
        return await self._run(record, line)

    async def _decide(
        self, record: Approval, said: Elicited, asked: Mapping[str, Any], line: Line
    ) -> None:
        by = line.peer.caller
        note = said.content.get("note")
        note = note if isinstance(note, str) and note else None
        if _decision(said) != _YES:
            await self._approvals.deny(record.id, by, note=note)
            return
        edits = {name: said.content[name] for name in asked if name in said.content}
        moved = await self._approvals.approve(
            record.id, by, note=note, edits=edits or None, seen=record.final_hash
        )
        if moved.code is not None:
            raise RefusedError(moved.message or "it could not be approved", code=moved.code)

    async def _by_page(
        self, result: ToolResult, pause: Pause, line: Line, names: WireNames
    ) -> ToolResult:
        params = {
            "mode": "url",
            "message": names.told(_going_on(pause.message)),
            "url": pause.url,
            "elicitationId": pause.approval_id,
        }
        question = _question(params, pause.approval_id)
        said = await _said(line, question)
        if said.action != "accept":
            return result
        record = await self._approvals.wait(pause.approval_id, WAIT_S)
        if record.state == "pending":
            return result
        return await self._run(record, line)

    async def _by_waiting(self, result: ToolResult, line: Line, names: WireNames) -> ToolResult:
        """A task waits for as long as its question is open."""
        pause = result.pause
        assert pause is not None  # noqa: S101 - only paused calls come here
        line.status = names.told(_going_on(words_of(result)))
        try:
            record = await self._approvals.wait(pause.approval_id)
        finally:
            line.status = ""
        return await self._run(record, line)

    async def _run(self, record: Approval, line: Line) -> ToolResult:
        """The call, once; where it was denied, or is not decided yet, its result says so."""
        ran = await self._approvals.run(record.id, line.peer.caller)
        pause = ran.pause
        if pause is None:
            return ran
        return ran._replace(pause=replace(pause, url=self._page_of(pause.approval_id)))


async def _said(line: Line, question: Question) -> Elicited:
    """What a person said; nothing for too long is as good as turning away. Raises ToolError."""
    try:
        async with asyncio.timeout(WAIT_S):
            return elicited(await line.ask(question))
    except TimeoutError:
        return Elicited("cancel")


def _going_on(message: str) -> str:
    """What is said of a call that waits, and goes on by itself."""
    return message.replace(ASK_AGAIN, "it runs once it is approved")


def _form(record: Approval, asked: Mapping[str, Any], names: WireNames) -> Question:
    """The question whether this may run; with it, the fields that a person has to fill."""
    decision = {
        "type": "string",
        "title": "Decision",
        "enum": [_YES, _NO],
        "description": f"Whether `{names.wire(record.tool)}` may run",
    }
    note = {"type": "string", "title": "Note", "description": "Why; the model is told."}
    properties = {"decision": decision, **asked, "note": note}
    required = ["decision", *(name for name in asked if "default" not in asked[name])]
    schema = {"type": "object", "properties": properties, "required": required}
    params = {"mode": "form", "message": _shown(record, names), "requestedSchema": schema}
    return _question(params, record.id)


def _question(params: Mapping[str, Any], approval_id: str) -> Question:
    return Question(APPROVAL, "elicitation", "elicitation/create", params, approval_id)


def _decision(said: Elicited) -> str | None:
    """What a person decided: a yes only where they say so; None where they left it open."""
    if said.action == "decline":
        return _NO
    decision = said.content.get("decision") if said.action == "accept" else None
    return decision if decision in (_YES, _NO) else None


def _shown(record: Approval, names: WireNames) -> str:
    """What will run, in words and whole (A12)."""
    view = record.view or record.arguments
    shown = json.dumps(json.loads(view), ensure_ascii=True, indent=1)
    because = f" ({record.reason.rstrip('.')})" if record.reason else ""
    return f"May `{names.wire(record.tool)}` run{because}? What will run:\n{shown}"


def _fields_of(record: Approval) -> dict[str, Any] | None:
    """The fields that a person fills; None where forms of clients cannot show them."""
    if record.fields is None:
        return {}
    fields: dict[str, Any] = json.loads(record.fields)["properties"]
    if not all(isinstance(each, dict) and each.get("type") in _SIMPLE for each in fields.values()):
        return None
    return fields


def _noted(result: ToolResult, why: str) -> ToolResult:
    return result._replace(text=f"{result.text} {why}.")
