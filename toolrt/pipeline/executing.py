"""The runs of a plan: what is kept of them, and how they end.

Each step is a call like any other, with its own rules, limits, retries and people. A plan that
pauses is kept, and the same call again goes on at the step that waits.
"""

import asyncio
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from toolrt.bindings.steps import CompiledStep
from toolrt.catalog.snapshot import ToolEntry
from toolrt.core import logs
from toolrt.core.calls import Invocation
from toolrt.core.errors import CallError
from toolrt.core.results import Answer, Failure, Outcome, Pause
from toolrt.expressions.scope import Scope
from toolrt.pipeline.halting import broken_off, failure_of, let_go, pause_of, refused
from toolrt.pipeline.stage import Equipment
from toolrt.pipeline.stages.authorize import decider_of
from toolrt.pipeline.step_memory import LostRunError, StepRun, running
from toolrt.pipeline.step_notes import notes_of_steps
from toolrt.pipeline.stepping import StepFailure, StepPause, Stepper, groups_of
from toolrt.stores.base import StoreError


class _Group(NamedTuple):
    """Steps that run together. `make` gives the arguments of one that runs by itself and without
    conditions; `acts`: it may change something.
    """

    steps: list[CompiledStep]
    make: Callable[[Scope], Any] | None
    acts: bool


