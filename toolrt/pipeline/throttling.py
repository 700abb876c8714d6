"""Rates: never more than `limit` calls in any span of `per`, over all processes of a project.

Tokens are taken from the store in chunks that grow with use, so that most calls ask nobody. One
that is not used within its time goes back, or counts until it would have left the span.
"""

import asyncio
import json
import logging
from collections import deque
from collections.abc import Iterable
from dataclasses import replace

from toolrt.catalog.snapshot import ToolEntry
from toolrt.core.calls import Caller
from toolrt.core.clock import Clock
from toolrt.core.errors import ToolrtError
from toolrt.manifest.limits import Rate
from toolrt.pipeline.memory import Memory
from toolrt.stores.base import Session
from toolrt.stores.quotas import Chunk, give_back, take

LONGEST_HOLD_S, SHORTEST_HOLD_S = 1.0, 0.05
"""How long a process may keep a token that it has not used: a twentieth of the span, in between."""

LARGEST_SHARE = 4
"""A process takes at most one part in so many of the limit at once."""

MOST_KEPT = 10_000
"""Callers whose quotas are kept in memory before those that rest are dropped."""

_NONE = Chunk("", 0)

log = logging.getLogger("toolrt")


class Throttle:
    """The quota of one tool, or of one of its callers, as this process has it."""

    __slots__ = (
        "_chunk",
        "_is_failing",
        "_renewing",
        "_size",
        "_taken",
        "_waiting",
        "clock",
        "ends",
        "full_until",
        "left",
        "limit",
        "memory",
        "name",
        "per_s",
    )

    def __init__(self, name: str, rate: Rate, memory: Memory, clock: Clock) -> None:
        self.name = name
        self.limit, self.per_s = rate.limit, rate.per
        self.memory = memory
        self.clock = clock
        self.left = 0
        self.ends = self.full_until = float("-inf")
        self._chunk = _NONE
        self._size = 1
        self._waiting = 0
        self._taken: deque[tuple[float, int]] = deque()
        self._renewing: asyncio.Task[None] | None = None
        self._is_failing = False

    def take(self, now: float) -> bool:
        """Use a token that this process holds, if there is one."""
        if self.left and now < self.ends:
            self.left -= 1
            return True
        return False

    async def wait_s(self) -> float:
        """Use a token, from the store if need be: zero. Without one, how long there is none."""
        self._waiting += 1
        try:
            while True:
                now = self.clock.monotonic()
                if now < self.full_until:
                    return self.full_until - now
                if self.take(now):
                    return 0.0
                await self._renewed()
                if self.left:  # for whoever has waited for it, at once
                    self.left -= 1
                    return 0.0
        finally:
            self._waiting -= 1

    def unused(self) -> Chunk:
        """What is held and not used: it is given back, and is held no more."""
        unused, self.left = replace(self._chunk, tokens=self.left), 0
        return unused

    def rests(self, now: float) -> bool:
        """Whether nothing of it is of any use any more."""
        return now > max(self.ends, self.full_until) + self.per_s and not self._waiting

    @property
    def hold_s(self) -> float:
        return min(LONGEST_HOLD_S, max(SHORTEST_HOLD_S, self.per_s / 20))

    async def _renewed(self) -> None:
        """Come back when there are tokens, or `full_until` says for how long there are none."""
        if self._renewing is None:
            self._renewing = asyncio.get_running_loop().create_task(self._renew())
            self._renewing.add_done_callback(self._ended)
        await asyncio.shield(self._renewing)

    def _ended(self, _task: "asyncio.Task[None]") -> None:
        self._renewing = None

    async def _renew(self) -> None:
        self._size = self._next_size()
        back, wanted = self.unused(), max(self._size, self._waiting)
        try:
            at, chunk = await self._from_store(back, wanted)
        except ToolrtError as error:
            if not self._is_failing:
                log.warning("the rate of %s is not shared: %s", self.name, error.message)
            self._is_failing = True
            at, chunk = self.clock.monotonic(), self._from_memory()
        else:
            self._is_failing = False
        self._chunk, self.left, self.ends = chunk, chunk.tokens, at + self.hold_s
        if chunk.tokens:
            self._taken.append((self.ends + self.per_s, chunk.tokens))
        else:
            self.full_until = self.clock.monotonic() + max(chunk.wait_s, 0.001)

    async def _from_store(self, back: Chunk, wanted: int) -> tuple[float, Chunk]:
        """When it was taken, and what."""

        def work(session: Session) -> tuple[float, Chunk]:
            give_back(session, [back] if back.tokens else ())
            at, moment = self.clock.monotonic(), self.memory.moments.now()
            counts_s = self.hold_s + self.per_s
            return at, take(
                session,
                self.name,
                moment,
                limit=self.limit,
                wanted=wanted,
                counts_s=counts_s,
            )

        return await self.memory.database.run(work)

    def _from_memory(self) -> Chunk:
        """Where the store cannot be asked, this process alone keeps to the limit."""
        now = self.clock.monotonic()
        while self._taken and self._taken[0][0] <= now:
            self._taken.popleft()
        free = self.limit - sum(tokens for _, tokens in self._taken)
        if free <= 0:
            return Chunk("", 0, self._taken[0][0] - now)
        return Chunk("", min(free, max(1, self._waiting)))

    def _next_size(self) -> int:
        """Twice as much where all was used in its time, else as much as was used."""
        if self.left == 0 and self.clock.monotonic() < self.ends:
            return min(self._size * 2, max(1, self.limit // LARGEST_SHARE))
        return max(1, self._chunk.tokens - self.left)


class Throttles:
    """The quotas of a runtime: they outlive generations, as long as the rate stays."""

    def __init__(self, memory: Memory, clock: Clock) -> None:
        self._memory = memory
        self._clock = clock
        self._made: dict[tuple[object, ...], Throttle] = {}

    def of(self, entry: ToolEntry, rate: Rate, caller: Caller) -> Throttle:
        """The quota that a call of this caller counts in."""
        scope = _scope(rate, caller)
        key = (entry.name, rate.limit, rate.per, scope)
        found = self._made.get(key)
        if found is None:
            found = self._made[key] = self._new(entry, rate, scope)
        return found

    async def close(self) -> None:
        """Give back what is held."""
        held = [each.unused() for each in self._made.values() if each.left]
        if held:
            await self._give_back([each for each in held if each.id])

    async def _give_back(self, held: Iterable[Chunk]) -> None:
        try:
            await self._memory.database.run(lambda session: give_back(session, held))
        except ToolrtError as error:
            log.warning("tokens could not be given back: %s", error.message)

    def _new(self, entry: ToolEntry, rate: Rate, scope: tuple[str | None, ...]) -> Throttle:
        if len(self._made) >= MOST_KEPT:
            now = self._clock.monotonic()
            self._made = {key: each for key, each in self._made.items() if not each.rests(now)}
        name = json.dumps([entry.name, rate.limit, rate.per, rate.by, *scope])
        return Throttle(name, rate, self._memory, self._clock)


def _scope(rate: Rate, caller: Caller) -> tuple[str | None, ...]:
    if rate.by == "tool":
        return ()
    return (caller.tenant,) if rate.by == "tenant" else (caller.principal, caller.tenant)
