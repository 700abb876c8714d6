"""`toolrt approvals approve` and `deny`: the decision of the person at the terminal."""

import json
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import click

from toolrt.faces.cli.approvals_desk import Desk, at_desk, refusals
from toolrt.faces.cli.durations import duration
from toolrt.faces.cli.options import Misuse, Settings, Verb
from toolrt.faces.cli.told import SHORT_ID
from toolrt.faces.exits import Exit, Stop

if TYPE_CHECKING:
    from toolrt.pipeline.answering import Standing, Supplied
    from toolrt.stores.approvals import Approval

Scope = Literal["session", "pattern"]
_USES = 100


@dataclass(frozen=True, slots=True)
class Yes:
    """What was said with a yes: other arguments, and for how long it holds for calls to come."""

    note: str | None = None
    edits: tuple[str, ...] = ()
    for_s: float | None = None
    scope: Scope | None = None
    uses: int | None = None
    free: tuple[str, ...] = ()
    runs: bool = False
    is_full: bool = False
    result: str | None = None
    error: str | None = None


@click.command(
    "approve",
    cls=Verb,
    examples=(
        ("toolrt approvals approve k3jd --note 'as agreed'", "say yes"),
        ("toolrt approvals approve k3jd --edit amount=500", "yes, but to this"),
        ("toolrt approvals approve k3jd --run", "say yes, then run it here"),
        ("toolrt approvals approve k3jd --for 1h --any invoice", "and to the like of it"),
    ),
)
@click.argument("approval")
@click.option("--note", metavar="TEXT", help="Why; it is kept.")
@click.option(
    "--edit",
    "edits",
    multiple=True,
    metavar="ARGUMENT",
    help="Another value, or one that is asked for: name=value or name:=json, as `run` takes it.",
)
@click.option(
    "--for",
    "for_s",
    metavar="DURATION",
    callback=duration,
    help="Yes to such calls for so long, 24h at most.",
)
@click.option("--session", "scope", flag_value="session", help="With --for: of this session.")
@click.option("--pattern", "scope", flag_value="pattern", help="With --for: of this caller.")
@click.option("--any", "free", multiple=True, metavar="NAME", help="With --for: it may vary.")
@click.option("--uses", type=click.IntRange(1), help=f"With --for: so often.  [default: {_USES}]")
@click.option("--run", "runs", is_flag=True, help="Then run it, in this process.")
@click.option("--full", "is_full", is_flag=True, help="Say yes to more than 64 KB.")
@click.option("--result", metavar="JSON", help="The result of a call that you made by hand.")
@click.option("--error", metavar="TEXT", help="Why a call by hand has no result.")
@click.pass_obj
def approve(settings: Settings, /, *, approval: str, **said: Any) -> Exit:
    """Say yes to APPROVAL: to exactly what `show` prints. Nothing runs by that.

    Edited and filled-in arguments pass schema and rules like those of a call.
    """
    yes = Yes(**said)
    if yes.for_s is None and (yes.scope or yes.uses or yes.free):
        raise Misuse("there is no --for", hint="say how long the yes holds, such as --for 1h")
    return at_desk(settings, lambda desk: _approve(desk, approval, yes))


@click.command(
    "deny",
    cls=Verb,
    examples=(("toolrt approvals deny k3jd --note 'no such invoice'", "say no, and why"),),
)
@click.argument("approval")
@click.option("--note", metavar="TEXT", help="Why; the caller is told.")
@click.pass_obj
def deny(settings: Settings, *, approval: str, note: str | None) -> Exit:
    """Say no to APPROVAL. The same call is not asked about again for a minute."""
    return at_desk(settings, lambda desk: _deny(desk, approval, note))


