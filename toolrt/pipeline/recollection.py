"""Calls of before this process, for rules that count calls: read from the journal, once a caller.

So a rule over `history` holds for `toolrt run` too, where each call has a process of its own.
"""

import asyncio
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from toolrt.core.calls import Caller, Invocation
from toolrt.core.decisions import Decider
from toolrt.observe.journal import Journal
from toolrt.observe.journal_records import Filter


class Recollection:
    """Fills the history of a tool and a caller before it is looked at for the first time."""

    def __init__(self, journal: Journal) -> None:
        self._journal = journal
        self._lock = asyncio.Lock()

    async def recall(self, decider: Decider, invocation: Invocation) -> None:
        """Make sure that the calls of before are counted. Raises StoreError."""
        tool, caller = invocation.tool, invocation.caller
        if decider.history.is_known(tool, caller):
            return
        async with self._lock:
            if not decider.history.is_known(tool, caller):
                times = await self._times(tool, caller, decider.span_s, invocation)
                decider.history.seed(tool, caller, times)

    async def _times(
        self, tool: str, caller: Caller, span_s: float, invocation: Invocation
    ) -> list[float]:
        """When the calls that were let through began, in seconds of our monotonic clock."""
        now, wall = invocation.clock.monotonic(), invocation.clock.wall()
        wanted = Filter(
            tool=tool,
            caller=caller.principal,
            since=wall - span_s,
            until=self._journal.began,
            kinds=frozenset({"call"}),
        )
        entries = await self._journal.records.entries(wanted, None)
        return [now - (wall - at) for at in _let_through(entries, caller)]


def _let_through(entries: Sequence[Mapping[str, Any]], caller: Caller) -> Iterator[float]:
    """Beginnings of the calls of `caller` that policy, or a person, let through (P18)."""
    for entry in entries:
        is_own = entry["caller"] == {**entry["caller"], **_identity(caller)}
        verdict = (entry["decision"] or {}).get("decision")
        is_run = verdict == "allow" or (verdict == "ask" and entry["attempts"] > 0)
        if is_own and is_run:
            yield entry["at"] - entry["time_ms"] / 1000


def _identity(caller: Caller) -> dict[str, Any]:
    return {"principal": caller.principal, "tenant": caller.tenant}
