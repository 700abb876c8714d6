"""How plans stop before their end: at a step that failed, or that waits for people."""

import logging
from collections.abc import Sequence
from dataclasses import replace

from toolrt.core.calls import Invocation
from toolrt.core.results import AttemptFailure, Failure, Pause
from toolrt.pipeline.stage import Equipment
from toolrt.pipeline.step_memory import StepRun
from toolrt.pipeline.stepping import StepFailure, StepPause, Stepper
from toolrt.stores.approval_claims import cancel
from toolrt.stores.approvals import Moved
from toolrt.stores.base import Session, StoreError
from toolrt.stores.moments import Moment

log = logging.getLogger("toolrt")

_OF_ITS_CALLER = frozenset({"invalid-arguments", "missing-arguments", "unknown-tool"})
"""What would speak of the arguments of the plan, where it is a step that was called wrongly."""
_KEPT = "what the steps before it did stays done, and the same call again goes on from there"
_DONE = "what the steps before it did stays done, and the same call again would do it again"


def failure_of(stop: StepFailure, stepper: Stepper) -> Failure:
    """The failure of a plan at one of its steps: with what became of the others."""
    step, failure = stop.step, stop.failure
    code = "execution-failed" if failure.code in _OF_ITS_CALLER else failure.code
    told = {"step": step.id, "tool": step.tool, "because": failure.code}
    made = replace(
        failure,
        code=code,
        message=f"the step `{step.id}` failed: {failure.message}",
        details={**failure.details, **told},
    )
    return failed(made, stepper, may_have_applied=stop.may_have_applied)


def failed(failure: Failure, stepper: Stepper, *, may_have_applied: bool = False) -> Failure:
    """A failure as one of a plan, some of which was done."""
    has_acted = stepper.run.has_acted
    may_have_applied = may_have_applied or has_acted
    hint = failure.hint
    if has_acted:
        rest = (hint or "").removeprefix("nothing ran").lstrip("; ,")
        hint = f"{_DONE}; {rest}" if rest else _DONE
    return AttemptFailure(
        failure.code,
        failure.message,
        hint,
        failure.retryable and not may_have_applied,
        {**failure.details, "steps": dict(stepper.statuses)},
        may_have_applied=may_have_applied,
    )


def refused(failure: Failure) -> Failure:
    """The failure of a plan that did not begin. Where the same call was begun before, nothing may
    do in its place what that does, or did.
    """
    if failure.code != "conflict":
        return failure
    return AttemptFailure(
        failure.code, failure.message, failure.hint, failure.retryable, failure.details,
        may_have_applied=True,
    )  # fmt: skip


def broken_off(failure: Failure, run: StepRun) -> Failure:
    """The failure of a plan that did not come to an end: what it did is told, and nothing may do
    it once more in its place.
    """
    if not run.has_acted:
        return failure
    hint = "; ".join(filter(None, (_KEPT if run.is_kept else _DONE, failure.hint)))
    return AttemptFailure(
        failure.code, failure.message, hint, details=failure.details, may_have_applied=True
    )


def pause_of(stops: Sequence[StepPause], stepper: Stepper) -> Pause:
    """The pause of a plan: that of the first step that waits, told as one of the plan."""
    waits = [
        {
            "step": each.step.id,
            "tool": each.step.tool,
            "approval_id": id_,
            "mode": mode,
        }
        for each in stops
        for id_, mode in each.waits.items()
    ]
    stepper.invocation.mark(steps=dict(stepper.statuses), waits=waits)
    first = stops[0].pause
    return replace(first, message=_message(stepper.entry.name, stops))


def _message(name: str, stops: Sequence[StepPause]) -> str:
    """For the model, too: ids and reasons of rules, and nothing of people (P20)."""
    reasons = dict.fromkeys(ask.reason for stop in stops for ask in stop.pause.asks if ask.reason)
    because = f": {'; '.join(reasons)}".rstrip(".") if reasons else ""
    ids = dict.fromkeys(id_ for stop in stops for id_ in stop.waits)
    approvals = f"Approval {', '.join(ids)}" if len(ids) == 1 else f"Approvals {', '.join(ids)}"
    at = ", ".join(dict.fromkeys(f"`{stop.step.id}`" for stop in stops))
    where = "at its step" if len({stop.step.id for stop in stops}) == 1 else "at its steps"
    return (
        f"`{name}` waits for a person {where} {at}{because}. What is done stays done. "
        f"{approvals}; the same call again, once decided, goes on from there."
    )


async def let_go(stops: Sequence[StepPause], equipment: Equipment, invocation: Invocation) -> None:
    """Call off questions that nobody needs an answer to any more, and forget the plans below that
    wait for one.
    """
    questions, actor = equipment.memory.questions, invocation.caller.principal
    for id_ in [id_ for stop in stops for id_ in stop.waits]:
        moment = questions.moments.now()

        def work(session: Session, id_: str = id_, moment: Moment = moment) -> Moved:
            return cancel(session, id_, moment, actor=actor, audit=questions.audit)

        try:
            await questions.database.run(work)
            await equipment.memory.plan_runs.forget_waiting(id_)
        except StoreError as error:
            log.warning("approval %s could not be called off: %s", id_, error.message)
