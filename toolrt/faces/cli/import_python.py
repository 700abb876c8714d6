"""`toolrt import python`: a file that names the callables of an object, and nothing of what their
code says itself.
"""

import click

from toolrt.faces.cli.import_file import file_options, hand_over, refuse_taken
from toolrt.faces.cli.options import Settings, Verb
from toolrt.faces.exits import Exit

EXAMPLES = (
    ("toolrt import python shop.orders:place", "a function"),
    ("toolrt import python shop.orders:Orders --to tools.d/orders.yaml", "methods of a class"),
    ("toolrt import python shop.orders", "the functions of a module"),
)


@click.command("python", cls=Verb, examples=EXAMPLES)
@click.argument("object_", metavar="MODULE[:NAME]")
@click.option("--name", metavar="NAME", help="The namespace.  [default: as the object is called]")
@file_options
@click.pass_obj
def python(
    settings: Settings, *, object_: str, name: str | None, to: str | None, force: bool
) -> Exit:
    """Write the callables of an object of the project as a file of tools, for what code cannot say.

    Parameters and descriptions stay where they are, in signatures and docstrings. `effect: write`
    stands at each tool whose code does not say what it does to the world: look at each.
    """
    from toolrt.faces.cli.import_callables import imported  # noqa: PLC0415 - `--help` is quick

    refuse_taken(to, force=force)
    made = imported(settings, object_, name)
    for line in made.left_out:
        settings.screen.say(line)
    report = {"object": object_, "unmapped": made.left_out}
    comments = [f"Made by `toolrt import python {object_}`: parameters stand in the code."]
    return hand_over(settings, made.manifest, comments, report, to=to, force=force)
