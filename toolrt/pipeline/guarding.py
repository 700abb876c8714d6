"""What stands around one attempt at a binding: its turn, and the breaker's leave (B2 to B4, B7).

The turn is outside, so that nobody who waits holds the one trial of a half-open breaker. However
the attempt ends, it gives up its place and settles its token.
"""

import asyncio
import math
from collections.abc import Callable, Coroutine
from typing import Any

from toolrt.catalog.snapshot import ToolEntry
from toolrt.core.calls import Invocation
from toolrt.core.errors import AttemptTimeoutError, BindingError, CallError
from toolrt.core.results import Answer
from toolrt.pipeline.breakers import Shared
from toolrt.pipeline.breaking import Verdict
from toolrt.pipeline.deadline import late
from toolrt.pipeline.stage import Equipment
from toolrt.pipeline.turns import Queue

Call = Callable[[Invocation], Coroutine[Any, Any, Answer]]
Begin = Callable[[Invocation], Answer | Coroutine[Any, Any, Answer]]

_OF_ANSWERS = {True: Verdict.FAULT, False: Verdict.SUCCESS}
"""Whether an answer came too late (E3) -> what it says of the target."""


def waits_for_turns(entry: ToolEntry) -> bool:
    """Whether an attempt may have to wait; its own time begins after that."""
    return entry.manifest.concurrency is not None


def guarded(call: Call, entry: ToolEntry, equipment: Equipment, *, is_kept: bool) -> Call:
    """The same call where the tool asks for a breaker or turns; else `call` itself.

    `is_kept`: it runs under `Deadlines.keep`, which cancels it when its time is up. What does not
    never waits, and so needs no turn.
    """
    shared, queue = equipment.breakers.of(entry), equipment.turns.of(entry) if is_kept else None
    if is_apart(entry):
        call = _breaking_apart(call, entry, equipment, is_kept=is_kept)
    elif shared is not None:
        call = _breaking(call, entry, equipment, shared, is_kept=is_kept)
    return call if queue is None else _taking_turns(call, entry, equipment, queue)


def is_apart(entry: ToolEntry) -> bool:
    """Whether callers of each tenant have a breaker of their own."""
    return entry.manifest.breaker is not None and entry.manifest.breaker.by == "tenant"


def _breaking_apart(call: Call, entry: ToolEntry, equipment: Equipment, *, is_kept: bool) -> Call:
    async def attempt(invocation: Invocation) -> Answer:
        shared = equipment.breakers.of(entry, invocation.caller)
        if shared is None:
            raise AssertionError(f"{entry.name} has no breaker")
        return await _breaking(call, entry, equipment, shared, is_kept=is_kept)(invocation)

    return attempt


def _breaking(
    call: Call, entry: ToolEntry, equipment: Equipment, shared: Shared, *, is_kept: bool
) -> Call:
    breakers, breaker = equipment.breakers, shared.breaker
    monotonic = equipment.clock.monotonic

    async def attempt(invocation: Invocation) -> Answer:
        token = breaker.token  # `refuse` has asked the store by now
        if not breaker.is_closed:
            token = await _entered(entry, equipment, shared, invocation)
        try:
            answer = await call(invocation)
        except BaseException as error:
            verdict = _verdict_on(error, invocation, is_kept=is_kept)
            breakers.settle(shared, token, verdict, _code_of(error))
            raise
        now = monotonic()
        is_late = now > invocation.deadline or (is_kept and invocation.has_expired)
        if breaker.token == token and breaker.is_closed and not is_late:
            breaker.succeed(now)
        else:
            breakers.settle(shared, token, _OF_ANSWERS[is_late], "timeout")
        return answer

    return attempt


async def _entered(
    entry: ToolEntry, equipment: Equipment, shared: Shared, invocation: Invocation
) -> int:
    """A token of a breaker that is not closed. Raises BindingError where there is none."""
    token = await equipment.breakers.enter(shared, invocation)
    if token is None:
        raise refusal(entry, shared, equipment.clock.monotonic(), invocation)
    return token


def _verdict_on(error: BaseException, invocation: Invocation, *, is_kept: bool) -> Verdict:
    """Whose fault it was: a cancellation is the target's only where its time was up (B2)."""
    if is_kept and invocation.has_expired:
        return Verdict.FAULT
    if isinstance(error, BindingError):
        return Verdict.FAULT if error.target_fault else Verdict.NONE
    is_busy = isinstance(error, CallError) and error.retryable  # a ToolError: says that it may pass
    return Verdict.FAULT if is_busy else Verdict.NONE


