"""recover: where a call fails and its tool has a `fallback`, that stands in.

It stands outside everything that may fail (breaker, limits, people, the binding), so that it sees
every failure, and inside what policy says. A fallback that pauses pauses the call (E14).
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from toolrt.catalog.recovery import Fallback
from toolrt.catalog.snapshot import ToolEntry
from toolrt.core.calls import Invocation
from toolrt.core.decisions import Recovery
from toolrt.core.errors import CallError
from toolrt.core.results import Answer, Failure, Outcome, ReadyAnswer, ToolResult
from toolrt.expressions.scope import ABSENT, Scope
from toolrt.pipeline.asking import given
from toolrt.pipeline.recovering import why_none
from toolrt.pipeline.retrying import MIN_ATTEMPT_S
from toolrt.pipeline.stage import Chain, Equipment
from toolrt.pipeline.step_notes import notes_of


def recover(entry: ToolEntry, equipment: Equipment, following: Chain) -> Chain:
    """Let the tool's fallback answer for it; absent where there is none."""
    if entry.fallback is None:
        return following
    return _Recovering(entry, equipment, following, entry.fallback).handle


class _Recovering:
    """The failures of one tool."""

    def __init__(
        self, entry: ToolEntry, equipment: Equipment, following: Chain, fallback: Fallback
    ) -> None:
        self.entry = entry
        self.equipment = equipment
        self.following = following
        self.fallback = fallback
        options = entry.manifest.cache
        self.answers = equipment.answers.of(entry, options) if options else None

    async def handle(self, invocation: Invocation) -> Outcome:
        outcome = await self._outcome(invocation)
        if not isinstance(outcome, Failure):
            return outcome
        if why_none(outcome) is not None or _is_about_people(invocation, outcome):
            return outcome
        if self.fallback.tool is not None:
            return await self._by_tool(self.fallback.tool, invocation, outcome)
        if self.fallback.is_stale:
            return await self._by_stale(invocation, outcome)
        return self._by_value(invocation, outcome)

    async def _outcome(self, invocation: Invocation) -> Outcome:
        """What the call itself comes to; a tool that cannot be called now is not."""
        if self.entry.blocked is not None:
            message = f"`{self.entry.name}` is unavailable: {self.entry.unavailable}"
            return Failure("unavailable", message, "tell the operator; another tool may do")
        return await self.following(invocation)

    async def _by_tool(self, tool: str, invocation: Invocation, failure: Failure) -> Outcome:
        if invocation.remaining_s() < MIN_ATTEMPT_S:
            return _also(failure, tool, "timeout")
        result = await self.equipment.nested(invocation, tool, self._arguments(tool, invocation))
        error = result.error
        if error is not None and error.details.get("outcome") == "unknown":
            _mark(invocation, {"tool": tool}, failure)
            return error
        if error is not None:
            return _also(failure, tool, error.code)
        _mark(invocation, {"tool": tool}, failure, f"`{tool}` was called instead")
        invocation.notes += tuple(f"`{tool}`: {note}" for note in notes_of(result))
        if "waits" in result.context:  # of a plan
            invocation.mark(waits=result.context["waits"])
        return result.pause or _answer_of(result)

    def _arguments(self, tool: str, invocation: Invocation) -> dict[str, Any]:
        """The arguments of the call that the other tool takes, by name."""
        other = self.equipment.entry(tool)
        taken = other.parameters.visible if other is not None else frozenset()
        arguments = given(self.entry, invocation.arguments)
        return {name: value for name, value in arguments.items() if name in taken}

    def _by_value(self, invocation: Invocation, failure: Failure) -> Outcome:
        value = self.fallback.value
        if value is None:
            return failure
        scope = Scope.of(invocation, self.entry.vars, self.equipment.references)
        try:
            made = value.render(scope)
        except CallError:
            return failure
        _mark(invocation, {"value": True}, failure, "this is its fallback value")
        made = None if made is ABSENT else made
        return ReadyAnswer(made, made if isinstance(made, str) else "")

    async def _by_stale(self, invocation: Invocation, failure: Failure) -> Outcome:
        if self.answers is None or _is_unasked(invocation):
            return failure
        kept = await self.answers.stale(invocation)
        if kept is None:
            return failure
        answer, age_s = kept
        by = {"stale": True, "age_s": round(age_s, 3)}
        _mark(invocation, by, failure, f"this answer is {age_s:.0f} s old")
        return answer


def _is_about_people(invocation: Invocation, failure: Failure) -> bool:
    """Whether it is the question to people that failed: then nothing may get around it."""
    return failure.code == "rate-limited" and _is_unasked(invocation)


def _is_unasked(invocation: Invocation) -> bool:
    """Whether people have to say yes to the call, and have not done so."""
    decision = invocation.decision
    must_ask = decision is not None and decision.verdict == "ask" and not invocation.attempts
    return must_ask and invocation.approval is None


def _answer_of(result: ToolResult) -> Answer:
    return ReadyAnswer(result.data, result.text, int(result.status == "partial"))


def _also(failure: Failure, tool: str, code: str) -> Failure:
    """The failure, saying that the fallback failed, too."""
    details = {**failure.details, "fallback": {"tool": tool, "error": code}}
    return replace(failure, details=details)


def _mark(
    invocation: Invocation, by: Mapping[str, Any], failure: Failure, note: str | None = None
) -> None:
    """Say what stands in, and why."""
    reason = f"the tool failed ({failure.code})"
    fallback = {**by, "because": failure.code}
    recovery = Recovery("fallback", reason).document()
    invocation.mark(fallback=fallback, recovery=recovery)
    if note is not None:
        invocation.notes += (f"{reason}; {note}",)
