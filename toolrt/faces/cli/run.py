"""`toolrt run`: one call, through the same gateway as every other door."""

import asyncio
import json
import os
import sys
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import click

from toolrt.core.calls import Caller
from toolrt.core.errors import CallError, RefusedError
from toolrt.core.results import SCHEMA, Failure, ToolResult
from toolrt.faces.cli.bugs import show_trace, witnessed
from toolrt.faces.cli.endings import explained, reported
from toolrt.faces.cli.names import broken, complete_tool
from toolrt.faces.cli.options import Misuse, Settings, Verb
from toolrt.faces.cli.progress import watched
from toolrt.faces.cli.stopping import Stopping
from toolrt.faces.cli.table import count
from toolrt.faces.exits import Exit, of_code, of_result
from toolrt.faces.output import one_line, visible
from toolrt.faces.yaml_text import to_yaml

if TYPE_CHECKING:
    from toolrt.loading.findings import Finding
    from toolrt.runtime import Runtime

EXAMPLES = (
    ("toolrt run text.count_words text='a few words'", "values as text"),
    ("toolrt run files.largest count:=3 -o json", "as JSON; all of the result"),
    ("toolrt run text.count_words text=@note.md", "a value from a file"),
    ("toolrt run text.count_words - < args.json", "arguments from stdin"),
    ("toolrt run files.size @args.json --dry-run", "what would be sent or run"),
)

Gather = Callable[[dict[str, Any]], dict[str, Any]]
"""The arguments of the command line, given the tool's input schema."""

_NEXT = {
    "internal": "doctor",
    "missing-credential": "doctor",
    "unavailable": "doctor",
    "unknown-tool": "list",
}
"""Code of a failure -> the verb that helps; for every other code it is `show`."""

_MOST_EVIDENCE = 20
_FOR_MODELS = "tell the operator"
"""In a hint that has nothing to say to the operator."""


