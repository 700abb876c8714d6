"""`toolrt schema`: JSON Schema of what a user may write, for editors."""

import click

from toolrt.faces.cli.options import Settings, Verb
from toolrt.faces.exits import Exit
from toolrt.faces.output import to_json

EXAMPLES = (
    ("toolrt schema > tools.schema.json", "of the files in tools.d"),
    ("toolrt schema policies", "of the files in policies.d"),
    ("toolrt schema project", "of toolrt.yaml"),
)

WHICH = ("tools", "policies", "project")


@click.command("schema", cls=Verb, examples=EXAMPLES)
@click.argument("which", type=click.Choice(WHICH), default="tools")
@click.pass_obj
def verb(settings: Settings, *, which: str) -> Exit:
    """Print the JSON Schema (2020-12) of WHICH files; `tools` when not said."""
    from toolrt.catalog.editor import editor_schema  # noqa: PLC0415 - `--help` loads no catalogue

    made = editor_schema(which)
    settings.screen.show(made, lambda: to_json(made, indent=2))
    return Exit.OK
