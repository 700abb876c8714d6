"""Calls of the journal, decided once more by other rules. Nothing is executed.

Both policies get every call in order, each with a count of earlier calls of its own, at the time
that the call was made.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from toolrt.catalog.snapshot import Snapshot
from toolrt.core.calls import Caller, Invocation
from toolrt.core.decisions import Decision
from toolrt.core.redaction import MASK
from toolrt.pipeline.stages.authorize import decider_of

_NEVER_DECIDED = frozenset({"invalid-arguments", "missing-arguments"})
_OF_CUT = {"bytes", "sha256"}


@dataclass(frozen=True, slots=True)
class Recorded:
    """A call as the journal has it, with what was decided then.

    `at` is wall time, `ran` whether it got as far as its tool.
    """

    call_id: str
    tool: str
    caller: Caller
    arguments: Mapping[str, Any]
    at: float
    ran: bool
    decision: Decision | None = None

    @property
    def is_masked(self) -> bool:
        """Whether some of its arguments are not kept as they were."""
        return MASK in self.arguments.values()


@dataclass(frozen=True, slots=True)
class Flip:
    """A call that was decided otherwise before."""

    call: Recorded
    before: Decision
    after: Decision

    def document(self) -> dict[str, Any]:
        """JSON-ready."""
        return {
            "call_id": self.call.call_id,
            "tool": self.call.tool,
            "caller": self.call.caller.principal,
            "roles": list(self.call.caller.roles),
            "masked": self.call.is_masked,
            "old": _told(self.before),
            "new": _told(self.after),
        }


@dataclass(frozen=True, slots=True)
class Redecided:
    """What came of it.

    `calls` were compared, `gone` could not be: their tool is no more. `masked` of the calls have
    arguments that the journal does not keep, so that a decision on them is a guess.
    """

    flips: tuple[Flip, ...]
    calls: int
    gone: int
    masked: int


def recorded(entries: Iterable[Mapping[str, Any]]) -> Iterator[Recorded]:
    """The calls among the entries of a journal that a policy can be asked about."""
    for entry in entries:
        arguments = entry.get("arguments")
        if entry.get("kind") != "call" or entry.get("code") in _NEVER_DECIDED:
            continue
        if not isinstance(arguments, Mapping) or arguments.keys() == _OF_CUT:
            continue
        said = entry["caller"]
        caller = Caller(
            said["principal"], tuple(said["roles"]), said.get("tenant"), said.get("session")
        )
        ran = entry.get("attempts", 0) > 0
        decision = _recorded_decision(entry)
        yield Recorded(
            entry["call_id"], entry["tool"], caller, arguments, entry["at"], ran, decision
        )


def _recorded_decision(entry: Mapping[str, Any]) -> Decision | None:
    told = entry.get("decision")
    return None if told is None else Decision(told["decision"], rule=told["rule"])


Decide = Callable[[Recorded], Decision | None]
"""What somebody says of a call; None where there is nothing to say."""


def as_recorded(call: Recorded) -> Decision | None:
    """What was decided when the call was made."""
    return call.decision


def rules_of(snapshot: Snapshot) -> Decide:
    """What the rules of that generation say; nothing of a tool that they do not know.

    Calls are counted in the history of the snapshot.
    """
    return partial(_decision, snapshot=snapshot)


def redecided(calls: Iterable[Recorded], before: Decide, after: Decide) -> Redecided:
    """Every call, in order of time, by both. Two snapshots must not share a history."""
    flips: list[Flip] = []
    count = gone = masked = 0
    for call in sorted(calls, key=lambda each: each.at):
        old, new = before(call), after(call)
        if old is None or new is None:
            gone += 1
            continue
        count += 1
        masked += call.is_masked
        if old.verdict != new.verdict:
            flips.append(Flip(call, old, new))
    return Redecided(tuple(flips), count, gone, masked)


def _decision(call: Recorded, snapshot: Snapshot) -> Decision | None:
    entry = snapshot.tool(call.tool)
    if entry is None:
        return None
    invocation = Invocation(
        call.call_id, call.tool, dict(call.arguments), call.caller, _Then(call.at), call.at, call.at
    )
    decider = decider_of(entry.for_caller(invocation))
    decision = decider.decide(invocation)
    if decision.verdict == "allow" or (decision.verdict == "ask" and call.ran):
        decider.note(invocation)
    return decision


def _told(decision: Decision) -> dict[str, Any]:
    return {
        "decision": decision.verdict,
        "rule": decision.rule,
        "reason": decision.reason,
        "code": decision.code,
    }


@dataclass(frozen=True, slots=True)
class _Then:
    """The clock at one moment of the past."""

    at: float

    def monotonic(self) -> float:
        return self.at

    def wall(self) -> float:
        return self.at

    async def sleep(self, _seconds: float) -> None:
        raise AssertionError("nothing waits for a call of the past")
