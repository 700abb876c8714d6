"""`toolrt run --response FILE`: the calls of a model's answer, and the messages that go back."""

from typing import TYPE_CHECKING, Any

from toolrt.core.errors import RefusedError
from toolrt.core.results import SCHEMA
from toolrt.faces.cli.arguments import read_whole
from toolrt.faces.cli.bugs import witnessed
from toolrt.faces.cli.options import Misuse, Settings
from toolrt.faces.cli.progress import watched
from toolrt.faces.cli.run_batch import FileRun, tell_many
from toolrt.faces.cli.told import tell_cause
from toolrt.faces.exits import Exit, of_results
from toolrt.faces.output import one_line, to_json

if TYPE_CHECKING:
    from toolrt.core.calls import Caller
    from toolrt.faces.cli.run import ManyCalls
    from toolrt.faces.cli.stopping import Stopping
    from toolrt.opened import Runtime


class ResponseRun(FileRun):
    """One answer of a model, on its way to the screen; `-` is stdin."""

    def __init__(
        self, settings: Settings, name: str, dialect: str | None, how: "ManyCalls"
    ) -> None:
        super().__init__(settings, how)
        self._name = "stdin" if name == "-" else name
        self._text = read_whole(name)
        self._dialect = dialect

    def _misuse(self, refusal: RefusedError) -> Misuse:
        at = refusal.details.get("at")
        place = f"{self._name}: {at}" if at else self._name
        return Misuse(f"{place}: {refusal.message}", hint=refusal.hint)

    async def _run(self, opened: "Runtime", caller: "Caller", stopping: "Stopping") -> Exit:
        with witnessed(is_verbose=self._screen.is_verbose) as witness:
            stopping.be_gentle()
            async with watched("response", self._screen) as progress:
                turn = await opened.turn(
                    self._text,
                    dialect=self._dialect,
                    caller=caller,
                    serial=self._how.serial,
                    stop_on_error=self._how.stops,
                    on_progress=progress.report,
                )
        stopping.check()
        document = turn.document()
        self._screen.show(document, lambda: to_json(turn.messages, indent=2), turn.messages)
        tell_many(self._settings, [each.id for each in turn.calls], turn.results)
        if not turn.calls:
            self._screen.say("the answer asks for no call")
        if witness.cause:
            tell_cause(self._screen, witness.cause)
        return of_results(turn.results)

    async def _preview(self, opened: "Runtime", caller: "Caller", _stopping: "Stopping") -> Exit:
        vendor, calls, _ = opened.vendors.parse(self._text, dialect=self._dialect, caller=caller)
        rows: list[dict[str, Any]] = [
            {"id": each.id, "tool": each.tool, "arguments": each.arguments} for each in calls
        ]
        document = {"schema": SCHEMA, "dry_run": True, "dialect": vendor.NAME, "calls": rows}
        self._screen.show(document, lambda: "\n".join(map(_line, rows)), rows)
        return Exit.OK


def _line(call: dict[str, Any]) -> str:
    arguments = call["arguments"]
    text = arguments if isinstance(arguments, str) else to_json(arguments)
    return one_line(f"{call['id']} {call['tool']} {text}")
