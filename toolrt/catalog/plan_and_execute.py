"""`plan_and_execute`: a tool by which a model has several calls made in one go.

The model says what it has thought and which calls it wants; each is made like any other, and may
take what earlier ones came to. Here is what the tool says of itself, and what an analyst is.
"""

import inspect
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Final

from toolrt.catalog.workshop import Workshop
from toolrt.core import logs
from toolrt.core.calls import Invocation
from toolrt.core.errors import BindingError, CallError, RefusedError
from toolrt.core.faults import Fault, FaultError
from toolrt.core.results import Answer
from toolrt.manifest.project import Planner
from toolrt.schemas.phrases import with_article

NAME: Final = "plan_and_execute"
ID: Final = r"[a-z][a-z0-9_]*"
_STEP: Mapping[str, Any] = {
    "type": "object",
    "properties": {
        "id": {
            "type": "string",
            "pattern": f"^{ID}$",
            "description": "A name for the step; step_1, step_2, … if left out.",
        },
        "tool": {"type": "string", "description": "The tool to call."},
        "parameters": {
            "type": "object",
            "description": (
                "Its arguments. A text {{ steps.ID.data.key }} stands for what an earlier step"
                " gave."
            ),
        },
        "description": {"type": "string", "description": "What the step is for."},
    },
    "required": ["tool", "parameters"],
    "additionalProperties": False,
}
_PLAN: Mapping[str, Any] = {
    "type": "array", "items": _STEP, "maxItems": 100, "description": "The calls.",
}  # fmt: skip
PLAN: Final[Mapping[str, Any]] = {
    "type": "object",
    "properties": {"plan": _PLAN},
    "required": ["plan"],
    "additionalProperties": False,
}
"""What an analyst may put in place of a plan."""
_THOUGHT: Mapping[str, Any] = {
    "type": "object",
    "properties": {
        "reasoning": {"type": "string", "description": "What is to be done, and why like this."},
        "plan": _PLAN,
        "criticism": {"type": "string", "description": "What may go wrong with this plan."},
        "action": {
            "enum": ["execute_plan", "request_clarification"],
            "description": "Run the plan, or ask first where something is not clear.",
        },
        "clarification_needed": {
            "type": "string",
            "description": "With request_clarification: the question.",
        },
    },
    "required": ["reasoning", "plan", "criticism", "action"],
    "additionalProperties": False,
}
MANIFEST: Mapping[str, Any] = {
    "title": "Plan and execute",
    "description": (
        "Have several tool calls made in one go, in the order of a plan; a step may take what"
        " earlier ones gave. Use it where you know all calls beforehand. Nothing runs where the"
        " plan has a fault; a step that fails ends it."
    ),
    "effect": "write",
    "timeout": {"total": "5m"},
    "input_schema": {
        "type": "object",
        "properties": {"thought": _THOUGHT},
        "required": ["thought"],
        "additionalProperties": False,
    },
}
"""What a file would say of it."""


@dataclass(frozen=True, slots=True)
class PlannerBinding:
    """What the pipeline runs plans of models by; `analyst` is asked after each step."""

    options: Planner
    analyst: "Analyst | None" = None
    uses: frozenset[object] = field(default_factory=frozenset)

    def steps_of(self, _invocation: Invocation) -> Sequence[Any]:
        raise RefusedError("the steps stand in each call", code="unsupported")

    async def call(self, _invocation: Invocation) -> Answer:
        raise RefusedError("plans are run by the pipeline", code="unsupported")

    def preview(self, invocation: Invocation) -> dict[str, Any]:
        return {"plan": invocation.arguments["thought"]["plan"]}


class Analyst:
    """A callable of the project that looks at what was done, and says how to go on."""

    def __init__(self, called: Callable[..., Any], label: str) -> None:
        self._called = called
        self.label = label

    async def analysed(self, situation: dict[str, Any]) -> Any:
        """What it says. Raises CallError where it fails."""
        try:
            if inspect.iscoroutinefunction(self._called):
                made: Awaitable[Any] = self._called(situation)
                return await made
            from toolrt.bindings.threads import aside  # noqa: PLC0415 - few projects have one

            return await aside(partial(self._called, situation))
        except CallError:
            raise
        except Exception as error:  # code of the project: the plan ends there
            logs.BUGS.exception("the analyst %s failed", self.label)
            message = f"the analyst of plans failed ({type(error).__name__})"
            raise BindingError(message, hint="tell the operator; the log has it") from error


def planner_of(workshop: Workshop) -> PlannerBinding:
    """The binding, as toolrt.yaml has it; an analyst that is none is reported there."""
    files = workshop.files
    agent = files.project.agent
    options = (agent.planner if agent else None) or Planner()
    if options.analyst is None or not workshop.imports or files.project_document is None:
        return PlannerBinding(options)
    try:
        return PlannerBinding(options, _analyst(workshop, options.analyst))
    except FaultError as error:
        place = ("agent", "planner", "analyst")
        files.report(files.project_document, (), *error.under(*place))
        return PlannerBinding(options)


def _analyst(workshop: Workshop, dotted: str) -> Analyst:
    """Raises FaultError."""
    from toolrt.bindings.python_imports import import_from  # noqa: PLC0415 - as above

    found = import_from(workshop.files.root, dotted)
    if not callable(found):
        message = f"`{dotted}` is {with_article(type(found).__name__)}, which cannot be called"
        raise FaultError(Fault("not-callable", message))
    return Analyst(found, dotted)
