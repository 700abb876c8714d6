"""How calls end that come to no value on their way: refused, or given up by whoever called.

A call that is cancelled has no result, for nobody waits for it. But what it has done by then is
done: it is logged, counted and recorded like any other.
"""

from asyncio import CancelledError

from toolrt.catalog.registry import Registry
from toolrt.core.calls import Invocation
from toolrt.core.errors import CallError
from toolrt.core.redaction import Redactor
from toolrt.core.results import Failure, ToolResult
from toolrt.observe.journal import Journal
from toolrt.observe.meters import By
from toolrt.pipeline.failing import failed_result, refused_result
from toolrt.pipeline.plan import Plan
from toolrt.pipeline.sessions import Sessions
from toolrt.pipeline.stages.limit import counted
from toolrt.pipeline.telemetry import Telemetry

_GIVEN_UP = Failure("cancelled", "whoever called has given up")


class Endings:
    """The ends of the calls of one gateway."""

    def __init__(
        self,
        registry: Registry,
        sessions: Sessions,
        telemetry: Telemetry,
        journal: Journal,
        redactor: Redactor,
    ) -> None:
        self._registry = registry
        self._sessions = sessions
        self._telemetry = telemetry
        self._journal = journal
        self._redactor = redactor

    def refused(self, invocation: Invocation, refusal: CallError) -> ToolResult:
        """The result of a call that its tool has not seen, or that this one has thrown out."""
        error = counted(self._registry, self._sessions, refusal, invocation)
        return refused_result(invocation, invocation.tool, error, self._redactor)

    def early(
        self, invocation: Invocation, plan: Plan | None, why: CallError | CancelledError, by: By
    ) -> ToolResult:
        """The result of a call that is refused. Raises the cancellation of one that is given up."""
        if isinstance(why, CallError):
            return self.refused(invocation, why)
        result = failed_result(invocation, invocation.tool, _GIVEN_UP)
        tool = plan.told if plan else None
        meter = plan.meter if plan else self._telemetry.meters.unknown
        self._telemetry.log.write(invocation, result, tool)
        meter.add(invocation, result, by)
        self._journal.note(invocation, result, tool)
        raise why
