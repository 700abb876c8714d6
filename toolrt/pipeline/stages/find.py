"""find: from a name to a tool that can be called; everything else is refused here."""

from collections.abc import Iterator

from toolrt.catalog.links import DEEPEST
from toolrt.catalog.snapshot import Snapshot, ToolEntry
from toolrt.core.calls import Invocation
from toolrt.core.errors import RefusedError
from toolrt.core.names import did_you_mean
from toolrt.schemas.plain import without_surrogates


def plain_name(name: object) -> str:
    """The exact text of whatever a caller asks for; for what is no text, one that no tool has."""
    return str.__str__(name) if isinstance(name, str) else f"<{type(name).__name__}>"


def find(snapshot: Snapshot, name: str, invocation: Invocation) -> ToolEntry:
    """The tool of that name. Raises RefusedError `unknown-tool` with the nearest name."""
    entry = snapshot.tools.get(name) or snapshot.tool(name)
    if entry is None:
        raise unknown_tool(snapshot, name, invocation)
    return entry


def usable(entry: ToolEntry) -> ToolEntry:
    """The tool itself. Raises RefusedError when it cannot run for now."""
    if entry.blocked is not None:
        raise RefusedError(
            f"`{entry.name}` is unavailable: {entry.unavailable}",
            code="unavailable",
            hint="tell the operator; another tool may do",
        )
    return entry


def visible(snapshot: Snapshot, invocation: Invocation) -> Iterator[ToolEntry]:
    """The tools that the caller of `invocation` may see (P15)."""
    return (entry for entry in snapshot.tools.values() if is_visible(entry, invocation))


def is_visible(entry: ToolEntry, invocation: Invocation) -> bool:
    """Whether no rule hides the tool from the caller of `invocation` (P15), and it is one for
    callers at all.
    """
    if not entry.manifest.expose:
        return False
    decider = entry.for_caller(invocation).decider
    return decider is None or not decider.may_hide or not decider.is_hidden(invocation)


def unknown_tool(
    snapshot: Snapshot, name: str, invocation: Invocation | None = None
) -> RefusedError:
    """What is said of a name that is no tool, or none that the caller may see.

    The nearest name is one that the caller may see, and never the hidden one itself.
    """
    shown = without_surrogates(name[:100])
    seen = [entry.name for entry in visible(snapshot, invocation)] if invocation else ()
    hint = did_you_mean(shown, seen) or "list the tools to see what there is"
    return RefusedError(f"there is no tool `{shown}`", code="unknown-tool", hint=hint)


def refuse_too_deep(invocation: Invocation) -> None:
    """Raise RefusedError for a call that too many others stand above (E14)."""
    if invocation.depth > DEEPEST:
        raise RefusedError(
            f"`{invocation.tool}` would be the call of a call, more than {DEEPEST} deep",
            code="unsupported",
            hint="nothing ran; tell the operator that these tools call each other in a long row",
        )