async def _approve(desk: Desk, approval: str, yes: Yes) -> Exit:
    from toolrt.faces.cli.approvals_settle import run_here  # noqa: PLC0415 - as `at_desk`

    record = await desk.approvals.current(approval)
    refuse_unseen(desk, record, is_full=yes.is_full)
    edits = _edits(desk, record, yes.edits)
    standing = _standing(record, yes)
    decided = await decide(
        desk, record, yes.note, edits=edits, standing=standing, supplied=_supplied(yes)
    )
    say_more(desk, record, decided)
    if not yes.runs:
        await report(desk, decided)
    if standing:
        await _say_standing(desk, decided)
    return await run_here(desk, decided) if yes.runs else Exit.OK


def say_more(desk: Desk, before: "Approval", after: "Approval") -> None:
    """That an edit brought other rules along, which ask for more than was asked for before."""
    from toolrt.faces.output import one_line  # noqa: PLC0415 - as `at_desk`
    from toolrt.policy.terms import added, reasons_of  # noqa: PLC0415 - as above

    more = added(after.terms, before.terms)
    if more:
        said = one_line(reasons_of(more))
        desk.settings.screen.complain(f"with these arguments more is asked for: {said}")


async def _say_standing(desk: Desk, record: "Approval") -> None:
    """The standing yes that was made: what it is for, and how it is ended."""
    from toolrt.faces.cli.approvals_text import granted  # noqa: PLC0415 - as `at_desk`

    screen = desk.settings.screen
    grant = await desk.approvals.grant_of(record) if record.state == "approved" else None
    if grant is None:
        why = "more must say yes" if record.state == "pending" else f"it is {record.state}"
        screen.say(f"{why}; no standing yes was made")
        return
    revoke = desk.settings.command(f"approvals revoke {grant.id[:SHORT_ID]}")
    screen.say(f"{granted(grant, desk.now)}\nrevoke: {revoke}")


async def _deny(desk: Desk, approval: str, note: str | None) -> Exit:
    with refusals(desk.settings, denied=f"approvals show {approval[:SHORT_ID]}"):
        moved = await desk.approvals.deny(approval, desk.by, note=note)
    await report(desk, desk.done(moved, "deny"))
    return Exit.OK


async def decide(
    desk: Desk,
    record: "Approval",
    note: str | None = None,
    *,
    edits: Mapping[str, Any] | None = None,
    standing: "Standing | None" = None,
    supplied: "Supplied | None" = None,
) -> "Approval":
    """Yes to what was shown. Raises Stop where that is refused."""
    short, asks = record.id[:SHORT_ID], edits_asked(record)
    look = f"approvals show {short}"
    next_ = f"approvals approve {short}{asks}" if asks else look
    with refusals(desk.settings, next_, look):
        moved = await desk.approvals.approve(
            record.id,
            desk.by,
            note=note,
            edits=edits,
            standing=standing,
            seen=record.final_hash,
            supplied=supplied,
        )
    if moved.code is None and moved.message:
        desk.settings.screen.complain(moved.message)
    return desk.done(moved)


def edits_asked(record: "Approval") -> str:
    """How the arguments that a person fills in are given, to be suggested."""
    from toolrt.faces.approval_document import asked_fields  # noqa: PLC0415 - as `at_desk`

    if record.mode == "external":
        return " --result JSON"
    return "".join(f" --edit {name}=…" for name in asked_fields(record))


async def report(desk: Desk, record: "Approval") -> None:
    """What it is now, what was decided about, and what comes next."""
    from toolrt.faces.approval_document import approval_document  # noqa: PLC0415 - as `at_desk`
    from toolrt.faces.cli.approvals_look import say_next  # noqa: PLC0415 - as above
    from toolrt.faces.cli.approvals_text import told  # noqa: PLC0415 - as above

    viewed, screen = await desk.viewed(record), desk.settings.screen
    screen.show(
        approval_document(viewed), lambda: told(viewed, desk.now, desk.by.principal, None).text
    )
    if screen.format == "text":
        say_next(desk, viewed, 0)


