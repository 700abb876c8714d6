"""Which tools of a generation are those of the one before, though they have another name: what
decided about them may not be lost with the name (L6).

A tool is known by what it does, whoever lays what over it; one that does something else, too, by
where it stands. That is a guess. It costs a second look where less would decide about the tool.
"""

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from toolrt.catalog.snapshot import Snapshot, ToolEntry
from toolrt.core.faults import Path, child

_MOST: Final = 10
"""Among how many new tools that do the same one is looked for: more are not told apart by that."""

Pair = tuple[ToolEntry, ToolEntry]
"""A tool as it was and as it is."""


def same_tools(before: Snapshot, after: Snapshot) -> list[Pair]:
    """The tools that are there both times, and those that may only have another name."""
    old, new = before.tools, after.tools
    kept = [(old[name], new[name]) for name in new if name in old]
    return [*kept, *_renamed(old, new)]


@dataclass(frozen=True, slots=True)
class _Seen:
    """A tool, what it does, and where it stands: its file, and its place and name in there."""

    tool: ToolEntry
    work: str
    file: str
    place: tuple[Path, int]
    name: Any

    @classmethod
    def of(cls, tool: ToolEntry) -> "_Seen":
        own = tool.layered.own
        *above, name = tool.path or ("",)
        around = own.document.data
        for step in above:
            around = child(around, step)
        names = list(around) if isinstance(around, dict) else []
        number = names.index(name) if name in names else -1
        return cls(tool, _work(tool), tool.file, ((*above,), number), name)

    def is_near(self, other: "_Seen") -> bool:
        """Whether the other one stands in its place, or is called the same there."""
        return self.file == other.file and (self.place == other.place or self.name == other.name)


def _renamed(old: Mapping[str, ToolEntry], new: Mapping[str, ToolEntry]) -> Iterator[Pair]:
    same = {name for name, each in new.items() if name in old and _does_same(old[name], each)}
    gone = [_Seen.of(each) for name, each in old.items() if name not in same]
    came = [_Seen.of(each) for name, each in new.items() if name not in same]
    working: dict[str, list[_Seen]] = {}
    for each in came:
        working.setdefault(each.work, []).append(each)
    for was in gone:
        alike = working.get(was.work, [])
        found = [each for each in alike if was.is_near(each)] or alike[:_MOST]
        yield from ((was.tool, each.tool) for each in found if each.tool.name != was.tool.name)
    left = [each for each in gone if each.tool.name not in new]
    added = [each for each in came if each.tool.name not in old]
    yield from ((was.tool, now.tool) for was, now in _replaced(left, added) if was.work != now.work)


def _replaced(gone: Iterable[_Seen], added: Iterable[_Seen]) -> Iterator[tuple[_Seen, _Seen]]:
    """What stands in the place of one that is gone, or came alone to a file that only it left."""
    old, new = _by_file(gone), _by_file(added)
    for file in sorted({*old} & {*new}):
        is_only = len(old[file]) == len(new[file]) == 1
        placed = {each.place: each for each in new[file]}
        for was in old[file]:
            now = new[file][0] if is_only else placed.get(was.place)
            if now is not None:
                yield was, now


def _by_file(tools: Iterable[_Seen]) -> dict[str, list[_Seen]]:
    found: dict[str, list[_Seen]] = {}
    for each in tools:
        found.setdefault(each.file, []).append(each)
    return found


def _does_same(one: ToolEntry, other: ToolEntry) -> bool:
    return one.layered is other.layered or _work(one) == _work(other)


def _work(tool: ToolEntry) -> str:
    """What a tool does: its implementation as written, and the target that it goes to."""
    options = tool.layered.merged.get(tool.kind, tool.name)
    service = tool.service.model_dump(mode="json") if tool.service else None
    return json.dumps([tool.kind, options, service], sort_keys=True, default=str)
