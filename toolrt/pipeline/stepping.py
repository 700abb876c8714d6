"""Runs the steps of a plan: each a call of the gateway, on behalf of the same caller.

Neighbours that only read and do not need each other run together, as in a batch; everything else
in the order that is written. A step that waits for people makes the plan wait; the same call again
goes on there.
"""

import asyncio
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, Final, NamedTuple

from toolrt.bindings.steps import CompiledStep
from toolrt.catalog.snapshot import ToolEntry
from toolrt.core.calls import Invocation
from toolrt.core.errors import CallError, RefusedError
from toolrt.core.results import Failure, Pause, ToolResult
from toolrt.expressions.conditions import Condition, ConditionError
from toolrt.expressions.scope import ABSENT, Scope
from toolrt.pipeline.asking import waiting
from toolrt.pipeline.batch_plan import AT_ONCE, MOST_CALLS, BatchCall, grouped
from toolrt.pipeline.recovering import CHECK_FIRST, may_have_applied
from toolrt.pipeline.retrying import MIN_ATTEMPT_S
from toolrt.pipeline.roots import call_roots
from toolrt.pipeline.stage import Equipment
from toolrt.pipeline.step_memory import SKIPPED, StepRun, StepStatus, Told, waits_below
from toolrt.pipeline.step_notes import notes_of
from toolrt.pipeline.workers import share
from toolrt.stores.approvals import Approval
from toolrt.stores.plans import KeptStep

NOTHING: Final[Mapping[str, str]] = MappingProxyType({})
_ENDS: Final = frozenset({"budget-exhausted", "cancelled", "internal"})
"""Failures after which a plan does not go on, whatever it says."""
_WORST: Final = ("error", "partial", "success", "skipped")


class StepFailure(NamedTuple):
    """A step that ends its plan, and why."""

    step: CompiledStep
    failure: Failure
    may_have_applied: bool


class StepPause(NamedTuple):
    """A step that waits for people. `below` are the approvals that a plan waits for which the step
    has called, each with its mode.
    """

    step: CompiledStep
    pause: Pause
    below: Mapping[str, str] = NOTHING

    @property
    def waits(self) -> Mapping[str, str]:
        """All approvals that it waits for, each with its mode."""
        return self.below or {self.pause.approval_id: self.pause.mode}


Came = Told | StepFailure | StepPause


class _Call(NamedTuple):
    """One call of a step: `item` where it is made for each of several."""

    slot: str
    step: CompiledStep
    item: Any = ABSENT