class Stepping:
    """The runs of one plan."""

    def __init__(self, entry: ToolEntry, equipment: Equipment) -> None:
        self.entry = entry
        self.equipment = equipment
        self.binding: Any = entry.binding
        self._ready: tuple[Sequence[CompiledStep], list[_Group], bool] | None = None
        self._has_kept: bool | None = None

    async def handle(self, invocation: Invocation) -> Outcome:
        invocation.attempts = 1
        memory = self.equipment.memory
        try:
            steps = self.steps_of(invocation)
            is_new = self._has_kept is False and invocation.run is None
            if not self.may_wait(steps) and (is_new or not await self._was_kept(invocation)):
                return await self._unkept(invocation, steps)
            async with running(memory, self.entry, invocation) as run:
                return await self._run(invocation, run, steps)
        except CallError as error:
            return refused(Failure.of(error))
        except StoreError as error:
            return self._cannot_keep(error, "nothing ran; tell the operator")

    async def _was_kept(self, invocation: Invocation) -> bool:
        """Whether this call may have been begun when its steps still had to wait: where any run of
        the plan is kept, which is looked up once.
        """
        if invocation.run is None and self._has_kept is None:
            try:
                runs = self.equipment.memory.plan_runs
                self._has_kept = await runs.has_any(self.entry.name)
            except StoreError:  # nothing of it can go on now
                return False
        return invocation.run is not None or self._has_kept is True

    async def _unkept(self, invocation: Invocation, steps: Sequence[CompiledStep]) -> Outcome:
        """A run that is not kept, unless rules of a new generation have it wait all the same."""
        run = StepRun(self.equipment.memory, self.entry, invocation)
        try:
            return await self._run(invocation, run, steps)
        finally:
            if run.is_kept:
                self._has_kept = True
                await asyncio.shield(run.leave())

    async def _run(
        self, invocation: Invocation, run: StepRun, steps: Sequence[CompiledStep]
    ) -> Outcome:
        """What the steps come to, and what was noted of them. One that breaks off is not over:
        whoever makes the same call goes on with it, where it is kept.
        """
        try:
            outcome = await self.outcome(invocation, run, steps)
        except CallError as error:
            return broken_off(Failure.of(error), run)
        except LostRunError:
            message = f"this call of `{self.entry.name}` was taken over by another process"
            return broken_off(
                Failure("conflict", message, "it goes on there; wait for its end"), run
            )
        except StoreError as error:
            return broken_off(self._cannot_keep(error, "tell the operator"), run)
        finally:
            if run.notes:
                invocation.notes += notes_of_steps(run.notes)
        run.is_over = not isinstance(outcome, Pause)
        return outcome

    def _cannot_keep(self, error: StoreError, hint: str) -> Failure:
        logs.failed("a plan cannot be kept", error)
        message = f"`{self.entry.name}` may have to wait, and cannot be kept now"
        return Failure("unavailable", message, hint)

    def steps_of(self, invocation: Invocation) -> Sequence[CompiledStep]:
        """The steps of a call. Raises CallError where there are none that could run."""
        found: Sequence[CompiledStep] = self.binding.steps_of(invocation)
        return found

    async def outcome(
        self, invocation: Invocation, run: StepRun, steps: Sequence[CompiledStep]
    ) -> Outcome:
        """What the steps come to, each in its turn."""
        stepper = Stepper(self.entry, self.equipment, invocation, run)
        is_kept, told, call = run.is_kept, stepper.told, self.equipment.step
        for group in self._prepared(steps)[0]:
            if group.make is None or is_kept:
                stops = await stepper.together(group.steps)
            else:
                run.has_acted = run.has_acted or group.acts
                step = group.steps[0]
                try:
                    arguments = group.make(stepper.scope)
                except CallError as error:
                    stops = await stepper.unmade(step, error)
                else:
                    result = await call(invocation, step.tool, arguments, step.id)
                    is_plain = result.for_user is None and "notes" not in result.context
                    if result.status == "success" and is_plain:
                        told[step.id] = {
                            "status": "success", "data": result.data, "text": result.text,
                        }  # fmt: skip
                        continue
                    stops = await stepper.ended(step, result)
            if stops:
                return await self.stopped(stops, stepper)
        return self.answer(stepper, steps)

    def answer(self, stepper: Stepper, steps: Sequence[CompiledStep]) -> Answer:
        """The data of each step, by id."""
        if any(status != "success" for status in stepper.odd.values()):
            stepper.invocation.mark(steps=stepper.statuses)
        told = stepper.told
        return Answer({step.id: told[step.id]["data"] for step in steps})

    def may_wait(self, steps: Sequence[CompiledStep]) -> bool:
        """Whether a run of these steps may have to wait for people."""
        return self._prepared(steps)[1]

    async def stopped(self, stops: Sequence[Any], stepper: Stepper) -> Failure | Pause:
        """The end of a plan, or its pause; questions that nobody will need are called off."""
        failed = [each for each in stops if isinstance(each, StepFailure)]
        paused = [each for each in stops if isinstance(each, StepPause)]
        if failed:
            await let_go(paused, self.equipment, stepper.invocation)
            return failure_of(failed[0], stepper)
        return pause_of(paused, stepper)

    def _prepared(self, steps: Sequence[CompiledStep]) -> "tuple[list[_Group], bool]":
        """The groups in which these steps run, and whether any of them may wait for people."""
        if self._ready is None or self._ready[0] is not steps:
            groups = [self._group(each) for each in groups_of(steps, self.equipment.entry)]
            may_wait = any(self._may_wait(step.tool, set()) for step in steps)
            self._ready = steps, groups, may_wait
        return self._ready[1:]

    def _group(self, steps: list[CompiledStep]) -> "_Group":
        first = steps[0]
        is_plain = len(steps) == 1 and first.each is None and first.when is None
        entry = self.equipment.entry(first.tool)
        make = first.arguments.maker() if is_plain else None
        return _Group(steps, make, entry is None or entry.effect != "read")

    def _may_wait(self, name: str | None, seen: set[str]) -> bool:
        """Whether a call of that tool may wait for people, by itself or by one that it calls."""
        entry = self.equipment.entry(name) if name is not None and name not in seen else None
        if entry is None:
            return False
        if hasattr(entry.binding, "analyst"):
            return True  # what a model will plan
        seen.add(entry.name)
        forms = (entry, *(entry.variants.entries.values() if entry.variants else ()))
        if any(decider_of(each).may_ask for each in forms):
            return True
        named = [each.fallback.tool for each in forms if each.fallback is not None]
        named += [step.tool for each in forms for step in getattr(each.binding, "steps", ())]
        return any(self._may_wait(each, seen) for each in named)
