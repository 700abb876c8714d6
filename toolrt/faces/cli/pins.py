"""`toolrt pins`: what servers say of their tools, held against what was approved."""

from collections.abc import Mapping

from toolrt.faces.cli.options import Verbs

ACTIONS: Mapping[str, tuple[str, str, str]] = {
    "list": ("toolrt.faces.cli.pins_look", "list_", "List the foreign tools and how they stand."),
    "diff": ("toolrt.faces.cli.pins_look", "diff", "Show what has changed since it was approved."),
    "approve": ("toolrt.faces.cli.pins_approve", "approve", "Let in what servers say now."),
}
"""Verb -> its module, its name there, and one line of help."""

EXAMPLES = (
    ("toolrt pins list", "every tool of a server, approved or not"),
    ("toolrt pins diff", "what has changed, with all that hides in it made visible"),
    ("toolrt pins approve files.read_file", "let one in; toolrt.lock is written"),
    ("toolrt pins approve files --dry-run", "what approving a whole source would write"),
)

HELP = """Look at the tools of MCP servers, and approve what has changed.

A tool is pinned when it is first seen: its name, description, schemas, annotations, and where its
server is. When any of that changes, the tool is blocked until somebody approves it. `toolrt.lock`
holds what was approved; commit it, so that all who use the project have the same.
"""

verb = Verbs(
    "pins",
    help=HELP,
    examples=EXAMPLES,
    actions=ACTIONS,
    subcommand_metavar="VERB [ARGUMENTS]",
)
