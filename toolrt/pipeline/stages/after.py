"""after: the hooks that see what came back, and may put something else in its place.

They run on the way out and only when there is a value: also one from a cache, from a fallback, or
of an approved call.
"""

from copy import copy

from toolrt.catalog.snapshot import ToolEntry
from toolrt.core.calls import Invocation
from toolrt.core.errors import CallError
from toolrt.core.results import Answer, Failure, KnownAnswer, Outcome, ReadyAnswer
from toolrt.pipeline.failing import IT_RAN
from toolrt.pipeline.hooking import replaced
from toolrt.pipeline.stage import Chain, Equipment


def after(entry: ToolEntry, equipment: Equipment, following: Chain) -> Chain:
    """Run the after-hooks; absent where a tool has none."""
    hooks = entry.hooks.after if entry.hooks is not None else ()
    if not hooks:
        return following
    hint = None if entry.effect == "read" else IT_RAN

    async def handle(invocation: Invocation) -> Outcome:
        outcome = await following(invocation)
        if not isinstance(outcome, Answer):
            return outcome
        try:
            value = await replaced(hooks, outcome.value, invocation, equipment)
        except CallError as error:
            is_retryable = error.retryable and hint is None
            return Failure(
                error.code, error.message, error.hint or hint, is_retryable, error.details
            )
        return _with(outcome, value)

    return handle


def _with(answer: Answer, value: object) -> Answer:
    """The same answer with another value; the one that came may be kept elsewhere."""
    if isinstance(answer, ReadyAnswer) and value != answer.value:
        text = value if isinstance(value, str) else ""
        return ReadyAnswer(value, text, answer.truncated_bytes)
    if isinstance(answer, KnownAnswer):
        return Answer(value)
    made = copy(answer)
    made.value = value
    return made
