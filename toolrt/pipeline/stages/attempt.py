"""attempt: tries at the binding, each under its deadline, with retries where they are safe.

The first try runs by itself; tenacity is entered only when it failed and may be repeated.
Statements E1 to E10 of the semantics are kept here.
"""

from collections.abc import Callable, Coroutine
from typing import Any

from toolrt.catalog.snapshot import ToolEntry
from toolrt.core.calls import Invocation
from toolrt.core.errors import AttemptTimeoutError, CallError
from toolrt.core.results import Answer, Failure, Outcome
from toolrt.pipeline.budget import FULL
from toolrt.pipeline.deadline import late
from toolrt.pipeline.judging import judge, message_of
from toolrt.pipeline.retrying import MIN_ATTEMPT_S, Retrying
from toolrt.pipeline.stage import Chain, Equipment

Begin = Callable[[Invocation], Answer | Coroutine[Any, Any, Answer]]

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
        call, keep, never_waits = self._call(), self.equipment.deadlines.keep, self._never_waits()
        begin = self._begin() or call
        shortest_s = MIN_ATTEMPT_S
        attempt_s, budget = self.entry.manifest.timeout.attempt, self.retrying.budget
        monotonic, again = self.equipment.clock.monotonic, self.again
        judged = self.entry if self.entry.shaping.failed_when is not None else None

        async def once(invocation: Invocation) -> Outcome:
            is_first = invocation.attempts == 0
            try:
                left_s = invocation.deadline - monotonic()
                if left_s < shortest_s:
                    raise AttemptTimeoutError("there was no time left to try", sent="never")
                invocation.attempts += 1
                answer = await call(invocation) if never_waits else begin(invocation)
                if not isinstance(answer, Answer):
                    answer = await keep(answer, invocation, min(left_s, attempt_s))
                if monotonic() > invocation.deadline:
                    raise late(invocation.deadline - invocation.started, invocation)
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

    def _never_waits(self) -> bool:
        """Whether the binding's word is that its call needs no deadline, and no secret is late."""
        return getattr(self.entry.binding, "never_waits", False) and not self._runs_commands()

    def _begin(self) -> Begin | None:
        """How a binding gives an answer that there is no need to wait for, if it can."""
        begin: Begin | None = getattr(self.entry.binding, "begin", None)
        return None if self._runs_commands() else begin

    def _runs_commands(self) -> bool:
        return bool(self.entry.references) and self.equipment.references.runs_commands

    def _call(self) -> Callable[[Invocation], Coroutine[Any, Any, Answer]]:
        """The binding's call; where secrets come from a command, that runs off the loop before."""
        call, references = self.entry.binding.call, self.equipment.references
        wanted = self.entry.references
        if not self._runs_commands():
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
        is_retryable = self.retrying.may_caller_repeat(invocation, error)
        if not self.retrying.is_in_doubt(invocation, error):
            return Failure(error.code, message, error.hint, is_retryable, details)
        details["outcome"] = "unknown"
        code = error.code
        if code != "timeout" and not self.entry.is_idempotent:
            details["cause"] = code
            code = "unknown-outcome"
        message = f"{message}; it is not known whether it took effect"
        is_retryable = self.entry.is_idempotent and not invocation.is_orphaned
        return Failure(code, message, _CHECK_FIRST, is_retryable, details)
