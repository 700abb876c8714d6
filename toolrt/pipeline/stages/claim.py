"""claim: an approved call is taken by this process, runs under a lease, and is settled.

Policy of now has decided once more before: a deny has won already, a stricter ask sends the
approval back to people (A5). Whoever asked must still be let call, by whichever door. The deadline
starts anew (A19).
"""

import asyncio
import json
import logging
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from typing import Any

from toolrt.catalog.snapshot import ToolEntry
from toolrt.core.calls import Invocation
from toolrt.core.logs import failed
from toolrt.core.results import Failure, Outcome, Pause
from toolrt.pipeline.asking import ASK_AGAIN, subject_of, waiting
from toolrt.pipeline.reasking import asked_as_now
from toolrt.pipeline.stage import Chain, Equipment
from toolrt.pipeline.stages.authorize import decider_of, no_calls
from toolrt.pipeline.stages.shape import Shape
from toolrt.policy.questions import Ending, external_outcome
from toolrt.stores.approvals import Approval, Moved
from toolrt.stores.base import StoreError

log = logging.getLogger("toolrt")


def claim(entry: ToolEntry, equipment: Equipment, following: Chain) -> Chain:
    """Run what was approved, at most once."""
    return _Claiming(entry, equipment, following).handle


class _Claiming:
    """Claims of one tool."""

    def __init__(self, entry: ToolEntry, equipment: Equipment, following: Chain) -> None:
        self.entry = entry
        self.equipment = equipment
        self.following = following
        self.questions = equipment.memory.questions
        self.shape = Shape(entry, equipment)

    async def handle(self, invocation: Invocation) -> Outcome:
        record: Approval = invocation.approval
        try:
            taken = await self._taken(invocation, record)
        except StoreError as error:
            failed("an approved call cannot be claimed", error)
            return Failure("approval-unavailable", "approvals are not to be had now", "nothing ran")
        if not isinstance(taken, Approval):
            return taken
        return await self._run(invocation, taken)

    async def _taken(self, invocation: Invocation, record: Approval) -> "Approval | Outcome":
        """The record, claimed; or why it is not. Raises RefusedError for who may call no more."""
        if not self.questions.may_still_call(record):
            raise no_calls(record.principal)
        decision = invocation.decision
        if decision is not None and decision.terms not in (None, record.terms):
            moved = await asked_as_now(self.questions, record, self.entry, invocation, decision)
            if moved.code == "approval-mismatch":
                return self._refused(moved)
            approved, record = record, moved.record
            if record.state == "pending":
                return await waiting(record, self.entry, self.questions, before=approved)
        arguments = invocation.arguments
        hash_ = self.questions.hash_of(subject_of(self.entry), arguments, invocation.caller)
        moved = await self._claimed(invocation, record, hash_)
        if moved.record.state == "pending" and record.state == "approved":
            return await self._withdrawn(record, moved.record)
        if moved.code == "approval-mismatch":
            return self._refused(moved)
        if moved.code is not None:
            note = await self.questions.note_of_denial(moved.record)
            because = f": {note}" if note else ""
            message = f"`{self.entry.name}`: {moved.message}{because}"
            return Failure(moved.code, message, "nothing ran")
        return moved.record

    def _refused(self, moved: Moved) -> Failure:
        """The failure of what is not what people approved, or not the tool that they approved."""
        record, message = moved.record, moved.message
        if record.tool_hash != self.entry.definition_hash:
            message = "it is not the tool any more that was approved"
        else:
            log.error("approval %s is not what was approved: %s", record.id, message)
        return Failure("approval-mismatch", f"`{self.entry.name}`: {message}", "nothing ran")

    async def _withdrawn(self, approved: Approval, record: Approval) -> Pause:
        """The pause of a call whose yes was found to count no more; of whom, no model is told."""
        pause = await waiting(record, self.entry, self.questions, before=approved)
        message = (
            f"`{self.entry.name}` waits for a person again, since a yes that was given counts no"
            f" more: whoever gave it may not decide this now. Nothing ran yet. Approval"
            f" {record.id}; {ASK_AGAIN}."
        )
        return replace(pause, message=message)

    async def _claimed(self, invocation: Invocation, record: Approval, hash_: str) -> Moved:
        """The claim. When the call is cancelled meanwhile, it is ended at once: nothing ran."""
        claiming = asyncio.create_task(self.questions.claim(record, hash_))
        try:
            return await asyncio.shield(claiming)
        except asyncio.CancelledError:
            await asyncio.shield(self._ended(invocation, record, claiming))
            raise

    async def _ended(
        self, invocation: Invocation, record: Approval, claiming: "asyncio.Task[Moved]"
    ) -> None:
        with suppress(StoreError):  # then there is no claim
            if (await claiming).code is None:
                await self._settle(invocation, record, None)

    async def _run(self, invocation: Invocation, record: Approval) -> Outcome:
        """The call under its claim; whatever becomes of it, the record is settled."""
        decider_of(self.entry).note(invocation)
        if not invocation.depth:  # else it ends with the call that makes it
            anew = self.equipment.clock.monotonic() + self.entry.manifest.timeout.total
            invocation.deadline = anew
        if record.edited_by is not None:
            invocation.notes += (f"the arguments were edited by {record.edited_by}",)
        outcome: Outcome | None = None
        try:
            async with self.questions.leased(record):
                outcome = await self._outcome(invocation, record)
            return outcome
        finally:
            await asyncio.shield(self._settle(invocation, record, outcome))

    async def _outcome(self, invocation: Invocation, record: Approval) -> Outcome:
        if record.mode == "external":
            return external_outcome(record)
        return await self.following(invocation)

    async def _settle(
        self, invocation: Invocation, record: Approval, outcome: Outcome | None
    ) -> None:
        state, document = self._ending(invocation, outcome)
        if record.mode == "external" and record.outcome:
            document = {**json.loads(record.outcome), **document}
        try:
            await self.questions.settle(record, state, document)
        except StoreError as error:  # its lease will lapse, and it ends as `unknown`
            failed(f"the end of approval {record.id} could not be kept", error)

    def _ending(
        self, invocation: Invocation, outcome: Outcome | None
    ) -> tuple[Ending, Mapping[str, Any]]:
        """How it ended, and what is kept of that. Without an outcome it was cancelled, or a bug."""
        if isinstance(outcome, Failure):
            error = self.shape.told(invocation, outcome).document()
            is_unknown = outcome.details.get("outcome") == "unknown"
            document = {"call_id": invocation.call_id, "error": error}
            return ("unknown" if is_unknown else "failed"), document
        if outcome is None:
            began = invocation.attempts > 0 and invocation.sent != "never"
            is_unknown = began and self.entry.effect != "read"
            return ("unknown" if is_unknown else "failed"), {"call_id": invocation.call_id}
        return "succeeded", {"call_id": invocation.call_id}
