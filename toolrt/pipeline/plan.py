"""A tool of one generation, with its stages folded to a chain: all that a call needs.

The chain is folded once a tool and generation, at its first call, from `BEFORE` and `BEHIND`.
"""

from typing import Any

from toolrt.catalog.snapshot import Snapshot, ToolEntry
from toolrt.core.calls import Invocation
from toolrt.pipeline.asking import told_of
from toolrt.pipeline.stage import Chain, Equipment, Stage
from toolrt.pipeline.stages.after import after
from toolrt.pipeline.stages.approve import approve
from toolrt.pipeline.stages.attempt import attempt
from toolrt.pipeline.stages.authorize import authorize, hidden_guard
from toolrt.pipeline.stages.cache import cache
from toolrt.pipeline.stages.claim import claim
from toolrt.pipeline.stages.find import unknown_tool, usable
from toolrt.pipeline.stages.freshness import freshness
from toolrt.pipeline.stages.limit import limit, limit_approved, loop
from toolrt.pipeline.stages.once import once
from toolrt.pipeline.stages.poll import poll
from toolrt.pipeline.stages.prepare import prepare
from toolrt.pipeline.stages.recall import recall
from toolrt.pipeline.stages.recover import recover
from toolrt.pipeline.stages.refuse import refuse, refuse_open
from toolrt.pipeline.stages.revalidate import revalidate
from toolrt.pipeline.stages.shape import shape_of
from toolrt.pipeline.stages.steps import steps
from toolrt.pipeline.stages.validate import validate
from toolrt.pipeline.tracing import folded, traced

ORDER = (
    "find",
    "limit",
    "prepare",
    "validate",
    "authorize",
    "loop",
    "recover",
    "refuse",
    "approve",
    "once",
    "cache",
    "freshness",
    "poll",
    "steps",
    "attempt",
    "after",
    "shape",
)
"""The order of events in a call. `find` opens it and `shape` closes it, whatever happens; the
others are rings around the binding."""

BEFORE: tuple[Stage, ...] = (
    limit, after, prepare, recall, validate, authorize, loop, recover, refuse, approve,
)  # fmt: skip
"""What a call passes before anything happens in the world."""

RESUMED: tuple[Stage, ...] = (
    limit_approved, after, revalidate, authorize, recover, refuse_open, claim,
)  # fmt: skip
"""What an approved call passes instead."""

ONWARD: tuple[Stage, ...] = (
    limit_approved, after, revalidate, authorize, recover, refuse, approve,
)  # fmt: skip
"""What a plan passes that goes on after a pause."""

BEHIND: tuple[Stage, ...] = (once, cache, freshness, poll, steps, attempt)
"""What stands behind the approval: an approved call passes these, too."""


class Plan:
    """A tool of one generation with its chain folded: all that a call needs.

    One that is not open looks at each call first, in `admit`.
    """

    __slots__ = (
        "_equipment",
        "_variants",
        "chain",
        "entry",
        "guard",
        "is_open",
        "meter",
        "resumed",
        "shape",
        "told",
        "total_s",
    )

    def __init__(self, entry: ToolEntry, equipment: Equipment) -> None:
        self.entry = entry
        self._equipment = equipment
        self._variants: dict[ToolEntry, Plan] = {}
        self.guard = hidden_guard(entry)
        is_plain = entry.blocked is None and self.guard is None and entry.variants is None
        self.is_open = is_plain and entry.manifest.expose
        self.total_s = entry.manifest.timeout.total
        self.meter = equipment.telemetry.meter(entry)
        innermost = folded(BEHIND, entry, equipment, _unreachable)
        self.chain: Chain = folded(BEFORE, entry, equipment, innermost)
        self.resumed = folded(RESUMED, entry, equipment, innermost)
        self.shape = traced(shape_of(entry, equipment), equipment)
        self.told = told_of(entry)

    def way_of(self, invocation: Invocation) -> Chain:
        """The chain of a call that people have decided about: approved, or a plan that goes on."""
        if invocation.run is None:
            return self.resumed
        innermost = folded(BEHIND, self.entry, self._equipment, _unreachable)
        return folded(ONWARD, self.entry, self._equipment, innermost)

    def admit(self, invocation: Invocation, snapshot: Snapshot) -> "Plan":
        """The plan for this caller.

        Raises RefusedError when the tool cannot run, or this caller may not even see it.
        """
        plan = self.for_caller(invocation)
        if not self.is_seen_in(invocation):
            raise unknown_tool(snapshot, invocation.tool, invocation)
        if plan.entry.fallback is None:
            usable(plan.entry)  # else its fallback may stand in
        return plan

    def is_seen_in(self, invocation: Invocation) -> bool:
        """Whether there is such a tool, as far as whoever makes this call may know."""
        is_direct = invocation.depth == 0 and invocation.approval is None
        if is_direct and not self.entry.manifest.expose:
            return False
        guard = self.for_caller(invocation).guard
        return guard is None or not guard.hides(invocation)

    def for_caller(self, invocation: Invocation) -> "Plan":
        """The plan of the form that the tool has for this caller."""
        entry = self.entry.for_caller(invocation)
        if entry is self.entry:
            return self
        plan = self._variants.get(entry)
        if plan is None:
            plan = self._variants[entry] = Plan(entry, self._equipment)
        return plan


async def _unreachable(_invocation: Invocation) -> Any:
    raise AssertionError("the attempt stage calls the binding itself")
