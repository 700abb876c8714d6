"""Explains a call that is not made: what policy says of it and why, and what would be sent or run.

For operators: nothing is kept from who asks, a hidden tool included.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from toolrt.catalog.snapshot import ToolEntry
from toolrt.core.calls import Caller
from toolrt.core.decisions import Decision
from toolrt.core.errors import CallError
from toolrt.pipeline.gateway import Gateway
from toolrt.pipeline.stages.authorize import decider_of, explained


@dataclass(frozen=True, slots=True)
class Explanation:
    """One call, explained. `tool` is in the form that it has for this caller. `request` is None
    where it cannot be rendered now, and `problem` says why; `is_hidden` says that the caller does
    not even see the tool.
    """

    tool: ToolEntry
    caller: Caller
    arguments: Mapping[str, Any]
    decision: Decision
    is_hidden: bool
    request: Mapping[str, Any] | None
    problem: str | None
    generation: int
    policy_hash: str

    def document(self) -> dict[str, Any]:
        """JSON-ready: the decision's document, and what it is about."""
        terms = self.decision.terms
        return {
            "tool": self.tool.name,
            "caller": self.caller.document(),
            "arguments": dict(self.arguments),
            **self.decision.document(self.generation, self.policy_hash),
            "code": self.decision.code,
            "would_be": list(self.decision.would_be),
            "terms": terms.document() if terms else None,
            "hidden": self.is_hidden,
            "request": self.request,
            "problem": self.problem,
        }


async def explain(gateway: Gateway, name: str, arguments: Any, caller: Caller) -> Explanation:
    """What would become of a call.

    Raises:
        CallError: there is no such tool, or it does not take the arguments.
    """
    entry, invocation = await gateway.checked(name, arguments, caller)
    decider = decider_of(entry)
    request, problem = _request(entry, gateway, invocation.arguments, caller)
    return Explanation(
        entry,
        caller,
        gateway.masked(invocation.arguments),
        await explained(entry, gateway.equipment, invocation),
        decider.may_hide and decider.is_hidden(invocation),
        request,
        problem,
        invocation.generation,
        decider.policy_hash,
    )


def _request(
    entry: ToolEntry, gateway: Gateway, arguments: Mapping[str, Any], caller: Caller
) -> tuple[dict[str, Any] | None, str | None]:
    """What would be sent or run; None and the reason where that cannot be said."""
    if entry.unavailable is not None:
        return None, f"it is unavailable: {entry.unavailable}"
    try:
        return gateway.rendered(entry, arguments, caller), None
    except CallError as error:
        return None, error.message
