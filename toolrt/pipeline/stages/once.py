"""once: calls with the same idempotency key have one effect between them (E11).

Behind the approval: what came of the first call is given to a later one only where that may be
made, too. A key stands for one set of arguments of one tool and tenant, for 24 hours.
"""

import asyncio
import logging
from typing import Final

from toolrt.catalog.snapshot import ToolEntry
from toolrt.core.calls import Invocation
from toolrt.core.errors import BindingError, CallError
from toolrt.core.results import Answer, Failure, Outcome, ReadyAnswer
from toolrt.pipeline.asking import sensitive_of
from toolrt.pipeline.copies import read, written
from toolrt.pipeline.recovering import CHECK_FIRST, may_have_applied
from toolrt.pipeline.retrying import MIN_ATTEMPT_S
from toolrt.pipeline.stage import Chain, Equipment
from toolrt.pipeline.verifying import Verifying
from toolrt.schemas.canonical import canonical_json
from toolrt.stores.base import StoreError
from toolrt.stores.idempotency import Found, KeyedCall

log = logging.getLogger("toolrt")

MOST_BYTES: Final = 1 << 20
"""Of a result that is kept for those who call again."""
LOOK_AGAIN_S: Final = 0.1
_BEFORE = "an earlier call with the same idempotency key did this already"


def once(entry: ToolEntry, equipment: Equipment, following: Chain) -> Chain:
    """Absent where the tool has no key."""
    if entry.idempotency_key is None:
        return following
    return _Once(entry, equipment, following).handle


class _Once:
    """The keyed calls of one tool."""

    def __init__(self, entry: ToolEntry, equipment: Equipment, following: Chain) -> None:
        self.entry = entry
        self.clock = equipment.clock
        self.store = equipment.memory.keyed_calls
        self.following = following
        self.verifying = Verifying.of(entry, equipment)
        self.is_private = bool(sensitive_of(entry) or entry.manifest.result.redact)

    async def handle(self, invocation: Invocation) -> Outcome:
        try:
            call = self._call(invocation)
            found = await self._begun(call, invocation)
        except StoreError as error:
            return await self._without_store(invocation, error)
        if found.standing == "done":
            return _replayed(invocation, found)
        if found.standing != "begun":
            return _refused(found)
        return await self._run(call, invocation, is_again=found.is_again)

    def _call(self, invocation: Invocation) -> KeyedCall:
        hidden = self.store.hidden
        key, arguments = str(invocation.idempotency_key), canonical_json(invocation.arguments)
        tenant = invocation.caller.tenant or ""
        return KeyedCall(self.entry.name, tenant, hidden(key.encode()), hidden(arguments))

    async def _begun(self, call: KeyedCall, invocation: Invocation) -> Found:
        """How the key stands; one that runs elsewhere is waited for."""
        while True:
            left_s = max(0.0, invocation.remaining_s())
            found = await self.store.begin(call, invocation.call_id, left_s)
            if found.standing != "running" or left_s < LOOK_AGAIN_S + MIN_ATTEMPT_S:
                return found
            await self.clock.sleep(LOOK_AGAIN_S)

    async def _without_store(self, invocation: Invocation, error: StoreError) -> Outcome:
        """What cannot be undone is not done where nobody can remember it."""
        if self.entry.effect == "irreversible":
            log.error("a call that must run once cannot be remembered: %s", error.message)
            message = f"`{self.entry.name}` cannot be undone, and its key cannot be kept now"
            return Failure("unavailable", message, "nothing ran; tell the operator")
        log.warning("a call with an idempotency key is not remembered: %s", error.message)
        return await self.following(invocation)

    async def _run(self, call: KeyedCall, invocation: Invocation, *, is_again: bool) -> Outcome:
        outcome: Outcome | None = None
        try:
            outcome = await self._verified(invocation) if is_again else None
            if outcome is None:
                outcome = await self.following(invocation)
            return outcome
        finally:
            await asyncio.shield(self._end(call, invocation, outcome))

    async def _verified(self, invocation: Invocation) -> Outcome | None:
        """What `verify` says of an earlier call that came to an unknown end; None to do it: the
        key tells the other side that it is the same call.
        """
        if self.verifying is None:
            return None
        lost = BindingError("an earlier call with the same key got no answer", sent="maybe")
        try:
            found = await self.verifying.settle(invocation, lost)
        except CallError as error:
            details = {**error.details, "outcome": "unknown"}
            return Failure("unknown-outcome", error.message, CHECK_FIRST, details=details)
        return found if isinstance(found, Answer) else None

    async def _end(self, call: KeyedCall, invocation: Invocation, outcome: Outcome | None) -> None:
        try:
            if isinstance(outcome, Answer):
                await self.store.end(call, invocation.call_id, self._body(outcome))
            elif _is_open(invocation, outcome):
                if not invocation.is_orphaned:  # else it runs on, as long as its lease lasts
                    await self.store.leave_open(call, invocation.call_id)
            else:
                await self.store.give_back(call, invocation.call_id)
        except StoreError as error:  # its lease lapses, and it counts as open
            log.warning("the end of a keyed call could not be kept: %s", error.message)

    def _body(self, answer: Answer) -> bytes | None:
        if self.is_private or answer.truncated_bytes:
            return None
        body = written(answer.value)
        return body if body is not None and len(body) <= MOST_BYTES else None


def _is_open(invocation: Invocation, outcome: Outcome | None) -> bool:
    """Whether the call may have taken effect although it has no answer."""
    if isinstance(outcome, Failure):
        return may_have_applied(outcome)
    return invocation.attempts > 0 and invocation.sent != "never"


def _replayed(invocation: Invocation, found: Found) -> Answer:
    invocation.mark(idempotency="replayed")
    if found.body is None:
        invocation.notes += (f"{_BEFORE}; its result is not kept",)
        return ReadyAnswer(None, f"{_BEFORE}.")
    invocation.notes += (_BEFORE,)
    return Answer(read(found.body))


def _refused(found: Found) -> Failure:
    if found.standing == "running":
        message = "a call with the same idempotency key is still under way"
        return Failure("conflict", message, "wait, and make the same call again", retryable=True)
    message = "the idempotency key was used for a call with other arguments"
    hint = "nothing ran; check whether this is a new matter, which would have another key"
    return Failure("conflict", message, hint)
