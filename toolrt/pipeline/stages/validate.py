"""validate: the model's arguments are checked, completed and made canonical, or refused.

What comes out is what every later stage and the binding see.
"""

from typing import Any

from toolrt.catalog.snapshot import Rejection, ToolEntry
from toolrt.core.calls import Invocation
from toolrt.core.errors import CallError, RefusedError
from toolrt.core.results import Failure, Outcome
from toolrt.expressions.conditions import ConditionError
from toolrt.expressions.scope import call_root
from toolrt.pipeline.stage import Equipment, Handler
from toolrt.pipeline.stages.prepare import filled


def validate(entry: ToolEntry, equipment: Equipment, following: Handler) -> Handler:
    """Check the arguments; refuse with every fault at once."""
    check = entry.checker.check
    extra = _extra_steps(entry, equipment)

    async def handle(invocation: Invocation) -> Outcome:
        try:
            invocation.arguments = check(invocation.arguments)
            for step in extra:
                step(invocation)
        except CallError as error:
            return Failure.of(error)
        return await following(invocation)

    return handle


def _extra_steps(entry: ToolEntry, _equipment: Equipment) -> list[Any]:
    """What this tool needs beyond its schema; most need nothing."""
    steps: list[Any] = []
    if entry.parameters.bound:
        steps.append(lambda invocation: add_bound(entry, invocation))
    if entry.path_rules is not None:
        rules = entry.path_rules
        steps.append(lambda invocation: rules.apply(invocation.arguments))
    if entry.rejections:
        steps.append(lambda invocation: reject(entry, invocation))
    return steps


def add_bound(entry: ToolEntry, invocation: Invocation) -> None:
    """Fill the bound parameters. Raises RefusedError when the caller lacks a required one."""
    given = filled(entry.parameters.bound, invocation.caller)
    schema = entry.parameters.bound_schema()
    lacking = [name for name in schema["required"] if name not in given]
    if lacking:
        source = entry.parameters.bound[lacking[0]]
        raise RefusedError(
            f"`{entry.name}` needs `{source}`, which this caller does not have",
            code="unavailable",
            hint="nothing that you send can change that; tell the operator",
        )
    invocation.arguments.update(given)


def reject(entry: ToolEntry, invocation: Invocation) -> None:
    """Raise RefusedError for the `reject` entries that hold, or that cannot be evaluated."""
    roots = condition_roots(entry, invocation)
    reasons = [one.reason for one in entry.rejections if _holds(one, roots)]
    if reasons:
        details = {"faults": [{"pointer": "", "message": reason} for reason in reasons]}
        raise RefusedError(
            "; ".join(reasons),
            code="invalid-arguments",
            hint="change the arguments so that this no longer applies",
            details=details,
        )


def condition_roots(entry: ToolEntry, invocation: Invocation) -> dict[str, Any]:
    """The roots of a condition over a call."""
    return {
        "args": invocation.arguments,
        "caller": invocation.caller.document(),
        "call": call_root(invocation),
        "vars": entry.vars,
        "tool": entry.root(),
    }


def _holds(rejection: Rejection, roots: dict[str, Any]) -> bool:
    try:
        return rejection.condition.holds(roots)
    except ConditionError:
        return True
