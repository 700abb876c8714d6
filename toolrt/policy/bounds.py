"""`limits`: what one session may do, by the policy files and by operators' settings of tools.

Of several files the smallest number holds. What a setting says of a tool holds for that tool in
its place; only of the calls that a session may make both hold, in all and of the tool.
"""

from collections.abc import Iterable
from functools import cached_property

from toolrt.core.decisions import Bounds, Caps
from toolrt.loading.loader import WrittenPolicies
from toolrt.manifest.policy import Limits
from toolrt.policy.facts import ToolFacts

_NONE = Limits()
_BUILT_IN = Caps()


class SessionLimits:
    """The limits of one generation, over all of its tools."""

    def __init__(self, written: Iterable[WrittenPolicies], tools: Iterable[ToolFacts]) -> None:
        limits = [each.policies.limits for each in written if each.policies.limits]
        self._general = Limits(**{name: _smallest(limits, name) for name in Limits.model_fields})
        self._tools = tools

    @cached_property
    def caps(self) -> Caps:
        """How many questions a session may ask, whatever the tool."""
        return self._caps(_NONE)

    @property
    def general(self) -> object:
        """What all that is made of these comes from, beside what is said of each tool."""
        return self._general, self._has_rows

    @cached_property
    def bounds(self) -> Bounds | None:
        """What holds for calls of what is no tool."""
        return self._counted(_NONE)

    def of_tool(self, tool: ToolFacts) -> tuple[Caps, Bounds | None]:
        """What holds for calls of a tool; no bounds where nobody has to count them."""
        own = tool.limits or _NONE
        return self._caps(own), self._counted(own)

    def _counted(self, own: Limits) -> Bounds | None:
        general = self._general
        bounds = Bounds(
            general.max_calls,
            own.max_calls,
            own.same_error or general.same_error,
            own.same_call or general.same_call,
        )
        return bounds if self._has_rows or bounds != Bounds() else None

    def _caps(self, own: Limits) -> Caps:
        pending = own.pending or self._general.pending or _BUILT_IN.pending
        return Caps(pending, own.asks or self._general.asks or _BUILT_IN.asks)

    @cached_property
    def _has_rows(self) -> bool:
        """Whether anything is counted in a row: then calls of every tool count, for they end it."""
        forms = (form for tool in self._tools for form in (tool, *tool.variants))
        limits = (self._general, *(form.limits for form in forms if form.limits))
        return any(each.same_error or each.same_call for each in limits)


def _smallest(limits: Iterable[Limits], name: str) -> int | None:
    said = (getattr(each, name) for each in limits)
    return min((number for number in said if number is not None), default=None)
