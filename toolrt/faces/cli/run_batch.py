"""`toolrt run --batch FILE`: many calls in one go, and what became of each."""

import asyncio
import json
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from toolrt.core.errors import RefusedError
from toolrt.core.results import SCHEMA, ToolResult
from toolrt.faces.cli.batch_file import BatchFile
from toolrt.faces.cli.bugs import witnessed
from toolrt.faces.cli.caller import caller_of
from toolrt.faces.cli.names import broken
from toolrt.faces.cli.options import Misuse, Settings
from toolrt.faces.cli.progress import watched
from toolrt.faces.cli.table import aligned, cut
from toolrt.faces.cli.told import pause_lines, tell_cause, where_more_is
from toolrt.faces.exits import Exit, of_results
from toolrt.faces.output import Screen, one_line

if TYPE_CHECKING:
    from toolrt.core.calls import Caller
    from toolrt.faces.cli.run import ManyCalls
    from toolrt.faces.cli.stopping import Stopping
    from toolrt.opened import Runtime
    from toolrt.pipeline.batch_plan import BatchCall, BatchPlan

_LONGEST = 200
_COLORS = {"success": "green", "error": "red", "paused": "yellow", "partial": "yellow"}


def refuse_beside(option: str, name: str, given: object) -> None:
    """What is for one call is none of many. Raises Misuse where `given` is there."""
    if given is not None and given is not False:
        message = f"`{option}` makes the calls of a file: {name} does not go with it"
        raise Misuse(message, hint="its calls have their own tools and arguments")


class FileRun(ABC):
    """The calls that a file asks for, on their way to the screen."""

    def __init__(self, settings: Settings, how: "ManyCalls") -> None:
        self._settings = settings
        self._screen = settings.screen
        self._how = how

    async def make(self, stopping: "Stopping", *, dry_run: bool) -> Exit:
        from toolrt import runtime  # noqa: PLC0415 - `--help` loads no runtime

        try:
            async with self._how.opening.opened(self._settings.project()) as opened:
                caller = caller_of(opened.snapshot, self._how.guise, self._settings)
                work = self._preview if dry_run else self._run
                return await work(opened, caller, stopping)
        except runtime.BrokenProjectError as error:
            raise broken(error.compiled, self._settings) from error
        except RefusedError as refusal:
            raise self._misuse(refusal) from refusal

    @abstractmethod
    def _misuse(self, refusal: RefusedError) -> Misuse:
        """What is wrong with the file, and where."""

    @abstractmethod
    async def _run(self, opened: "Runtime", caller: "Caller", stopping: "Stopping") -> Exit:
        """Make the calls, and show what they came to."""

    @abstractmethod
    async def _preview(self, opened: "Runtime", caller: "Caller", _stopping: "Stopping") -> Exit:
        """Show what would be done; nothing runs."""


class BatchRun(FileRun):
    """The calls of a file of calls."""

    def __init__(self, settings: Settings, name: str, how: "ManyCalls") -> None:
        super().__init__(settings, how)
        self._file = BatchFile(name)
        self._over = 0

    def _misuse(self, refusal: RefusedError) -> Misuse:
        return self._file.misuse(refusal)

    async def _run(self, opened: "Runtime", caller: "Caller", stopping: "Stopping") -> Exit:
        plan = opened.plan_many(self._file.calls, caller, serial=self._how.serial)
        with witnessed(is_verbose=self._screen.is_verbose) as witness:
            stopping.be_gentle()
            try:
                results = await self._results(opened, caller)
                stopping.check()
            except asyncio.CancelledError:
                self._tell_of_end(len(plan.calls))
                raise
        documents = [result.document() for result in results]
        ids = [each.id for each in plan.calls]
        self._screen.show(
            {"schema": SCHEMA, "results": documents},
            lambda: _table(ids, results, self._screen),
            documents,
        )
        tell_many(self._settings, ids, results)
        if witness.cause:
            tell_cause(self._screen, witness.cause)
        return of_results(results)

    async def _results(self, opened: "Runtime", caller: "Caller") -> list[ToolResult]:
        async with watched("batch", self._screen) as progress:

            def report(done: float, total: float | None, message: str) -> None:
                self._over = int(done)
                progress.report(done, total, message)

            return await opened.call_many(
                self._file.calls,
                caller,
                serial=self._how.serial,
                stop_on_error=self._how.stops,
                on_progress=report,
            )

    def _tell_of_end(self, count: int) -> None:
        """What was done by the time somebody called it off."""
        where = self._settings.command("history list")
        self._screen.complain(f"{self._over} of {count} calls were over by then: {where}")

    async def _preview(self, opened: "Runtime", caller: "Caller", _stopping: "Stopping") -> Exit:
        plan = opened.plan_many(self._file.calls, caller, serial=self._how.serial)
        document = {"schema": SCHEMA, "dry_run": True, **plan.document()}
        self._screen.show(document, lambda: _steps(plan))
        return Exit.OK


def tell_many(settings: Settings, ids: Sequence[str], results: Sequence[ToolResult]) -> None:
    """What is to be done about calls without a value, on stderr."""
    screen = settings.screen
    if screen.format != "text":
        return
    for id_, result in zip(ids, results, strict=True):
        if result.error is not None and result.error.hint and not _is_unmade(result):
            screen.say(f"hint for {one_line(id_)}: {one_line(result.error.hint)}")
        if result.status == "partial":
            screen.say(f"partial: {one_line(id_)}; {where_more_is(settings, result)}")
        if result.pause is not None:
            screen.complain("\n".join(pause_lines(settings, result.pause)))


def _table(ids: Sequence[str], results: Sequence[ToolResult], screen: Screen) -> str:
    """A line for each call, in order."""
    rows = [
        [one_line(id_), one_line(result.tool), _status(result), cut(_says(result), _LONGEST)]
        for id_, result in zip(ids, results, strict=True)
    ]
    paints = [_painter(result, screen) for result in results]
    return "\n".join(paint(line) for paint, line in zip(paints, aligned(rows), strict=True))


def _painter(result: ToolResult, screen: Screen) -> Callable[[str], str]:
    status, color = _status(result), _COLORS[result.status]
    return lambda line: line.replace(status, screen.paint(status, fg=color), 1)


def _status(result: ToolResult) -> str:
    if _is_unmade(result):
        return "not made"
    return one_line(result.error.code) if result.error else result.status


def _is_unmade(result: ToolResult) -> bool:
    return bool(result.context.get("not_made"))


def _says(result: ToolResult) -> str:
    """What came back in one line."""
    if result.pause is not None:
        return f"approval {result.pause.approval_id}"
    shown: Any = result.for_user or result
    if result.error or shown.text or shown.data is None:
        return one_line(result.error.message if result.error else shown.text)
    return one_line(json.dumps(shown.data, ensure_ascii=False))


def _steps(plan: "BatchPlan") -> str:
    """A line for each group."""
    return "\n".join(_step(number, group) for number, group in enumerate(plan.groups, 1))


def _step(number: int, group: "tuple[BatchCall, ...]") -> str:
    many = f" ({len(group)} together)" if len(group) > 1 else ""
    return f"{number}. {', '.join(map(_named, group))}{many}"


def _named(call: "BatchCall") -> str:
    after = f" after {', '.join(call.depends_on)}" if call.depends_on else ""
    return one_line(f"{call.id} {call.tool}{after}")
