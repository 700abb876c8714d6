"""tools/list: pages of tools, written once a generation, for each set of tools that somebody sees.

A cursor names the generation that it belongs to: a list that has changed meanwhile is begun anew.
"""

import base64
from collections.abc import Sequence
from typing import Any

from pydantic_core import to_json

from toolrt.faces.mcp.contents import listed
from toolrt.faces.mcp.eras import Era
from toolrt.faces.mcp.messages import INVALID_PARAMS, Message, Wrong, answer
from toolrt.faces.mcp.peers import Peer
from toolrt.faces.mcp.shelves import Shelf, Shelved, document
from toolrt.opened import Runtime

PAGE = 1000
"""Tools a page: many clients of old read the first page and no more."""
_MOST_KEPT = 64


class Lists:
    """The lists of one shelf."""

    def __init__(self, shelf: Shelf, runtime: Runtime, page: int = PAGE) -> None:
        self._shelf = shelf
        self._hides = runtime.breakers.is_hidden
        self._page = page
        self._may_vanish = any(_may_vanish(each) for each in shelf.tools.values())
        self._written: dict[Any, bytes] = {}

    def epoch(self) -> frozenset[str]:
        """The tools that are left out for now, since they fail."""
        if not self._may_vanish:
            return frozenset()
        tools = self._shelf.tools.values()
        return frozenset(each.wire for each in tools if self._hides(each.entry))

    def page(self, seen: Sequence[Shelved], era: Era, cursor: str | None) -> bytes:
        """One page of `seen` without its braces, as a result has it. Raises Wrong."""
        start = 0 if cursor is None else offset_of(cursor, self._shelf.snapshot.generation)
        key = (self._key(seen), self.epoch(), era, start)
        written = self._written.get(key)
        if written is None:
            if len(self._written) >= _MOST_KEPT:
                self._written.clear()
            written = self._written[key] = self._made(seen, era, start)
        return written

    def _key(self, seen: Sequence[Shelved]) -> frozenset[str] | None:
        if len(seen) == len(self._shelf.tools):
            return None
        return frozenset(each.wire for each in seen)

    def _made(self, seen: Sequence[Shelved], era: Era, start: int) -> bytes:
        there = [each for each in seen if each.wire not in self.epoch()]
        shown = [document(each, era) for each in there[start : start + self._page]]
        made: dict[str, Any] = {"tools": shown}
        if start + self._page < len(there):
            made["nextCursor"] = cursor_of(self._shelf.snapshot.generation, start + self._page)
        return to_json(made)[1:-1]


def cursor_of(generation: int, offset: int) -> str:
    return base64.urlsafe_b64encode(f"{generation}.{offset}".encode()).decode()


def offset_of(cursor: object, generation: int) -> int:
    """Where the page of a cursor begins. Raises Wrong for one of another generation."""
    try:
        written = base64.urlsafe_b64decode(str(cursor)).decode()
        of_generation, _, offset = written.partition(".")
        made = int(offset)
    except ValueError:
        raise Wrong(INVALID_PARAMS, "there is no such cursor: begin the list anew") from None
    if of_generation != str(generation) or made < 0:
        raise Wrong(INVALID_PARAMS, "the list has changed meanwhile: begin it anew")
    return made


def _may_vanish(shelved: Shelved) -> bool:
    options = shelved.entry.manifest.breaker
    return options is not None and options.hide


def page(
    key: str, items: list[dict[str, Any]], message: Message, peer: Peer, shelf: Shelf
) -> bytes:
    """One page of a list that is made anew each time. Raises Wrong."""
    cursor, generation = message.params.get("cursor"), shelf.snapshot.generation
    start = 0 if cursor is None else offset_of(cursor, generation)
    made: dict[str, Any] = {key: items[start : start + PAGE]}
    if start + PAGE < len(items):
        made["nextCursor"] = cursor_of(generation, start + PAGE)
    return answer(message.id, listed(made, peer.era))
