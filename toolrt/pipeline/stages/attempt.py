"""attempt: tries at the binding, each under its deadline, with retries where they are safe.

The first try runs by itself; tenacity is entered only when it failed and may be repeated.
Statements E1 to E10 of the semantics are kept here.
"""

import asyncio

from toolrt.catalog.snapshot import ToolEntry
from toolrt.core.calls import Invocation
from toolrt.core.errors import AttemptTimeoutError, BindingError, CallError
from toolrt.core.results import Answer, Failure, Outcome
from toolrt.pipeline.budget import FULL
from toolrt.pipeline.judging import judge, message_of
from toolrt.pipeline.retrying import MIN_ATTEMPT_S, Once, Retrying
from toolrt.pipeline.stage import Chain, Equipment

_CHECK_FIRST = "check whether it took effect before you try again"


def attempt(entry: ToolEntry, equipment: Equipment, _following: Chain) -> Chain:
    """The innermost stage: it calls the binding."""
    trying = _Trying(entry, equipment)
    once, again = trying.once(), trying.again

    async def handle(invocation: Invocation) -> Outcome:
        try:
            return await once(invocation)
        except CallError as error:
            return await again(invocation, error, once)

    return handle


class _Trying:
    """Tries of one tool."""

    def __init__(self, entry: ToolEntry, equipment: Equipment) -> None:
        self.entry = entry
        self.equipment = equipment
        self.retrying = Retrying(entry, equipment)

    def once(self) -> Once:
        """One try, as a function: what it needs of the tool is looked up here and not per call."""
        call, deadlines_of = self._call(), self.equipment.deadlines
        attempt_s, budget = self.entry.manifest.timeout.attempt, self.retrying.budget
        monotonic = self.equipment.clock.monotonic
        judged = self.entry if self.entry.shaping.failed_when is not None else None

        async def once(invocation: Invocation) -> Answer:
            remaining = invocation.deadline - monotonic()
            if remaining < MIN_ATTEMPT_S:
                raise AttemptTimeoutError("there was no time left to try", sent="never")
            deadlines = deadlines_of()
            invocation.attempts += 1
            allowed = min(attempt_s, remaining)
            watch = deadlines.watch(deadlines.loop.time() + allowed)
            try:
                answer = await call(invocation)
            except asyncio.CancelledError as cancelled:
                if not watch.is_ours():
                    raise
                raise _timeout(invocation, allowed) from cancelled
            finally:
                deadlines.release(watch)
            if monotonic() > invocation.deadline:
                raise _timeout(invocation, invocation.deadline - invocation.started)
            if judged is not None:
                judge(judged, invocation, answer)
            if budget.level < FULL:
                budget.refill()
            return answer

        return once

    def _call(self) -> Once:
        """The binding's call; where secrets come from a command, that runs off the loop before."""
        call, references = self.entry.binding.call, self.equipment.references
        wanted = self.entry.references
        if not wanted or not references.runs_commands:
            return call

        async def prepared(invocation: Invocation) -> Answer:
            await references.prepare(wanted, invocation.caller)
            return await call(invocation)

        return prepared

    async def again(self, invocation: Invocation, error: CallError, once: Once) -> Outcome:
        """Retries after a first failure, as far as they are allowed."""
        try:
            return await self.retrying.run(invocation, error, once)
        except CallError as last:
            return self._final(last, invocation)

    def _final(self, error: CallError, invocation: Invocation) -> Failure:
        """The failure that the caller sees: what is not known is said (E3, E5)."""
        details, message = dict(error.details), message_of(self.entry, error)
        if invocation.failed:
            details["failed_attempts"] = [one.error for one in invocation.failed]
        if self.entry.effect == "read" or not _is_ambiguous(error):
            return Failure(error.code, message, error.hint, error.retryable, details)
        details["outcome"] = "unknown"
        code = error.code
        if code != "timeout" and not self.entry.is_idempotent:
            details["cause"] = code
            code = "unknown-outcome"
        message = f"{message}; it is not known whether it took effect"
        return Failure(code, message, _CHECK_FIRST, self.entry.is_idempotent, details)


def _timeout(invocation: Invocation, after_s: float) -> AttemptTimeoutError:
    return AttemptTimeoutError(f"no answer within {after_s:.3g} s", sent=invocation.sent)


def _is_ambiguous(error: CallError) -> bool:
    return isinstance(error, BindingError) and error.sent == "maybe"
