"""What is approved of foreign tools and what their servers say now, side by side, for people."""

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from difflib import unified_diff
from typing import Any, Literal

from toolrt.bindings.base import Services
from toolrt.bindings.mcp import Server, Servers
from toolrt.catalog.sources.mcp import locked
from toolrt.catalog.sources.pins import Lock, Pin, PinBook
from toolrt.catalog.sources.wording import suspicions
from toolrt.loading.loader import LoadedFiles
from toolrt.loading.sources import WrittenSource
from toolrt.schemas.phrases import visible

Standing = Literal["approved", "seen", "changed", "unapproved", "gone", "unreachable"]
"""`approved` by `toolrt.lock`, `seen` first here and the same since; `changed` since either;
`unapproved`: new to a source of the lock; `gone`: its server lists it no more.
"""

_LONGEST = 1_000_000


@dataclass(frozen=True, slots=True)
class ForeignTool:
    """One tool of one server: what is pinned, what its server says now."""

    source: str
    name: str
    full_name: str
    standing: Standing
    pin: Pin | None
    seen: Pin | None

    @property
    def is_waiting(self) -> bool:
        """Whether there is something to approve."""
        return self.standing in {"changed", "unapproved"}

    def document(self) -> dict[str, Any]:
        """JSON-ready."""
        return {
            "tool": self.full_name,
            "source": self.source,
            "standing": self.standing,
            "pinned": self.pin.digest if self.pin else None,
            "seen": self.seen.digest if self.seen else None,
        }

    def differences(self) -> list[str]:
        """Lines of a diff, what nobody would see in them written as escapes."""
        old = _lines(self.pin.document()) if self.pin else []
        new = _lines(self.seen.document()) if self.seen else []
        return [line.rstrip("\n") for line in unified_diff(old, new, "approved", "now", n=1)]

    def suspicions(self) -> list[str]:
        """What a person should look at in what the server says now."""
        if self.seen is None:
            return []
        definition = self.seen.definition
        return list(suspicions({"name": definition.name, **definition.written}))


class Foreign:
    """The foreign tools of what is in force. Raises LockError where `toolrt.lock` is at fault."""

    def __init__(self, files: LoadedFiles, services: Services) -> None:
        self._files = files
        self._servers = services.share(Servers)
        self._book = services.share(PinBook)
        self._lock = locked(files)

    def tools(self) -> list[ForeignTool]:
        """All of them, in order of their sources."""
        return [tool for source in self._sources() for tool in self._of(source)]

    def unasked(self) -> dict[str, str]:
        """Why the server of a source could not be asked what it says now, by the source's name."""
        made: dict[str, str] = {}
        for source in self._sources():
            server: Server = self._files.servers[source.name]
            fault = self._servers.fault(server)
            if fault is not None or self._servers.listing(server) is None:
                made[source.name] = fault or "it has not answered"
        return made

    def approving(self, tools: Iterable[ForeignTool]) -> Lock:
        """What the lock comes to when what the servers say now of these is approved."""
        chosen = {(each.source, each.name): each.seen for each in tools if each.seen is not None}
        lock = {source: dict(pins) for source, pins in self._lock.items()}
        for source in {source for source, _ in chosen}:
            known = lock.setdefault(source, dict(self._book.pinned(source, {})))
            known.update({name: pin for (owner, name), pin in chosen.items() if owner == source})
        listed = {(each.source, each.name) for each in self.tools() if each.standing != "gone"}
        return {
            source: {name: pin for name, pin in pins.items() if (source, name) in listed}
            if any(owner == source for owner, _ in chosen)
            else pins
            for source, pins in lock.items()
        }

    def _sources(self) -> Iterator[WrittenSource]:
        for source in self._files.tool_sources:
            if source.name in self._files.servers:
                yield source

    def _of(self, source: WrittenSource) -> Iterator[ForeignTool]:
        server: Server = self._files.servers[source.name]
        listing = self._servers.listing(server)
        pinned = self._book.pinned(source.name, self._lock)
        seen = {
            each.name: Pin(each, server.endpoint)
            for each in (listing.tools if listing else ())
            if each.problem is None
        }
        for name in sorted({*pinned, *seen}):
            full = f"{source.name}.{source.source.prefix or ''}{name}"
            pin, now = pinned.get(name), seen.get(name)
            standing = self._standing(source.name, pin, now, is_listed=listing is not None)
            yield ForeignTool(source.name, name, full, standing, pin, now)

    def _standing(
        self, source: str, pin: Pin | None, seen: Pin | None, *, is_listed: bool
    ) -> Standing:
        if seen is None:
            return "gone" if is_listed else "unreachable"
        if pin is None:
            return "unapproved"
        if pin.digest != seen.digest:
            return "changed"
        return "approved" if source in self._lock else "seen"


def _lines(document: Mapping[str, Any]) -> list[str]:
    """A definition line by line; texts as they are, with all that hides in them shown."""
    return list(_written(document))


def _written(document: Mapping[str, Any]) -> Iterator[str]:
    for key in sorted(document):
        value = document[key]
        text = value if isinstance(value, str) else json.dumps(value, indent=2, sort_keys=True)
        for line in text.split("\n"):
            yield f"{key}: {visible(line, _LONGEST)}\n"
