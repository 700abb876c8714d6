"""`toolrt approvals`: the calls that wait for a person, and the answers."""

from collections.abc import Mapping

from toolrt.faces.cli.options import Verbs

ACTIONS: Mapping[str, tuple[str, str, str]] = {
    "list": ("toolrt.faces.cli.approvals_look", "list_", "List what is open."),
    "show": ("toolrt.faces.cli.approvals_look", "show", "Show all of one: what will run, and why."),
    "approve": ("toolrt.faces.cli.approvals_decide", "approve", "Say yes; nothing runs by that."),
    "deny": ("toolrt.faces.cli.approvals_decide", "deny", "Say no."),
    "run": ("toolrt.faces.cli.approvals_settle", "run", "Run what was approved, once."),
    "watch": ("toolrt.faces.cli.approvals_watch", "watch", "Follow new ones, and decide by a key."),
    "grants": ("toolrt.faces.cli.approvals_grants", "grants", "List the standing yeses."),
    "revoke": ("toolrt.faces.cli.approvals_grants", "revoke", "End a standing yes."),
    "cancel": ("toolrt.faces.cli.approvals_settle", "cancel", "Call off what does not run yet."),
    "resolve": (
        "toolrt.faces.cli.approvals_settle", "resolve", "Say how a run with an unknown end ended."
    ),
}  # fmt: skip
"""Verb -> its module, its name there, and one line of help."""

EXAMPLES = (
    ("toolrt approvals list", "what waits"),
    ("toolrt approvals show k3jd", "what would run, and why it waits"),
    ("toolrt approvals approve k3jd --note ok", "say yes"),
    ("toolrt approvals watch", "follow new ones, and decide by a key"),
)

HELP = """Look at the calls that wait for a person, and decide about them.

An approval is named by its id or by any beginning of it that no other has. Deciding runs nothing:
the call runs where it waits, when it is made again, or by `toolrt approvals run`.
"""

verb = Verbs(
    "approvals",
    help=HELP,
    examples=EXAMPLES,
    actions=ACTIONS,
    subcommand_metavar="VERB [ARGUMENTS]",
)
