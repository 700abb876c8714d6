"""`toolrt explain`: which rule decides a call and why, and what other rules would have changed."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import click

from toolrt.core.errors import CallError, ProjectError
from toolrt.core.results import SCHEMA, Failure
from toolrt.faces.cli import loop
from toolrt.faces.cli.caller import Guise, as_option, at_terminal, caller_of, seen_by
from toolrt.faces.cli.names import compiled, complete_tool, require_tool
from toolrt.faces.cli.options import Misuse, Settings, Verb
from toolrt.faces.exits import Exit, of_code

if TYPE_CHECKING:
    from toolrt.catalog.snapshot import ToolEntry
    from toolrt.core.calls import Caller
    from toolrt.opened import Runtime
    from toolrt.pipeline.explaining import Explanation

EXAMPLES = (
    ("toolrt explain bank.pay amount:=900", "who decides about this call, and why"),
    ("toolrt explain bank.pay amount:=900 --as ann:finance", "if somebody else made it"),
    ("toolrt explain bank.pay amount:=900 -o json", "the decision as a document"),
    ("toolrt explain --diff ../main", "calls of the past, by the rules of another folder"),
)
_STATUS = {"allow": Exit.OK, "ask": Exit.PAUSED, "deny": Exit.DENIED}


@click.command("explain", cls=Verb, examples=EXAMPLES)
@click.argument("tool", required=False, shell_complete=complete_tool)
@click.argument("arguments", nargs=-1, metavar="[ARGUMENT]...")
@click.option("--json", "json_text", metavar="JSON", help="Arguments as a JSON object.")
@as_option("Explain a call")
@click.option("--diff", "other", metavar="DIR", help="Decide the journal's calls by both policies.")
@click.pass_obj
def verb(
    settings: Settings,
    *,
    tool: str | None,
    arguments: tuple[str, ...],
    json_text: str | None,
    as_: Guise | None,
    other: str | None,
) -> Exit:
    """Say what would become of a call of TOOL, and why. Nothing runs.

    Arguments are written as for `run`. Ends with 0 when the call is allowed, with 6 when a person
    is asked, with 4 when it is denied.

    With --diff every call of the journal, or of TOOL, is decided by the rules of DIR (a project, or
    a folder of policy files) and by those of this project; ends with 10 when a decision differs.
    """
    if other is not None:
        if arguments or json_text or as_:
            raise Misuse("`--diff` takes no arguments and no `--as`", hint="the journal has them")
        from toolrt.faces.cli.explain_diff import differing  # noqa: PLC0415 - only with --diff

        return differing(settings, other, tool)
    if tool is None:
        raise Misuse("which tool?", hint="write toolrt explain TOOL, or --diff DIR")
    question = _Question(settings, tool, arguments, json_text, as_)
    return loop.run(question.answered)


@dataclass(frozen=True, slots=True)
class _Question:
    """A call that somebody asks about."""

    settings: Settings
    tool: str
    tokens: tuple[str, ...]
    json_text: str | None
    guise: Guise | None

    async def answered(self) -> Exit:
        from toolrt import runtime  # noqa: PLC0415 - `--help` loads no runtime

        try:
            async with runtime.open(self.settings.project()) as opened:
                me = at_terminal(opened.snapshot.identities)
                seen, _ = seen_by(opened.snapshot, me)
                entry = require_tool(seen, self.tool, self.settings)
                caller = caller_of(opened.snapshot, self.guise, self.settings)
                return await self._about(opened, entry, caller)
        except ProjectError:
            compiled(self.settings)  # ends the verb with all that is wrong
            raise

    async def _about(self, opened: "Runtime", entry: "ToolEntry", caller: "Caller") -> Exit:
        from toolrt.faces.cli.arguments import gather  # noqa: PLC0415 - `--help` needs it not

        try:
            arguments = gather(self.tokens, self.json_text, entry.input_schema)
            explanation = await opened.explain(self.tool, arguments, caller)
        except CallError as error:
            return self._refused(Failure.of(error))
        return self._shown(explanation, is_written=opened.snapshot.rules.is_written)

    def _refused(self, failure: Failure) -> Exit:
        """The call would be refused before any rule is asked."""
        from toolrt.faces.cli.told import explain  # noqa: PLC0415 - only for mistakes

        document = {"schema": SCHEMA, "tool": self.tool, "error": failure.document()}
        self.settings.screen.show(document, str)
        explain(self.settings, self.tool, failure)
        return of_code(failure.code)

    def _shown(self, explanation: "Explanation", *, is_written: bool) -> Exit:
        from toolrt.faces.cli.explain_text import explained, limits_of  # noqa: PLC0415 - as above

        limits, origins = limits_of(explanation.tool)
        document: dict[str, Any] = {
            "schema": SCHEMA,
            **explanation.document(),
            "limits": limits,
            "origins": origins,
        }
        screen = self.settings.screen
        screen.show(document, lambda: explained(explanation, screen, is_written=is_written))
        return _STATUS[explanation.decision.verdict]
