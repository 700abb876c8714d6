"""`toolrt run --plan FILE`: the steps of a plan, without any model, and what became of them."""

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from toolrt.core.errors import CallError, RefusedError
from toolrt.core.results import SCHEMA, Failure, ToolResult
from toolrt.faces.cli.arguments import read_whole
from toolrt.faces.cli.bugs import witnessed
from toolrt.faces.cli.caller import at_terminal, caller_of
from toolrt.faces.cli.names import broken
from toolrt.faces.cli.options import Settings
from toolrt.faces.cli.progress import watched
from toolrt.faces.cli.table import aligned
from toolrt.faces.cli.told import explain, tell
from toolrt.faces.exits import Exit, Stop, of_code
from toolrt.faces.output import one_line, to_json

if TYPE_CHECKING:
    from toolrt.catalog.plan_file import BrokenPlanError
    from toolrt.catalog.snapshot import ToolEntry
    from toolrt.core.calls import Caller
    from toolrt.faces.cli.run import ManyCalls
    from toolrt.faces.cli.stopping import Stopping
    from toolrt.opened import Runtime

Gather = Callable[[dict[str, Any]], dict[str, Any]]


class PlanRun:
    """A plan file on its way to the screen; `wait_s` is the patience for people, None for none."""

    def __init__(
        self, settings: Settings, file: str, how: "ManyCalls", wait_s: float | None, gather: Gather
    ) -> None:
        self._settings = settings
        self._screen = settings.screen
        self._file = file
        self._how = how
        self._wait_s = wait_s
        self._gather = gather

    async def make(self, stopping: "Stopping", *, dry_run: bool) -> Exit:
        from toolrt import runtime  # noqa: PLC0415 - `--help` loads no runtime
        from toolrt.catalog.plan_file import BrokenPlanError  # noqa: PLC0415 - as above

        try:
            async with self._how.opening.opened(self._settings.project()) as opened:
                caller = caller_of(opened.snapshot, self._how.guise, self._settings)
                entry = self._compiled(opened)
                work = self._preview if dry_run else self._run
                return await work(opened, entry, caller, stopping)
        except runtime.BrokenProjectError as error:
            raise broken(error.compiled, self._settings) from error
        except BrokenPlanError as error:
            raise _broken(error, self._settings) from error

    def _compiled(self, opened: "Runtime") -> "ToolEntry":
        """Raises BrokenPlanError."""
        if self._file != "-":
            return opened.plans.compile(self._file)
        return opened.plans.made(read_whole(self._file).encode(), "stdin")

    async def _run(
        self, opened: "Runtime", entry: "ToolEntry", caller: "Caller", stopping: "Stopping"
    ) -> Exit:
        with witnessed(is_verbose=self._screen.is_verbose) as witness:
            result = await self._result(opened, entry, caller, stopping)
        stopping.check()
        me = at_terminal(opened.snapshot.identities) if result.pause else None
        return tell(self._settings, result, witness.cause, me=me)

    async def _result(
        self, opened: "Runtime", entry: "ToolEntry", caller: "Caller", stopping: "Stopping"
    ) -> ToolResult:
        try:
            arguments = self._gather(entry.input_schema)
        except RefusedError as refusal:
            return opened.refuse(entry.name, refusal, caller)
        stopping.be_gentle()
        async with watched(entry.name, self._screen) as progress:
            result = await opened.plan(entry, arguments, caller, on_progress=progress.report)
        if result.pause is None or self._wait_s is None:
            return result
        from toolrt.faces.cli.approvals_wait import answered  # noqa: PLC0415 - few calls wait

        return await answered(opened, result, self._wait_s, self._settings)

    async def _preview(
        self, opened: "Runtime", entry: "ToolEntry", caller: "Caller", _stopping: "Stopping"
    ) -> Exit:
        document: dict[str, Any] = {"schema": SCHEMA, "dry_run": True}
        try:
            seen = await opened.plans.preview(entry, self._gather(entry.input_schema), caller)
        except CallError as error:
            failure = Failure.of(error)
            self._screen.show({**document, "error": failure.document()}, lambda: "")
            explain(self._settings, entry.name, failure)
            return of_code(failure.code)
        self._screen.show({**document, **seen}, lambda: _table(seen))
        failed = next((each["error"] for each in seen["steps"] if "error" in each), None)
        return Exit.OK if failed is None else of_code(failed["code"])


def _broken(error: "BrokenPlanError", settings: Settings) -> Stop:
    return Stop(
        Exit.MANIFESTS_INVALID,
        error.message.partition("\n")[0],
        code="manifests-invalid",
        hint=error.hint,
        next_=settings.command("list"),
        report=error.report,
        diagnostics=error.diagnostics,
    )


def _table(seen: Mapping[str, Any]) -> str:
    """A line for each step, in the order in which they run."""
    numbers = {id_: str(at) for at, group in enumerate(seen["groups"], 1) for id_ in group}
    rows = [
        [f"{numbers[step['id']]}.", step["id"], one_line(step["tool"]), _decided(step), _says(step)]
        for step in seen["steps"]
    ]
    return "\n".join(aligned(rows))


def _decided(step: Mapping[str, Any]) -> str:
    if "error" in step:
        return one_line(step["error"]["code"])
    rule = step["decision"].get("rule")
    said = step["decision"]["decision"]
    return one_line(f"{said} ({rule})" if rule else said)


def _says(step: Mapping[str, Any]) -> str:
    """What it would be called with, and when."""
    if "error" in step:
        return one_line(step["error"]["message"])
    when = f"  when {step['when']}" if "when" in step else ""
    return one_line(to_json(step["arguments"]) + when)
