"""`toolrt run`: one call, through the same gateway as every other door."""

import sys
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import click

from toolrt.core.errors import CallError, RefusedError
from toolrt.core.results import SCHEMA, Failure, ToolResult
from toolrt.faces.cli import loop
from toolrt.faces.cli.bugs import witnessed
from toolrt.faces.cli.caller import Guise, as_option, at_terminal, caller_of, schema_for
from toolrt.faces.cli.dialect import dialect_option
from toolrt.faces.cli.durations import duration
from toolrt.faces.cli.names import broken, complete_tool
from toolrt.faces.cli.options import Misuse, Settings, Verb
from toolrt.faces.cli.progress import watched
from toolrt.faces.cli.table import count
from toolrt.faces.cli.told import explain, tell
from toolrt.faces.cli.watch import Opening, refuse_stdin, repeated
from toolrt.faces.exits import Exit, of_code
from toolrt.faces.yaml_text import to_yaml

if TYPE_CHECKING:
    from toolrt.core.calls import Caller
    from toolrt.faces.cli.run_batch import BatchRun
    from toolrt.faces.cli.run_plan import PlanRun
    from toolrt.faces.cli.run_response import ResponseRun
    from toolrt.faces.cli.stopping import Stopping
    from toolrt.loading.findings import Finding
    from toolrt.opened import Runtime

EXAMPLES = (
    ("toolrt run text.count_words text='a few words'", "values as text"),
    ("toolrt run files.largest count:=3 -o json", "as JSON; all of the result"),
    ("toolrt run text.count_words text=@note.md", "a value from a file"),
    ("toolrt run text.count_words - < args.json", "arguments from stdin"),
    ("toolrt run files.size @args.json --dry-run", "what would be sent or run"),
    ("toolrt run bank.pay invoice=A1 --wait=10m", "wait for a person's yes"),
    ("toolrt run files.size @args.json --watch", "again after each change of a file"),
    ("toolrt run --batch calls.jsonl", "many calls, reads among them together"),
    ("toolrt run --response answer.json", "the calls of a model's answer"),
    ("toolrt run --plan restock.yaml isbn=123", "the steps of a plan, without a model"),
)


@dataclass(frozen=True, slots=True)
class ManyCalls:
    """How many calls are made in one go; `stops` makes none after one that failed."""

    guise: Guise | None
    opening: Opening
    serial: bool
    stops: bool


Gather = Callable[[dict[str, Any]], dict[str, Any]]
"""The arguments of the command line, given the tool's input schema."""

_LONGEST = "1000d"
"""A patience that outlasts every question."""


