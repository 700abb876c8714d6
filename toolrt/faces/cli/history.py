"""`toolrt history`: what was called, what was decided, and what came of it."""

from collections.abc import Mapping

from toolrt.faces.cli.options import Verbs

ACTIONS: Mapping[str, tuple[str, str, str]] = {
    "list": ("toolrt.faces.cli.history_look", "list_", "List the latest entries."),
    "show": ("toolrt.faces.cli.history_look", "show", "Show all about one call or approval."),
    "output": ("toolrt.faces.cli.history_output", "output", "Print what was too long to show."),
    "tail": ("toolrt.faces.cli.history_follow", "tail", "Follow what is recorded from now on."),
    "export": ("toolrt.faces.cli.history_follow", "export", "Print everything, oldest first."),
    "replay": ("toolrt.faces.cli.history_replay", "replay", "Decide old calls by today's rules."),
    "verify": ("toolrt.faces.cli.history_sums", "verify", "Look for what was tampered with."),
    "stats": ("toolrt.faces.cli.history_sums", "stats", "Count calls and times, tool by tool."),
}
"""Verb -> its module, its name there, and one line of help."""

EXAMPLES = (
    ("toolrt history list 'billing.*' --since 1h", "what was called in the last hour"),
    ("toolrt history show k3jd", "all about one call or approval, in order"),
    ("toolrt history export > calls.jsonl", "everything, a line an entry"),
    ("toolrt history verify", "whether anybody changed it"),
)

HELP = """Look at the journal: every call with what was decided and what came of it.

Nothing here changes anything or calls a tool. Results are not recorded, but for the whole of those
that were too long; what is secret or sensitive among the arguments is masked.
"""

verb = Verbs("history", help=HELP, examples=EXAMPLES, actions=ACTIONS)
