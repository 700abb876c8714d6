"""The one door: every call of every face goes through `Gateway.call`, and nothing escapes it.

A call is found, goes through its tool's chain of stages, and comes back as a `ToolResult`. The
order of the stages stands in `plan`.
"""

import logging
import math
from asyncio import CancelledError
from collections.abc import Callable, Mapping
from itertools import count
from random import Random
from typing import Any

from toolrt.catalog.registry import Registry
from toolrt.catalog.snapshot import Snapshot, ToolEntry
from toolrt.core import logs
from toolrt.core.calls import MAY_CALL, Caller, Invocation, begun
from toolrt.core.clock import Clock
from toolrt.core.errors import CallError, RefusedError
from toolrt.core.redaction import without_credentials
from toolrt.core.results import Failure, ToolResult
from toolrt.expressions.references import References
from toolrt.observe.log import logger as call_log
from toolrt.observe.meters import By
from toolrt.observe.spans import Spans
from toolrt.observe.telling import Telling
from toolrt.pipeline.asking import shown_to_people
from toolrt.pipeline.breakers import Breakers
from toolrt.pipeline.budget import RetryBudgets
from toolrt.pipeline.deadline import Deadlines
from toolrt.pipeline.ending import Endings
from toolrt.pipeline.failing import bug, failed_result, told
from toolrt.pipeline.inner_calls import InnerCalls
from toolrt.pipeline.looking import dry, refusal, unmade
from toolrt.pipeline.memory import Memory
from toolrt.pipeline.plan import Plan
from toolrt.pipeline.stage import Equipment, fold
from toolrt.pipeline.stages.authorize import authorize, explained, refuse_without_right
from toolrt.pipeline.stages.find import find, plain_name, refuse_too_deep
from toolrt.pipeline.stages.prepare import fill
from toolrt.pipeline.stages.revalidate import revalidate
from toolrt.pipeline.stages.validate import validate
from toolrt.pipeline.telemetry import Telemetry
from toolrt.pipeline.throttling import Throttles
from toolrt.pipeline.turns import Turns
from toolrt.policy.questions import arguments_of, caller_of
from toolrt.schemas.plain import without_surrogates
from toolrt.schemas.shapes import without_sensitive
from toolrt.stores.approvals import Approval

ANONYMOUS = Caller()
log = logs.BUGS
_is_logged = call_log.isEnabledFor


