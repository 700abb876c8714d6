"""Runs the hooks of a tool, one after another, within what is left of the call's time."""

from pydantic_core import to_json

from toolrt.bindings.python_hooks import Hook, HookError
from toolrt.core.calls import Invocation
from toolrt.core.errors import AttemptTimeoutError, BindingError
from toolrt.core.results import Answer
from toolrt.pipeline.stage import Equipment
from toolrt.schemas.values import fresh, to_plain


async def edited(
    hooks: tuple[Hook, ...], arguments: dict[str, object], invocation: Invocation, by: Equipment
) -> dict[str, object]:
    """The arguments that the before-hooks leave. Raises CallError where one refuses or fails."""
    for hook in hooks:
        arguments = fresh(arguments)
        made = (await _in_time(hook, arguments, invocation, by)).value
        if made is None:
            continue
        if not isinstance(made, dict):
            why = f"gave a {type(made).__name__} in place of arguments"
            hook.complain(invocation, None, why)
            raise HookError(hook.label, "gave something else than arguments")
        arguments = made
    return arguments


async def replaced(
    hooks: tuple[Hook, ...], value: object, invocation: Invocation, by: Equipment
) -> object:
    """The value that the after-hooks leave. Raises CallError where one fails."""
    for hook in hooks:
        value = fresh(value)
        made = (await _in_time(hook, value, invocation, by)).value
        try:
            value = to_plain(value if made is None else made)
            to_json(value)  # broken text is none, either
        except (BindingError, ValueError) as error:
            hook.complain(invocation, error, "gave something that is no JSON value")
            raise HookError(hook.label, "gave something that is no JSON value") from error
    return value


async def _in_time(hook: Hook, value: object, invocation: Invocation, by: Equipment) -> Answer:
    left_s = invocation.remaining_s()
    try:
        return await by.deadlines.keep(hook.run(value, invocation), invocation, max(left_s, 0.0))
    except AttemptTimeoutError as error:
        hook.complain(invocation, error, "took too long")
        failed = HookError(hook.label, "took longer than the call may take")
        failed.code = error.code
        raise failed from error
