"""limit: a session that has made its calls makes no more, and none again that keeps failing alike.

It is the outermost ring, so that refused calls count, too, and nothing stands in for what it
refuses. Calls that other calls make are theirs. `loop` looks at arguments, which are final only
further in. Both are absent where policy counts nothing. What never comes to a chain of stages,
such as the name of no tool, is counted by `counted`.
"""

from hashlib import sha256

from toolrt.catalog.registry import Registry
from toolrt.catalog.snapshot import ToolEntry
from toolrt.core.calls import Invocation
from toolrt.core.decisions import Bounds
from toolrt.core.errors import CallError, RefusedError
from toolrt.core.results import Failure, Outcome, Pause
from toolrt.pipeline.asking import given
from toolrt.pipeline.sessions import Row, Session, Sessions
from toolrt.pipeline.stage import Chain, Equipment
from toolrt.pipeline.stages.authorize import decider_of
from toolrt.pipeline.stages.find import is_visible
from toolrt.schemas.canonical import canonical_json
from toolrt.schemas.plain import without_surrogates

_UNCOUNTED = frozenset({"budget-exhausted", "cancelled", "circuit-open", "rate-limited"})
"""Failures that say when to come back, or that say nothing of the tool."""
_NO_TOOL = ""
_LONGEST_NAME = 100


def limit(entry: ToolEntry, equipment: Equipment, following: Chain) -> Chain:
    """Count calls and failures in a row, and refuse what is too many."""
    bounds = decider_of(entry).bounds
    if bounds is None:
        return following
    return _Limiting(entry, equipment, following, bounds).handle


def limit_approved(entry: ToolEntry, equipment: Equipment, following: Chain) -> Chain:
    """The same for a call that people have approved: it is only counted, and refused where the
    session has made all its calls; then it keeps its yes.
    """
    bounds = decider_of(entry).bounds
    if bounds is None or (bounds.max_calls is None and bounds.own_calls is None):
        return following
    return _Limiting(entry, equipment, following, Bounds(bounds.max_calls, bounds.own_calls)).handle


def loop(entry: ToolEntry, equipment: Equipment, following: Chain) -> Chain:
    """Refuse the same call after so many in a row, with nothing else in between."""
    bounds = decider_of(entry).bounds
    if bounds is None:
        return following
    sessions, most = equipment.sessions, bounds.same_call

    async def handle(invocation: Invocation) -> Outcome:
        if invocation.depth:
            return await following(invocation)
        session = sessions.of(invocation.caller)
        call = (entry.name, _digest(entry, invocation))
        if call != session.last:
            session.last, session.repeats = call, 0
        elif most is not None and session.repeats >= most:
            return _looped(entry, most, _alternative(entry, equipment, invocation))
        session.repeats += 1
        outcome = await following(invocation)
        if isinstance(outcome, Pause) and session.last == call:
            session.repeats -= 1  # it has yet to be made
        return outcome

    return handle


def counted(
    registry: Registry, sessions: Sessions, refusal: CallError, invocation: Invocation
) -> CallError:
    """What a call ends with that was refused with `refusal` before its chain began: it counts, too.

    All these share one row, which names what was called: names that a model makes up are endless.
    """
    bounds = registry.current.rules.bounds
    if bounds is None or not _is_made_in_vain(refusal, invocation):
        return refusal
    session = sessions.of(invocation.caller)
    if bounds.max_calls is not None and session.calls >= bounds.max_calls:
        return _raised(_all_made(bounds.max_calls))
    session.calls += 1
    name = without_surrogates(invocation.tool[:_LONGEST_NAME])
    row, alike = session.row(_NO_TOOL), f"{refusal.code} {name}"
    most, is_again = bounds.same_error, row.code == alike and row.answered == session.answered
    if most is not None and is_again and row.failures >= most:
        return _raised(_failing(name, refusal.code, row.failures, None))
    session.fail(_NO_TOOL, alike)
    return refusal


def _is_made_in_vain(refusal: CallError, invocation: Invocation) -> bool:
    """Whether somebody made the call, and no stage has seen it; batches give up calls unmade."""
    is_unmade = refusal.code == "cancelled" or "depends_on" in refusal.details
    has_begun = invocation.deadline != invocation.started
    return not (is_unmade or has_begun or invocation.depth)


