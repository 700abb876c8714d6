"""find: from a name to a tool that can be called; everything else is refused here."""

from toolrt.catalog.snapshot import Snapshot, ToolEntry
from toolrt.core.errors import RefusedError
from toolrt.core.names import did_you_mean
from toolrt.schemas.plain import without_surrogates


def plain_name(name: object) -> str:
    """The exact text of whatever a caller asks for; for what is no text, one that no tool has."""
    return str.__str__(name) if isinstance(name, str) else f"<{type(name).__name__}>"


def find(snapshot: Snapshot, name: str) -> ToolEntry:
    """The tool of that name. Raises RefusedError `unknown-tool` with the nearest name."""
    entry = snapshot.tools.get(name)
    if entry is None:
        raise unknown_tool(snapshot, name)
    return entry


def usable(entry: ToolEntry) -> ToolEntry:
    """The tool itself. Raises RefusedError when it cannot run, or this version may not run it."""
    if entry.blocked is not None:
        raise RefusedError(
            f"`{entry.name}` is unavailable: {entry.unavailable}",
            code="unavailable",
            hint="tell the operator; another tool may do",
        )
    if entry.refusal is not None:
        raise RefusedError(
            f"`{entry.name}` is refused: {entry.refusal}",
            code="approval-unavailable",
            hint="nothing ran, and nothing you send changes that; tell the operator",
        )
    return entry


def unknown_tool(snapshot: Snapshot, name: str) -> RefusedError:
    shown = without_surrogates(name[:100])
    hint = did_you_mean(shown, snapshot.tools) or "list the tools to see what there is"
    return RefusedError(f"there is no tool `{shown}`", code="unknown-tool", hint=hint)
