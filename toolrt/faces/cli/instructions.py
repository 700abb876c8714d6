"""`toolrt instructions`: what to put into a model's system prompt about the tools (U25)."""

from typing import TYPE_CHECKING

import click

from toolrt.core.results import SCHEMA
from toolrt.faces.cli.caller import Guise, as_option, caller_of, seen_by
from toolrt.faces.cli.names import compiled_files
from toolrt.faces.cli.options import Settings, Verb
from toolrt.faces.exits import Exit, Stop

if TYPE_CHECKING:
    from toolrt.catalog.snapshot import Snapshot
    from toolrt.manifest.offers import Toolset

EXAMPLES = (
    ("toolrt instructions", "of all tools that you see"),
    ("toolrt instructions --toolset mail", "of some, with what is said of all of them"),
    ("toolrt instructions --as bot:support", "of those that somebody else sees"),
)


@click.command("instructions", cls=Verb, examples=EXAMPLES)
@click.option("--toolset", help="Only the tools of this toolset.")
@as_option("Tell")
@click.pass_obj
def verb(settings: Settings, *, toolset: str | None, as_: Guise | None) -> Exit:
    """Print what the authors of the tools say about using them, each text once."""
    from toolrt.catalog.instructions import instructions, written  # noqa: PLC0415 - `--help`

    whole, _ = compiled_files(settings)
    snapshot, hidden = seen_by(whole, caller_of(whole, as_, settings))
    named = None if toolset is None else _named(snapshot, toolset, settings)
    seen = [
        (tool.name, tool)
        for tool in snapshot.tools.values()
        if tool.name not in hidden and (named is None or named.offers(tool.name, tool.version))
    ]
    said = instructions(seen, None if named is None else named.description)
    parts = [each.document() for each in said]
    document = {
        "schema": SCHEMA,
        "generation": snapshot.generation,
        "toolset": toolset,
        "text": written(said),
        "instructions": parts,
    }
    settings.screen.show(document, lambda: written(said), parts)
    if not said:
        settings.screen.say("no tool says more about itself; `instructions:` of a tool would")
    return Exit.OK


def _named(snapshot: "Snapshot", name: str, settings: Settings) -> "Toolset":
    """The toolset. Raises Stop where there is none."""
    from toolrt.core.names import did_you_mean  # noqa: PLC0415 - difflib, only for mistakes

    found = snapshot.toolsets.get(name)
    if found is None:
        raise Stop(
            Exit.NOT_FOUND,
            f"there is no toolset `{name}`",
            code="not-found",
            hint=did_you_mean(name, snapshot.toolsets),
            next_=settings.command("instructions"),
        )
    return found
