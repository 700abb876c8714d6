"""`approvals.notify`: the tool of a project that tells people of a new question.

Here it is checked, when the files are loaded; `pipeline/notices` calls it.
"""

from collections.abc import Iterator, Mapping

from toolrt.catalog.snapshot import ToolEntry
from toolrt.core.decisions import Rules
from toolrt.core.faults import Fault, Path
from toolrt.core.names import did_you_mean
from toolrt.core.versions import meant
from toolrt.loading.loader import LoadedFiles

FIELDS = (
    "approval_id",
    "tool",
    "reason",
    "rules",
    "needs",
    "principal",
    "tenant",
    "mode",
    "expires_at",
    "url",
    "view",
)
"""What a notice says; a tool gets those that it has a parameter for."""

_PLACE: Path = ("approvals", "notify")


def check_notify(files: LoadedFiles, entries: Mapping[str, ToolEntry], rules: Rules) -> None:
    """Report a tool that could never tell anybody."""
    name = files.project.approvals.notify if files.project.approvals else None
    if name is None or files.project_document is None:
        return
    entry = meant(name, entries)
    faults = _of_tool(entry, files, rules) if entry else _of_no_tool(name, files)
    files.report(files.project_document, (), *faults)


def _of_no_tool(name: str, files: LoadedFiles) -> Iterator[Fault]:
    """A name without a compiled tool; what is wrong with one that has errors is told there."""
    names = [written.name for written in files.tools]
    if name not in names and files.knows.tools:
        hint = did_you_mean(name, names)
        yield Fault("no-such-tool", f"`{name}` is no tool of this project", _PLACE, hint)
    elif not files.has_errors():
        hint = "take `enabled: false` away there, or name another tool"
        yield Fault("unfit-notify", f"`{name}` is switched off", _PLACE, hint)


def _of_tool(entry: ToolEntry, files: LoadedFiles, rules: Rules) -> Iterator[Fault]:
    decider = rules.tools[entry.name]
    denial = decider.fixed if decider.fixed and decider.fixed.verdict == "deny" else None
    if denial and (denial.rule is not None or files.knows.policies):
        message = f"the rules let nobody call `{entry.name}`, and so no notice"
        yield Fault("unfit-notify", message, _PLACE, "let `toolrt`, who calls it, through")
    elif decider.always_asks:
        message = f"`{entry.name}` asks a person itself, so it cannot tell people of a question"
        yield Fault("unfit-notify", message, _PLACE, "name a tool that runs unasked")
    wanted = [each for each in entry.input_schema.get("required", ()) if each not in FIELDS]
    given = entry.parameters.defaults_from
    for name in wanted:
        if name not in given:
            message = f"`{entry.name}` needs `{name}`, which no notice has"
            hint = "a notice has " + ", ".join(f"`{each}`" for each in FIELDS)
            yield Fault("unfit-notify", message, _PLACE, hint)
