"""`toolrt explain --diff DIR`: the calls of the journal, by the policies of DIR and by ours."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from toolrt.core.errors import ProjectError
from toolrt.core.results import SCHEMA
from toolrt.faces.cli.history_records import reading
from toolrt.faces.cli.options import Settings
from toolrt.faces.cli.table import aligned, count
from toolrt.faces.exits import Exit, Stop
from toolrt.faces.output import Screen, one_line

if TYPE_CHECKING:
    from toolrt.observe.journal_records import Records
    from toolrt.pipeline.redeciding import Flip, Redecided

_COLORS = {"allow": "green", "ask": "yellow", "deny": "red"}


def differing(settings: Settings, other: str, tool: str | None) -> Exit:
    """Show every call of the journal, or of one tool, that the two policies decide otherwise."""
    if not Path(other).is_dir():
        message = f"there is no folder {other}"
        raise Stop(Exit.USAGE, message, code="usage", next_=settings.command("explain --diff DIR"))
    return reading(settings, lambda records: _shown(settings, records, Path(other), tool))


async def _shown(
    settings: Settings, records: "Records | None", other: Path, tool: str | None
) -> Exit:
    found = await _compared(settings, records, other, tool)
    return show_flips(settings.screen, found, "decided by both policies")


def show_flips(screen: Screen, found: "Redecided", how: str) -> Exit:
    """Show the calls that are decided otherwise; `how` says what was done with all of them."""
    flips = [flip.document() for flip in found.flips]
    document = {
        "schema": SCHEMA,
        "calls": found.calls,
        "gone": found.gone,
        "masked": found.masked,
        "flips": flips,
    }
    screen.show(document, lambda: _text(found, how, screen), rows=flips)
    return Exit.DIFFERENT if flips else Exit.OK


async def _compared(
    settings: Settings, records: "Records | None", other: Path, tool: str | None
) -> "Redecided":
    from toolrt.observe.journal_records import Filter  # noqa: PLC0415 - `--help` loads no store
    from toolrt.rehearsal import compare  # noqa: PLC0415 - as above

    wanted = Filter(tool=tool, kinds=frozenset({"call"}))
    entries = [entry async for entry in records.export(wanted)] if records else []
    try:
        return await compare(settings.project(), other, entries)
    except ProjectError as error:
        if error.report:
            raise
        next_ = settings.command("explain --diff DIR")
        raise Stop(Exit.USAGE, error.message, code="usage", hint=error.hint, next_=next_) from error


def _text(found: "Redecided", how: str, screen: Screen) -> str:
    rows = [_row(flip, screen) for flip in found.flips]
    gone = f", {found.gone} of tools that are no more" if found.gone else ""
    said = f"{count(found.calls, 'call')} {how}{gone}"
    flips = f"{count(len(rows), 'decision')} {'differs' if len(rows) == 1 else 'differ'}"
    lines = [*aligned(rows), f"{said}; {flips if rows else 'no decision differs'}"]
    if found.masked:
        lines.append(f"{count(found.masked, 'call')} with masked arguments: decided on `***`")
    return "\n".join(lines)


def _row(flip: "Flip", screen: Screen) -> list[str]:
    document: Mapping[str, Any] = flip.document()
    old, new = document["old"], document["new"]
    change = f"{_verdict(old, screen)} -> {_verdict(new, screen)}"
    cells: Sequence[str] = (document["call_id"], document["tool"], document["caller"])
    return [*map(one_line, cells), change, f"{_rule(old)} -> {_rule(new)}"]


def _verdict(told: Mapping[str, Any], screen: Screen) -> str:
    verdict: str = told["decision"]
    return screen.paint(verdict, fg=_COLORS[verdict])


def _rule(told: Mapping[str, Any]) -> str:
    """The rule that decided; `default` where none did, and `the tool` where that asks itself."""
    if told["rule"] is not None:
        return one_line(told["rule"])
    return "the tool" if told["decision"] == "ask" else "default"
