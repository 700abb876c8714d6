"""`toolrt import openapi`: a document's operations as a file of tools, and what is not in it."""

import click

from toolrt.faces.cli.import_file import file_options, hand_over, refuse_taken
from toolrt.faces.cli.options import Settings, Verb
from toolrt.faces.exits import Exit
from toolrt.faces.output import visible

EXAMPLES = (
    ("toolrt import openapi petstore.json", "to look at"),
    ("toolrt import openapi petstore.json --to tools.d/pets.yaml", "to go on with"),
    ("toolrt import openapi github.json --include tag:issues", "some of the operations"),
    ("toolrt import openapi api.yaml --base-url https://api.example.com", "at this address"),
    ("toolrt import openapi api.yaml -o json", "what was not mapped, for programs"),
)


@click.command("openapi", cls=Verb, examples=EXAMPLES)
@click.argument("spec", metavar="FILE")
@click.option(
    "--name", metavar="NAME", help="The namespace, and the target.  [default: FILE's name]"
)
@click.option("--base-url", metavar="URL", help="The address of the service, for that in FILE.")
@click.option("--target", metavar="NAME", help="A target of the project, which has the address.")
@click.option("--include", multiple=True, metavar="PATTERN", help="Only these names, or tag:TAGs.")
@click.option("--exclude", multiple=True, metavar="PATTERN", help="None of these.")
@file_options
@click.pass_obj
def openapi(
    settings: Settings,
    *,
    spec: str,
    name: str | None,
    base_url: str | None,
    target: str | None,
    include: tuple[str, ...],
    exclude: tuple[str, ...],
    to: str | None,
    force: bool,
) -> Exit:
    """Write the operations of FILE, OpenAPI 3.0 or 3.1 in JSON or YAML, as a file of tools.

    What of FILE is in no tool is listed on stderr, each with its place and why. Credentials become
    references to secrets, which the file names at its top.
    """
    from toolrt.faces.cli.import_operations import Wanted, imported  # noqa: PLC0415 - `--help`

    refuse_taken(to, force=force)
    made = imported(Wanted(spec, name, base_url, target, include, exclude))
    for line in made.left_out():
        settings.screen.say(visible(line))
    return hand_over(
        settings, made.manifest, made.comments(), made.mapped.document(), to=to, force=force
    )
