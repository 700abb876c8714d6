"""Whether, when and how often a failed attempt is repeated (E4 to E9); tenacity does the loop."""

from dataclasses import replace
from typing import TYPE_CHECKING

from toolrt.catalog.snapshot import ToolEntry
from toolrt.core.calls import Invocation
from toolrt.core.errors import BindingError, CallError
from toolrt.core.logs import TOOLS
from toolrt.core.results import Answer, Attempt, Outcome
from toolrt.pipeline.judging import retry_condition_holds
from toolrt.pipeline.stage import Chain, Equipment
from toolrt.pipeline.verifying import Verifying

if TYPE_CHECKING:
    from tenacity import RetryCallState

MIN_ATTEMPT_S = 0.05
LONGEST_RETRY_AFTER_S = 60.0
_REJECTED = frozenset({429, 503})
_SERVER_FAULT = 500
_NOT_DONE = frozenset({501, 505})
_BROKEN_OFF = frozenset({"output-flood", "signaled"})
"""Codes of what was stopped while it ran."""


class Retrying:
    """The retries of one tool."""

    def __init__(self, entry: ToolEntry, equipment: Equipment) -> None:
        self.entry = entry
        self.options = entry.manifest.retry
        self.equipment = equipment
        self.budget = equipment.budgets.of(entry.target, entry.name)
        self.verifying = Verifying.of(entry, equipment)

    async def run(self, invocation: Invocation, first: CallError, once: Chain) -> Outcome:
        """What a later attempt answers. Raises the last CallError when none does."""
        if not self.may_retry(invocation, first):
            raise first
        return await _Series(self, invocation, first, once).run()

    def may_retry(self, invocation: Invocation, error: BaseException) -> bool:
        """Whether the kind of failure may be tried again at all (E4, E5, E9)."""
        if not isinstance(error, CallError) or not error.retryable or invocation.is_orphaned:
            return False
        if not self.is_safe(error) and not self.is_open_question(invocation, error):
            return False
        when = self.entry.shaping.retry_when
        return when is None or retry_condition_holds(when, self.entry, invocation, error)

    def is_safe(self, error: CallError) -> bool:
        """Whether the same call may be made again without doing twice what it does (E4, E5)."""
        if self.entry.may_repeat:
            return True
        if not isinstance(error, BindingError):
            return False
        return error.sent == "never" or self._was_rejected(error)

    def _was_rejected(self, error: BindingError) -> bool:
        """Whether the target did nothing, by what the tool says of its rejections."""
        was_rejected = error.status == 429 or (  # noqa: PLR2004 - Too Many Requests
            error.status in _REJECTED and error.retry_after_s is not None
        )
        return was_rejected and self.options.rejected_means_not_applied

    def is_open_question(self, invocation: Invocation, error: CallError) -> bool:
        """Whether `verify` is to be asked what came of the call."""
        is_asked = self.verifying is not None and "verify" not in error.details
        return is_asked and self.may_have_applied(invocation, error)

    async def settle(self, invocation: Invocation, error: CallError) -> Answer | CallError:
        """What `verify` makes of it (E12): an answer, or the failure of a call that had no effect.

        Raises the failure where nobody knows.
        """
        found = error if self.verifying is None else await self.verifying.settle(invocation, error)
        if isinstance(found, CallError):
            invocation.failed = tuple(
                replace(one, is_in_doubt=False, may_have_applied=False) for one in invocation.failed
            )
        return found

    def may_caller_repeat(self, invocation: Invocation, error: CallError) -> bool:
        """What the failure says as `retryable`; the author of a tool is taken at his word."""
        if self.entry.effect == "read":
            return error.retryable
        if invocation.is_orphaned or not error.retryable:
            return False
        return not isinstance(error, BindingError) or self.is_safe(error)

    def is_in_doubt(self, invocation: Invocation, error: CallError) -> bool:
        """Whether the call may have taken effect (E3, E5): an attempt that got no answer leaves
        that open until a later one is answered for good.
        """
        if self.entry.effect == "read" or not isinstance(error, BindingError):
            return False
        if error.sent == "maybe":
            return True
        was_answered = error.sent == "answered" and not error.retryable
        return bool(invocation.failed) and invocation.failed[-1].is_in_doubt and not was_answered

    def may_have_applied(self, invocation: Invocation, error: CallError) -> bool:
        """Whether a failure leaves room for an effect: also one that was answered, where the
        target failed in the middle of it.
        """
        if self.entry.effect == "read" or not isinstance(error, BindingError):
            return False
        if self.is_in_doubt(invocation, error) or any(
            one.may_have_applied for one in invocation.failed
        ):
            return True
        if error.sent == "never" or self._was_rejected(error):
            return False
        if _broke_off(error) or error.code == "bad-response":
            return True
        is_answered = error.status is not None and error.status not in range(200, 300)
        return error.target_fault and not is_answered

    def is_unknown(self, invocation: Invocation, error: CallError) -> bool:
        """Whether nobody knows what came of the call, and it may not simply be made again. An exit
        status is the word of the program itself, and no riddle.
        """
        if self.entry.is_idempotent or not self.may_have_applied(invocation, error):
            return False
        was_open = any(one.may_have_applied for one in invocation.failed)
        return was_open or (isinstance(error, BindingError) and _broke_off(error))

    def delay_s(self, number: int, error: CallError) -> float:
        """Full jitter, or what the target asked for when that is longer (E6, E7)."""
        ceiling = min(self.options.max, self.options.initial * 2 ** (number - 1))
        own = self.equipment.random.uniform(0.0, ceiling)
        return max(own, _retry_after_s(error) or 0.0)


