"""`toolrt history tail` and `export`: entries as they come, and all there are."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click

from toolrt.core.results import SCHEMA
from toolrt.faces.cli.history_records import (
    Wanted,
    filtering,
    reading,
    reading_all,
    say_nothing_found,
)
from toolrt.faces.cli.options import Settings, Verb
from toolrt.faces.exits import Exit
from toolrt.faces.output import to_json

if TYPE_CHECKING:
    from toolrt.observe.journal_records import Entry, Records


@click.command(
    "tail",
    cls=Verb,
    examples=(
        ("toolrt history tail", "every call, as it ends"),
        ("toolrt history tail --status error -o jsonl", "failures, for a program"),
    ),
)
@filtering
@click.option("-n", "--lines", type=click.IntRange(0), default=10, help="Begin with the last ones.")
@click.pass_obj
def tail(settings: Settings, /, *, lines: int, **wanted: Any) -> Exit:
    """Show the last entries, and each new one, of any process, as it comes. ^C ends it."""
    try:
        return reading(settings, lambda records: _tail(settings, records, Wanted(**wanted), lines))
    except (click.Abort, KeyboardInterrupt):
        return Exit.OK


@click.command(
    "export",
    cls=Verb,
    examples=(
        ("toolrt history export > calls.jsonl", "everything"),
        ("toolrt history export --since 24h", "the last day"),
    ),
)
@filtering
@click.pass_obj
def export(settings: Settings, /, **wanted: Any) -> Exit:
    """Print entries as JSON, one a line, the oldest first."""
    return reading_all(settings, lambda records: _export(settings, records, Wanted(**wanted)))


async def _tail(settings: Settings, records: "Records | None", wanted: Wanted, lines: int) -> Exit:
    if records is None:
        say_nothing_found(settings, records)
        return Exit.OK
    marks = await records.marks()
    latest = await records.entries(wanted.filter(), lines)
    show_each(settings, [each for each in reversed(latest) if each["seq"] <= marks[each["writer"]]])
    async for entry in records.tail(wanted.filter(), marks):
        show_each(settings, [entry])
    return Exit.OK


def show_each(settings: Settings, entries: "Sequence[Entry]") -> None:
    """A line an entry, with nothing around them."""
    from toolrt.faces.cli.history_text import lines  # noqa: PLC0415 - `--help` needs it not

    screen = settings.screen
    if screen.format != "text":
        for entry in entries:
            screen.data(to_json({"schema": SCHEMA, **entry}))
    elif entries:
        screen.data("\n".join(lines(entries, screen)))


async def _export(settings: Settings, records: "Records | None", wanted: Wanted) -> Exit:
    if records is None:
        say_nothing_found(settings, records)
        return Exit.OK
    async for entry in records.export(wanted.filter()):
        settings.screen.data(to_json({"schema": SCHEMA, **entry}))
    return Exit.OK