class _RunVerb(Verb):
    """Tells those who write an argument like an option how it is written."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        written = list(args)
        try:
            return super().parse_args(ctx, args)
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
@click.argument("tool", shell_complete=complete_tool)
@click.argument("arguments", nargs=-1, metavar="[ARGUMENT]...")
@click.option("--json", "json_text", metavar="JSON", help="Arguments as a JSON object.")
@click.option("--dry-run", is_flag=True, help="Show what would be sent or run; do nothing.")
@click.option("--as", "as_", metavar="USER[:ROLE,…]", help="Call as somebody else.")
@click.pass_obj
def verb(
    settings: Settings,
    *,
    tool: str,
    arguments: tuple[str, ...],
    json_text: str | None,
    dry_run: bool,
    as_: str | None,
) -> Exit:
    """Call TOOL and print what it gives.

    A value after `=` is text; it is read as a number or a boolean where the tool takes nothing
    else. A value after `:=` is JSON. Arguments also come from a file with a JSON object (`@file`),
    from stdin (`-`) or from `--json`; each argument is given once.
    """
    call = _Call(settings, tool, _caller(as_))
    gather = _gathering(arguments, json_text)
    try:
        return asyncio.run(call.make(gather, dry_run=dry_run))
    except asyncio.CancelledError:
        raise click.Abort from None


class _Call:
    """One call on its way from the command line to the screen."""

    def __init__(self, settings: Settings, tool: str, caller: Caller) -> None:
        self._settings = settings
        self._screen = settings.screen
        self._tool = tool
        self._caller = caller

    async def make(self, gather: Gather, *, dry_run: bool) -> Exit:
        from toolrt import runtime  # noqa: PLC0415 - `--help` loads no runtime

        work = self._preview if dry_run else self._run
        try:
            with Stopping() as self._stopping:
                async with runtime.open(self._settings.project()) as opened:
                    _mention(opened.findings, self._settings)
                    return await work(opened, gather)
        except runtime.BrokenProjectError as error:
            raise broken(error.compiled, self._settings) from error

    async def _run(self, opened: "Runtime", gather: Gather) -> Exit:
        with witnessed(is_verbose=self._screen.is_verbose) as witness:
            result = await self._result(opened, gather)
        self._stopping.check()
        self._screen.show(result.document(), lambda: _text(result))
        if result.error:
            self._explain(result.error, result.attempts)
        if witness.bug:
            self._tell_bug(witness.bug)
        if result.status == "partial":
            self._screen.say("partial: there was more; `result.max_size` says how much is shown")
        return of_result(result)

    async def _result(self, opened: "Runtime", gather: Gather) -> ToolResult:
        try:
            arguments = gather(self._schema(opened))
        except RefusedError as refusal:
            return opened.refuse(self._tool, refusal, self._caller)
        self._stopping.be_gentle()
        async with watched(self._tool, self._screen) as progress:
            return await opened.call(
                self._tool, arguments, caller=self._caller, on_progress=progress.report
            )

    async def _preview(self, opened: "Runtime", gather: Gather) -> Exit:
        document: dict[str, Any] = {"schema": SCHEMA, "tool": self._tool, "dry_run": True}
        try:
            arguments = gather(self._schema(opened))
            seen = await opened.preview(self._tool, arguments, caller=self._caller)
        except CallError as error:
            failure = Failure.of(error)
            self._screen.show({**document, "error": failure.document()}, lambda: "")
            self._explain(failure)
            return of_code(failure.code)
        seen.pop("tool", None)
        self._screen.show({**document, **seen}, lambda: to_yaml(seen).rstrip("\n"))
        return Exit.OK

    def _schema(self, opened: "Runtime") -> dict[str, Any]:
        entry = opened.snapshot.tools.get(self._tool)
        return entry.input_schema if entry else {}

    def _tell_bug(self, bug: BaseException) -> None:
        if self._screen.is_verbose:
            show_trace(bug)
        self._screen.complain(f"this is a bug of toolrt; {reported(bug, sys.argv[1:])}")

    def _explain(self, failure: Failure, attempts: int = 0) -> None:
        """What failed and what to do, on stderr; the document says it in its own way."""
        if self._screen.format != "text":
            return
        many = f" ({attempts} attempts)" if attempts > 1 else ""
        next_ = self._settings.command(_NEXT.get(failure.code, f"show {self._tool}"))
        said = explained(
            self._screen,
            failure.code,
            f"{_message(failure)}{many}",
            more=[*_faults(failure), *_evidence(failure)],
            hint=_hint(failure),
            next_=next_,
        )
        self._screen.complain(said)


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
    """A line about rules that nothing enforces yet; verbose, one about all warnings."""
    if any(one.fault.code == "not-yet" and one.path[:1] == ("rules",) for one in findings):
        settings.screen.say("warning: `rules` in policies.d do nothing yet; no rule is enforced")
    if findings and settings.screen.is_verbose:
        many = count(len(findings), "warning")
        settings.screen.say(f"{many}; see {settings.command('check')}")


def _gathering(tokens: tuple[str, ...], json_text: str | None) -> Gather:
    def gather_for(schema: dict[str, Any]) -> dict[str, Any]:
        from toolrt.faces.cli.arguments import gather  # noqa: PLC0415 - `--help` needs it not

        return gather(tokens, json_text, schema)

    return gather_for


def _caller(as_: str | None) -> Caller:
    """The person at the terminal, or the one that `--as` names."""
    if as_ is None:
        return Caller(_os_user())
    principal, colon, roles = as_.partition(":")
    named = roles.split(",") if colon else []
    if not principal or not all(named):
        wanted = "write --as USER or --as USER:ROLE,…, such as --as ann:finance"
        raise Misuse(f"`--as {as_}` names no user with roles", hint=wanted)
    return Caller(principal, tuple(named))


def _os_user() -> str:
    import pwd  # noqa: PLC0415 - only calls need it

    try:
        return pwd.getpwuid(os.getuid()).pw_name
    except KeyError:
        return f"uid-{os.getuid()}"


def _text(result: ToolResult) -> str:
    """What a successful call shows: its text, else its data as JSON."""
    if result.error:
        return ""
    if result.text or result.data is None or result.data == "":
        return visible(result.text.removesuffix("\n"))
    return visible(json.dumps(result.data, ensure_ascii=False, indent=2))


def _message(failure: Failure) -> str:
    """The message; only what it comes to when each fault has a line of its own."""
    many = len(_faults(failure))
    if not many:
        return failure.message
    if failure.code == "missing-arguments":
        return f"{many} arguments are missing"
    return f"{many} things are wrong with the arguments"


def _faults(failure: Failure) -> list[str]:
    """A line for each fault of refused arguments, when there are several."""
    faults = failure.details.get("faults", ())
    return [f"  {one_line(fault['message'])}" for fault in faults] if len(faults) > 1 else []


def _evidence(failure: Failure) -> list[str]:
    """What the tool said about it, where the message does not hold all of it."""
    keys = ("stdout", "stderr", "excerpt")
    texts = [str(failure.details.get(key) or "").strip() for key in keys]
    lines = [line for text in texts if text not in failure.message for line in text.splitlines()]
    return [f"  {visible(line)}" for line in lines[-_MOST_EVIDENCE:]]


def _hint(failure: Failure) -> str | None:
    """The hint in the command line's own words, where the model's do not fit."""
    if failure.code == "unavailable" and _FOR_MODELS in (failure.hint or ""):
        return None
    if failure.code == "missing-arguments" and "faults" in failure.details:
        pointers = [fault["pointer"] for fault in failure.details["faults"]]
        return "add " + " ".join(f"{pointer.strip('/')}=…" for pointer in pointers)
    return failure.hint
