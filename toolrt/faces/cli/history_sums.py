"""`toolrt history verify` and `stats`: whether the journal is whole, and what it adds up to."""

from dataclasses import asdict
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
from toolrt.faces.cli.table import aligned, count
from toolrt.faces.exits import Exit
from toolrt.faces.output import one_line

if TYPE_CHECKING:
    from toolrt.observe.journal_records import Records
    from toolrt.stores.journal_checks import Tampering

_HEADING = (
    "tool", "calls", "ok", "failed", "refused", "paused", "retries", "cached", "degraded",
    "p50 ms", "p95 ms", "p99 ms",
)  # fmt: skip


@click.command(
    "verify",
    cls=Verb,
    examples=(("toolrt history verify", "whether anybody edited or deleted anything"),),
)
@click.pass_obj
def verify(settings: Settings) -> Exit:
    """Look for what was edited, added, moved or deleted without the project's key.

    Looks at the rows of the journal, and holds approvals, votes and standing yeses against it. Ends
    with 9 when there is anything. What retention removed is in order. That the whole database was
    put back to an earlier copy cannot be seen from the inside.
    """
    return reading_all(settings, lambda records: _verify(settings, records))


@click.command(
    "stats",
    cls=Verb,
    examples=(("toolrt history stats --since 24h", "the last day, tool by tool"),),
)
@filtering
@click.pass_obj
def stats(settings: Settings, /, **wanted: Any) -> Exit:
    """Count the calls of each tool, what became of them, and how long they took.

    `retries` are attempts that were repeated, `cached` calls those with an answer of before, and
    `degraded` ones those that a fallback answered.
    """
    return reading(settings, lambda records: _stats(settings, records, Wanted(**wanted)))


async def _verify(settings: Settings, records: "Records | None") -> Exit:
    from toolrt.stores.verifying import Verified  # noqa: PLC0415 - `--help` loads no store

    verified = await records.verify() if records else Verified([])
    found, covered = verified.faults, verified.covered()
    faults = [asdict(each) for each in found]
    looked_at = f"journal: {covered['journal']} rows, " + ", ".join(
        f"{name}: {many}" for name, many in covered.items() if name != "journal"
    )
    settings.screen.show(
        {"schema": SCHEMA, "ok": not found, "faults": faults, "covered": covered},
        lambda: "\n".join([*(map(_line, found) if found else [_in_order(records)]), looked_at]),
        [{"schema": SCHEMA, **fault} for fault in faults],
    )
    if not found:
        return Exit.OK
    settings.screen.complain(f"the store was tampered with: {count(len(found), 'fault')}")
    return Exit.TAMPERED


def _in_order(records: "Records | None") -> str:
    return "ok: nothing was tampered with" if records else "ok: nothing was recorded yet"


def _line(found: "Tampering") -> str:
    places = (
        (found.about or "the journal",) if found.writer is None else (f"writer {found.writer}",)
    )
    row = () if found.seq is None else (f"row {found.seq}",)
    return one_line(f"{', '.join((*places, *row))}: {found.reason}")


async def _stats(settings: Settings, records: "Records | None", wanted: Wanted) -> Exit:
    from toolrt.observe.journal_records import tallies  # noqa: PLC0415 - `--help` loads no store

    found = await tallies(records, wanted.filter()) if records else {}
    rows = [{"tool": tool, **tally.document()} for tool, tally in found.items()]
    settings.screen.show({"schema": SCHEMA, "tools": rows}, lambda: _table(rows), rows)
    if not rows:
        say_nothing_found(settings, records)
    return Exit.OK


def _table(rows: list[dict[str, Any]]) -> str:
    if not rows:
        return ""
    cells = [
        [one_line(str(each)) if each is not None else "-" for each in row.values()] for row in rows
    ]
    return "\n".join(aligned([_HEADING, *cells]))