def refuse_unseen(desk: Desk, record: "Approval", *, is_full: bool) -> None:
    """Raises Stop where `show` would have cut what is to be decided about (A12)."""
    from toolrt.faces.cli.approvals_text import MOST_BYTES, size  # noqa: PLC0415 - as `at_desk`

    bytes_ = size(record)
    if is_full or bytes_ <= MOST_BYTES:
        return
    raise Stop(
        Exit.USAGE,
        f"what would run takes {bytes_} bytes, more than `show` prints by itself",
        code="usage",
        hint="look at all of it, then approve with --full",
        next_=desk.command("show", record, " --full"),
    )


def _edits(desk: Desk, record: "Approval", tokens: tuple[str, ...]) -> dict[str, Any]:
    """Other values, and those that were asked for; these are prompted for on a terminal."""
    from toolrt.faces.approval_document import asked_fields  # noqa: PLC0415 - as `at_desk`
    from toolrt.faces.cli.arguments import gather  # noqa: PLC0415 - as `at_desk`

    entry = desk.opened.snapshot.tool(record.tool)
    schema = dict(entry.parameters.schema) if entry else {}
    schema["properties"] = {**schema.get("properties", {}), **asked_fields(record)}
    edits = gather(tokens, None, schema)
    missing = [each for each in _fields(record) if each not in edits]
    if not missing or not sys.stdin.isatty():
        return edits
    typed = [f"{name}={_prompt(name, schema)}" for name in missing]
    return {**edits, **gather(typed, None, schema)}


def _fields(record: "Approval") -> list[str]:
    """The arguments that a person has to fill in, and nobody has."""
    from toolrt.faces.approval_document import asked_form  # noqa: PLC0415 - as `at_desk`

    known = json.loads(record.arguments)
    return [name for name in asked_form(record).get("required", ()) if name not in known]


def _prompt(name: str, schema: Mapping[str, Any]) -> str:
    from toolrt.faces.output import one_line  # noqa: PLC0415 - as `at_desk`

    said = schema.get("properties", {}).get(name, {}).get("description", "")
    text = f"{name} ({one_line(said)})" if said else name
    answer: str = click.prompt(text, err=True)
    return answer


def _standing(record: "Approval", yes: Yes) -> "Standing | None":
    """The yes to calls to come. Raises Misuse where it is not clear to which."""
    if yes.for_s is None:
        return None
    from toolrt.core.names import did_you_mean  # noqa: PLC0415 - difflib, only for mistakes
    from toolrt.pipeline.answering import Standing  # noqa: PLC0415 - as `at_desk`

    known = json.loads(record.arguments)
    for name in yes.free:
        if name not in known:
            hint = did_you_mean(name, known) or f"its arguments: {', '.join(known)}"
            raise Misuse(f"this call has no argument `{name}`", hint=hint)
    return Standing(_scope(record, yes), yes.for_s, yes.uses or _USES, frozenset(yes.free))


def _supplied(yes: Yes) -> "Supplied | None":
    """The result of a call by hand, as JSON on the command line. Raises Misuse for what is none."""
    from toolrt.core.errors import RefusedError  # noqa: PLC0415 - as `at_desk`
    from toolrt.pipeline.answering import Supplied  # noqa: PLC0415 - as above
    from toolrt.schemas.text import parse_json  # noqa: PLC0415 - as above

    if yes.result is None:
        return None if yes.error is None else Supplied(error=yes.error)
    if yes.error is not None:
        raise Misuse("a call has a result or an error, not both", hint="leave one of them out")
    try:
        return Supplied(parse_json(yes.result))
    except RefusedError as error:
        hint = "a text is written with its quotes: --result '\"done\"'"
        why = error.message.removeprefix("the arguments are no valid JSON: ")
        raise Misuse(f"--result: {why.replace('the arguments', 'it')}", hint=hint) from error


def _scope(record: "Approval", yes: Yes) -> Scope:
    if yes.scope is not None:
        return yes.scope
    offered: list[Scope] = [each for each in record.terms.scopes if each != "once"]
    if len(offered) > 1:
        raise Misuse("the rules let it hold for two things", hint="say --session or --pattern")
    return offered[0] if offered else "pattern"
