"""`toolrt history replay`: calls of the past, decided by the rules of now. Nothing is executed."""

from typing import TYPE_CHECKING, Any

import click

from toolrt.core.errors import ProjectError
from toolrt.faces.cli.history_records import Wanted, filtering, reading_all
from toolrt.faces.cli.names import compiled
from toolrt.faces.cli.options import Settings, Verb
from toolrt.faces.exits import Exit

if TYPE_CHECKING:
    from toolrt.observe.journal_records import Records

EXAMPLES = (
    ("toolrt history replay", "what would be decided otherwise today"),
    ("toolrt history replay 'billing.*' --since 1d", "only of the last day"),
)


@click.command("replay", cls=Verb, examples=EXAMPLES)
@filtering
@click.pass_obj
def replay(settings: Settings, /, **wanted: Any) -> Exit:
    """Decide recorded calls once more, by the rules as they are now. Nothing is executed.

    Those that come out otherwise are listed; ends with 10 when there are any.
    """
    return reading_all(settings, lambda records: _replayed(settings, records, Wanted(**wanted)))


async def _replayed(settings: Settings, records: "Records | None", wanted: Wanted) -> Exit:
    from toolrt.faces.cli.explain_diff import show_flips  # noqa: PLC0415 - `--help` loads no runtime
    from toolrt.rehearsal import replay as replayed  # noqa: PLC0415 - as above

    entries = [entry async for entry in records.export(wanted.filter())] if records else []
    try:
        found = await replayed(settings.project(), entries)
    except ProjectError:
        compiled(settings)  # ends the verb with all that is wrong
        raise
    return show_flips(settings.screen, found, "decided once more")
