"""`toolrt history list` and `show`: what was recorded, and all about one call."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click

from toolrt.core.results import SCHEMA
from toolrt.faces.cli.history_records import Wanted, filtering, reading, say_nothing_found
from toolrt.faces.cli.options import Settings, Verb
from toolrt.faces.exits import Exit, Stop

if TYPE_CHECKING:
    from toolrt.observe.journal_records import Entry, Records

_MOST = 50
_IDS = ("call_id", "approval", "grant")


@click.command(
    "list",
    cls=Verb,
    examples=(
        ("toolrt history list", "the latest entries"),
        ("toolrt history list 'billing.*' --since 1h", "of some tools, in the last hour"),
        ("toolrt history list --status error", "what failed"),
    ),
)
@filtering
@click.option(
    "--limit", type=click.IntRange(1), default=_MOST, help=f"At most so many.  [default: {_MOST}]"
)
@click.pass_obj
def list_(settings: Settings, /, *, limit: int, **wanted: Any) -> Exit:
    """List entries, the latest first. TOOL is a name or a glob such as 'billing.*'."""
    return reading(settings, lambda records: _list(settings, records, Wanted(**wanted), limit))


@click.command(
    "show",
    cls=Verb,
    examples=(("toolrt history show k3jd", "all about an approval, in order"),),
)
@click.argument("id")
@click.pass_obj
def show(settings: Settings, /, *, id: str) -> Exit:  # noqa: A002 - as the option is called
    """Show all about the call, approval or grant ID, in order: proposed, decided, executed.

    Any beginning of an id will do that no other has.
    """
    return reading(settings, lambda records: _show(settings, records, id))


async def _list(settings: Settings, records: "Records | None", wanted: Wanted, limit: int) -> Exit:
    entries = await records.entries(wanted.filter(), limit) if records else []
    show_entries(settings, entries)
    if not entries:
        say_nothing_found(settings, records)
    return Exit.OK


def show_entries(settings: Settings, entries: Sequence["Entry"]) -> None:
    """Entries in the format that was asked for."""
    from toolrt.faces.cli.history_text import lines  # noqa: PLC0415 - `--help` needs it not

    settings.screen.show(
        {"schema": SCHEMA, "entries": entries},
        lambda: "\n".join(lines(entries, settings.screen)),
        [{"schema": SCHEMA, **entry} for entry in entries],
    )


async def _show(settings: Settings, records: "Records | None", wanted: str) -> Exit:
    from toolrt.faces.cli.history_text import block  # noqa: PLC0415 - `--help` needs it not

    entries = await _about(records, wanted, settings) if records else []
    if not entries:
        raise Stop(
            Exit.NOT_FOUND,
            "no call, approval or grant of this id was recorded",
            code="not-found",
            next_=settings.command("history list"),
        )
    settings.screen.show(
        {"schema": SCHEMA, "entries": entries},
        lambda: "\n\n".join(block(entry, settings.screen) for entry in entries),
        [{"schema": SCHEMA, **entry} for entry in entries],
    )
    return Exit.OK


async def _about(records: "Records", wanted: str, settings: Settings) -> "list[Entry]":
    """All that belongs to the id: the call, its approval, and the calls that ran on that.

    Of a grant what became of it alone.
    """
    from toolrt.observe.journal_records import Filter  # noqa: PLC0415 - `--help` loads no store

    found = await records.entries(Filter(id=wanted), None)
    ids = _ids(found, wanted)
    if len(ids) > 1 and wanted not in ids:
        raise Stop(
            Exit.USAGE,
            f"more than one id begins with {wanted!r}",
            code="invalid-arguments",
            hint="give more of the id",
            next_=settings.command("history list"),
        )
    whole = wanted if wanted in ids else next(iter(ids), wanted)
    mine = [entry for entry in found if whole in _ids([entry], whole)]
    is_grant = any(whole == entry.get("grant") for entry in mine)
    named = () if is_grant else (str(e["approval"]) for e in mine if e.get("approval"))
    related = set(named) - {whole}
    for approval in related:
        mine += await records.entries(Filter(id=approval), None)
    unique = {(entry["writer"], entry["seq"], entry.get("call_id")): entry for entry in mine}
    return sorted(unique.values(), key=lambda entry: (entry["at"], entry["writer"], entry["seq"]))


def _ids(entries: "Sequence[Entry]", beginning: str) -> set[str]:
    """The ids in the entries that begin so."""
    named = (str(entry[name]) for entry in entries for name in _IDS if entry.get(name))
    return {each for each in named if each.startswith(beginning)}
