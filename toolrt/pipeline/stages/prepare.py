"""prepare: what rewrites the arguments, before anything looks at them.

First the before-hooks, then parameters with `default_from`, which get the caller's value where the
model gave none. Bound ones (`from`) are added after the arguments were checked, by the validate
stage. An approved call does not come by here: its arguments stand.
"""

from collections.abc import Mapping
from typing import Any

from toolrt.catalog.snapshot import ToolEntry
from toolrt.core.calls import Caller, Invocation
from toolrt.core.errors import CallError
from toolrt.core.results import Failure, Outcome
from toolrt.pipeline.hooking import edited
from toolrt.pipeline.stage import Chain, Equipment
from toolrt.schemas.plain import NotJsonError, plain


def prepare(entry: ToolEntry, equipment: Equipment, following: Chain) -> Chain:
    """Run the before-hooks and fill `default_from` parameters; absent where a tool has neither."""
    filling = fill(entry, equipment, following)
    hooks = entry.hooks.before if entry.hooks is not None else ()
    if not hooks:
        return filling

    async def handle(invocation: Invocation) -> Outcome:
        given = _json_object(invocation.arguments)
        if given is not None:
            try:
                invocation.arguments = await edited(hooks, given, invocation, equipment)
            except CallError as error:
                return Failure.of(error)
        return await filling(invocation)

    return handle


def fill(entry: ToolEntry, _equipment: Equipment, following: Chain) -> Chain:
    """Fill `default_from` parameters alone: of a call that is only looked at, nothing runs."""
    sources = entry.parameters.defaults_from
    if not sources:
        return following

    async def handle(invocation: Invocation) -> Outcome:
        given = invocation.arguments
        if type(given) is not dict:
            given = _json_object(given)
        if given is not None:
            invocation.arguments = {**filled(sources, invocation.caller), **given}
        return await following(invocation)

    return handle


def _json_object(arguments: Any) -> dict[str, Any] | None:
    """A copy of arguments that are a JSON object; None else, and `validate` says what is wrong."""
    try:
        made = plain(arguments)
    except NotJsonError:
        return None
    return made if type(made) is dict else None


def filled(sources: Mapping[str, str], caller: Caller) -> dict[str, Any]:
    """What the caller gives for each name; a name is left out where the caller has nothing."""
    found = {name: caller_value(source, caller) for name, source in sources.items()}
    return {name: value for name, value in found.items() if value is not None}


def caller_value(source: str, caller: Caller) -> Any:
    """The value of `caller.tenant`, `caller.claims.NAME` and their like; None when absent."""
    _, _, rest = source.partition(".")
    if rest.startswith("claims."):
        return caller.claims.get(rest.removeprefix("claims."))
    return getattr(caller, rest)
