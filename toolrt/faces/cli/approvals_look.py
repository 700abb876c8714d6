"""`toolrt approvals list` and `show`: looking, before anybody decides."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from toolrt.core.results import SCHEMA
from toolrt.faces.cli.approvals_desk import Desk, at_desk
from toolrt.faces.cli.options import Settings, Verb
from toolrt.faces.cli.table import fitted, join
from toolrt.faces.exits import Exit

if TYPE_CHECKING:
    from toolrt.pipeline.viewing import Viewed

STATES = (
    "open", "pending", "approved", "claimed", "unknown",
    "succeeded", "failed", "denied", "expired", "cancelled", "all",
)  # fmt: skip
OPEN = ("pending", "approved", "claimed", "unknown")
_MOST = 100


@click.command(
    "list",
    cls=Verb,
    examples=(
        ("toolrt approvals list", "what is open"),
        ("toolrt approvals list --state all -o json", "everything there is"),
    ),
)
@click.option(
    "--state",
    type=click.Choice(STATES),
    default="open",
    help="Only those in this state.  [default: open: pending, approved, claimed, unknown]",
)
@click.option(
    "--limit", type=click.IntRange(1), default=_MOST, help=f"At most so many.  [default: {_MOST}]"
)
@click.option("--ids", is_flag=True, help="Ids alone, one a line, for scripts.")
@click.pass_obj
def list_(settings: Settings, *, state: str, limit: int, ids: bool) -> Exit:
    """List approvals, the latest first."""
    return at_desk(settings, lambda desk: _list(desk, state, limit, ids=ids))


@click.command(
    "show",
    cls=Verb,
    examples=(
        ("toolrt approvals show k3jd", "what would run, and why it waits"),
        ("toolrt approvals show k3jd --full", "however long that is"),
    ),
)
@click.argument("approval")
@click.option("--full", is_flag=True, help="Cut nothing.")
@click.pass_obj
def show(settings: Settings, *, approval: str, full: bool) -> Exit:
    """Show APPROVAL: who asks, why, who must say yes, and exactly what will run."""
    return at_desk(settings, lambda desk: _show(desk, approval, full=full))


async def _list(desk: Desk, state: str, limit: int, *, ids: bool) -> Exit:
    from toolrt.faces.approval_document import approval_summary  # noqa: PLC0415 - as `at_desk`

    named = {"open": OPEN, "all": ()}.get(state, (state,))
    records = await desk.approvals.listed(named, limit)  # type: ignore[arg-type]  # click checked it
    viewed = await desk.approvals.viewed(*records)
    summaries = [approval_summary(each) for each in viewed]
    screen = desk.settings.screen
    screen.show(
        {"schema": SCHEMA, "approvals": summaries},
        lambda: "\n".join(each.id for each in records) if ids else _table(viewed, desk),
        summaries,
    )
    if not records and not ids:
        screen.say(_nothing(desk, state))
    return Exit.OK


def _table(viewed: Sequence["Viewed"], desk: Desk) -> str:
    from toolrt.faces.cli.approvals_text import row  # noqa: PLC0415 - as `at_desk`

    if not viewed:
        return ""
    rows = [row(each, desk.now) for each in viewed]
    return "\n".join(join(line) for line in fitted(rows, 0.2, desk.settings.screen.width))


def _nothing(desk: Desk, state: str) -> str:
    if state == "all":
        return "no call was ever asked about"
    return f"none is {state}; try: {desk.settings.command('approvals list --state all')}"


async def _show(desk: Desk, approval: str, *, full: bool) -> Exit:
    from toolrt.faces.approval_document import approval_document  # noqa: PLC0415 - as `at_desk`
    from toolrt.faces.cli.approvals_text import MOST_BYTES, told  # noqa: PLC0415 - as above

    viewed = await desk.viewed(await desk.approvals.current(approval))
    shown = told(viewed, desk.now, desk.by.principal, None if full else MOST_BYTES)
    desk.settings.screen.show(approval_document(viewed), lambda: shown.text)
    if desk.settings.screen.format == "text":
        say_next(desk, viewed, shown.left_bytes)
    return Exit.OK


def say_next(desk: Desk, viewed: "Viewed", left_bytes: int) -> None:
    """What can be done about it now; where that is not up to this person, who else must say yes."""
    from toolrt.faces.cli.approvals_decide import edits_asked  # noqa: PLC0415 - it imports us
    from toolrt.faces.cli.approvals_text import needed  # noqa: PLC0415 - as `at_desk`
    from toolrt.policy.needs import awaits  # noqa: PLC0415 - as above

    record, me = viewed.record, desk.by
    if viewed.is_altered:
        desk.settings.screen.say(f"try: {desk.command('cancel', record)}")
        return
    is_mine = any(awaits(each, record.principal, me) for each in viewed.needs)
    if record.state == "pending" and not is_mine and not left_bytes:
        run = desk.command("run", record)
        desk.settings.screen.complain(f"{needed(viewed, me)}\nthen: {run}, once it is approved")
        return
    nexts = {
        "pending": desk.command("approve", record, edits_asked(record)),
        "approved": desk.command("run", record),
    }
    if record.state == "unknown":
        resolve = desk.command("resolve", record, " succeeded|failed")
        said = f"nobody knows how it ended; look first, then say it: {resolve}"
        desk.settings.screen.say(said)
        return
    next_ = desk.command("show", record, " --full") if left_bytes else nexts.get(record.state)
    if next_:
        desk.settings.screen.say(f"try: {next_}")
