"""Runs `plan_and_execute`: the plan of a model, and after each step, where there is an analyst,
what that says: go on, another plan, or the answer.

A plan is looked at as a whole before anything runs. Steps that were done are never made again, not
even by a plan that takes another one's place.
"""

import asyncio
import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from toolrt.bindings.steps import CompiledStep
from toolrt.catalog.plan_and_execute import PLAN, Analyst, PlannerBinding
from toolrt.catalog.snapshot import ToolEntry
from toolrt.core.calls import Invocation
from toolrt.core.errors import AttemptTimeoutError, BindingError, CallError, RefusedError
from toolrt.core.names import without_dots
from toolrt.core.offered import is_offered
from toolrt.core.results import Answer, Failure, Outcome
from toolrt.pipeline.executing import Stepping
from toolrt.pipeline.halting import failed
from toolrt.pipeline.stage import Equipment
from toolrt.pipeline.stages.find import is_visible
from toolrt.pipeline.step_memory import StepRun
from toolrt.pipeline.stepping import Stepper
from toolrt.pipeline.thoughts import compiled_thought
from toolrt.schemas.arguments import ArgumentChecker

_ACTIONS: Final = ("continue_plan", "revise_plan", "final_answer")
_OF_PLAN: Final = ArgumentChecker(PLAN)


class Planning(Stepping):
    """The plans of models."""

    def __init__(self, entry: ToolEntry, equipment: Equipment) -> None:
        super().__init__(entry, equipment)
        self.binding: PlannerBinding = entry.binding  # type: ignore[assignment] # as the stage looks
        self.options = self.binding.options

    async def handle(self, invocation: Invocation) -> Outcome:
        thought = invocation.arguments["thought"]
        if thought["action"] == "request_clarification":
            return _question(thought)
        return await super().handle(invocation)

    def steps_of(self, invocation: Invocation) -> Sequence[CompiledStep]:
        return self._compiled(invocation.arguments["thought"]["plan"], invocation)

    def may_wait(self, steps: Sequence[CompiledStep]) -> bool:
        return self.binding.analyst is not None or super().may_wait(steps)

    def _compiled(
        self, plan: Sequence[Any], invocation: Invocation, known: Sequence[CompiledStep] = ()
    ) -> list[CompiledStep]:
        """Raises RefusedError for a plan with faults."""
        seen = self._seen(invocation)
        plan = _named(plan, seen)
        return compiled_thought(
            plan,
            seen,
            most=self.options.max_steps,
            goes_on=self.options.on_step_error == "continue",
            known=known,
        )

    def _seen(self, invocation: Invocation) -> set[str]:
        """The tools that a plan may call: those that its caller sees, but for itself."""
        return {
            name
            for name, each in self.equipment.tools().items()
            if name != self.entry.name
            and is_visible(each, invocation)
            and is_offered(each.name, each.version)
        }

    async def outcome(
        self, invocation: Invocation, run: StepRun, steps: Sequence[CompiledStep]
    ) -> Outcome:
        if self.binding.analyst is None:
            return await super().outcome(invocation, run, steps)
        stepper = Stepper(self.entry, self.equipment, invocation, run)
        return await _Analysed(self, self.binding.analyst, stepper, list(steps)).outcome()

    def answer(self, stepper: Stepper, steps: Sequence[CompiledStep]) -> Answer:
        last = stepper.told[steps[-1].id]["data"] if steps else None
        return Answer({"result": last, "steps": history(stepper, steps), "revisions": 0})

    def recompiled(
        self, plan: Sequence[Any], stepper: Stepper, done: Sequence[CompiledStep]
    ) -> list[CompiledStep]:
        """Another plan in place of one; what was done before is not done again."""
        kept = {_likeness(each.tool, each.written): each for each in done}
        known, made = list(done), []
        for written in _named(plan, self._seen(stepper.invocation)):
            alike = kept.get(_likeness(written["tool"], written["parameters"]))
            if alike is not None:
                made.append(alike)
                continue
            [step] = self._compiled([written], stepper.invocation, known)
            known.append(step)
            made.append(step)
        return made