class _Series:
    """The attempts after the first one of a single call."""

    def __init__(
        self, retrying: Retrying, invocation: Invocation, first: CallError, once: Chain
    ) -> None:
        self.retrying = retrying
        self.invocation = invocation
        self.first: CallError | None = first
        self.last = first
        self.once = once
        self.delay_s = 0.0

    async def run(self) -> Outcome:
        from tenacity import AsyncRetrying, retry_if_exception  # noqa: PLC0415 - after a failure

        retrying, invocation = self.retrying, self.invocation
        loop = AsyncRetrying(
            retry=retry_if_exception(lambda error: retrying.may_retry(invocation, error)),
            stop=self._stop,
            wait=self._wait,
            sleep=invocation.clock.sleep,
            reraise=True,
        )
        return await loop(self._attempt)

    async def _attempt(self) -> Outcome:
        """The first time the failure that is known already, then real attempts."""
        first, self.first = self.first, None
        if first is not None:
            raise first
        if self.retrying.is_open_question(self.invocation, self.last):
            found = await self._settled()
            if isinstance(found, Answer):
                return found
        return await self.once(self.invocation)

    async def _settled(self) -> Answer | CallError:
        """What `verify` says; only after its no is anything repeated. Raises as it does."""
        invocation = self.invocation
        *earlier, last = invocation.failed
        invocation.failed = (*earlier, replace(last, delay_s=None))
        found = await self.retrying.settle(invocation, self.last)
        if isinstance(found, CallError):
            *earlier, last = invocation.failed
            invocation.failed = (*earlier, replace(last, delay_s=self.delay_s))
        return found

    def _wait(self, state: "RetryCallState") -> float:
        """The delay before the next attempt; tenacity asks for it before it asks to stop."""
        error = state.outcome.exception() if state.outcome else None
        if isinstance(error, CallError):
            self.last = error
            self.delay_s = self.retrying.delay_s(state.attempt_number, error)
        return self.delay_s

    def _stop(self, state: "RetryCallState") -> bool:
        """Whether to give up: attempts, time or the target's budget are used up."""
        error = state.outcome.exception() if state.outcome else None
        if not isinstance(error, CallError):
            return True
        number = state.attempt_number
        if number >= self.retrying.options.attempts or not self._has_time(error):
            return True
        if not self.retrying.budget.take(getattr(error, "status", None)):
            error.details["retry_budget"] = "empty"
            return True
        is_in_doubt = self.retrying.is_in_doubt(self.invocation, error)
        may_have_applied = self.retrying.may_have_applied(self.invocation, error)
        self.invocation.failed += (
            Attempt(number, error.code, self.delay_s, is_in_doubt, may_have_applied),
        )
        TOOLS.info(
            "%s [%s]: attempt %d failed (%s); the next one in %.3g s",
            self.invocation.tool, self.invocation.call_id, number, error.code, self.delay_s,
        )  # fmt: skip
        return False

    def _has_time(self, error: CallError) -> bool:
        """Whether the delay, and a useful attempt after it, fit (E2, E6)."""
        asked = _retry_after_s(error)
        if asked is not None and asked > LONGEST_RETRY_AFTER_S:
            return False
        return self.delay_s + MIN_ATTEMPT_S <= self.invocation.remaining_s()


def _broke_off(error: BindingError) -> bool:
    """Whether the target failed in the middle of it (E5)."""
    if error.status is not None and error.status not in range(200, 300):
        return error.status >= _SERVER_FAULT and error.status not in _NOT_DONE
    return error.is_midway or error.code in _BROKEN_OFF


def _retry_after_s(error: CallError) -> float | None:
    return error.retry_after_s if isinstance(error, BindingError) else None
