"""attempt: tries at the binding, each under its deadline, with retries where they are safe.

The first try runs by itself; tenacity is entered only when it failed and may be repeated.
Statements E1 to E10 of the semantics are kept here.
"""

import asyncio
from collections.abc import Awaitable, Callable

from toolrt.catalog.snapshot import ToolEntry
from toolrt.core.calls import Invocation
from toolrt.core.errors import AttemptTimeoutError, BindingError, CallError, Sent
from toolrt.core.results import Answer, Failure, Outcome
from toolrt.pipeline.budget import FULL
from toolrt.pipeline.deadline import is_ours
from toolrt.pipeline.judging import judge, message_of
from toolrt.pipeline.retrying import MIN_ATTEMPT_S, Retrying
from toolrt.pipeline.stage import Chain, Equipment

_CHECK_FIRST = "check whether it took effect before you try again"


def attempt(entry: ToolEntry, equipment: Equipment, _following: Chain) -> Chain:
    """The innermost stage: it calls the binding."""
    return _Trying(entry, equipment).chain()


class _Trying:
    """Tries of one tool."""

    def __init__(self, entry: ToolEntry, equipment: Equipment) -> None:
        self.entry = entry
        self.equipment = equipment
        self.retrying = Retrying(entry, equipment)

    def chain(self) -> Chain:
        """One try; the first one of a call also sees to the others, when it fails.

        What it needs of the tool is looked up here and not per call.
        """
        call, deadlines, again = self._call(), self.equipment.deadlines, self.again
        attempt_s, budget = self.entry.manifest.timeout.attempt, self.retrying.budget
        monotonic = self.equipment.clock.monotonic
        judged = self.entry if self.entry.shaping.failed_when is not None else None

        async def once(invocation: Invocation) -> Outcome:
            is_first = invocation.attempts == 0
            try:
                allowed = min(invocation.deadline - monotonic(), attempt_s)
                if allowed < MIN_ATTEMPT_S:
                    raise _timeout(allowed, "never")
                invocation.attempts += 1
                deadlines.watch(invocation, allowed)
                try:
                    answer = await call(invocation)
                except asyncio.CancelledError as cancelled:
                    if not is_ours(invocation):
                        raise
                    raise _timeout(allowed, invocation.sent) from cancelled
                finally:
                    deadlines.release(invocation)
                if monotonic() > invocation.deadline:
                    raise _timeout(invocation.deadline - invocation.started, invocation.sent)
                if judged is not None:
                    judge(judged, invocation, answer)
            except CallError as error:
                if is_first:
                    return await again(invocation, error, once)
                raise
            if budget.level < FULL:
                budget.refill()
            return answer

        return once

    def _call(self) -> Callable[[Invocation], Awaitable[Answer]]:
        """The binding's call; where secrets come from a command, that runs off the loop before."""
        call, references = self.entry.binding.call, self.equipment.references
        wanted = self.entry.references
        if not wanted or not references.runs_commands:
            return call

        async def prepared(invocation: Invocation) -> Answer:
            await references.prepare(wanted, invocation.caller)
            return await call(invocation)

        return prepared

    async def again(self, invocation: Invocation, error: CallError, once: Chain) -> Outcome:
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


def _timeout(after_s: float, sent: Sent) -> AttemptTimeoutError:
    if after_s < MIN_ATTEMPT_S:
        return AttemptTimeoutError("there was no time left to try", sent=sent)
    return AttemptTimeoutError(f"no answer within {after_s:.3g} s", sent=sent)


def _is_ambiguous(error: CallError) -> bool:
    return isinstance(error, BindingError) and error.sent == "maybe"
