"""The one door: every call of every face goes through `Gateway.call`, and nothing escapes it.

A call is found, goes through its tool's chain of stages, and comes back as a `ToolResult`. The
chain is folded once a tool and generation, at its first call, from `ORDER`.
"""

import logging
from collections.abc import Callable
from itertools import count
from random import Random
from typing import Any

from toolrt.catalog.registry import Registry
from toolrt.catalog.snapshot import Snapshot, ToolEntry
from toolrt.core import logs
from toolrt.core.calls import Caller, Invocation
from toolrt.core.clock import Clock
from toolrt.core.errors import CallError, RefusedError
from toolrt.core.redaction import without_credentials
from toolrt.core.results import Failure, ToolResult
from toolrt.expressions.references import References
from toolrt.observe.log import log_call
from toolrt.observe.log import logger as call_log
from toolrt.pipeline.budget import RetryBudgets
from toolrt.pipeline.deadline import Deadlines
from toolrt.pipeline.stage import Chain, Equipment, Stage, fold
from toolrt.pipeline.stages.attempt import attempt
from toolrt.pipeline.stages.find import find, plain_name, usable
from toolrt.pipeline.stages.prepare import prepare
from toolrt.pipeline.stages.shape import Shape, failed_result, refused_result, told
from toolrt.pipeline.stages.validate import validate
from toolrt.schemas.plain import without_surrogates
from toolrt.schemas.shapes import without_sensitive

ORDER = ("find", "prepare", "validate", "attempt", "shape")
"""The order of events in a call. `find` opens it and `shape` closes it, whatever happens; the
others are rings around the binding."""

RINGS: tuple[Stage, ...] = (prepare, validate, attempt)

ANONYMOUS = Caller()
log = logs.BUGS


class Plan:
    """A tool of one generation with its chain folded: all that a call needs."""

    __slots__ = ("chain", "entry", "is_usable", "shape", "total_s")

    def __init__(self, entry: ToolEntry, equipment: Equipment) -> None:
        self.entry = entry
        self.is_usable = entry.blocked is None and entry.refusal is None
        self.total_s = entry.manifest.timeout.total
        self.chain: Chain = fold(RINGS, entry, equipment, _unreachable)
        self.shape = Shape(entry, equipment)


class Gateway:
    """Executes calls against whatever snapshot is current when they begin."""

    def __init__(
        self,
        registry: Registry,
        references: References,
        clock: Clock,
        random: Random | None = None,
    ) -> None:
        self._registry = registry
        self._clock = clock
        self._equipment = Equipment(
            clock,
            references,
            Deadlines(),
            RetryBudgets(),
            random or Random(),  # noqa: S311 - jitter and call ids, no authority
        )
        self._redactor = references.redactor
        self._id_prefix = f"{self._equipment.random.getrandbits(96):024x}"
        self._numbers = count(1)
        self._planned: Snapshot | None = None
        self._plans: dict[str, Plan] = {}

    async def call(
        self,
        name: str,
        arguments: Any,
        caller: Caller | None = None,
        on_progress: Callable[[float, float | None, str], None] | None = None,
    ) -> ToolResult:
        """Run one call to its end. Raises nothing but cancellation: failures are results."""
        if type(name) is not str:
            name = plain_name(name)
        started = self._clock.monotonic()
        snapshot = self._registry.current
        invocation = Invocation(
            self._new_id(),
            name,
            arguments,
            caller or ANONYMOUS,
            self._clock,
            started,
            started,
            snapshot.generation,
            on_progress,
        )
        try:
            plan = self._plans.get(name) if snapshot is self._planned else None
            if plan is None:
                plan = self._plan(snapshot, name)
            if not plan.is_usable:
                usable(plan.entry)
            invocation.deadline = started + plan.total_s
            result = plan.shape.result(invocation, await plan.chain(invocation))
        except CallError as error:
            result = refused_result(invocation, name, error, self._redactor)
        except Exception as error:  # the outer ring: a bug of ours ends the call, not the process
            log.exception("a bug ended call %s of %r", invocation.call_id, name)
            result = failed_result(invocation, without_surrogates(name), _bug(error))
        if call_log.isEnabledFor(logging.INFO):
            log_call(invocation, result)
        return result

    def refuse(self, name: str, refusal: RefusedError, caller: Caller | None = None) -> ToolResult:
        """The result of a call that arrived broken: its arguments could not even be read."""
        invocation = self._begin(name, None, caller)
        invocation.generation = self._registry.current.generation
        result = refused_result(invocation, invocation.tool, refusal, self._redactor)
        log_call(invocation, result)
        return result

    async def preview(
        self, name: str, arguments: Any, caller: Caller | None = None
    ) -> dict[str, Any]:
        """Checked arguments and the rendered request of a call that is not made, secrets masked.

        Raises:
            CallError: the call would be refused.
        """
        try:
            seen = await self._preview(name, arguments, caller)
        except CallError as error:
            raise _refusal(told(Failure.of(error), self._redactor)) from error
        shown: dict[str, Any] = self._redactor.value(
            seen, lambda text: without_credentials(self._redactor.text(text))
        )
        return shown

    async def _preview(self, name: str, arguments: Any, caller: Caller | None) -> dict[str, Any]:
        invocation = self._begin(name, arguments, caller)
        plan = self._plan(self._registry.current, invocation.tool)
        request: dict[str, Any] = {}

        async def look(checked: Invocation) -> Any:
            checked.arguments = without_sensitive(plan.entry.parameters.schema, checked.arguments)
            request.update(plan.entry.binding.preview(checked))
            return Failure("internal", "nothing ran")

        outcome = await fold((prepare, validate), plan.entry, self._equipment, look)(invocation)
        if not request and isinstance(outcome, Failure):
            raise _refusal(outcome)
        return {"tool": name, "arguments": invocation.arguments, "request": request}

    def _begin(self, name: str, arguments: Any, caller: Caller | None) -> Invocation:
        call_id, now = self._new_id(), self._clock.monotonic()
        return Invocation(
            call_id, plain_name(name), arguments, caller or ANONYMOUS, self._clock, now, now
        )

    def _new_id(self) -> str:
        return f"{self._id_prefix}-{next(self._numbers)}"

    def close(self) -> None:
        """Forget the timer of the loop."""
        self._equipment.deadlines.close()

    def _plan(self, snapshot: Snapshot, name: str) -> Plan:
        if snapshot is not self._planned:
            self._planned, self._plans = snapshot, {}
        plan = self._plans.get(name)
        if plan is None:
            plan = Plan(find(snapshot, name), self._equipment)
            self._plans[name] = plan
        return plan


async def _unreachable(_invocation: Invocation) -> Any:
    raise AssertionError("the attempt stage calls the binding itself")


def _refusal(failure: Failure) -> RefusedError:
    return RefusedError(
        failure.message, code=failure.code, hint=failure.hint, details=failure.details
    )


def _bug(error: Exception) -> Failure:
    return Failure(
        "internal",
        "toolrt failed inside",
        "this is a bug of toolrt; its log has the details",
        details={"type": type(error).__name__},
    )
