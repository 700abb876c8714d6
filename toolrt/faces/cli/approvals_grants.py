"""`toolrt approvals grants` and `revoke`: standing yeses, each with an end."""

import click

from toolrt.core.results import SCHEMA
from toolrt.faces.cli.approvals_desk import Desk, at_desk
from toolrt.faces.cli.options import Settings, Verb
from toolrt.faces.cli.table import aligned
from toolrt.faces.cli.told import SHORT_ID
from toolrt.faces.exits import Exit


@click.command(
    "grants",
    cls=Verb,
    examples=(("toolrt approvals grants", "what is allowed without a question, and until when"),),
)
@click.option("--all", "has_all", is_flag=True, help="Those that are over, too.")
@click.pass_obj
def grants(settings: Settings, *, has_all: bool) -> Exit:
    """List the standing yeses: which calls they let through, how often, until when."""
    return at_desk(settings, lambda desk: _grants(desk, has_all=has_all))


@click.command(
    "revoke",
    cls=Verb,
    examples=(("toolrt approvals revoke 7hq2", "from now on people are asked again"),),
)
@click.argument("grant")
@click.pass_obj
def revoke(settings: Settings, *, grant: str) -> Exit:
    """End GRANT, a standing yes of `toolrt approvals grants`."""
    return at_desk(settings, lambda desk: _revoke(desk, grant))


async def _grants(desk: Desk, *, has_all: bool) -> Exit:
    from toolrt.faces.approval_document import grant_document  # noqa: PLC0415 - as `at_desk`
    from toolrt.faces.cli.approvals_text import grant_row  # noqa: PLC0415 - as above

    now = desk.now
    kept = await desk.approvals.grants(now=None if has_all else now)
    documents = [grant_document(each, now) for each in kept]
    screen = desk.settings.screen
    screen.show(
        {"schema": SCHEMA, "grants": documents},
        lambda: "\n".join(aligned([grant_row(each, now) for each in kept])),
        documents,
    )
    if not kept:
        screen.say(f"no standing yes; try: {desk.settings.command('approvals approve --help')}")
    return Exit.OK


async def _revoke(desk: Desk, grant: str) -> Exit:
    from toolrt.faces.approval_document import grant_document  # noqa: PLC0415 - as `at_desk`

    ended = await desk.approvals.revoke(grant, desk.by)
    desk.settings.screen.show(
        grant_document(ended, desk.now),
        lambda: f"{ended.id[:SHORT_ID]}  revoked: {ended.tool} asks again",
    )
    return Exit.OK
