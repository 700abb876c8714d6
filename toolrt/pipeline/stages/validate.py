"""validate: the model's arguments are checked, completed and made canonical, or refused.

What comes out is what every later stage and the binding see.
"""

from collections.abc import Awaitable, Callable

from toolrt.bindings.paths import make_plain, workspace_paths
from toolrt.catalog.snapshot import Rejection, ToolEntry
from toolrt.core.calls import Invocation
from toolrt.core.errors import CallError, RefusedError
from toolrt.core.results import Failure, Outcome
from toolrt.expressions.conditions import ConditionError
from toolrt.expressions.scope import ABSENT, Scope
from toolrt.expressions.slots import as_text
from toolrt.expressions.templates import Template
from toolrt.pipeline.roots import call_roots
from toolrt.pipeline.stage import Chain, Equipment
from toolrt.pipeline.stages.prepare import filled
from toolrt.schemas.arguments import ArgumentChecker


def validate(entry: ToolEntry, _equipment: Equipment, following: Chain) -> Chain:
    """Check the arguments; refuse with every fault at once."""
    check = entry.checker.soonest
    steps = further_steps(entry)

    def handle(invocation: Invocation) -> Awaitable[Outcome]:
        """There is nothing to wait for, and a coroutine more would cost 0.15 us a call."""
        try:
            invocation.arguments = check(invocation.arguments)
            for step in steps:
                step(entry, invocation)
        except CallError as error:
            return _refused(Failure.of(error))
        return following(invocation)

    async def handle_coerced(invocation: Invocation) -> Outcome:
        try:
            arguments, notes = entry.checker.check_with_notes(invocation.arguments)
        except CallError as error:
            return Failure.of(error)
        invocation.arguments, invocation.notes = arguments, tuple(notes)
        return await handle(invocation)

    return handle if entry.manifest.coerce == "none" else handle_coerced


async def _refused(failure: Failure) -> Outcome:
    return failure


Step = Callable[[ToolEntry, Invocation], None]


def further_steps(entry: ToolEntry, *, binds: bool = True) -> list[Step]:
    """What this tool needs beyond its schema; most need nothing.

    `binds` false leaves bound parameters as they are, where they were filled before.
    """
    steps: list[Step] = []
    if entry.parameters.bound and binds:
        steps.append(bound_adder(entry))
    if entry.path_rules is not None:
        steps.append(_resolve_paths)
    if workspace_paths(entry.parameters.schema):
        steps.append(_make_plain)
    if entry.form is not None and binds:
        steps.append(_check_form)
    if entry.rejections:
        steps.append(reject)
    key = entry.idempotency_key
    if key is not None and (not binds or key.parameters.isdisjoint(entry.asked)):
        steps.append(key_namer(key))
    return steps


def key_namer(key: Template) -> Step:
    """Makes the idempotency key of a call: from its checked arguments, once for all attempts."""

    def name(entry: ToolEntry, invocation: Invocation) -> None:
        made = key.value(Scope.of(invocation, entry.vars))
        text = "" if made is None or made is ABSENT else as_text(made)
        if not text.strip():
            message = f"`{key.source}` makes an empty idempotency key of these arguments"
            hint = "give the arguments that it is made of"
            raise RefusedError(message, code="invalid-arguments", hint=hint)
        invocation.idempotency_key = text

    return name


def _check_form(entry: ToolEntry, invocation: Invocation) -> None:
    """Raise RefusedError where the arguments make no form that a person could fill in."""
    entry.asked_schema(invocation.arguments)


def _resolve_paths(entry: ToolEntry, invocation: Invocation) -> None:
    if entry.path_rules is None:
        return
    entry.path_rules.apply(invocation.arguments)
    if entry.kind == "python":  # it runs wherever this process does
        invocation.arguments = entry.path_rules.absolute(invocation.arguments)


def _make_plain(entry: ToolEntry, invocation: Invocation) -> None:
    make_plain(workspace_paths(entry.parameters.schema), invocation.arguments)


def bound_adder(entry: ToolEntry) -> Step:
    """Fills the bound parameters, and checks what the caller gives against their schema."""
    checker = ArgumentChecker(entry.parameters.bound_schema())

    def add(entry: ToolEntry, invocation: Invocation) -> None:
        given = filled(entry.parameters.bound, invocation.caller)
        try:
            invocation.arguments.update(checker.check(given))
        except RefusedError as error:
            sources = ", ".join(sorted(set(entry.parameters.bound.values())))
            raise RefusedError(
                f"`{entry.name}` needs {sources} of its caller, and this one does not fit",
                code="unavailable",
                hint="nothing that you send can change that; tell the operator",
                details=error.details,
            ) from error

    return add


def reject(entry: ToolEntry, invocation: Invocation) -> None:
    """Raise RefusedError for the `reject` entries that hold, or that cannot be evaluated."""
    found = [_objection(one, entry, invocation) for one in entry.rejections]
    reasons = [reason for reason in found if reason is not None]
    if reasons:
        details = {"faults": [{"pointer": "", "message": reason} for reason in reasons]}
        raise RefusedError(
            "; ".join(reasons),
            code="invalid-arguments",
            hint="change the arguments so that this no longer applies",
            details=details,
        )


def _objection(rejection: Rejection, entry: ToolEntry, invocation: Invocation) -> str | None:
    """The reason to refuse; a check that cannot be made refuses too, and says so."""
    try:
        roots = call_roots(rejection.condition, entry, invocation)
        return rejection.reason if rejection.condition.holds(roots) else None
    except ConditionError as error:
        return f"a check could not be made ({error.message}); it guards this: {rejection.reason}"
