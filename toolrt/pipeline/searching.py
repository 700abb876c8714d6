"""Which tools serve an intent, of those that a caller sees (R9, R10).

What rules, breakers and missing secrets keep from somebody is left out before anything is ranked.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any, Final

from toolrt.bindings.threads import aside
from toolrt.catalog.embedder import embeddings_of
from toolrt.catalog.embeddings import Embeddings, fused
from toolrt.catalog.registry import Registry
from toolrt.catalog.retrieval import Index, K, index_of
from toolrt.catalog.snapshot import Snapshot, ToolEntry
from toolrt.core.calls import Caller
from toolrt.core.offered import is_offered
from toolrt.manifest.project import Retrieval

Shows = Callable[[ToolEntry, Caller | None], Awaitable[bool]]

MOST: Final = 100
"""As many as are ever found at once."""
_EACH: Final = 50
"""How many of each ranking are fused."""


@dataclass(frozen=True, slots=True)
class Found:
    """A tool that was found: how well it fits, compared with the others, and by which terms."""

    entry: ToolEntry
    score: float
    terms: tuple[str, ...]

    def document(self) -> dict[str, Any]:
        """It as a program reads it."""
        return {
            "name": self.entry.name,
            "score": round(self.score, 4),
            "terms": list(self.terms),
            "description": self.entry.description,
        }


@dataclass(frozen=True, slots=True)
class _Wanted:
    """Which tools may be found, whoever asks."""

    tags: frozenset[str]
    namespace: str | None

    def takes(self, entry: ToolEntry) -> bool:
        return (
            entry.blocked is None
            and is_offered(entry.name, entry.version)
            and (not self.tags or not self.tags.isdisjoint(entry.tags))
            and self.namespace in (None, entry.namespace)
        )


class Search:
    """Finds tools of one runtime; `embeddings` are there where the project has an embedder."""

    def __init__(
        self,
        registry: Registry,
        shows: Shows,
        options: Retrieval | None = None,
        embeddings: Embeddings | None = None,
    ) -> None:
        self.options = options
        self._registry = registry
        self._shows = shows
        self._embeddings = embeddings
        self._k = options.k if options else K
        self._made: tuple[Snapshot, Index] | None = None
        self._turn = asyncio.Lock()

    async def __call__(
        self,
        intent: str,
        caller: Caller | None = None,
        *,
        k: int | None = None,
        tags: Iterable[str] = (),
        namespace: str | None = None,
    ) -> list[Found]:
        """The tools that serve `intent` best and can be called now, best first: `k` at most.

        With `tags` only those that have one of them, with `namespace` those of it.
        """
        k = self._k if k is None else min(k, MOST)
        if k < 1:
            return []
        wanted = _Wanted(frozenset(tags), namespace)
        snapshot = self._registry.current
        index = await self._index(snapshot)
        if self._embeddings is not None:
            return await self._hybrid(index, intent, await self._seen(snapshot, wanted, caller), k)
        found: list[Found] = []
        for hit in index.ranked(intent):
            entry = snapshot.listed[hit.name]
            if wanted.takes(entry) and await self._shows(entry, caller):
                found.append(Found(entry, hit.score, hit.terms))
                if len(found) == k:
                    break
        return found

    async def _seen(
        self, snapshot: Snapshot, wanted: "_Wanted", caller: Caller | None
    ) -> dict[str, ToolEntry]:
        """All tools that may be found, by name."""
        return {
            name: entry
            for name, entry in snapshot.listed.items()
            if wanted.takes(entry) and await self._shows(entry, caller)
        }

    async def _index(self, snapshot: Snapshot) -> Index:
        if self._made is not None and self._made[0] is snapshot:
            return self._made[1]
        async with self._turn:  # those who come while it is made wait for it
            known = self._made
            if known is None or known[0] is not snapshot:
                made = await aside(partial(index_of, snapshot.listed.values()))
                known = self._made = snapshot, made
            return known[1]

    async def _hybrid(
        self, index: Index, intent: str, seen: dict[str, ToolEntry], k: int
    ) -> list[Found]:
        by_words = list(islice((hit for hit in index.ranked(intent) if hit.name in seen), _EACH))
        terms = {hit.name: hit.terms for hit in by_words}
        near = await self._near(intent, seen)
        scores = fused((hit.name for hit in by_words), near)
        best = sorted(scores, key=lambda name: (-scores[name], name))[:k]
        return [Found(seen[name], scores[name], terms.get(name, ())) for name in best]

    async def _near(self, intent: str, seen: dict[str, ToolEntry]) -> list[str]:
        """The names of the nearest tools, the nearest first."""
        if self._embeddings is None or not seen:
            return []
        texts = [_about(entry) for entry in seen.values()]
        nearness = await self._embeddings.nearness(intent, texts)
        if nearness is None:
            return []
        pairs = sorted(zip(nearness, seen, strict=True), key=lambda pair: (-pair[0], pair[1]))
        return [name for _, name in pairs[:_EACH]]


def search_of(
    known: Search | None,
    project: Path,
    registry: Registry,
    shows: Shows,
    options: Retrieval | None,
) -> Search:
    """`known`, while the project wants the same; else another one."""
    if known is not None and known.options == options:
        return known
    dotted = options.embedder if options else None
    embeddings = None if dotted is None else embeddings_of(project, dotted)
    return Search(registry, shows, options, embeddings)


def _about(entry: ToolEntry) -> str:
    """What an embedder is told of a tool."""
    tags = f" ({', '.join(entry.tags)})" if entry.tags else ""
    return f"{entry.name}{tags}: {entry.own_description or entry.description}"
