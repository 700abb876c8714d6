"""`toolrt pins list` and `diff`: what is approved of foreign tools, and what has changed."""

from typing import TYPE_CHECKING

import click

from toolrt.core.results import SCHEMA
from toolrt.faces.cli.approvals_desk import Desk, at_desk
from toolrt.faces.cli.options import Settings, Verb
from toolrt.faces.cli.table import aligned, count
from toolrt.faces.exits import Exit, Stop
from toolrt.faces.output import Screen, one_line

if TYPE_CHECKING:
    from toolrt.catalog.sources.approving import ForeignTool

_COLORS = {"approved": "green", "seen": "green", "changed": "red", "unapproved": "red"}
SHORT = 12
"""Characters of a digest that people see."""


@click.command(
    "list", cls=Verb, examples=(("toolrt pins list", "every tool of a server, approved or not"),)
)
@click.pass_obj
def list_(settings: Settings) -> Exit:
    """List the tools of all servers, and whether what they say is what was approved."""
    return at_desk(settings, _list)


@click.command(
    "diff",
    cls=Verb,
    examples=(
        ("toolrt pins diff", "everything that has changed"),
        ("toolrt pins diff files.read_file", "what has changed of one tool"),
    ),
)
@click.argument("names", nargs=-1)
@click.pass_obj
def diff(settings: Settings, *, names: tuple[str, ...]) -> Exit:
    """Show what has changed, old and new, with characters that nobody sees made visible.

    NAMES are tools or sources; none means all. Ends with 10 when something has changed, else with 1
    when a server could not be asked.
    """
    return at_desk(settings, lambda desk: _diff(desk, names))


async def _list(desk: Desk) -> Exit:
    tools, screen = foreign_tools(desk), desk.settings.screen
    documents = [each.document() for each in tools]
    screen.show(
        {"schema": SCHEMA, "pins": documents},
        lambda: "\n".join(aligned([_row(each, screen) for each in tools])),
        [{"schema": SCHEMA, **each} for each in documents],
    )
    if not tools:
        screen.say("no tool of a server is known: `sources: {NAME: {mcp: …}}` names one")
    waiting = [each for each in tools if each.is_waiting]
    if waiting:
        next_ = desk.settings.command("pins diff")
        screen.say(f"{count(len(waiting), 'tool')} to look at: {next_}")
    return Exit.OK


async def _diff(desk: Desk, names: tuple[str, ...]) -> Exit:
    screen = desk.settings.screen
    tools = chosen(desk, names)
    changed = [each for each in tools if each.is_waiting]
    unasked = _unasked(desk, names, tools)
    documents = [
        {**each.document(), "diff": each.differences(), "suspicious": each.suspicions()}
        for each in changed
    ]
    missing = [{"source": source, "why": why} for source, why in unasked.items()]
    screen.show(
        {"schema": SCHEMA, "pins": documents, "unreachable": missing},
        lambda: "\n\n".join(told(each, screen) for each in changed),
        [{"schema": SCHEMA, **each} for each in documents],
    )
    for source, why in unasked.items():
        screen.complain(f"source `{one_line(source)}` could not be asked: {one_line(why)}")
    if not changed and unasked:
        screen.say("whether anything has changed there, nobody knows")
        return Exit.TOOL_FAILED
    if not changed:
        screen.say("nothing has changed")
        return Exit.OK
    next_ = desk.settings.command("pins approve NAME --digest DIGEST")
    screen.say(f"let in what is meant: {next_}")
    return Exit.DIFFERENT


def foreign_tools(desk: Desk) -> "list[ForeignTool]":
    """All tools of servers. Raises Stop where the lock cannot be read."""
    return desk.opened.foreign.tools()


def chosen(desk: Desk, names: tuple[str, ...]) -> "list[ForeignTool]":
    """The tools that are meant, by their own names or those of their sources. Raises Stop."""
    tools = foreign_tools(desk)
    if not names:
        return tools
    sources = {each.source for each in tools} | desk.opened.foreign.unasked().keys()
    known = {each.full_name for each in tools} | sources
    for name in names:
        if name not in known:
            raise _unknown(name, known, desk.settings)
    return [each for each in tools if each.full_name in names or each.source in names]


def _unasked(desk: Desk, names: tuple[str, ...], tools: "list[ForeignTool]") -> dict[str, str]:
    """Why servers could not be asked, by their sources: those of `names`, where any are given."""
    wanted = {each.source for each in tools} | set(names)
    found = desk.opened.foreign.unasked().items()
    return {source: why for source, why in found if not names or source in wanted}


def told(tool: "ForeignTool", screen: Screen) -> str:
    """A tool and what has changed of it."""
    how = "has changed" if tool.standing == "changed" else "is new"
    digest = tool.seen.digest[:SHORT] if tool.seen else ""
    head = f"{one_line(tool.full_name)}  {how}  {digest}"
    warned = [f"  ! {one_line(each)}" for each in tool.suspicions()]
    return "\n".join([head, *warned, *(_painted(line, screen) for line in tool.differences()[2:])])


def _painted(line: str, screen: Screen) -> str:
    color = {"+": "green", "-": "red"}.get(line[:1])
    shown = f"  {line}"
    return screen.paint(shown, fg=color) if color else shown


def _row(tool: "ForeignTool", screen: Screen) -> list[str]:
    pin = tool.pin.digest[:SHORT] if tool.pin else ""
    standing = screen.paint(tool.standing, fg=_COLORS.get(tool.standing, "yellow"))
    return [one_line(tool.full_name), standing, pin]


def _unknown(name: str, known: set[str], settings: Settings) -> Stop:
    from toolrt.core.names import did_you_mean  # noqa: PLC0415 - difflib, only for mistakes

    return Stop(
        Exit.NOT_FOUND,
        f"no server has a tool `{name}`",
        code="not-found",
        hint=did_you_mean(name, known),
        next_=settings.command("pins list"),
    )