class _RunVerb(Verb):
    """Tells those who write an argument like an option how it is written."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        written = list(args)
        try:
            return super().parse_args(ctx, _with_wait(args))
        except click.NoSuchOption as error:
            from toolrt.core.names import nearest  # noqa: PLC0415 - difflib, only for mistakes

            meant = [name for param in self.params for name in param.opts]
            close = nearest(error.option_name, meant, cutoff=0.8)
            hint = _as_argument(error.option_name, written)
            hint = f"did you mean `{close}`? {hint}" if close else hint
            misuse = Misuse(f"`run` has no option `{error.option_name}`", hint=hint)
            misuse.ctx = ctx
            raise misuse from error


@click.command("run", cls=_RunVerb, examples=EXAMPLES)
@click.argument("tool", required=False, shell_complete=complete_tool)
@click.argument("arguments", nargs=-1, metavar="[ARGUMENT]...")
@click.option("--json", "json_text", metavar="JSON", help="Arguments as a JSON object.")
@click.option("--dry-run", is_flag=True, help="Show what would be sent or run; do nothing.")
@as_option("Call")
@click.option(
    "--wait",
    callback=duration,
    metavar="[=DURATION]",
    help="If a person has to say yes: wait for it, then run; at most so long.",
)
@click.option("--batch", metavar="FILE", help="Make all calls of a file (JSON or JSONL), or of -.")
@click.option("--response", metavar="FILE", help="Make the calls of a model's answer; - is stdin.")
@click.option("--plan", metavar="FILE", help="Run the plan in a file (YAML or JSON).")
@dialect_option("With --response: whose format it is, where it does not show.")
@click.option("--serial", is_flag=True, help="With many calls: one after the other.")
@click.option("--stop-on-error", is_flag=True, help="With many calls: none after one that failed.")
@click.option("--watch", is_flag=True, help="Stay, and call again after each change of a file.")
@click.option("--allow-foreign-config", is_flag=True, help="Let the folders belong to others.")
@click.pass_obj
def verb(
    settings: Settings,
    *,
    tool: str | None,
    arguments: tuple[str, ...],
    json_text: str | None,
    dry_run: bool,
    as_: Guise | None,
    wait: float | None,
    batch: str | None,
    response: str | None,
    plan: str | None,
    dialect: str | None,
    serial: bool,
    stop_on_error: bool,
    watch: bool,
    allow_foreign_config: bool,
) -> Exit:
    """Call TOOL and print what it gives.

    A value after `=` is text; it is read as a number or a boolean where the tool takes nothing
    else. A value after `:=` is JSON. Arguments also come from a file with a JSON object (`@file`),
    from stdin (`-`) or from `--json`; each argument is given once.
    """
    if watch:
        refuse_stdin(arguments)
    is_attended = wait is not None or (sys.stdin.isatty() and sys.stderr.isatty())
    opening = Opening(watch, allow_foreign_config, is_attended)
    how = ManyCalls(as_, opening, serial=serial, stops=stop_on_error)
    beside = {"TOOL": tool, "`--json`": json_text, "`--wait`": wait, "`--watch`": watch}
    if response is not None:
        answer = _response(settings, response, dialect, how, {**beside, "`--batch`": batch})
        return loop.run_harshly(lambda stopping: answer.make(stopping, dry_run=dry_run))
    if dialect is not None:
        raise Misuse("`--dialect` is for a `--response`", hint="name the file of an answer")
    if plan is not None:
        _refuse_beside_plan(how, {"`--batch`": batch, "`--watch`": watch})
        gather = _gathering(arguments if tool is None else (tool, *arguments), json_text)
        steps = _steps(settings, plan, how, wait, gather)
        return loop.run_harshly(lambda stopping: steps.make(stopping, dry_run=dry_run))
    if batch is not None:
        made = _batch(settings, batch, how, beside)
        return loop.run_harshly(lambda stopping: made.make(stopping, dry_run=dry_run))
    if tool is None:
        raise click.MissingParameter(param_hint="'TOOL'", param_type="argument")
    if serial or stop_on_error:
        option = "--serial" if serial else "--stop-on-error"
        message = f"`{option}` is for a `--batch` or a `--response`"
        raise Misuse(message, hint="a single call has no others beside it")
    call = _Call(settings, tool, as_, wait, opening)
    gather = _gathering(arguments, json_text)
    return loop.run_harshly(lambda stopping: call.make(gather, stopping, dry_run=dry_run))


class _Call:
    """One call on its way from the command line to the screen; `wait_s` is the patience for people,
    None for none.
    """

    def __init__(
        self,
        settings: Settings,
        tool: str,
        guise: Guise | None,
        wait_s: float | None,
        opening: Opening,
    ) -> None:
        self._opening = opening
        self._settings = settings
        self._screen = settings.screen
        self._tool = tool
        self._guise = guise
        self._wait_s = wait_s

    async def make(self, gather: Gather, stopping: "Stopping", *, dry_run: bool) -> Exit:
        from toolrt import runtime  # noqa: PLC0415 - `--help` loads no runtime

        self._stopping = stopping
        work = self._preview if dry_run else self._run
        try:
            async with self._opening.opened(self._settings.project()) as opened:

                def call() -> Awaitable[Exit]:
                    caller = caller_of(opened.snapshot, self._guise, self._settings)
                    return work(opened, gather, caller)

                _mention(opened.findings, self._settings)
                if self._opening.watch:
                    return await repeated(opened, call, self._settings)
                _tell_weak(opened, self._settings)
                return await call()
        except runtime.BrokenProjectError as error:
            raise broken(error.compiled, self._settings) from error

    async def _run(self, opened: "Runtime", gather: Gather, caller: "Caller") -> Exit:
        with witnessed(is_verbose=self._screen.is_verbose) as witness:
            result = await self._result(opened, gather, caller)
        self._stopping.check()
        me = at_terminal(opened.snapshot.identities) if result.pause else None
        return tell(self._settings, result, witness.cause, me=me)

    async def _result(self, opened: "Runtime", gather: Gather, caller: "Caller") -> ToolResult:
        try:
            arguments = gather(schema_for(opened.snapshot, self._tool, caller))
        except RefusedError as refusal:
            return opened.refuse(self._tool, refusal, caller)
        self._stopping.be_gentle()
        async with watched(self._tool, self._screen) as progress:
            result = await opened.call(
                self._tool, arguments, caller=caller, on_progress=progress.report
            )
        if result.pause is None or self._wait_s is None:
            return result
        from toolrt.faces.cli.approvals_wait import answered  # noqa: PLC0415 - few calls wait

        return await answered(opened, result, self._wait_s, self._settings)

    async def _preview(self, opened: "Runtime", gather: Gather, caller: "Caller") -> Exit:
        document: dict[str, Any] = {"schema": SCHEMA, "tool": self._tool, "dry_run": True}
        try:
            arguments = gather(schema_for(opened.snapshot, self._tool, caller))
            seen = await opened.preview(self._tool, arguments, caller=caller)
        except CallError as error:
            failure = Failure.of(error)
            self._screen.show({**document, "error": failure.document()}, lambda: "")
            explain(self._settings, self._tool, failure)
            return of_code(failure.code)
        seen.pop("tool", None)
        self._screen.show({**document, **seen}, lambda: to_yaml(seen).rstrip("\n"))
        return Exit.OK


def _batch(
    settings: Settings, name: str, how: ManyCalls, beside: Mapping[str, object]
) -> "BatchRun":
    """The run of a file of calls. Raises Misuse for what goes with a single call only."""
    from toolrt.faces.cli.run_batch import BatchRun, refuse_beside  # noqa: PLC0415 - seldom used

    for option, given in beside.items():
        refuse_beside("--batch", option, given)
    return BatchRun(settings, name, how)


def _steps(
    settings: Settings, name: str, how: ManyCalls, wait_s: float | None, gather: Gather
) -> "PlanRun":
    """The run of a plan file."""
    from toolrt.faces.cli.run_plan import PlanRun  # noqa: PLC0415 - seldom used

    return PlanRun(settings, name, how, wait_s, gather)


def _refuse_beside_plan(how: ManyCalls, beside: Mapping[str, object]) -> None:
    """Raise Misuse for what goes with other calls only."""
    from toolrt.faces.cli.run_batch import refuse_beside  # noqa: PLC0415 - seldom used

    many = {"`--serial`": how.serial, "`--stop-on-error`": how.stops}
    for option, given in {**beside, **many}.items():
        refuse_beside("--plan", option, given)


def _response(
    settings: Settings,
    name: str,
    dialect: str | None,
    how: ManyCalls,
    beside: Mapping[str, object],
) -> "ResponseRun":
    """The run of a model's answer. Raises Misuse for what goes with other calls only."""
    from toolrt.faces.cli.run_batch import refuse_beside  # noqa: PLC0415 - seldom used
    from toolrt.faces.cli.run_response import ResponseRun  # noqa: PLC0415 - as above

    for option, given in beside.items():
        refuse_beside("--response", option, given)
    return ResponseRun(settings, name, dialect, how)


