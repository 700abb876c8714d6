"""What is done about a failed call: the one place that classifies failures.

Tries again have happened by then (`retrying`). What is left is to let something stand in, to hand
the error to who called, to call a person, or to give up; each with its reason.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from toolrt.core.decisions import Recovery
from toolrt.core.results import AttemptFailure, Failure

CHECK_FIRST: Final = "check whether it took effect before you try again"
_OF_PEOPLE: Final = "only a person can mend this"
_OVER: Final = "the budget of this run is used up"
ESCALATED: Final[Mapping[str, str]] = MappingProxyType(
    {
        "unknown-outcome": "nobody knows whether it took effect",
        "unavailable": _OF_PEOPLE,
        "missing-credential": _OF_PEOPLE,
        "approval-unavailable": "nobody could be asked",
        "blocked-target": _OF_PEOPLE,
    }
)
TERMINATED: Final[Mapping[str, str]] = MappingProxyType(
    {
        "budget-exhausted": _OVER,
        "cancelled": "whoever called has given up",
        "internal": "toolrt itself failed",
    }
)
_IN_A_ROW: Final = frozenset({"same_error", "same_call"})
"""Limits of a session that leave it other ways to go on."""
_ALWAYS_STOOD_IN_FOR = frozenset(
    {
        "bad-response", "budget-exhausted", "circuit-open", "missing-credential", "output-flood",
        "rate-limited", "signaled", "timeout", "unavailable",
    }
)  # fmt: skip
"""Whatever the arguments are: another tool may do."""


def decide(failure: Failure) -> Recovery:
    """What becomes of a failure that nothing stands in for."""
    if failure.details.get("outcome") == "unknown" and not failure.retryable:
        return Recovery("escalate", ESCALATED["unknown-outcome"])
    if failure.code in ESCALATED:
        return Recovery("escalate", ESCALATED[failure.code])
    if failure.details.get("limit") in _IN_A_ROW:
        return Recovery("return-error", "the same again would come to the same: try another way")
    if failure.code in TERMINATED:
        return Recovery("terminate", TERMINATED[failure.code])
    if failure.retryable:
        return Recovery("retry", "the same call may succeed later")
    return Recovery("return-error", "who called can do better with what the error says")


def why_none(failure: Failure) -> str | None:
    """Why nothing may stand in for a call that failed like this; None where something may.

    Never where the arguments, the rules or people said no, and never where the call may have taken
    effect: it would be done twice.
    """
    if may_have_applied(failure):
        return "it may have taken effect, and would be done twice"
    is_target_fault = isinstance(failure, AttemptFailure) and failure.is_target_fault
    if is_target_fault or failure.retryable or failure.code in _ALWAYS_STOOD_IN_FOR:
        return None
    return "the target is not to blame"


def may_have_applied(failure: Failure) -> bool:
    """Whether the call may have taken effect although it failed."""
    was_tried = isinstance(failure, AttemptFailure) and failure.may_have_applied
    return was_tried or failure.details.get("outcome") == "unknown"
