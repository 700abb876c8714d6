"""revalidate: the arguments of an approved call, as they will run, against the tool of today.

They were checked when the call was made and may have been edited or filled in since; the tool may
have changed. Bound parameters are among them, so the whole schema counts.
"""

from collections.abc import Callable
from typing import Any

from toolrt.catalog.snapshot import ToolEntry
from toolrt.core.calls import Invocation
from toolrt.core.errors import CallError
from toolrt.core.results import Failure, Outcome
from toolrt.pipeline.stage import Chain, Equipment
from toolrt.pipeline.stages.validate import further_steps
from toolrt.schemas.arguments import ArgumentChecker


def revalidate(entry: ToolEntry, _equipment: Equipment, following: Chain) -> Chain:
    """Check every argument, and refuse like `validate`."""
    check = _of_form(entry) if entry.form else ArgumentChecker(entry.parameters.schema).check
    steps = further_steps(entry, binds=False)

    async def handle(invocation: Invocation) -> Outcome:
        try:
            invocation.arguments = check(invocation.arguments)
            for step in steps:
                step(entry, invocation)
        except CallError as error:
            return Failure.of(error)
        return await following(invocation)

    return handle


def _of_form(entry: ToolEntry) -> Callable[[Any], dict[str, Any]]:
    """Checks the model's arguments, and by the form that they make what a person filled in."""
    own = entry.parameters.names

    def check(arguments: Any) -> dict[str, Any]:
        asked = entry.checker.check({k: v for k, v in arguments.items() if k in own})
        filled = {k: v for k, v in arguments.items() if k not in own}
        return {**asked, **ArgumentChecker(entry.asked_schema(asked) or {}).check(filled)}

    return check
