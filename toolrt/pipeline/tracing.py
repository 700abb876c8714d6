"""The stages of a tool where its calls are traced: folded to another chain, each in a span.

Without spans it is the chain that everybody has.
"""

from collections.abc import Iterable
from functools import partial

from toolrt.catalog.snapshot import ToolEntry
from toolrt.core.calls import Invocation
from toolrt.core.results import Outcome, ToolResult
from toolrt.pipeline.stage import Chain, Equipment, Stage, fold
from toolrt.pipeline.stages.shape import Shape

UNTRACED = frozenset({"after", "recover", "attempt"})
"""The first two act on the way out; each attempt has a span of its own, by the stage itself."""


def folded(
    stages: Iterable[Stage], entry: ToolEntry, equipment: Equipment, innermost: Chain
) -> Chain:
    """The chain of a tool, with spans where there are any."""
    spans = equipment.telemetry.spans
    if spans is None:
        return fold(stages, entry, equipment, innermost)
    chain = innermost
    for stage in reversed(list(stages)):
        name, made = stage.__name__, partial(stage, entry, equipment)
        chain = made(chain) if name in UNTRACED else spans.stage(name, made, chain)
    return chain


def traced(shape: Shape, equipment: Equipment) -> "Shape | TracedShape":
    """What makes the results of a tool, in a span where there are any."""
    return shape if equipment.telemetry.spans is None else TracedShape(shape, equipment)


class TracedShape:
    """Makes the results of one tool, each in a span."""

    def __init__(self, shape: Shape, equipment: Equipment) -> None:
        spans = equipment.telemetry.spans
        self.kept = shape.kept
        self._result = shape.result if spans is None else spans.shaping(shape.result)

    def result(self, invocation: Invocation, outcome: Outcome) -> ToolResult:
        return self._result(invocation, outcome)
