"""Asks a read tool about a call of another tool: for `verify` and for `poll`."""

from toolrt.catalog.recovery import Probe
from toolrt.catalog.snapshot import ToolEntry
from toolrt.core.calls import Invocation
from toolrt.core.results import Answer, ToolResult
from toolrt.expressions.conditions import ConditionError
from toolrt.expressions.scope import ABSENT, Scope
from toolrt.pipeline.roots import answer_roots
from toolrt.pipeline.stage import Equipment


class Asking:
    """The questions that one probe puts about calls of `entry`."""

    def __init__(self, probe: Probe, entry: ToolEntry, equipment: Equipment) -> None:
        self.probe = probe
        self._entry = entry
        self._equipment = equipment

    async def ask(self, invocation: Invocation, result: object = ABSENT) -> ToolResult:
        """What the tool of the probe says, on behalf of the same caller and within its time.

        `result` is what the call itself answered. Raises CallError where the arguments cannot be
        made.
        """
        scope = Scope.of(invocation, self._entry.vars, self._equipment.references, result)
        arguments = self.probe.arguments.render(scope)
        return await self._equipment.nested(invocation, self.probe.tool, arguments)

    def holds(self, invocation: Invocation, said: ToolResult) -> bool | None:
        """Whether the condition of the probe holds for what was said; None where nobody can tell:
        it is no whole answer, one that something else stood in for, or the condition failed.
        """
        if said.status != "success" or said.cached or "fallback" in said.context:
            return None
        condition = self.probe.condition
        roots = answer_roots(condition, self._entry, invocation, Answer(said.data))
        try:
            return condition.holds(roots)
        except ConditionError:
            return None