def _raised(failure: Failure) -> RefusedError:
    return RefusedError(
        failure.message, code=failure.code, hint=failure.hint, details=failure.details
    )


def _digest(entry: ToolEntry, invocation: Invocation) -> bytes:
    return sha256(canonical_json(given(entry, invocation.arguments))).digest()


class _Limiting:
    """The limits of one tool."""

    def __init__(
        self, entry: ToolEntry, equipment: Equipment, following: Chain, bounds: Bounds
    ) -> None:
        self.entry = entry
        self.equipment = equipment
        self.following = following
        self.bounds = bounds

    async def handle(self, invocation: Invocation) -> Outcome:
        if invocation.depth:
            return await self.following(invocation)
        name = self.entry.name
        session = self.equipment.sessions.of(invocation.caller)
        row = session.row(name)
        refused = self._at_its_end(session, row)
        if refused is not None:
            return refused
        session.calls, row.calls = session.calls + 1, row.calls + 1
        most = self.bounds.same_error
        if most is not None and row.failures >= most and row.answered == session.answered:
            other = _alternative(self.entry, self.equipment, invocation)
            return _failing(name, row.code, row.failures, other)
        try:
            outcome = await self.following(invocation)
        except CallError as error:
            _note_failure(session, name, error.code)
            raise
        if isinstance(outcome, Failure):
            _note_failure(session, name, outcome.code)
        elif isinstance(outcome, Pause):
            session.calls, row.calls = session.calls - 1, row.calls - 1  # it has yet to be made
        else:
            session.succeed(name)
        return outcome

    def _at_its_end(self, session: Session, row: Row) -> Failure | None:
        """The refusal of a session that has made its calls; None where it has not."""
        bounds = self.bounds
        if bounds.max_calls is not None and session.calls >= bounds.max_calls:
            return _all_made(bounds.max_calls)
        if bounds.own_calls is not None and row.calls >= bounds.own_calls:
            return _own_made(self.entry, bounds.own_calls)
        return None


def _note_failure(session: Session, tool: str, code: str) -> None:
    if code not in _UNCOUNTED:
        session.fail(tool, code)


def _alternative(entry: ToolEntry, equipment: Equipment, invocation: Invocation) -> str | None:
    """The tool that may do in its place: its fallback, where the caller may see that."""
    name = entry.fallback.tool if entry.fallback else None
    other = equipment.entry(name) if name else None
    return name if other is not None and is_visible(other, invocation) else None


def _another(alternative: str | None) -> str:
    return f"use `{alternative}` instead" if alternative else "use another tool"


def _all_made(most: int) -> Failure:
    many = "the one call" if most == 1 else f"all {most} calls"
    message = f"{many} of this session {'is' if most == 1 else 'are'} made, and there are no more"
    hint = "nothing ran; answer with what there is, and say what is missing"
    return _exhausted(message, hint, limit="max_calls", max=most)


def _own_made(entry: ToolEntry, most: int) -> Failure:
    many = f"{most} call{'s' * (most > 1)}"
    message = f"a session may make {many} of `{entry.name}`, and has made them"
    hint = "nothing ran; use another tool, or answer with what there is"
    return _exhausted(message, hint, limit="max_calls", max=most)


def _failing(name: str, code: str, failures: int, alternative: str | None) -> Failure:
    times = f"{failures} time{'s' * (failures > 1)}"
    message = f"`{name}` failed {times} in a row with `{code}`: it is not called again"
    hint = (
        f"nothing ran; {_another(alternative)}, or answer with what there is; "
        "once another call has been answered, this one may be tried again"
    )
    told = {"alternative": alternative} if alternative else {}
    return _exhausted(message, hint, limit="same_error", error=code, times=failures, **told)


def _looped(entry: ToolEntry, most: int, alternative: str | None) -> Failure:
    times = f"{most} time{'s' * (most > 1)}"
    message = f"`{entry.name}` was called {times} in a row with the same arguments"
    hint = f"nothing ran; use what it gave, change the arguments, or {_another(alternative)}"
    told = {"alternative": alternative} if alternative else {}
    return _exhausted(message, hint, limit="same_call", times=most, **told)


def _exhausted(message: str, hint: str, **details: object) -> Failure:
    return Failure("budget-exhausted", message, hint, details=details)
