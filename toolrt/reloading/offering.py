"""What MCP clients are offered beside tools, and how that has changed: toolsets with the tools that
they gained and lost, prompts and resources by name.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from toolrt.catalog.snapshot import Snapshot
from toolrt.reloading.differences import Difference
from toolrt.reloading.keys import ADDED, REMOVED


def offered(old: Snapshot, new: Snapshot) -> Iterator[Difference]:
    """What differs, by `toolset NAME` and so on."""
    for name, how in _changed(_sets(old), _sets(new)):
        is_there = name in old.toolsets and name in new.toolsets
        yield f"toolset {name}", how or (_members(old, new, name) if is_there else "")
    for name, how in _changed(_prints(old.prompts), _prints(new.prompts)):
        yield f"prompt {name}", how
    for name, how in _changed(_prints(old.resources), _prints(new.resources)):
        yield f"resource {name}", how


def _changed(old: Mapping[str, Any], new: Mapping[str, Any]) -> Iterator[Difference]:
    """Names that were added or removed, or of which something has changed."""
    for name in sorted({*old, *new}):
        if name not in old or name not in new:
            yield name, ADDED if name in new else REMOVED
        elif old[name] != new[name]:
            yield name, ""


def _sets(snapshot: Snapshot) -> dict[str, Any]:
    return {
        name: (
            toolset,
            frozenset(
                each.name
                for each in snapshot.tools.values()
                if toolset.offers(each.name, each.version)
            ),
        )
        for name, toolset in snapshot.toolsets.items()
    }


def _members(old: Snapshot, new: Snapshot, name: str) -> str:
    """The tools that a toolset gained and lost."""
    before, after = _sets(old)[name][1], _sets(new)[name][1]
    gained = (f"+ {each}" for each in sorted(after - before))
    lost = (f"- {each}" for each in sorted(before - after))
    return ", ".join([*gained, *lost])


def _prints(offers: Mapping[str, Any]) -> dict[str, str]:
    return {name: each.print for name, each in offers.items()}
