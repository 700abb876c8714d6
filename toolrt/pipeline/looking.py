"""Calls that are only looked at: they go through some of the stages, and are never made."""

from collections.abc import Awaitable

from toolrt.core.calls import Invocation
from toolrt.core.errors import RefusedError
from toolrt.core.results import Answer, Failure, Outcome


async def unmade(_invocation: Invocation) -> Outcome:
    """Stands where a call would be made."""
    return Answer()


async def dry(outcome: Awaitable[Outcome]) -> None:
    """Raise RefusedError where the call would be refused."""
    refused = await outcome
    if isinstance(refused, Failure):
        raise refusal(refused)


def refusal(failure: Failure) -> RefusedError:
    """The error that a failure would be told as."""
    return RefusedError(
        failure.message, code=failure.code, hint=failure.hint, details=failure.details
    )
