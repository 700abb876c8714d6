"""Ways into the gateway beside its door: calls that other calls make, plans that go on, and tools
that no catalogue lists.
"""

import json
import logging
from abc import ABC, abstractmethod
from asyncio import CancelledError
from collections.abc import Callable, Iterator, Mapping
from math import inf
from typing import Any

from toolrt.catalog.links import DEEPEST
from toolrt.catalog.registry import Registry
from toolrt.catalog.snapshot import Snapshot, ToolEntry
from toolrt.core import logs
from toolrt.core.calls import MAY_CALL, Caller, Invocation, begun
from toolrt.core.clock import Clock
from toolrt.core.errors import CallError, RefusedError, ToolrtError
from toolrt.core.results import ToolResult
from toolrt.observe.journal import Journal
from toolrt.observe.journal_entries import PerTool
from toolrt.observe.log import logger as call_log
from toolrt.observe.meters import By, Meter
from toolrt.pipeline.ending import Endings
from toolrt.pipeline.failing import NO_CONTEXT, bug, failed_result
from toolrt.pipeline.plan import Plan
from toolrt.pipeline.stage import Equipment
from toolrt.pipeline.step_memory import thought_of
from toolrt.policy.questions import arguments_of, caller_of
from toolrt.stores.approvals import Approval
from toolrt.stores.plans import PlanRun

log = logs.BUGS
_is_logged = call_log.isEnabledFor