def _code_of(error: BaseException) -> str:
    return error.code if isinstance(error, CallError) else "timeout"


def refusal(entry: ToolEntry, shared: Shared, now: float, invocation: Invocation) -> BindingError:
    """An attempt that is not made, and counts as none; a repetition may wait for it (B7)."""
    invocation.attempts -= 1
    invocation.sent = "never"
    wait_s = shared.breaker.refusal_s(now)
    return BindingError(
        open_message(entry),
        code="circuit-open",
        hint=open_hint(wait_s),
        details={"retry_after": round(wait_s, 3)},
        retryable=bool(invocation.failed),
        sent="never",
        retry_after_s=wait_s,
    )


def open_message(entry: ToolEntry) -> str:
    return f"`{entry.name}` is not called for now: it has failed too often (circuit open)"


def open_hint(wait_s: float) -> str:
    """What to do instead of calling again at once."""
    return f"nothing ran; try again in {wait_text(wait_s)}, or use another tool"


def wait_text(wait_s: float) -> str:
    """A time to wait in words, rounded up; a few seconds more are not a minute more."""
    seconds = max(1, math.ceil(wait_s))
    return f"{seconds} s" if seconds < 120 else f"{-(-(seconds - 5) // 60)} min"  # noqa: PLR2004 - two minutes


def _taking_turns(call: Call, entry: ToolEntry, equipment: Equipment, queue: Queue) -> Call:
    attempt_s, deadlines = entry.manifest.timeout.attempt, equipment.deadlines

    async def in_turn(invocation: Invocation) -> Answer:
        invocation.sent = "never"
        began = invocation.clock.monotonic()
        try:
            await queue.enter()
        except asyncio.CancelledError as error:
            if not invocation.has_expired:
                raise
            invocation.attempts -= 1
            raise _no_turn(entry, queue, invocation.clock.monotonic() - began) from error
        try:
            allowed_s = min(invocation.remaining_s(), attempt_s)
            deadlines.renew(invocation, allowed_s)
            return await _in_time(call(invocation), invocation, allowed_s)
        finally:
            queue.leave()

    return in_turn


def in_free_turn(begin: Begin, in_turn: Call, entry: ToolEntry, equipment: Equipment) -> Begin:
    """`begin` where a place is free, as it mostly is, and `in_turn` where one has to be waited for;
    `begin` itself where the tool asks for no turns.
    """
    queue = equipment.turns.of(entry)
    if queue is None:
        return begin
    attempt_s, deadlines = entry.manifest.timeout.attempt, equipment.deadlines

    def begun(invocation: Invocation) -> Answer | Coroutine[Any, Any, Answer]:
        if queue.running >= queue.limit:
            return in_turn(invocation)
        queue.running += 1
        try:
            answer = begin(invocation)
        finally:
            queue.running -= 1  # nobody can have come to wait meanwhile
        return answer if isinstance(answer, Answer) else placed(answer, invocation)

    async def placed(answer: Coroutine[Any, Any, Answer], invocation: Invocation) -> Answer:
        queue.running += 1  # it is still free: nothing else has run since
        try:
            allowed_s = min(invocation.remaining_s(), attempt_s)
            deadlines.renew(invocation, allowed_s)
            return await _in_time(answer, invocation, allowed_s)
        finally:
            queue.leave()

    return begun


async def _in_time(
    answering: Coroutine[Any, Any, Answer], invocation: Invocation, allowed_s: float
) -> Answer:
    """The answer. Raises AttemptTimeoutError, which tells of the attempt's own time."""
    try:
        answer = await answering
    except (asyncio.CancelledError, CallError) as error:
        if invocation.has_expired:
            raise late(allowed_s, invocation) from error
        raise
    if invocation.has_expired:
        raise late(allowed_s, invocation)
    return answer


def _no_turn(entry: ToolEntry, queue: Queue, waited_s: float) -> AttemptTimeoutError:
    return AttemptTimeoutError(
        f"no turn within {waited_s:.3g} s: {queue.limit} of `{entry.name}` may run at once",
        sent="never",
        hint="nothing ran; try again later, with fewer calls at once",
    )
