"""The page of metrics: what was counted, and how things stand at the moment when somebody asks."""

import logging
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import get_args

from toolrt.catalog.snapshot import Snapshot
from toolrt.core.errors import ToolrtError
from toolrt.core.redaction import Redactor
from toolrt.observe.metrics import Reading, page
from toolrt.pipeline.breakers import STATES, Breakers
from toolrt.pipeline.gateway import Gateway
from toolrt.pipeline.memory import Memory
from toolrt.stores.approval_sums import sums
from toolrt.stores.approvals import State

log = logging.getLogger("toolrt")


class Page:
    """The page of one runtime."""

    def __init__(self, gateway: Gateway, memory: Memory, redactor: Redactor) -> None:
        self._telemetry, self._breakers = gateway.telemetry, gateway.breakers
        self._memory = memory
        self._redactor = redactor

    async def written(self, snapshot: Snapshot, more: Iterable[Reading]) -> str:
        """All of it as text, without approvals while the store fails; empty where it is off."""
        if not self._telemetry.is_metered:
            return ""
        approvals = await self._approvals()
        journal = self._memory.journal
        readings = (
            *self._telemetry.meters.readings(),
            *_of_breakers(self._breakers, snapshot),
            *approvals,
            *more,
            *_of_tools(snapshot),
            Reading("toolrt_journal_waiting", (), journal.waiting),
            Reading("toolrt_journal_lost_total", (), journal.lost),
        )
        return page(readings, self._redactor.text)

    async def _approvals(self) -> list[Reading]:
        try:
            found = await self._memory.database.read(sums)
        except ToolrtError as error:
            log.warning("the page of metrics goes without approvals: %s", error.message)
            return []
        states = get_args(State)
        told = [Reading("toolrt_approvals", (each,), found.states.get(each, 0)) for each in states]
        for verdict, (count, waited_s) in found.decisions.items():
            told.append(Reading("toolrt_approval_decisions", (verdict,), count))
            told.append(Reading("toolrt_approval_wait_seconds", (verdict,), waited_s))
        now = self._memory.moments.now().wall
        waiting_s = 0.0 if found.oldest is None else max(0.0, now - found.oldest)
        told.append(Reading("toolrt_approval_oldest_seconds", (), waiting_s))
        return told


def _of_breakers(breakers: Breakers, snapshot: Snapshot) -> Iterator[Reading]:
    for (of, name), known in breakers.known(snapshot.tools.values()).items():
        for state in STATES:
            yield Reading("toolrt_breaker_state", (of, name, state), state == known.state)
            yield Reading("toolrt_breaker_changes_total", (of, name, state), known.moves[state])


def _of_tools(snapshot: Snapshot) -> Iterator[Reading]:
    counts = Counter(
        "available" if tool.blocked is None else "unavailable" for tool in snapshot.tools.values()
    )
    for state in ("available", "unavailable"):
        yield Reading("toolrt_tools", (state,), counts[state])
