"""approve: where policy asks, a person says yes before anything runs.

The question is kept in the store, and the call comes back paused. Once it was approved, the same
call made again, or a resumed one, goes through `revalidate`, `authorize` and `claim` with the
arguments that were approved, and runs once.
"""

from typing import Any

from toolrt.catalog.snapshot import ToolEntry
from toolrt.core.calls import Invocation, apart
from toolrt.core.decisions import Decision
from toolrt.core.logs import failed
from toolrt.core.results import Failure, Outcome
from toolrt.pipeline.asking import given, pause_of, shown_to_people, subject_of, told_of
from toolrt.pipeline.stage import Chain, Equipment, fold
from toolrt.pipeline.stages.authorize import authorize, decider_of
from toolrt.pipeline.stages.claim import claim
from toolrt.pipeline.stages.revalidate import revalidate
from toolrt.pipeline.step_memory import is_let_through
from toolrt.policy.questions import Asked, Kept, arguments_of
from toolrt.stores.approval_asks import Refusal
from toolrt.stores.base import StoreError
from toolrt.stores.grants import Grant


def approve(entry: ToolEntry, equipment: Equipment, following: Chain) -> Chain:
    """Ask where the decision says so; absent where no rule ever asks, and nothing has to be in the
    journal before it is done.
    """
    unasked = (
        _recorded(entry, equipment, following) if _why_recorded(entry, equipment) else following
    )
    if not decider_of(entry).may_ask:
        return unasked
    return _Asking(entry, equipment, following, unasked).handle


def _why_recorded(entry: ToolEntry, equipment: Equipment) -> str | None:
    """Why a call of the tool is in the journal before it is made; None where afterwards will do."""
    if entry.effect == "irreversible":
        return "cannot be undone"
    if entry.effect != "read" and equipment.memory.journal.mode == "sync":
        return "may change something"
    return None


def _recorded(entry: ToolEntry, equipment: Equipment, following: Chain) -> Chain:
    """What nobody is asked about, and has to be in the journal before it is done, or is not done.

    After a yes it is there already: the claim of an approval is an entry.
    """
    told, why = told_of(entry), _why_recorded(entry, equipment)

    async def handle(invocation: Invocation) -> Outcome:
        try:
            await equipment.memory.journal.intend(invocation, told)
        except StoreError as error:
            failed("an effect cannot be recorded before it is made", error)
            message = f"`{entry.name}` {why}, and the journal cannot be written now"
            return Failure("unavailable", message, "nothing ran; tell the operator")
        return await following(invocation)

    return handle


def resumption(entry: ToolEntry, equipment: Equipment, following: Chain) -> Chain:
    """The way of an approved call: its arguments and policy are looked at anew, then it runs."""
    return fold((revalidate, authorize, claim), entry, equipment, following)


def unanswerable(message: str) -> Failure:
    """A question that cannot be asked is answered no (P17, A21)."""
    hint = "nothing ran; tell the operator"
    return Failure("approval-unavailable", message, hint)


class _Asking:
    """The questions of one tool."""

    def __init__(
        self, entry: ToolEntry, equipment: Equipment, following: Chain, unasked: Chain
    ) -> None:
        self.entry = entry
        self.equipment = equipment
        self.following = unasked
        self.is_plan = hasattr(entry.binding, "steps_of")
        self.resumed = resumption(entry, equipment, following)

    async def handle(self, invocation: Invocation) -> Outcome:
        decision = invocation.decision
        if decision is None or decision.verdict != "ask":
            return await self.following(invocation)
        try:
            if self.is_plan and await is_let_through(self.equipment.memory, self.entry, invocation):
                return await self.following(invocation)
            answer = await self._ask(invocation, decision)
            if isinstance(answer, Kept) and answer.record.state != "approved":
                needs = await self.equipment.memory.questions.needs(answer.record)
                return pause_of(answer.record, self.entry, needs, twin=answer.twin)
            note = await self._note(answer)
        except StoreError as error:
            failed("no approval can be asked for", error)
            return unanswerable("this needs an approval, and approvals are not to be had now")
        if isinstance(answer, Refusal):
            return _refused(answer, note)
        if not isinstance(answer, Kept):
            invocation.notes += (f"allowed by the grant {answer.id}",)
            invocation.approval = answer
            decider_of(self.entry).note(invocation)
            return await self.following(invocation)
        invocation.approval = answer.record
        invocation.arguments = arguments_of(answer.record)
        return await self.resumed(invocation)

    async def _ask(self, invocation: Invocation, decision: Decision) -> Kept | Grant | Refusal:
        decider = decider_of(self.entry)
        asked = Asked(
            subject_of(self.entry, invocation.arguments),
            invocation.arguments,
            given(self.entry, invocation.arguments),
            invocation.caller,
            decision,
            self._view(invocation),
            invocation.generation,
            decider.policy_hash,
            invocation.call_id,
            decider.queues or self.equipment.is_attended,
        )
        return await self.equipment.memory.questions.ask(asked, decider.caps)

    async def _note(self, answer: Kept | Grant | Refusal) -> str | None:
        """What a person said who denied the same call a moment ago."""
        if not isinstance(answer, Refusal) or answer.earlier is None:
            return None
        return await self.equipment.memory.questions.note_of_denial(answer.earlier)

    def _view(self, invocation: Invocation) -> dict[str, Any]:
        """What would be sent or run, as people may see it."""
        shown = shown_to_people(self.entry, invocation.arguments)
        if shown is not invocation.arguments:
            invocation = apart(invocation)
            invocation.arguments = shown
        view = self.entry.binding.preview(invocation)
        made: dict[str, Any] = self.equipment.references.redactor.value(view)
        return made


def _refused(refusal: Refusal, note: str | None) -> Failure:
    if refusal.why == "unattended":
        return unanswerable(refusal.message)
    code = "recently-denied" if refusal.why == "recently-denied" else "rate-limited"
    because = f"; they said: {note}" if note else ""
    return Failure(code, f"{refusal.message}{because}", "nothing ran")
