"""authorize: policy decides on the final arguments.

Absent from the chain of a tool whose every call is allowed alike.
"""

from toolrt.catalog.snapshot import ToolEntry
from toolrt.core.calls import Invocation
from toolrt.core.decisions import Decider, Decision
from toolrt.core.errors import RefusedError
from toolrt.core.logs import failed
from toolrt.core.results import Failure, Outcome
from toolrt.pipeline.stage import Chain, Equipment
from toolrt.stores.base import StoreError


def authorize(entry: ToolEntry, equipment: Equipment, following: Chain) -> Chain:
    """Refuse what is denied; what is to be asked goes on to `approve` with its decision."""
    decider = decider_of(entry)
    fixed = decider.fixed
    if fixed is not None and fixed.verdict == "allow" and not decider.counts_calls:
        return following
    recall = equipment.memory.recollection.recall

    async def handle_counted(invocation: Invocation) -> Outcome:
        try:
            await recall(decider, invocation)
        except StoreError as error:
            failed("calls of before cannot be counted", error)
            return Failure("unavailable", _uncounted(entry.name), "nothing ran; tell the operator")
        return await handle(invocation)

    async def handle(invocation: Invocation) -> Outcome:
        decision = invocation.decision = decider.decide(invocation)
        if decision.verdict == "deny":
            return denial(entry.name, decision)
        if decision.verdict == "allow":
            decider.note(invocation)
        return await following(invocation)

    return handle_counted if decider.counts_calls else handle


async def explained(entry: ToolEntry, equipment: Equipment, invocation: Invocation) -> Decision:
    """What policy would decide, and why; calls of before count as they would for the call.

    Raises RefusedError where they cannot be counted.
    """
    decider = decider_of(entry)
    if decider.counts_calls:
        try:
            await equipment.memory.recollection.recall(decider, invocation)
        except StoreError as error:
            message, hint = _uncounted(entry.name), "`toolrt doctor` looks at the store"
            raise RefusedError(message, code="unavailable", hint=hint) from error
    return decider.explain(invocation)


def _uncounted(tool: str) -> str:
    return f"a rule counts the calls of `{tool}`, and the count is not to be had now"


def decider_of(entry: ToolEntry) -> Decider:
    """What decides the tool's calls. Raises RuntimeError for a tool that policy never saw."""
    if entry.decider is None:
        raise RuntimeError(f"`{entry.name}` was compiled without policy")
    return entry.decider


def denial(tool: str, decision: Decision) -> Failure:
    """What a model hears of a denial: the rule and its reason, nothing else (P20)."""
    code = decision.code or "denied"
    if code == "no-rule":
        message = f"`{tool}` may not be called like this: no rule lets it through"
        return Failure(code, message, "nothing ran; tell the operator if it should be allowed")
    because = f": {decision.reason}" if decision.reason else ""
    return Failure(
        code,
        f"`{tool}` is denied by the rule `{decision.rule}`{because}",
        "nothing ran, and the same call will be denied again",
        details={"rule": decision.rule},
    )


def hidden_guard(entry: ToolEntry) -> "Guard | None":
    """Refuses callers who may not even see the tool, as if it did not exist (P15)."""
    decider = decider_of(entry)
    return Guard(entry, decider) if decider.may_hide else None


class Guard:
    """Looks whether the caller may see the tool."""

    __slots__ = ("_decider", "_entry")

    def __init__(self, entry: ToolEntry, decider: Decider) -> None:
        self._entry = entry
        self._decider = decider

    def hides(self, invocation: Invocation) -> bool:
        """Whether the call is to be answered like one of an unknown tool."""
        return "admin" not in invocation.caller.may and self._decider.is_hidden(invocation)


def refuse_without_right(invocation: Invocation) -> None:
    """Raise RefusedError for a caller that the project lets make no calls."""
    if "call" not in invocation.caller.may:
        raise no_calls(invocation.caller.principal)


def no_calls(principal: str) -> RefusedError:
    """What is told to somebody who may make no calls, whichever way they come."""
    return RefusedError(
        f"{principal} may make no calls here",
        code="denied",
        hint="`identities` of toolrt.yaml says who may",
    )
