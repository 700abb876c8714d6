"""`toolrt explain --diff DIR`: the calls of the journal, by the policies of DIR and by ours."""

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from toolrt.core.errors import ProjectError
from toolrt.core.redaction import without_credentials
from toolrt.core.results import SCHEMA
from toolrt.faces.cli.history_records import reading
from toolrt.faces.cli.options import Settings
from toolrt.faces.cli.table import aligned, count
from toolrt.faces.exits import Exit, Stop
from toolrt.faces.output import Screen, one_line

if TYPE_CHECKING:
    from toolrt.observe.journal_records import Records
    from toolrt.pipeline.redeciding import Flip, Redecided

Sides = tuple[str, str]
"""What the old and the new decisions are by."""

_THEN: Sides = ("as decided then", "the rules of now")
_LONGEST = 60
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
    sides = (str(other), "this project")
    return show_flips(settings.screen, found, "decided by both policies", sides)


def show_flips(screen: Screen, found: "Redecided", how: str, sides: Sides = _THEN) -> Exit:
    """Show the calls that are decided otherwise; `how` says what was done with all of them."""
    flips = [{**flip.document(), "arguments": dict(flip.call.arguments)} for flip in found.flips]
    let_through, softened = _looser(found)
    document = {
        "schema": SCHEMA,
        "old": sides[0],
        "new": sides[1],
        "calls": found.calls,
        "gone": found.gone,
        "masked": found.masked,
        "let_through": let_through,
        "softened": softened,
        "flips": flips,
    }
    screen.show(document, lambda: _text(found, how, screen, sides), rows=flips)
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


def _looser(found: "Redecided") -> tuple[int, int]:
    """How many calls come to be allowed, and how many come to ask where they were denied."""
    changes = [(flip.before.verdict, flip.after.verdict) for flip in found.flips]
    return (
        sum(new == "allow" for _, new in changes),
        sum(change == ("deny", "ask") for change in changes),
    )


def _text(found: "Redecided", how: str, screen: Screen, sides: Sides) -> str:
    rows = [_row(flip, screen) for flip in found.flips]
    gone = f", {found.gone} of tools that are no more" if found.gone else ""
    said = f"{count(found.calls, 'call')} {how}{gone}"
    flips = f"{count(len(rows), 'decision')} {'differs' if len(rows) == 1 else 'differ'}"
    old, new = map(one_line, sides)
    lines = [f"old: {old}  ->  new: {new}", *aligned(rows)]
    lines.append(f"{said}; {flips if rows else 'no decision differs'}")
    if found.masked:
        lines.append(f"{count(found.masked, 'call')} with masked arguments: decided on `***`")
    return "\n".join([*lines, *_warnings(found, screen)])


def _warnings(found: "Redecided", screen: Screen) -> Iterator[str]:
    let_through, softened = _looser(found)
    label = screen.paint("warning:", fg="yellow")
    if let_through:
        were = "was" if let_through == 1 else "were"
        yield f"{label} {count(let_through, 'call')} would be let through that {were} not"
    if softened:
        were = "was" if softened == 1 else "were"
        yield f"{label} {count(softened, 'call')} would ask a person that {were} denied"


def _row(flip: "Flip", screen: Screen) -> list[str]:
    document: Mapping[str, Any] = flip.document()
    old, new = document["old"], document["new"]
    change = f"{_verdict(old, screen)} -> {_verdict(new, screen)}"
    cells: Sequence[str] = (document["call_id"], document["tool"], document["caller"])
    rules = f"{_rule(old)} -> {_rule(new)}"
    return [*map(one_line, cells), change, rules, _arguments(flip.call.arguments)]


def _arguments(arguments: Mapping[str, Any]) -> str:
    """As the journal has them, sensitive ones masked, and as much of them as a line takes."""
    texts = (f"{name}={json.dumps(each, ensure_ascii=False)}" for name, each in arguments.items())
    said = one_line(without_credentials(" ".join(texts)))
    return said if len(said) <= _LONGEST else f"{said[: _LONGEST - 1]}…"


def _verdict(told: Mapping[str, Any], screen: Screen) -> str:
    verdict: str = told["decision"]
    return screen.paint(verdict, fg=_COLORS[verdict])


def _rule(told: Mapping[str, Any]) -> str:
    """The rule that decided; `default` where none did, and `the tool` where that asks itself."""
    if told["rule"] is not None:
        return one_line(told["rule"])
    return "the tool" if told["decision"] == "ask" else "default"