class Stepper:
    """The steps of one call of a plan: `told` is the root `steps` of those that follow."""

    __slots__ = ("entry", "equipment", "invocation", "odd", "run", "scope", "told")

    def __init__(
        self, entry: ToolEntry, equipment: Equipment, invocation: Invocation, run: StepRun
    ) -> None:
        self.entry = entry
        self.equipment = equipment
        self.invocation = invocation
        self.run = run
        self.told: dict[str, dict[str, Any]] = {}
        run.told = self.told
        self.odd: dict[str, str] = {}
        self.scope = self._scope()

    @property
    def statuses(self) -> dict[str, str]:
        """How each step ended, or that it waits."""
        return {id_: told["status"] for id_, told in self.told.items()} | self.odd

    async def unmade(self, step: CompiledStep, error: CallError) -> list[Came]:
        """`together` of a step whose calls cannot be made."""
        came = await self._failed(_Call(step.id, step), Failure.of(error))
        if not isinstance(came, Told):
            return self._noted(step, [came])
        self._tell(step, came)
        return []

    async def ended(self, step: CompiledStep, result: ToolResult) -> list[Came]:
        """`together` of a step whose call came to this."""
        return self._noted(step, [await self._taken(_Call(step.id, step), result)])

    async def together(self, group: Sequence[CompiledStep]) -> list[Came]:
        """Run the steps of a group, and note what those came to that have an end.

        Gives those that stop the plan, or nothing.
        """
        if len(group) == 1 and group[0].each is None:
            step = group[0]
            came = [await self._made(_Call(step.id, step))]
            return self._noted(step, came)
        calls: list[tuple[CompiledStep, list[_Call]]] = []
        for step in group:
            try:
                calls.append((step, self._calls(step)))
            except CallError as error:
                stops = await self.unmade(step, error)
                if stops:
                    return stops
        if len(group) == 1 and not at_once(self.equipment.entry(group[0].tool)):
            return [
                stop for step, own in calls for stop in self._noted(step, await self._in_turn(own))
            ]
        made = await self._at_once([call for _, own in calls for call in own])
        return [
            stop
            for step, own in calls
            for stop in self._noted(step, [made[each.slot] for each in own])
        ]

    def _noted(self, step: CompiledStep, came: list[Came]) -> list[Came]:
        """Those that stop the plan; where there are none, later steps may read the result."""
        stops: list[Came] = [each for each in came if not isinstance(each, Told)]
        if stops:
            self.odd[step.id] = "error" if isinstance(stops[0], StepFailure) else "waiting"
            return stops
        told = came[0] if step.each is None else _joined(came)
        assert isinstance(told, Told)  # noqa: S101 - all others stop it
        self._tell(step, told)
        return []

    def _tell(self, step: CompiledStep, told: Told) -> None:
        self.told[step.id] = told._asdict()
        if told.status != "success":
            self.odd[step.id] = told.status

    async def _in_turn(self, calls: Iterable[_Call]) -> list[Came]:
        """One after the other, up to the first that stops the plan."""
        came: list[Came] = []
        for call in calls:
            came.append(await self._made(call))
            if not isinstance(came[-1], Told):
                break
        return came

    async def _at_once(self, calls: Sequence[_Call]) -> dict[str, Came]:
        """Together, as many as their tools let. None is left running, however this ends."""
        came: dict[str, Came] = {}
        open_ = deque(calls)
        limits = {call.step.tool: asyncio.Semaphore(self._limit(call)) for call in calls}

        async def work() -> None:
            while open_:
                call = open_.popleft()
                async with limits[call.step.tool]:
                    came[call.slot] = await self._made(call)

        await share(work, len(calls))
        return came

    def _limit(self, call: _Call) -> int:
        return at_once(self.equipment.entry(call.step.tool)) or 1

    def _calls(self, step: CompiledStep) -> list[_Call]:
        """The calls of a step: one, or one for each item. Raises CallError for what is no list."""
        if step.each is None:
            return [_Call(step.id, step)]
        items = step.each.render(self._scope())
        items = [] if items is ABSENT or items is None else items
        if not isinstance(items, list) or len(items) > MOST_CALLS:
            wanted = f"a list of at most {MOST_CALLS}"
            found = f"{len(items)} items" if isinstance(items, list) else type(items).__name__
            message = f"`for_each` wants {wanted}, and got {found}"
            raise RefusedError(message, code="invalid-arguments", hint="nothing of the step ran")
        return [_Call(f"{step.id}[{number}]", step, item) for number, item in enumerate(items)]

    def _scope(self, item: Any = ABSENT) -> Scope:
        return Scope(
            self.invocation.arguments,
            invocation=self.invocation,
            vars=self.entry.vars,
            references=self.equipment.references,
            steps=self.told,
            item=item,
        )

    async def _made(self, call: _Call) -> Came:
        """What a call of a step comes to; one that is done is not made again."""
        known = self.run.done.get(call.slot)
        if known is not None:
            return known
        try:
            before = self.run.open.get(call.slot)
            if before is not None:
                return await self._again(call, before)
            if call.step.when is not None and not self._holds(call.step.when, call.item):
                await self.run.finish(call.slot, SKIPPED)
                return SKIPPED
            return await self._called(call)
        except CallError as error:
            return await self._failed(call, Failure.of(error))

    async def _called(self, call: _Call) -> Came:
        step, invocation = call.step, self.invocation
        if invocation.remaining_s() < MIN_ATTEMPT_S:
            message = "the time of the plan was up before it began"
            return await self._failed(call, Failure("timeout", message), is_end=True)
        arguments = step.arguments.render(self._scope(call.item))
        other = self.equipment.entry(step.tool)
        if other is None or other.effect != "read":
            await self.run.begin(call.slot)
        marks = {"step": call.slot}
        result = await self.equipment.nested(invocation, step.tool, arguments, marks)
        return await self._taken(call, result)

    async def _again(self, call: _Call, before: KeptStep) -> Came:
        """Go on with a call that was begun by somebody else, or that waits for people."""
        if before.state == "begun" or before.approval is None:
            other = self.equipment.entry(call.step.tool)
            if other is not None and other.may_repeat:
                return await self._called(call)
            message = "it was begun when its process ended; nobody knows whether it took effect"
            details = {"outcome": "unknown"}
            failure = Failure("unknown-outcome", message, CHECK_FIRST, details=details)
            return await self._failed(call, failure)
        below = waits_below(before)
        if below:
            return await self._again_below(call, below)
        questions = self.equipment.memory.questions
        record = await questions.get(before.approval)
        is_late = record.expires.remaining_s(questions.moments.now()) <= 0
        if record.state == "expired" or (record.state == "pending" and is_late):
            return await self._called(call)
        if record.state == "pending":
            return StepPause(call.step, await self._waiting(record))
        self.run.has_acted = True
        marks = {"step": call.slot}
        result = await self.equipment.resumed(self.invocation, record, marks)
        return await self._taken(call, result)

    async def _again_below(self, call: _Call, approvals: Sequence[str]) -> Came:
        """Call a plan again, which is kept and goes on, once anything was decided that it waits
        for.
        """
        questions = self.equipment.memory.questions
        records = [await questions.get(each) for each in approvals]
        now = questions.moments.now()
        if any(one.state != "pending" or one.expires.remaining_s(now) <= 0 for one in records):
            return await self._called(call)
        below = {one.id: one.mode for one in records}
        return StepPause(call.step, await self._waiting(records[0]), below)

    async def _waiting(self, record: Approval) -> Pause:
        entry = self.equipment.entry(record.tool)
        if entry is None:
            raise RefusedError(f"there is no tool `{record.tool}` any more", code="unknown-tool")
        return await waiting(record, entry, self.equipment.memory.questions)

    async def _taken(self, call: _Call, result: ToolResult) -> Came:
        if result.pause is not None:
            waits = result.context.get("waits", ())
            below = {each["approval_id"]: each["mode"] for each in waits}
            await self.run.wait(call.slot, result.pause.approval_id, list(below))
            return StepPause(call.step, result.pause, below)
        if "notes" in result.context:
            self.run.notes[call.slot] = notes_of(result)
        if result.error is not None:
            return await self._failed(call, result.error)
        shown: Any = result
        if result.for_user is not None and self.entry.shaping.to == "user":
            shown = result.for_user
        status: StepStatus = "partial" if result.status == "partial" else "success"
        told = Told(status, shown.data, shown.text)
        await self.run.finish(call.slot, told)
        return told

    async def _failed(self, call: _Call, failure: Failure, *, is_end: bool = False) -> Came:
        """What stands in for a step that failed, or the end of the plan."""
        step = call.step
        if step.instead is None or is_end or failure.code in _ENDS:
            is_open = may_have_applied(failure)
            return StepFailure(step, failure, may_have_applied=is_open)
        try:
            value = step.instead.render(self._scope(call.item))
        except CallError as error:
            return StepFailure(step, Failure.of(error), may_have_applied=may_have_applied(failure))
        told = Told("error", None if value is ABSENT else value, failure.message)
        await self.run.finish(call.slot, told)
        return told

    def _holds(self, when: Condition, item: Any) -> bool:
        roots = call_roots(when, self.entry, self.invocation)
        roots |= {"steps": self.told} if "steps" in when.roots else {}
        roots |= {"item": item} if "item" in when.roots else {}
        try:
            return when.holds(roots)
        except ConditionError as error:
            message = f"its `when` could not be looked at: {error.message}"
            raise RefusedError(message, code="execution-failed", hint=error.hint) from error


def at_once(entry: ToolEntry | None) -> int:
    """How many calls of the tool run beside others; 0 where it runs by itself."""
    if entry is None or entry.effect != "read":
        return 0
    written = entry.manifest.concurrency
    if written == "serial":
        return 0
    return AT_ONCE if written is None else min(written, AT_ONCE)


def groups_of(
    steps: Iterable[CompiledStep], entry_of: Callable[[str], ToolEntry | None]
) -> list[list[CompiledStep]]:
    """The steps in the order in which they run; those of a group run together."""
    by_id = {step.id: step for step in steps}
    calls = [
        BatchCall(step.id, step.tool, None, tuple(step.needs), None, at_once(entry_of(step.tool)))
        for step in by_id.values()
    ]
    return [[by_id[call.id] for call in group] for group in grouped(calls)]


def _joined(came: Iterable[Came]) -> Told:
    """What a step came to that was called for each of several items: a list in their order."""
    told = [each for each in came if isinstance(each, Told)]
    statuses = {each.status for each in told}
    status: Any = next((each for each in _WORST if each in statuses), "success")
    text = "\n".join(each.text for each in told if each.text)
    return Told(status, [each.data for each in told], text)