class Gateway(InnerCalls):
    """Executes calls against whatever snapshot is current when they begin."""

    def __init__(
        self,
        registry: Registry,
        references: References,
        clock: Clock,
        memory: Memory,
        random: Random | None = None,
        *,
        is_attended: bool = False,
        telemetry: Telemetry | None = None,
    ) -> None:
        self._registry = registry
        self._clock = clock
        self._monotonic = clock.monotonic
        self.equipment = self._equipment = Equipment(
            clock,
            references,
            Deadlines(),
            RetryBudgets(),
            random or Random(),  # noqa: S311 - jitter and call ids, no authority
            memory,
            Breakers(memory, clock),
            Throttles(memory, clock),
            Turns(),
            is_attended,
        )
        self.telemetry = self._equipment.telemetry = telemetry or Telemetry()
        self._has_spans = self.telemetry.spans is not None
        if self.telemetry.spans is not None:
            self._trace(self.telemetry.spans)
        self._log, self._unknown = self.telemetry.log, self.telemetry.meters.unknown
        self._equipment.nested, self._equipment.entry = self.nested, self.entry
        self._equipment.resumed, self._equipment.step = self.resumed, self.step
        self._equipment.tools = lambda: registry.current.listed
        self.breakers = self._equipment.breakers
        self._journal = memory.journal
        journal = memory.journal
        self._redactor = references.redactor
        sessions = self._equipment.sessions
        self._ends = Endings(registry, sessions, self.telemetry, journal, self._redactor)
        self._ids = f"{self._equipment.random.getrandbits(96):024x}-"
        telling = Telling(journal, self._ids)
        self._tell, self._tell_inner = telling.tell, telling.tell_inner
        self._numbers = count(1)
        self._planned: Snapshot | None = None
        self._plans: dict[str, Plan] = {}

    async def call(
        self,
        name: str,
        arguments: Any,
        caller: Caller | None = None,
        on_progress: Callable[[float, float | None, str], None] | None = None,
        marks: Mapping[str, Any] | None = None,
    ) -> ToolResult:
        """Run one call to its end. Raises nothing but cancellation: failures are results.

        `marks` are told in the context of the result, and in the journal.
        """
        if type(name) is not str:
            name = plain_name(name)
        monotonic = self._monotonic  # named first, as is `chain`: CPython calls those faster
        started, snapshot, caller = monotonic(), self._registry.current, caller or ANONYMOUS
        number = next(self._numbers)
        invocation = begun(
            f"{self._ids}{number}",
            name,
            arguments,
            caller,
            self._clock,
            started,
            snapshot.generation,
            on_progress,
            number,
        )
        if marks is not None:
            invocation.marks = marks
        plan: Plan | None = None
        try:
            plan = self._plans.get(name) if snapshot is self._planned else None
            if plan is None:
                plan = self._plan(snapshot, name, invocation)
            if not plan.is_open or caller.may is not MAY_CALL:
                plan = plan.admit(invocation, snapshot)
                refuse_without_right(invocation)
            invocation.deadline = started + plan.total_s
            chain = plan.chain
            result = plan.shape.result(invocation, await chain(invocation))
            if invocation.oversize is not None:
                result = await plan.shape.kept(invocation, result)
        except (CallError, CancelledError) as error:
            result = self._ends.early(invocation, plan, error, "caller")
        except Exception as error:  # the outer ring: a bug of ours ends the call, not the process
            log.exception("a bug ended call %s of %r", invocation.call_id, name)
            result = failed_result(invocation, without_surrogates(name), bug(error))
        meter, tool = (plan.meter, plan.told) if plan else (self._unknown, None)
        if _is_logged(logging.INFO):
            self._log.write(invocation, result, tool)
        if self._tell(invocation, result, tool, meter):
            await self._journal.relief()
        return result

    async def resume(self, record: Approval, caller: Caller | None = None) -> ToolResult:
        """Run an approved call, once. Raises nothing but cancellation, as `call`.

        `caller` stands in for the one of the record where it brings credentials.
        """
        caller = caller or caller_of(record, self._registry.current.identities)
        invocation = self._begin(record.tool, arguments_of(record), caller)
        invocation.approval = record
        result, plan = await self._run(invocation, "approval")
        await self._journal.kept(invocation, result, plan.told if plan else None)
        return result

    async def _run(
        self, invocation: Invocation, by: By, until: float = math.inf, own: Plan | None = None
    ) -> tuple[ToolResult, Plan | None]:
        """What a call off the main road comes to, and the plan of its tool, if there is one."""
        snapshot, name = self._registry.current, invocation.tool
        invocation.generation = snapshot.generation
        plan: Plan | None = None
        try:
            refuse_too_deep(invocation)
            plan = (own or self._plan(snapshot, name, invocation)).admit(invocation, snapshot)
            refuse_without_right(invocation)
            invocation.deadline = min(until, invocation.started + plan.total_s)
            chain = plan.chain if by != "approval" else plan.way_of(invocation)
            result = plan.shape.result(invocation, await chain(invocation))
            if invocation.oversize is not None:
                result = await plan.shape.kept(invocation, result)
        except (CallError, CancelledError) as error:
            result = self._ends.early(invocation, plan, error, by)
        except Exception as error:  # the outer ring, as above
            log.exception("a bug ended call %s of %r", invocation.call_id, name)
            result = failed_result(invocation, name, bug(error))
        if _is_logged(logging.INFO):
            self._log.write(invocation, result, plan.told if plan else None)
        meter = self._unknown if plan is None else plan.meter
        meter.add(invocation, result, by)
        return result, plan

    async def recheck(self, record: Approval, arguments: dict[str, Any]) -> Invocation:
        """`arguments` as they would run for `record`: checked and decided anew, nothing runs.

        Raises:
            CallError: schema or policy refuse them.
        """
        snapshot = self._registry.current
        invocation = self._begin(record.tool, arguments, caller_of(record, snapshot.identities))
        invocation.approval = record
        invocation.generation = snapshot.generation
        plan = self._plan(snapshot, record.tool, invocation).admit(invocation, snapshot)
        await dry(fold((revalidate, authorize), plan.entry, self._equipment, unmade)(invocation))
        return invocation

    def rendered(
        self, entry: ToolEntry, arguments: Mapping[str, Any], caller: Caller
    ) -> dict[str, Any]:
        """What a call of these arguments would send or run, secrets masked."""
        return self.masked(entry.binding.preview(self._begin(entry.name, dict(arguments), caller)))

    def masked(self, shown: Mapping[str, Any]) -> dict[str, Any]:
        """What people are shown, without the secrets that anybody put into it (O1)."""
        made: dict[str, Any] = self._redactor.value(dict(shown))
        return made

    def entry(self, name: str) -> ToolEntry | None:
        """The tool of that name in the current generation."""
        return self._registry.current.tool(name)

    def refuse(self, name: str, refusal: RefusedError, caller: Caller | None = None) -> ToolResult:
        """The result of a call that arrived broken: its arguments could not even be read."""
        invocation = self._begin(name, None, caller)
        invocation.generation = self._registry.current.generation
        result = self._ends.refused(invocation, refusal)
        self._log.write(invocation, result, None)
        entry = self.entry(invocation.tool)
        meter = self._unknown if entry is None else self.telemetry.meter(entry)
        meter.add(invocation, result, "caller")
        return result

    async def checked(
        self, name: str, arguments: Any, caller: Caller | None = None
    ) -> tuple[ToolEntry, Invocation]:
        """A tool, and a call of it as policy would see it: its arguments are final, nothing runs.

        Whether the tool is available, and whether the caller may see it, is not asked.

        Raises:
            CallError: there is no such tool, or it does not take the arguments.
        """
        snapshot, invocation = self._registry.current, self._begin(name, arguments, caller)
        invocation.generation = snapshot.generation
        entry = self._plan(snapshot, name, invocation).for_caller(invocation).entry
        await dry(fold((fill, validate), entry, self._equipment, unmade)(invocation))
        return entry, invocation

    async def preview(
        self, name: str, arguments: Any, caller: Caller | None = None
    ) -> dict[str, Any]:
        """Checked arguments and the rendered request of a call that is not made, secrets masked.

        Raises:
            CallError: the call would be refused.
        """
        return await self._preview(self._begin(name, arguments, caller))

    async def _preview(self, invocation: Invocation) -> dict[str, Any]:
        try:
            seen = await self._looked_at(invocation)
        except CallError as error:
            raise refusal(told(Failure.of(error), self._redactor)) from error
        shown: dict[str, Any] = self._redactor.value(
            seen, lambda text: without_credentials(self._redactor.text(text))
        )
        return shown

    async def _looked_at(self, invocation: Invocation) -> dict[str, Any]:
        snapshot, name = self._registry.current, invocation.tool
        plan = self._plan(snapshot, invocation.tool, invocation).admit(invocation, snapshot)
        await dry(fold((fill, validate), plan.entry, self._equipment, unmade)(invocation))
        decision = await explained(plan.entry, self._equipment, invocation)
        arguments = without_sensitive(plan.entry.parameters.schema, invocation.arguments)
        invocation.arguments = shown_to_people(plan.entry, arguments)
        return {
            "tool": name,
            "arguments": arguments,
            "request": plan.entry.binding.preview(invocation),
            "decision": decision.document(snapshot.generation, snapshot.rules.hash),
        }

    def new_id(self) -> str:
        """An id that no other call has, nor any batch."""
        return f"{self._ids}{next(self._numbers)}"

    @property
    def snapshot(self) -> Snapshot:
        """The current generation."""
        return self._registry.current

    def _begin(self, name: str, arguments: Any, caller: Caller | None) -> Invocation:
        now = self._monotonic()
        return Invocation(
            self.new_id(), plain_name(name), arguments, caller or ANONYMOUS, self._clock, now, now
        )

    def _trace(self, spans: Spans) -> None:
        """Let each way of calling go through a span; without spans nobody even looks."""

        def known(name: Any) -> str | None:
            entry = self.entry(name) if type(name) is str else None
            return None if entry is None else entry.name

        self.call = spans.calls(self.call, lambda name, *_, **__: known(name))  # type: ignore[method-assign] # as above
        self.nested = spans.calls(self.nested, lambda _, name, *__: known(name))  # type: ignore[method-assign] # as above
        self.resume = spans.calls(self.resume, lambda record, *_, **__: known(record.tool))  # type: ignore[method-assign] # as above

    async def settle(self) -> None:
        """Tell the store what it has not heard yet, and give back what is held."""
        await self._equipment.breakers.close()
        await self._equipment.throttles.close()
        await self._equipment.answers.close()
        await self._equipment.sightings.close()

    def close(self) -> None:
        """Forget the timer of the loop."""
        self._equipment.deadlines.close()

    def let_go(self, _outcome: object = None) -> None:
        """Keep nothing of a generation that is not in force any more."""
        if self._planned is not self._registry.current:
            self._planned, self._plans = self._registry.current, {}

    def _plan(self, snapshot: Snapshot, name: str, invocation: Invocation) -> Plan:
        if snapshot is not self._planned:
            self._planned, self._plans = snapshot, {}
        if (plan := self._plans.get(name)) is not None:
            return plan
        entry = find(snapshot, name, invocation)
        if entry.name != name:  # said with the version that its plain name means
            plan = self._plan(snapshot, entry.name, invocation)
            if plan.is_seen_in(invocation):
                invocation.tool = entry.name
            return plan
        plan = self._plans[name] = Plan(entry, self._equipment)
        return plan