class _Analysed:
    """One plan that an analyst looks at after each step."""

    def __init__(
        self, planning: Planning, analyst: Analyst, stepper: Stepper, plan: list[CompiledStep]
    ) -> None:
        self.planning = planning
        self.analyst = analyst
        self.stepper = stepper
        self.plan = plan
        self.made: list[CompiledStep] = []
        self.revisions = 0
        self.seen: list[tuple[int, str]] = []
        self.plans: list[list[Any]] = []

    async def outcome(self) -> Outcome:
        """What the plan comes to. Raises BindingError where the analyst has failed it: what is done
        stays done, and the same call again goes on from there.
        """
        try:
            await self._go_on()
        except CallError as error:  # its tools are not what they were: it ends
            return failed(Failure.of(error), self.stepper)
        try:
            return await self._steps()
        except CallError as error:
            raise self._as_of_analyst(error) from error

    async def _steps(self) -> Outcome:
        at = 0
        while at < len(self.plan):
            step = self.plan[at]
            at += 1
            if step in self.made:
                continue
            if len(self.seen) >= self.planning.options.max_steps:
                return self._exhausted("steps", self.planning.options.max_steps)
            stops = await self.stepper.together([step])
            if stops:
                return await self.planning.stopped(stops, self.stepper)
            self._note(step)
            said = await self._said(step, self.plan[at:])
            if said["next_action"] == "final_answer":
                return self._answer(said.get("answer", said["evaluation"]))
            if said["next_action"] == "revise_plan":
                if self.revisions >= self.planning.options.max_revisions:
                    return self._exhausted("revisions", self.planning.options.max_revisions)
                self._revise(said["plan"])
                at = 0
            await self.stepper.run.think({"plans": self.plans, "seen": self.seen})
        last = self.stepper.told[self.made[-1].id]["data"] if self.made else None
        return self._answer(last)

    async def _go_on(self) -> None:
        """Be where the run was that this call goes on with."""
        thought = self.stepper.run.thought or {}
        seen = {(int(revision), id_) for revision, id_ in thought.get("seen", ())}
        plans = thought.get("plans", [])
        for plan in (None, *plans):
            if plan is not None:
                self._revise(plan)
            for step in self.plan:
                if (self.revisions, step.id) in seen and step not in self.made:
                    await self.stepper.together([step])  # it is done, and is read alone
                    self._note(step)

    def _as_of_analyst(self, error: CallError) -> BindingError:
        message = error.message
        if error.code == "invalid-arguments":
            message = f"the analyst of plans gave a plan that cannot run: {message}"
        code = "timeout" if error.code == "timeout" else "bad-response"
        details = {**error.details, "steps": dict(self.stepper.statuses)}
        return BindingError(message, code=code, hint="tell the operator", details=details)

    def _note(self, step: CompiledStep) -> None:
        self.seen.append((self.revisions, step.id))
        self.made.append(step)

    def _revise(self, plan: list[Any]) -> None:
        done = [each for each in self.made if self.stepper.statuses[each.id] != "error"]
        others = [each for each in self.made if each not in done]
        self.plan = self.planning.recompiled(plan, self.stepper, [*done, *others])
        self.plans.append(plan)
        self.revisions += 1

    async def _said(self, step: CompiledStep, left: Sequence[CompiledStep]) -> Mapping[str, Any]:
        """What the analyst says. Raises CallError where it fails, or says what it may not."""
        stepper = self.stepper
        situation = {
            "thought": stepper.invocation.arguments["thought"],
            "step": _shown(step, stepper),
            "history": history(stepper, self.made),
            "left": [{"id": each.id, "tool": each.tool} for each in left],
            "revisions": self.revisions,
        }
        left_s = max(0.0, stepper.invocation.remaining_s())
        try:
            async with asyncio.timeout(left_s):
                said = await self.analyst.analysed(situation)
        except TimeoutError as error:
            raise AttemptTimeoutError("the analyst of plans was not done in time") from error
        why = _why_not(said)
        if why is not None:
            message = f"the analyst of plans gave no analysis: {why}"
            raise BindingError(message, code="bad-response")
        checked: Mapping[str, Any] = said
        return checked

    def _answer(self, result: Any) -> Answer:
        made = history(self.stepper, self.made)
        return Answer({"result": result, "steps": made, "revisions": self.revisions})

    def _exhausted(self, what: str, most: int) -> Failure:
        message = f"a plan may have {most} {what}, and has had them"
        hint = "what was done stays done; answer with it, or begin with another plan"
        failure = Failure("budget-exhausted", message, hint, details={"limit": what, "max": most})
        return failed(failure, self.stepper)


def _named(plan: Sequence[Any], seen: Iterable[str]) -> list[dict[str, Any]]:
    """The plan with the tools' own names: models know them without dots."""
    own = {without_dots(name): name for name in seen} | {name: name for name in seen}
    return [{**each, "tool": own.get(each["tool"], each["tool"])} for each in plan]


def history(stepper: Stepper, steps: Sequence[CompiledStep]) -> list[dict[str, Any]]:
    """What was done, in the order in which it was."""
    return [_shown(step, stepper) for step in steps]


def _shown(step: CompiledStep, stepper: Stepper) -> dict[str, Any]:
    return {"id": step.id, "tool": step.tool, **stepper.told[step.id]}


def _likeness(tool: str, parameters: Any) -> str:
    return json.dumps([tool, parameters], sort_keys=True, default=str)


def _question(thought: Mapping[str, Any]) -> Outcome:
    question = str(thought.get("clarification_needed") or "").strip()
    if not question:
        message = "`request_clarification` needs the question in `clarification_needed`"
        raise RefusedError(message, code="invalid-arguments", hint="nothing ran")
    return Answer({"clarification_needed": question})


def _why_not(said: Any) -> str | None:
    """Why something is no analysis; None where it is one."""
    if not isinstance(said, Mapping) or not isinstance(said.get("evaluation"), str):
        return "it is a mapping with `evaluation` and `next_action`"
    if said.get("next_action") not in _ACTIONS:
        return f"`next_action` is one of {', '.join(_ACTIONS)}"
    if said["next_action"] != "revise_plan":
        return None
    try:
        _OF_PLAN.check({"plan": said.get("plan")})
    except RefusedError as error:
        return f"`revise_plan` has a `plan`: [{{tool, parameters}}, …]: {error.message}"
    return None
