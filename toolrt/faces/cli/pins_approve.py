"""`toolrt pins approve`: what servers say now is what is meant; `toolrt.lock` is written."""

from typing import TYPE_CHECKING

import click

from toolrt.core.results import SCHEMA
from toolrt.faces.cli.approvals_desk import Desk, at_desk
from toolrt.faces.cli.options import Settings, Verb
from toolrt.faces.cli.pins_look import SHORT, chosen, foreign_tools, told
from toolrt.faces.cli.table import count
from toolrt.faces.exits import Exit, Stop

if TYPE_CHECKING:
    from toolrt.catalog.sources.approving import ForeignTool

_MODE = 0o644


@click.command(
    "approve",
    cls=Verb,
    examples=(
        ("toolrt pins approve files.read_file", "let in one tool as it is now"),
        ("toolrt pins approve files", "all of a source"),
        ("toolrt pins approve --all --dry-run", "what would be let in"),
    ),
)
@click.argument("names", nargs=-1)
@click.option("--all", "all_", is_flag=True, help="Every tool of every server.")
@click.option(
    "--digest",
    "digests",
    multiple=True,
    metavar="DIGEST",
    help="Let in nothing but this, as `pins diff` has shown it; for each tool one.",
)
@click.option("--dry-run", is_flag=True, help="Say what would be approved; write nothing.")
@click.pass_obj
def approve(
    settings: Settings,
    *,
    names: tuple[str, ...],
    all_: bool,
    digests: tuple[str, ...],
    dry_run: bool,
) -> Exit:
    """Approve what servers say now of NAMES, tools or sources, and write it to toolrt.lock.

    From then on the lock decides about these sources: a tool that it does not know is blocked. A
    server of this project that watches its files sees it at once; else `toolrt reload` tells it.

    A server may say something else to each who asks: what is let in is shown, and with --digest it
    is what was looked at before, or nothing.
    """
    if not names and not all_:
        message = "say which: names of tools or sources, or --all"
        raise Stop(Exit.USAGE, message, code="usage", next_=settings.command("pins diff"))
    return at_desk(settings, lambda desk: _approve(desk, names, digests, is_dry=dry_run))


async def _approve(
    desk: Desk, names: tuple[str, ...], digests: tuple[str, ...], *, is_dry: bool
) -> Exit:
    _check_right(desk)
    tools = [each for each in chosen(desk, names) if each.seen is not None]
    if not tools:
        message = "their servers cannot be reached: nobody knows what would be approved"
        next_ = desk.settings.command("pins list")
        raise Stop(Exit.TOOL_FAILED, message, code="unavailable", next_=next_)
    _check_digests(desk, tools, digests)
    others = 0 if is_dry else _write(desk, tools)
    _show(desk, tools, others, is_dry=is_dry)
    return Exit.OK


def _check_digests(desk: Desk, tools: "list[ForeignTool]", digests: tuple[str, ...]) -> None:
    """Raises Stop where a tool is not what somebody has looked at."""
    if not digests:
        return
    if any(len(each) < SHORT for each in digests):
        message = f"a digest has at least {SHORT} characters"
        next_ = desk.settings.command("pins diff")
        raise Stop(Exit.USAGE, message, code="usage", next_=next_)
    for tool in tools:
        now = tool.seen.digest if tool.is_waiting and tool.seen else None
        if now is not None and not now.startswith(digests):
            message = f"{tool.full_name} is something else by now: {now[:SHORT]}"
            next_ = desk.settings.command("pins diff")
            raise Stop(Exit.DIFFERENT, message, code="different", next_=next_)


def _check_right(desk: Desk) -> None:
    """To let in what a stranger says is for those who may change the project."""
    if "admin" in desk.by.may:
        return
    raise Stop(
        Exit.DENIED,
        f"{desk.by.principal} may approve no definitions",
        code="access-denied",
        hint="`may: [admin]` of an identity in toolrt.yaml lets somebody do that",
        next_=desk.settings.command("pins diff"),
    )


def _write(desk: Desk, tools: "list[ForeignTool]") -> int:
    """Write the lock; gives how many other tools of these sources stand in it from now on, because
    they were seen before.
    """
    from toolrt.catalog.sources.pins import LOCK, written_lock  # noqa: PLC0415 - `--help`
    from toolrt.stores.private import replace_file  # noqa: PLC0415 - as above

    lock = desk.opened.foreign.approving(tools)
    content = written_lock(lock)
    try:
        replace_file(desk.opened.project / LOCK, content, _MODE)
    except OSError as error:
        message = f"{LOCK} cannot be written: {error.strerror}"
        next_ = desk.settings.command("doctor")
        raise Stop(Exit.TOOL_FAILED, message, code="output", next_=next_) from error
    sources = {each.source for each in tools}
    seen = [each for each in foreign_tools(desk) if each.source in sources]
    return sum(each.standing == "seen" and each not in tools for each in seen)


def _show(desk: Desk, tools: "list[ForeignTool]", others: int, *, is_dry: bool) -> None:
    screen = desk.settings.screen
    waiting = [each for each in tools if each.is_waiting]
    document = {
        "schema": SCHEMA,
        "dry_run": is_dry,
        "approved": [each.document() for each in tools],
    }
    verb = "would be approved" if is_dry else "approved: toolrt.lock is written"
    more = f", with {count(others, 'tool')} seen before" if others else ""

    def text() -> str:
        parts = [told(each, screen) for each in waiting]
        return "\n\n".join([*parts, f"{count(len(tools), 'tool')} {verb}{more}"])

    screen.show(document, text)
