"""The protocol of a stage, and the fold that makes a chain of them.

A stage is a ring around the next one: it may answer by itself, change the invocation on the way
in, or look at the outcome on the way out. A tool's chain holds only the stages that it needs.
"""

from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass, field
from random import Random
from typing import Any

from toolrt.catalog.snapshot import ToolEntry
from toolrt.core.calls import Invocation
from toolrt.core.clock import Clock
from toolrt.core.results import Outcome, ToolResult
from toolrt.expressions.references import References
from toolrt.pipeline.breakers import Breakers
from toolrt.pipeline.budget import RetryBudgets
from toolrt.pipeline.caching import Answers
from toolrt.pipeline.deadline import Deadlines
from toolrt.pipeline.memory import Memory
from toolrt.pipeline.sessions import Sessions
from toolrt.pipeline.sightings import Sightings
from toolrt.pipeline.telemetry import Telemetry
from toolrt.pipeline.throttling import Throttles
from toolrt.pipeline.turns import Turns
from toolrt.stores.approvals import Approval

Chain = Callable[[Invocation], Awaitable[Outcome]]


Nested = Callable[..., Awaitable[ToolResult]]
"""Makes a call on behalf of another one: that, the tool's name, the arguments (E14), and perhaps
what is told of it beside its parent.
"""
Resumed = Callable[[Invocation, Approval, Mapping[str, Any]], Awaitable[ToolResult]]
"""Runs an approved call on behalf of another one."""


async def _unconnected(_parent: Invocation, name: object, *_more: Any) -> ToolResult:
    raise AssertionError(f"no gateway stands behind the call of {name}")


def _no_entry(_name: str) -> ToolEntry | None:
    return None


@dataclass(slots=True)
class Equipment:
    """What stages use beside the tool. `is_attended`: somebody is there who can be asked.

    `answers` are those kept by `cache`; `entry` finds another tool of the current generation,
    and `tools` gives those that lists hold.
    """

    clock: Clock
    references: References
    deadlines: Deadlines
    budgets: RetryBudgets
    random: Random
    memory: Memory
    breakers: Breakers
    throttles: Throttles
    turns: Turns
    is_attended: bool = False
    nested: Nested = _unconnected
    resumed: Resumed = _unconnected
    step: Nested = _unconnected
    entry: Callable[[str], ToolEntry | None] = _no_entry
    tools: Callable[[], Mapping[str, ToolEntry]] = dict
    telemetry: Telemetry = field(default_factory=Telemetry)
    sessions: Sessions = field(default_factory=Sessions)
    answers: Answers = field(init=False)
    sightings: Sightings = field(init=False)

    def __post_init__(self) -> None:
        self.answers = Answers(self.clock, self.memory.kept_answers)
        self.sightings = Sightings(self.memory.sightings)


Stage = Callable[[ToolEntry, Equipment, Chain], Chain]
"""Builds the stage's chain around the following one, or gives that back when there is no need."""


def fold(
    stages: Iterable[Stage], entry: ToolEntry, equipment: Equipment, innermost: Chain
) -> Chain:
    """The chain of a tool: the first stage is the outermost."""
    chain = innermost
    for stage in reversed(list(stages)):
        chain = stage(entry, equipment, chain)
    return chain