class InnerCalls(ABC):
    """What the gateway does for its own calls. `remake` compiles a plan that is in no catalogue,
    of its text and the name of its file.
    """

    remake: Callable[[bytes, str], ToolEntry] | None = None
    _registry: Registry
    _equipment: Equipment
    _journal: Journal
    _clock: Clock
    _monotonic: Callable[[], float]
    _ends: Endings
    _has_spans: bool
    _ids: str
    _numbers: Iterator[int]
    _planned: Snapshot | None
    _plans: dict[str, Plan]
    _tell_inner: Callable[[Invocation, ToolResult, PerTool, Meter, Mapping[str, Any]], bool]

    @abstractmethod
    def _begin(self, name: str, arguments: Any, caller: Caller | None) -> Invocation: ...

    @abstractmethod
    async def _run(
        self, invocation: Invocation, by: By, until: float = inf, own: Plan | None = None
    ) -> tuple[ToolResult, Plan | None]: ...

    @abstractmethod
    def refuse(
        self, name: str, refusal: RefusedError, caller: Caller | None = None
    ) -> ToolResult: ...

    @abstractmethod
    async def _preview(self, invocation: Invocation) -> dict[str, Any]: ...

    async def preview_step(self, name: str, arguments: Any, caller: Caller) -> dict[str, Any]:
        """What a call would be that a plan of `caller` makes; see `Gateway.preview`.

        Raises CallError where it would be refused.
        """
        invocation = self._begin(name, arguments, caller)
        invocation.depth = 1
        return await self._preview(invocation)

    async def nested(
        self,
        parent: Invocation,
        name: str,
        arguments: Any,
        marks: Mapping[str, Any] = NO_CONTEXT,
    ) -> ToolResult:
        """Run a call that another one makes: on behalf of the same caller, within what is left of
        its time (E14). Raises nothing but cancellation, as `call`.
        """
        invocation = self._begin(name, arguments, parent.caller)
        return await self._within(invocation, parent, "tool", marks)

    async def step(self, parent: Invocation, name: str, arguments: Any, slot: str) -> ToolResult:
        """As `nested`, for a step of a plan, and nearly as soon as `call` where nothing is unusual:
        what is marked is told in the journal, and not in the context of a result that went well.
        """
        snapshot, monotonic = self._registry.current, self._monotonic
        plan = self._plans.get(name) if snapshot is self._planned else None
        caller = parent.caller
        if (
            plan is None
            or not plan.is_open
            or parent.depth >= DEEPEST
            or caller.may is not MAY_CALL
            or self._has_spans
            or _is_logged(logging.INFO)
        ):
            return await self.nested(parent, name, arguments, {"step": slot})
        chain, started, until = plan.chain, monotonic(), parent.deadline
        ends, number = started + plan.total_s, next(self._numbers)
        invocation = begun(
            f"{self._ids}{number}",
            name,
            arguments,
            caller,
            self._clock,
            started,
            snapshot.generation,
            None,
            number,
        )
        invocation.deadline = ends if ends < until else until  # noqa: FURB136 - `min` is slower
        invocation.depth = parent.depth + 1
        try:
            result = plan.shape.result(invocation, await chain(invocation))
            if invocation.oversize is not None:
                result = await plan.shape.kept(invocation, result)
        except (CallError, CancelledError) as error:
            invocation.mark(step=slot, parent=parent.call_id)
            result = self._ends.early(invocation, plan, error, "tool")
        except Exception as error:  # the outer ring, as in the gateway
            log.exception("a bug ended call %s of %r", invocation.call_id, name)
            result = failed_result(invocation, name, bug(error))
        marks = {"step": slot, "parent": parent.call_id}
        if self._tell_inner(invocation, result, plan.told, plan.meter, marks):
            await self._journal.relief()
        return result

    async def resumed(
        self, parent: Invocation, record: Approval, marks: Mapping[str, Any]
    ) -> ToolResult:
        """Run an approved call that another one makes, once; else as `nested`."""
        invocation = self._begin(record.tool, arguments_of(record), parent.caller)
        invocation.approval = record
        return await self._within(invocation, parent, "approval", marks)

    async def _within(
        self, invocation: Invocation, parent: Invocation, by: By, marks: Mapping[str, Any]
    ) -> ToolResult:
        invocation.depth, invocation.parent = parent.depth + 1, parent.call_id
        invocation.marks = {**marks, "parent": parent.call_id}
        result, plan = await self._run(invocation, by, parent.deadline)
        if self._journal.note(invocation, result, plan.told if plan else None):
            await self._journal.relief()
        return result

    async def call_entry(
        self,
        entry: ToolEntry,
        arguments: Any,
        caller: Caller | None = None,
        on_progress: Callable[[float, float | None, str], None] | None = None,
    ) -> ToolResult:
        """Run a call of a tool that is in no catalogue; else as `call`."""
        invocation = self._begin(entry.name, arguments, caller)
        invocation.on_progress = on_progress
        own = Plan(entry, self._equipment)
        result, plan = await self._run(invocation, "caller", own=own)
        if self._journal.note(invocation, result, plan.told if plan else None):
            await self._journal.relief()
        return result

    async def waiting_for(self, record: Approval) -> PlanRun | None:
        """The plan that waits for this approval at one of its steps. Raises StoreError."""
        return await self._equipment.memory.plan_runs.waiting_for(record.id)

    async def go_on(
        self, run: PlanRun, record: Approval, caller: Caller | None = None
    ) -> ToolResult:
        """Go on with a plan that waits for `record`, as the same call again would; else as
        `resume`.
        """
        caller = caller or caller_of(record, self._registry.current.identities)
        invocation = self._begin(run.tool, json.loads(run.arguments), caller)
        invocation.run = run
        try:
            own = self._own_plan(run)
        except ToolrtError as error:
            message = f"the plan that waits for it cannot run any more: {error.message}"
            return self.refuse(run.tool, RefusedError(message, code="unavailable"), caller)
        result, plan = await self._run(invocation, "approval", own=own)
        await self._journal.kept(invocation, result, plan.told if plan else None)
        return result

    def _own_plan(self, run: PlanRun) -> Plan | None:
        """The plan of a run that is in no catalogue. Raises ToolrtError where it has faults now."""
        known = thought_of(run) or {}
        if "plan" not in known or self.remake is None:
            return None
        return Plan(self.remake(known["plan"].encode(), known["file"]), self._equipment)