def _with_wait(args: Sequence[str]) -> list[str]:
    """`--wait` by itself takes no value from what follows it: it waits as long as the question."""
    end = args.index("--") if "--" in args else len(args)
    return [
        f"--wait={_LONGEST}" if arg == "--wait" and at < end else arg for at, arg in enumerate(args)
    ]


def _as_argument(option: str, args: Sequence[str]) -> str:
    """How what was written as `option` is written as an argument, with its value."""
    name = option.lstrip("-")
    for at, arg in enumerate(args):
        head, sign, value = arg.partition("=")
        if head != option:
            continue
        following = args[at + 1] if at + 1 < len(args) else "-"
        value = value if sign else "…" if following.startswith("-") else following
        return f"an argument of the tool is written {name}={value}"
    return f"an argument of the tool is written {name}=…"


def _mention(findings: Sequence["Finding"], settings: Settings) -> None:
    """Verbose: a line about the warnings."""
    if findings and settings.screen.is_verbose:
        many = count(len(findings), "warning")
        settings.screen.say(f"{many}; see {settings.command('check')}")


def _tell_weak(opened: "Runtime", settings: Settings) -> None:
    """Warnings that say of rules that they may not hold."""
    if opened.findings:
        from toolrt.faces.cli.findings import tell_weak  # noqa: PLC0415 - few calls have warnings

        tell_weak(opened, settings)


def _gathering(tokens: tuple[str, ...], json_text: str | None) -> Gather:
    def gather_for(schema: dict[str, Any]) -> dict[str, Any]:
        from toolrt.faces.cli.arguments import gather  # noqa: PLC0415 - `--help` needs it not

        return gather(tokens, json_text, schema)

    return gather_for
