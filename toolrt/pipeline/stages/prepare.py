"""prepare: parameters that the caller fills, before anything looks at the arguments.

A parameter with `default_from` gets the caller's value where the model gave none. Bound ones
(`from`) are added after the model's own arguments were checked, by the validate stage.
"""

from collections.abc import Mapping
from typing import Any

from toolrt.catalog.snapshot import ToolEntry
from toolrt.core.calls import Caller, Invocation
from toolrt.core.results import Outcome
from toolrt.pipeline.stage import Chain, Equipment


def prepare(entry: ToolEntry, _equipment: Equipment, following: Chain) -> Chain:
    """Fill `default_from` parameters; absent where a tool has none."""
    sources = entry.parameters.defaults_from
    if not sources:
        return following

    async def handle(invocation: Invocation) -> Outcome:
        if isinstance(invocation.arguments, dict):
            given = filled(sources, invocation.caller)
            invocation.arguments = {**given, **invocation.arguments}
        return await following(invocation)

    return handle


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
