"""Runs plans that stand in files, or in a program: without any model, and by the same rules.

The plan itself is its caller's, and nobody asks about it. Each of its steps is decided about like
any other call.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from os import PathLike, fspath
from pathlib import Path
from typing import TYPE_CHECKING, Any

from toolrt.bindings.base import Services
from toolrt.catalog.plan_file import compile_plan, written_plan
from toolrt.catalog.snapshot import ToolEntry
from toolrt.catalog.steps import steps_of
from toolrt.catalog.workshop import Workshop
from toolrt.core.calls import Caller, Invocation
from toolrt.core.errors import CallError, ProjectError
from toolrt.core.results import Failure, ToolResult
from toolrt.expressions.scope import Scope
from toolrt.loading.files import UnreadableError, content
from toolrt.loading.loader import LoadedFiles
from toolrt.loading.stock import Stock
from toolrt.manifest.project import ProjectFile
from toolrt.pipeline.facts import facts_of
from toolrt.pipeline.gateway import Gateway
from toolrt.pipeline.stepping import groups_of
from toolrt.policy.engine import Posture, ToolPolicy
from toolrt.policy.history import History

if TYPE_CHECKING:
    from toolrt.bindings.steps import CompiledStep

Progress = Callable[[float, float | None, str], None]


@dataclass(frozen=True, slots=True)
class PlanFiles:
    """The plans of one runtime's callers; `project` gives the project's own file as it is now."""

    gateway: Gateway
    services: Services
    project: Callable[[], ProjectFile]

    def compile(self, plan: object, *, name: str | None = None) -> ToolEntry:
        """A plan, compiled: the path of its file, or the plan itself as mapping or list.

        `name` is what diagnostics call it. Raises BrokenPlanError, and ProjectError for a file
        that cannot be read.
        """
        text, file = _read(plan)
        return self.made(text, name or file)

    def made(self, text: bytes, name: str) -> ToolEntry:
        """The same of its text."""
        snapshot, root = self.gateway.snapshot, self.services.project
        references = self.gateway.equipment.references
        workshop = Workshop(LoadedFiles(Stock(root), self.project()), self.services, references)
        entry = compile_plan(workshop, text, name, snapshot.tools)
        rules = snapshot.rules
        posture = Posture("allow", caps=rules.caps, bounds=rules.bounds)
        return entry.decided_by(
            ToolPolicy(facts_of(entry), (), posture, History(), policy_hash=rules.hash)
        )

    async def run(
        self,
        plan: object,
        arguments: Mapping[str, Any] | None = None,
        caller: Caller | None = None,
        *,
        on_progress: Progress | None = None,
    ) -> ToolResult:
        """Run a plan to its end, or to its pause; the same once more goes on from there.

        Raises as `compile`, and nothing else but cancellation.
        """
        entry = plan if isinstance(plan, ToolEntry) else self.compile(plan)
        return await self.gateway.call_entry(entry, dict(arguments or {}), caller, on_progress)

    async def preview(
        self,
        plan: object,
        arguments: Mapping[str, Any] | None = None,
        caller: Caller | None = None,
    ) -> dict[str, Any]:
        """What each step would be, and what would be decided about it; nothing runs.

        Raises as `compile`, and CallError for arguments that the plan does not take.
        """
        entry = plan if isinstance(plan, ToolEntry) else self.compile(plan)
        caller = caller or Caller()
        checked = entry.checker.check(dict(arguments or {}))
        clock = self.gateway.equipment.clock
        looking = Invocation("", entry.name, checked, caller, clock, 0.0, 0.0)
        steps = steps_of(entry)
        groups = groups_of(steps, self.gateway.entry)
        return {
            "plan": entry.name,
            "effect": entry.effect,
            "groups": [[step.id for step in group] for group in groups],
            "steps": [await self._step(entry, step, looking) for step in steps],
        }

    async def _step(
        self, entry: ToolEntry, step: "CompiledStep", looking: Invocation
    ) -> dict[str, Any]:
        """One step: what would be called, and what policy says, as far as both are known by now."""
        shown: dict[str, Any] = {"id": step.id, "tool": step.tool, "after": sorted(step.needs)}
        if step.when is not None:
            shown["when"] = step.when.text
        if step.needs or step.each is not None:
            arguments, decision = dict(step.written), self._fixed(step.tool)
            return {**shown, "arguments": arguments, "decision": decision}
        scope = Scope.of(looking, entry.vars, self.gateway.equipment.references)
        try:
            arguments = step.arguments.render(scope)
            seen = await self.gateway.preview_step(step.tool, arguments, looking.caller)
        except CallError as error:
            return {**shown, "arguments": dict(step.written), "error": Failure.of(error).document()}
        return {**shown, "arguments": seen["arguments"], "decision": seen["decision"]}

    def _fixed(self, tool: str) -> dict[str, Any]:
        """The decision on a call whose arguments are not known yet."""
        entry = self.gateway.entry(tool)
        decider = entry.decider if entry is not None else None
        fixed = decider.fixed if decider is not None else None
        if fixed is None:
            return {"decision": "depends", "reason": "on what earlier steps give"}
        snapshot = self.gateway.snapshot
        return fixed.document(snapshot.generation, snapshot.rules.hash)


def _read(plan: object) -> tuple[bytes, str]:
    """The text of a plan, and what it is called."""
    if not isinstance(plan, str | PathLike):
        return written_plan(plan), "plan"
    name = str(fspath(plan))
    try:
        return content(Path(name)), name
    except UnreadableError as error:
        raise ProjectError(f"{name} cannot be read: {error}", hint="name a plan file") from error
