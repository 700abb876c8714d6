"""Conditions over an answer: whether it is a failure, and whether a failure is tried again."""

from toolrt.catalog.snapshot import ToolEntry
from toolrt.core.calls import Invocation
from toolrt.core.errors import BindingError, CallError
from toolrt.core.results import Answer, HttpAnswer
from toolrt.expressions.conditions import Condition, ConditionError
from toolrt.pipeline.roots import answer_roots


def judge(entry: ToolEntry, invocation: Invocation, answer: Answer) -> None:
    """Raise BindingError when `result.failed_when` holds, or cannot be evaluated."""
    condition = entry.shaping.failed_when
    if condition is None:
        return
    try:
        has_failed = condition.holds(answer_roots(condition, entry, invocation, answer))
    except ConditionError as error:
        raise BindingError(
            "the answer could not be judged",
            code="bad-response",
            hint=error.hint and f"`result.failed_when` reads what is not there: {error.hint}",
            details={"condition": error.message},
        ) from error
    if has_failed:
        raise BindingError("the tool answered with a failure", body=answer.value)


def message_of(entry: ToolEntry, error: CallError) -> str:
    """What `result.error` finds in a failed answer, or else the error's own message.

    Where it looks, what `result.redact` names is masked already.
    """
    select, redactions = entry.shaping.error, entry.shaping.redactions
    body = error.body if isinstance(error, BindingError) else None
    if select is None or body is None:
        return error.message
    try:
        found = select.search(redactions.value(body) if redactions else body)
    except CallError:
        return error.message
    return found if isinstance(found, str) and found else error.message


def retry_condition_holds(
    condition: Condition, entry: ToolEntry, invocation: Invocation, error: CallError
) -> bool:
    """Whether `retry.when` lets a failure be tried again; an error in it means no."""
    answer = Answer()
    if isinstance(error, BindingError):
        answer = HttpAnswer(error.body, error.status, None)
    try:
        return condition.holds(answer_roots(condition, entry, invocation, answer))
    except ConditionError:
        return False
