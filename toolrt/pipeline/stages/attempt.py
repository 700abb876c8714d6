"""attempt: tries at the binding, each under its deadline, with retries where they are safe.

The first try runs by itself; tenacity is entered only when it failed and may be repeated.
Statements E1 to E10 of the semantics are kept here.
"""

import math
from collections.abc import Callable, Coroutine
from typing import Any

from toolrt.bindings.forks import FORKS, leave_clone
from toolrt.catalog.snapshot import ToolEntry
from toolrt.core.calls import Invocation
from toolrt.core.errors import AttemptTimeoutError, BindingError, CallError
from toolrt.core.results import Answer, AttemptFailure, BareAnswer, Failure, Outcome
from toolrt.pipeline.budget import FULL
from toolrt.pipeline.deadline import late
from toolrt.pipeline.guarding import Begin, Call, guarded, in_free_turn, waits_for_turns
from toolrt.pipeline.judging import judge, message_of
from toolrt.pipeline.recovering import CHECK_FIRST
from toolrt.pipeline.retrying import MIN_ATTEMPT_S, Retrying
from toolrt.pipeline.stage import Chain, Equipment
from toolrt.schemas.values import is_flat, to_plain

_NOT_KNOWN = "it is not known whether it took effect"
_AGAIN = "make the same call again: made twice it does no more than made once"
_WITH_KEY = "make the same call again, with the same arguments: its key keeps it to one effect"


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
        keep, never_waits = self.equipment.deadlines.keep, self._never_waits()
        call = guarded(self._call(), self.entry, self.equipment, is_kept=not never_waits)
        begin = self._begin(call) or call
        shortest_s = MIN_ATTEMPT_S
        attempt_s, budget = self._attempt_s(), self.retrying.budget
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

        return self._direct(once) or once

    def _direct(self, once: Chain) -> Chain | None:
        """`once` written out for a callable that takes its arguments as they are and never waits,
        for that saves a fifth of a microsecond; None for any other tool. Repetitions go the long
        way, and so does what has no time left.
        """
        binding = self.entry.binding
        fn, failed = getattr(binding, "direct", None), getattr(binding, "failed", None)
        if fn is None or failed is None or not self._never_waits() or self._is_watched():
            return None
        monotonic, again, budget = self.equipment.clock.monotonic, self.again, self.retrying.budget
        shortest_s = MIN_ATTEMPT_S

        async def direct(invocation: Invocation) -> Outcome:
            if invocation.attempts or invocation.deadline - monotonic() < shortest_s:
                return await once(invocation)
            invocation.attempts, invocation.sent = 1, "maybe"
            forks = FORKS.count
            try:
                try:
                    value = await fn(**invocation.arguments)
                except BaseException as error:  # noqa: BLE001 - the call into user code
                    if FORKS.count != forks:
                        leave_clone(error)
                    failed(error)
                if FORKS.count != forks:
                    leave_clone()
                invocation.sent = "answered"
                is_ready = type(value) is dict and is_flat(value)
                answer: Answer = BareAnswer()
                answer.value = value if is_ready else to_plain(value)
                if monotonic() > invocation.deadline:
                    raise late(invocation.deadline - invocation.started, invocation)
            except CallError as error:
                return await again(invocation, error, once)
            if budget.level < FULL:
                budget.refill()
            return answer

        return direct

    def _is_watched(self) -> bool:
        """Whether something stands around each attempt."""
        manifest, is_traced = self.entry.manifest, self.equipment.telemetry.spans is not None
        return (
            manifest.breaker is not None or is_traced or self.entry.shaping.failed_when is not None
        )

    def _attempt_s(self) -> float:
        """How long one may take; where it waits for its turn, its own time begins after that."""
        return math.inf if waits_for_turns(self.entry) else self.entry.manifest.timeout.attempt

    def _never_waits(self) -> bool:
        """Whether the call needs no deadline, nor a turn, for it is over before another begins: by
        the binding's word, and where no secret is late.
        """
        says_so: bool = getattr(self.entry.binding, "never_waits", False)
        return says_so and not self._runs_commands()

    def _begin(self, call: Call) -> Begin | None:
        """How a binding gives an answer that there is no need to wait for, if it can."""
        begin: Begin | None = getattr(self.entry.binding, "begin", None)
        is_traced = self.equipment.telemetry.spans is not None
        is_watched = self.entry.manifest.breaker is not None or is_traced
        if begin is None or is_watched or self._runs_commands():
            return None
        return in_free_turn(begin, call, self.entry, self.equipment)

    def _runs_commands(self) -> bool:
        return bool(self.entry.references) and self.equipment.references.runs_commands

    def _call(self) -> Callable[[Invocation], Coroutine[Any, Any, Answer]]:
        """The binding's call; where secrets come from a command, that runs off the loop before."""
        spans, references = self.equipment.telemetry.spans, self.equipment.references
        bare = self.entry.binding.call
        call = bare if spans is None else spans.attempts(bare)
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
            return await self._settled(last, invocation)

    async def _settled(self, error: CallError, invocation: Invocation) -> Outcome:
        """How it ends: with the failure, unless the tool's `verify` knows better (E12)."""
        found: Answer | CallError = error
        if self.retrying.is_open_question(invocation, error):
            try:
                found = await self.retrying.settle(invocation, error)
            except CallError as unknown:
                found = unknown
        return found if isinstance(found, Answer) else self._final(found, invocation)

    def _final(self, error: CallError, invocation: Invocation) -> Failure:
        """The failure that the caller sees: what is not known is said (E3, E5)."""
        details, message = dict(error.details), message_of(self.entry, error)
        if invocation.failed:
            details["failed_attempts"] = [one.error for one in invocation.failed]
        retrying, is_open = self.retrying, details.get("verify") == "unknown"
        if is_open or retrying.is_in_doubt(invocation, error):
            return self._lost(error, invocation, message, details, is_open=is_open)
        may_repeat = retrying.may_caller_repeat(invocation, error)
        hint = error.hint
        if retrying.is_unknown(invocation, error):
            details["outcome"], message = "unknown", f"{message}; {_NOT_KNOWN}"
            hint = self._next_step(error, may_repeat=may_repeat)
        return AttemptFailure(
            error.code,
            message,
            hint,
            may_repeat,
            details,
            isinstance(error, BindingError) and error.target_fault,
            retrying.may_have_applied(invocation, error),
        )

    def _lost(
        self,
        error: CallError,
        invocation: Invocation,
        message: str,
        details: dict[str, Any],
        *,
        is_open: bool,
    ) -> Failure:
        """The failure of a call that was not answered; `is_open` where `verify` cannot tell."""
        may_repeat = self.entry.may_repeat and not invocation.is_orphaned and not is_open
        details["outcome"], code = "unknown", error.code
        if is_open or (code != "timeout" and not self.entry.may_repeat):
            details["cause"] = code
            code = "unknown-outcome"
        hint = self._next_step(error, may_repeat=may_repeat)
        message = f"{message}; {_NOT_KNOWN}"
        return AttemptFailure(code, message, hint, may_repeat, details, may_have_applied=True)

    def _next_step(self, error: CallError, *, may_repeat: bool) -> str:
        """What to do where the outcome is unknown, and what the failure itself advises."""
        step = CHECK_FIRST
        if may_repeat:
            step = _WITH_KEY if self.entry.idempotency_key is not None else _AGAIN
        return f"{step}; {error.hint}" if error.hint else step
