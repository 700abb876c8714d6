"""`toolrt approvals watch`: new questions as they come; on a terminal a key decides."""

import asyncio
import select
import sys
from typing import TYPE_CHECKING

import click

from toolrt.faces.cli.approvals_desk import Desk, at_desk, refusals
from toolrt.faces.cli.endings import explained
from toolrt.faces.cli.options import Settings, Verb
from toolrt.faces.cli.told import SHORT_ID
from toolrt.faces.exits import Exit, Stop
from toolrt.faces.output import to_json

if TYPE_CHECKING:
    from toolrt.faces.cli.keys import Keys
    from toolrt.stores.approvals import Approval

_EVERY_S = 0.2
_MOST = 1000
_KEYS = {"a": "[a]pprove", "d": "[d]eny", "s": "[s]kip"}


@click.command(
    "watch",
    cls=Verb,
    examples=(
        ("toolrt approvals watch", "on a terminal: decide by a key"),
        ("toolrt approvals watch -o jsonl", "for a program: a document a line"),
    ),
)
@click.pass_obj
def watch(settings: Settings) -> Exit:
    """Show each call that begins to wait for a person, and those that do already. ^C ends it."""
    try:
        return at_desk(settings, _watch)
    except (click.Abort, KeyboardInterrupt):
        return Exit.OK


async def _watch(desk: Desk) -> Exit:
    screen = desk.settings.screen
    screen.say("watching for calls that wait for a person; ^C ends it")
    if screen.format != "text" or not (sys.stdin.isatty() and screen.out.isatty()):
        return await _follow(desk, None)
    from toolrt.faces.cli.keys import keys  # noqa: PLC0415 - only terminals have them

    with keys() as typed:
        return await _follow(desk, typed)


async def _follow(desk: Desk, typed: "Keys | None") -> Exit:
    """Shows every question once, and again after an edit, until interrupted or nobody reads."""
    known: set[tuple[str, str, str]] = set()
    while _is_read(desk.settings.screen.out.fileno()):
        pending = await desk.approvals.listed(("pending",), _MOST)
        for record in reversed(pending):
            if _seen(record) in known:
                continue
            await _tell(desk, record)
            if typed is not None:
                await _decide(desk, record, typed)
        known = set(map(_seen, pending))
        await asyncio.sleep(_EVERY_S)
    return Exit.OK


def _seen(record: "Approval") -> tuple[str, str, str]:
    """What would have to be looked at anew where it is another one."""
    return record.id, record.final_hash, record.mode


def _is_read(descriptor: int) -> bool:
    """Whether somebody is left at the other end of a pipe; always, where it is none."""
    polled = select.poll()
    polled.register(descriptor, 0)
    return not any(event & select.POLLERR for _, event in polled.poll(0))


async def _tell(desk: Desk, record: "Approval") -> None:
    from toolrt.faces.approval_document import approval_document  # noqa: PLC0415 - as `at_desk`
    from toolrt.faces.cli.approvals_text import MOST_BYTES, told  # noqa: PLC0415 - as above

    viewed, screen = await desk.viewed(record), desk.settings.screen
    if screen.format == "text":
        screen.data(told(viewed, desk.now, desk.by.principal, MOST_BYTES).text + "\n")
        return
    document = approval_document(viewed)
    if screen.format == "yaml":
        screen.data("---")
        screen.show(document, str)
        return
    screen.data(to_json(document))


async def _decide(desk: Desk, record: "Approval", typed: "Keys") -> None:
    """Asks for a key until one decides, it is skipped, or somebody else was quicker."""
    screen = desk.settings.screen
    keys = await _offered(desk, record)
    if not keys:
        return
    screen.complain("  ".join(_KEYS[each] for each in keys))
    typed.forget()
    while True:
        key = await typed.next(_EVERY_S)
        if key == "s":
            screen.complain("skipped")
            return
        if key is not None and key in keys:
            await _said(desk, record, key)
            return
        now = await desk.approvals.current(record.id)
        if (now.state, now.final_hash) != (record.state, record.final_hash):
            screen.complain(f"it is {now.state} by now")
            return


async def _offered(desk: Desk, record: "Approval") -> str:
    """The keys of what this person may say, none where it waits for others; what takes more than a
    key is told.
    """
    from toolrt.faces.cli.approvals_look import say_next  # noqa: PLC0415 - as `at_desk`
    from toolrt.faces.cli.approvals_text import MOST_BYTES, size  # noqa: PLC0415 - as above
    from toolrt.policy.needs import awaits  # noqa: PLC0415 - as above

    viewed = await desk.viewed(record)
    is_mine = any(awaits(each, record.principal, desk.by) for each in viewed.needs)
    is_mine = is_mine and not viewed.is_altered
    left_bytes = max(size(record) - MOST_BYTES, 0)
    if is_mine and record.mode != "external" and not left_bytes:
        return "ads"
    say_next(desk, viewed, left_bytes if is_mine else 0)
    return "ds" if is_mine else ""


async def _said(desk: Desk, record: "Approval", key: str) -> None:
    """One decision; a refusal is told, and watching goes on."""
    from toolrt.faces.cli.approvals_decide import (  # noqa: PLC0415 - as `at_desk`
        decide,
        refuse_unseen,
    )
    from toolrt.faces.cli.approvals_text import needed  # noqa: PLC0415 - as above

    screen = desk.settings.screen
    try:
        with refusals(desk.settings):
            if key == "a":
                refuse_unseen(desk, record, is_full=False)
                decided = await decide(desk, record)
            else:
                decided = desk.done(await desk.approvals.deny(record.id, desk.by), "deny")
        more = ""
        if decided.state == "pending":
            more = f": {needed(await desk.viewed(decided), desk.by)}"
        screen.complain(f"{record.id[:SHORT_ID]} is {decided.state}{more}\n")
    except Stop as stop:
        said = explained(screen, stop.code, stop.message, hint=stop.hint, next_=stop.next)
        screen.complain(f"{said}\n")
