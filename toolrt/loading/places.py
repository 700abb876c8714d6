"""Where each value of a text stands; made from the same events as the data, when first asked.

Nothing of it exists while a file without faults is read. Keys written twice, merge keys and
aliases are followed as `assembly` does.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from typing import Any, Final

from toolrt.core.faults import Path
from toolrt.loading import events as yaml
from toolrt.loading.diagnostics import Span
from toolrt.loading.frames import MERGE
from toolrt.loading.lines import Lines
from toolrt.loading.offsets import locate
from toolrt.loading.paths import Repeat

_PROPERTIES: Final = re.compile(r"(?:[&!]\S*(?:\s+(?:#.*)?)*)*")


Items = Mapping[str | int, tuple["Place | None", "Place"]]


@dataclass(slots=True)
class Place:
    """A node of the file, from character `start` to before `end`.

    `style` is that of a scalar (nothing for a plain one), None for a collection. `items` leads
    from a key or an index to the place of the key and of the value. `origin` is the place that an
    alias stands for.
    """

    start: int
    end: int
    style: str | None = None
    text: str = ""
    is_block: bool = False
    items: Items | None = None
    origin: "Place | None" = None


class Places:
    """The places of one text, up to a number of events."""

    def __init__(self, text: str, limit: int) -> None:
        self.lines = Lines(text)
        self._root = _Survey(text, limit).root()

    def span(self, path: Path, *, on_key: bool = False, offset: int | None = None) -> Span:
        """The place at `path`, or the deepest one on the way that exists.

        `on_key` gives the place of the key. So does a block mapping, and an empty value: there is
        nothing else to point at; of a block list it is the first dash. `offset` counts characters
        of a scalar's value.
        """
        key, place, is_there = self._find(path)
        if offset is not None and is_there and place.style is not None:
            return self._character(place, offset)
        if is_there and not on_key and place.is_block and self.lines.text[place.start] == "-":
            return Span.of(self.lines, place.start, place.start + 1)
        is_early = not is_there and place.style is None
        if key is not None and (on_key or is_early or place.is_block or place.start == place.end):
            place = key
        return Span.of(self.lines, place.start, place.end)

    def source_text(self, path: Path) -> str | None:
        """The plain scalar at `path` as written; None for anything else."""
        _, place, is_there = self._find(path)
        node = place.origin or place
        return node.text if is_there and node.style == "" else None

    def _find(self, path: Path) -> tuple[Place | None, Place, bool]:
        key, place = None, self._root
        for step in path:
            found = place.items.get(step) if place.items else None
            if found is None:
                return key, place, False
            key, place = found
        return key, place, True

    def _character(self, place: Place, offset: int) -> Span:
        node = place.origin or place
        source = self.lines.text[node.start : node.end]
        at = node.start + locate(source, node.text, offset, node.style or "")
        return Span.of(self.lines, at, min(at + 1, node.end))


class _Level:
    """A collection that is being surveyed; `key` waits for its value."""

    def __init__(self, place: Place, anchor: str | None, *, is_map: bool) -> None:
        self.place = place
        self.items: dict[str | int, tuple[Place | None, Place]] = {}
        self.place.items = self.items
        self.anchor = anchor
        self.is_map = is_map
        self.key: Place | None = None
        self.below: list[Place] = []
        self.repeats: dict[str, int] = {}

    def add(self, place: Place) -> None:
        if not self.is_map:
            self.items[len(self.items)] = (None, place)
        elif self.key is None:
            self.key = place
        else:
            if self.key.text == MERGE and self.key.style == "":
                self.below += self._merges(place)
            self.items[self._step(self.key.text)] = (self.key, place)
            self.key = None

    def finish(self, end: int) -> Place:
        """The place with what its merge keys bring; what is written out wins."""
        self.place.end = end
        for place in self.below:
            for step, item in (place.items or {}).items():
                self.items.setdefault(step, item)
        return self.place

    def _merges(self, place: Place) -> list[Place]:
        node = place.origin or place
        items = node.items or {}
        inner = [item for _, item in items.values()] if 0 in items else [node]
        return [one.origin or one for one in inner]

    def _step(self, key: str) -> str:
        if key not in self.items:
            return key
        self.repeats[key] = nth = self.repeats.get(key, 0) + 1
        return Repeat(key, nth)


class _Survey:
    """Walks the events of a text as far as the reader did."""

    def __init__(self, text: str, limit: int) -> None:
        self._text = text
        self._limit = limit
        self._anchors: dict[str, Place] = {}
        self._levels = [_Level(Place(0, 0), None, is_map=False)]

    def root(self) -> Place:
        top = self._levels[0]
        for event in self._events():
            self._take(event)
        for level in reversed(self._levels[1:]):
            self._levels.pop()
            self._levels[-1].add(level.finish(len(self._text)))
        _, root = top.items.get(0, (None, Place(0, 0)))
        return root

    def _events(self) -> Iterator[Any]:
        try:
            yield from islice(yaml.events(self._text.encode()), self._limit)
        except yaml.ParseError:
            return

    def _take(self, event: Any) -> None:
        kind = type(event)
        if kind is yaml.ScalarEvent:
            self._levels[-1].add(self._scalar(event))
        elif kind is yaml.MappingStartEvent or kind is yaml.SequenceStartEvent:
            self._open(event, is_map=kind is yaml.MappingStartEvent)
        elif kind is yaml.MappingEndEvent or kind is yaml.SequenceEndEvent:
            self._close(event)
        elif kind is yaml.AliasEvent:
            self._levels[-1].add(self._alias(event))

    def _scalar(self, event: Any) -> Place:
        place = Place(self._start(event), event.end_mark.index, event.style, event.value)
        if event.anchor is not None:
            self._anchors[event.anchor] = place
        return place

    def _open(self, event: Any, *, is_map: bool) -> None:
        start = self._start(event)
        place = Place(start, start, is_block=not event.flow_style)
        self._levels.append(_Level(place, event.anchor, is_map=is_map))

    def _close(self, event: Any) -> None:
        level = self._levels.pop()
        place = level.finish(event.end_mark.index)
        if level.anchor is not None:
            self._anchors[level.anchor] = place
        self._levels[-1].add(place)

    def _alias(self, event: Any) -> Place:
        start, end = event.start_mark.index, event.end_mark.index
        node = self._anchors.get(event.anchor)
        if node is None:
            return Place(start, end)
        node = node.origin or node
        return Place(start, end, node.style, node.text, items=node.items, origin=node)

    def _start(self, event: Any) -> int:
        """Where the node itself begins, behind its anchor and tag."""
        start: int = event.start_mark.index
        if event.anchor is None and event.tag is None:
            return start
        behind = _PROPERTIES.match(self._text, start)
        end: int = event.end_mark.index
        return min(behind.end() if behind else start, max(start, end))
