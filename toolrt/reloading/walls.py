"""Whether a tool could reach more than it could: part of the guard of reloads (L6).

A sandbox is a wall that somebody has put around a program; without it, or with one that lets more
through, the program does the same for the model and more for whoever has a hand in it.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

from toolrt.catalog.snapshot import ToolEntry
from toolrt.core.faults import child
from toolrt.policy.loss import listed
from toolrt.reloading.renames import Pair

_GONE: Final = "{} would run outside of its sandbox"
_WIDER: Final = "{} could reach more from its sandbox"


def lower_walls(tools: Iterable[Pair]) -> Iterator[str]:
    """Tools that had a sandbox, and have none or a wider one now."""
    told: dict[str, set[str]] = {_GONE: set(), _WIDER: set()}
    for was, now in tools:
        if was.layered is now.layered:  # kept as it was
            continue
        old, new = sandbox_of(was), sandbox_of(now)
        if old is None or old == new:
            continue
        if new is None:
            told[_GONE].add(now.name)
        elif _is_wider(old, new):
            told[_WIDER].add(now.name)
    yield from (sentence.format(listed(names)) for sentence, names in told.items() if names)


def sandbox_of(tool: ToolEntry) -> Mapping[str, Any] | None:
    """What the manifest says of the tool's sandbox; None where it has none."""
    written = child(child(tool.layered.merged, tool.kind), "sandbox")
    return written if isinstance(written, Mapping) else None


def _is_wider(before: Mapping[str, Any], after: Mapping[str, Any]) -> bool:
    opens = bool(after.get("network")) and not before.get("network")
    return opens or not {*_written(after)} <= {*_written(before)}


def _written(sandbox: Mapping[str, Any]) -> Iterable[str]:
    return sandbox.get("write") or ()
