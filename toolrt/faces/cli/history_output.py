"""`toolrt history output`: what was too long for a result, as it was kept."""

import re
import sys
from typing import TYPE_CHECKING

import click

from toolrt.core.results import SCHEMA
from toolrt.faces.cli.history_records import reading_outputs
from toolrt.faces.cli.options import Settings, Verb
from toolrt.faces.exits import Exit, Stop
from toolrt.faces.output import visible

if TYPE_CHECKING:
    from toolrt.core.calls import Caller
    from toolrt.pipeline.spilling import Output, Spills

_ALL = 1 << 40
"""More bytes than anything kept has."""

Range = tuple[int, int]


def _range(_ctx: click.Context, _param: click.Parameter, value: str | None) -> Range:
    """The callback of `--range`: the first byte, and how many."""
    found = re.fullmatch(r"(\d{0,12}):(\d{0,12})", value or ":")
    start = int(found[1] or 0) if found else 0
    end = int(found[2] or _ALL) if found else 0
    if end <= start:
        raise click.BadParameter("write FIRST:AFTER in bytes, such as 0:4000, 4000: or :4000")
    return start, end - start


@click.command(
    "output",
    cls=Verb,
    examples=(
        ("toolrt history output 4f1c…-12", "all that a call came to"),
        ("toolrt history output 4f1c…-12 --range 50000:100000", "a part of it"),
    ),
)
@click.argument("id")
@click.option("--range", "part", callback=_range, metavar="A:B", help="Only these bytes.")
@click.pass_obj
def output(settings: Settings, /, *, id: str, part: Range) -> Exit:  # noqa: A002 - as it is called
    """Print what was too long for the result of the call ID; ID may also be the result's `spilled`.

    It is kept for seven days, for whoever made the call and who may `admin`.
    """
    return reading_outputs(settings, lambda spills, by: _show(settings, spills, by, id, part))


async def _show(
    settings: Settings, spills: "Spills | None", by: "Caller", wanted: str, part: Range
) -> Exit:
    from toolrt.core.errors import RefusedError  # noqa: PLC0415 - `--help` needs it not

    if spills is None:
        raise _none(settings, "nothing was recorded yet")
    try:
        read = await spills.read(wanted, *part, caller=by)
    except RefusedError as refusal:
        raise _none(settings, refusal.message, refusal.hint) from refusal
    if settings.screen.format == "text" and read.content is not None:
        return _write(settings, read.content, read)
    settings.screen.show({"schema": SCHEMA, **read.document()}, lambda: _text(read))
    return Exit.OK


def _none(settings: Settings, message: str, hint: str | None = None) -> Stop:
    next_ = settings.command("history list")
    return Stop(Exit.NOT_FOUND, message, code="not-found", hint=hint, next_=next_)


def _text(read: "Output") -> str:
    return visible((read.text or "").removesuffix("\n"))


def _write(settings: Settings, content: bytes, read: "Output") -> Exit:
    """Bytes as they are, but not on a terminal."""
    if settings.screen.out.isatty():
        settings.screen.say(
            f"{read.media_type}, {read.size} bytes: send it to a file, with `> FILE`"
        )
        return Exit.OK
    getattr(settings.screen.out, "buffer", sys.stdout.buffer).write(content)
    return Exit.OK
