"""`toolrt approvals run`, `cancel` and `resolve`: what becomes of a call that was asked about."""

from typing import TYPE_CHECKING, Literal

import click

from toolrt.core.results import ToolResult
from toolrt.faces.cli.approvals_decide import report
from toolrt.faces.cli.approvals_desk import Desk, at_desk, refusals
from toolrt.faces.cli.bugs import witnessed
from toolrt.faces.cli.options import Settings, Verb
from toolrt.faces.cli.progress import watched
from toolrt.faces.cli.told import SHORT_ID, tell
from toolrt.faces.exits import Exit

if TYPE_CHECKING:
    from toolrt.catalog.snapshot import ToolEntry
    from toolrt.pipeline.viewing import Viewed
    from toolrt.stores.approvals import Approval

Ending = Literal["succeeded", "failed"]


@click.command(
    "run",
    cls=Verb,
    examples=(("toolrt approvals run k3jd", "run what was approved, here and now, once"),),
)
@click.argument("approval")
@click.pass_obj
def run(settings: Settings, *, approval: str) -> Exit:
    """Run the call of APPROVAL in this process, as its caller, and print what it gives.

    Its arguments and the rules of now are looked at once more before.
    """
    return at_desk(settings, lambda desk: _run(desk, approval))


@click.command(
    "cancel",
    cls=Verb,
    examples=(("toolrt approvals cancel k3jd", "take the question back"),),
)
@click.argument("approval")
@click.pass_obj
def cancel(settings: Settings, *, approval: str) -> Exit:
    """Call APPROVAL off, unless it runs already: your own, or any if you may decide."""
    return at_desk(settings, lambda desk: _cancel(desk, approval))


@click.command(
    "resolve",
    cls=Verb,
    examples=(
        ("toolrt approvals resolve k3jd", "ask the tool's `verify` whether it happened"),
        ("toolrt approvals resolve k3jd succeeded", "it did happen: I looked"),
    ),
)
@click.argument("approval")
@click.argument("ending", type=click.Choice(["succeeded", "failed"]), required=False)
@click.pass_obj
def resolve(settings: Settings, *, approval: str, ending: Ending | None) -> Exit:
    """Say how the run of APPROVAL ended, where nobody knows: `succeeded` or `failed`.

    The tool's `verify` is asked before; where it can tell, its word is the answer.
    """
    return at_desk(settings, lambda desk: _resolve(desk, approval, ending))


async def run_here(desk: Desk, record: "Approval") -> Exit:
    """Run it once, and show what it came to; what is not approved yet is paused still."""
    screen, next_ = desk.settings.screen, f"approvals show {record.id[:SHORT_ID]}"
    entry = desk.opened.snapshot.tool(record.tool)
    if record.state == "pending" and entry is not None:
        viewed = await desk.viewed(record)
        return tell(desk.settings, _paused(record, entry, viewed), me=desk.by)
    with witnessed(is_verbose=screen.is_verbose) as witness:
        async with watched(record.tool, screen):
            with refusals(desk.settings, next_):
                result = await desk.approvals.run(record.id, by=desk.by)
    return tell(desk.settings, result, witness.cause, next_, desk.by)


def _paused(record: "Approval", entry: "ToolEntry", viewed: "Viewed") -> ToolResult:
    """The result of the call that made the approval, which waits as before."""
    from toolrt.pipeline.asking import pause_of  # noqa: PLC0415 - as `at_desk`

    pause = pause_of(record, entry, viewed.needs, twin=viewed.twin)
    return ToolResult(
        record.call_id,
        record.tool,
        "paused",
        pause.message,
        generation=record.generation,
        pause=pause,
    )


async def _run(desk: Desk, approval: str) -> Exit:
    return await run_here(desk, await desk.approvals.current(approval))


async def _cancel(desk: Desk, approval: str) -> Exit:
    await report(desk, desk.done(await desk.approvals.cancel(approval, desk.by)))
    return Exit.OK


async def _resolve(desk: Desk, approval: str, ending: Ending | None) -> Exit:
    moved = await desk.approvals.resolve(approval, desk.by, ending)
    if moved.code == "unknown-outcome" and moved.record.state == "unknown":
        raise desk.left_to_you(moved)
    await report(desk, desk.done(moved))
    if moved.message:
        desk.settings.screen.say(moved.message)
    return Exit.OK
