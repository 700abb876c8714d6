"""`toolrt breakers`: what is not called for now, because it kept failing."""

from collections.abc import Mapping

from toolrt.faces.cli.options import Verbs

ACTIONS: Mapping[str, tuple[str, str, str]] = {
    "list": ("toolrt.faces.cli.breakers_look", "list_", "List the breakers and how they stand."),
    "reset": ("toolrt.faces.cli.breakers_look", "reset", "Close one: it is called again at once."),
}
"""Verb -> its module, its name there, and one line of help."""

EXAMPLES = (
    ("toolrt breakers list", "what is not called for now, and until when"),
    ("toolrt breakers list -o json", "all that is known of them"),
    ("toolrt breakers reset billing", "the target works again: call it at once"),
)

HELP = """Look at the breakers of the project, and close them by hand.

A breaker is named by its target, or by its tool where that has no target.
"""

verb = Verbs(
    "breakers",
    help=HELP,
    examples=EXAMPLES,
    actions=ACTIONS,
    subcommand_metavar="VERB [ARGUMENTS]",
)
