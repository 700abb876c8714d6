"""What is done about a failed call: the one place that classifies failures.

Tries again have happened by then (`retrying`). What is left is to let something stand in, to hand
the error to who called, to call a person, or to give up; each with its reason.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from toolrt.core.decisions import Recovery
from toolrt.core.results import Failure

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
    if failure.code in TERMINATED:
        return Recovery("terminate", TERMINATED[failure.code])
    if failure.retryable:
        return Recovery("retry", "the same call may succeed later")
    if failure.is_target_fault:
        return Recovery("return-error", "the target failed, and the same call would fail again")
    return Recovery("return-error", "who called can do better with what the error says")


def why_none(failure: Failure) -> str | None:
    """Why nothing may stand in for a call that failed like this; None where something may.

    Never where the arguments, the rules or people said no, and never where the call may have taken
    effect: it would be done twice.
    """
    if failure.may_have_applied or failure.details.get("outcome") == "unknown":
        return "it may have taken effect, and would be done twice"
    is_of_target = failure.is_target_fault or failure.retryable
    if is_of_target or failure.code in _ALWAYS_STOOD_IN_FOR:
        return None
    return "the target is not to blame"
