"""The breakers of a runtime, and what their processes tell each other (B5, B6).

Memory decides; the store hears of each change and says what others have seen: before the first
call, and then about every second, beside the calls. Only the trial of a half-open breaker waits for
the store, which gives it to one process. A store that fails stops no call.
"""

import asyncio
import logging
import uuid
from collections import Counter, defaultdict
from collections.abc import Awaitable, Callable, Coroutine, Iterable, Mapping
from functools import partial
from typing import Any, NamedTuple, TypeVar

from toolrt.catalog.snapshot import ToolEntry
from toolrt.core.calls import Caller, Invocation
from toolrt.core.clock import Clock
from toolrt.core.errors import ToolrtError
from toolrt.manifest.limits import Breaker as Options
from toolrt.pipeline.breaker_keys import key_of, without_tenant
from toolrt.pipeline.breaking import Breaker, Change, State, Verdict
from toolrt.pipeline.memory import Memory
from toolrt.stores import breakers as stored_breakers
from toolrt.stores.base import Session
from toolrt.stores.breakers import Key, Step, Stored

MOST_KEPT = 10_000
"""Breakers that are kept in memory before those of tenants that rest are dropped."""

LOOK_S = 1.0
"""How often a process looks, while it is called, what others have told."""

_EVENTS = {"open": "opened", "closed": "closed"}

T = TypeVar("T")

log = logging.getLogger("toolrt")


STATES: tuple[State, ...] = ("closed", "half-open", "open")
"""The laxest first."""

Named = tuple[str, str]
"""What a breaker is of, `target` or `tool`, and its name."""


class Known(NamedTuple):
    """The state of a breaker, and how often it came to which here."""

    state: State
    moves: Mapping[State, int]


class Shared:
    """One breaker, and what the store is known to have of it.

    `look_at` is when to ask the store again; before the first answer nobody is let through.
    """

    __slots__ = ("breaker", "key", "look_at", "pending", "revision", "seen", "task", "why")

    def __init__(self, key: Key, options: Options) -> None:
        self.key = key
        self.breaker = Breaker(options)
        self.look_at = float("-inf")
        self.revision = -1
        self.seen = 0
        self.pending: list[Step] = []
        self.task: asyncio.Task[None] | None = None
        self.why: str | None = None

    @property
    def is_known(self) -> bool:
        return self.revision >= 0

    @property
    def rests(self) -> bool:
        """Whether nothing stands against it, so that it can be made anew when it is asked."""
        breaker, is_told = self.breaker, self.task is None and not self.pending
        return breaker.is_closed and not breaker.failures and is_told


class Breakers:
    """All breakers of a runtime: they outlive generations, as long as their options stay."""

    def __init__(self, memory: Memory, clock: Clock) -> None:
        self._memory = memory
        self._clock = clock
        self._owner = str(uuid.uuid4())
        self._made: dict[Key, Shared] = {}
        self._running: set[asyncio.Task[None]] = set()
        self._is_failing = False

    def of(self, entry: ToolEntry, caller: Caller | None = None) -> Shared | None:
        """The breaker of a tool, where each tenant has its own that of the caller; None where the
        tool declares none.
        """
        options = entry.manifest.breaker
        if options is None:
            return None
        key = key_of(entry, options, caller.tenant if caller else None)
        return self._made.get(key) or self._new(key, options)

    def _new(self, key: Key, options: Options) -> Shared:
        if len(self._made) >= MOST_KEPT:
            self._made = {
                each: shared
                for each, shared in self._made.items()
                if each == without_tenant(each) or not shared.rests
            }
        return self._made.setdefault(key, Shared(key, options))

    async def ask(self, shared: Shared) -> float:
        """How long a call of now would have to wait; zero where it would be let through.

        Asks the store where it was never asked, else only sends somebody to look.
        """
        if not shared.is_known:
            await self._look(shared)
            shared.look_at = self._clock.monotonic() + LOOK_S
        now = self._clock.monotonic()
        if now >= shared.look_at:
            shared.look_at = now + LOOK_S
            self._begin(self._look(shared))
        return shared.breaker.refusal_s(now)

    async def enter(self, shared: Shared, invocation: Invocation) -> int | None:
        """A token for an attempt, or None where it is refused; one everywhere while half-open."""
        if not shared.is_known:
            await self._look(shared)
        breaker = shared.breaker
        token = breaker.enter(self._clock.monotonic(), invocation.deadline)
        if token is None or breaker.state == "closed":
            return token
        try:
            return await self._tried(shared, token, invocation)
        except BaseException:
            self.settle(shared, token, Verdict.NONE)
            raise

    def settle(self, shared: Shared, token: int, verdict: Verdict, code: str | None = None) -> None:
        """An attempt has ended, by a fault of that code or otherwise."""
        if verdict is Verdict.FAULT:
            shared.why = code
        change = shared.breaker.settle(token, verdict, self._clock.monotonic())
        if change is not None:
            self._publish(shared, self._step(shared, change))

    def refusal_s(self, entry: ToolEntry) -> float:
        """How long calls of a tool will be refused, as far as is known here."""
        shared = self.of(entry)
        return 0.0 if shared is None else shared.breaker.refusal_s(self._clock.monotonic())

    def is_hidden(self, entry: ToolEntry) -> bool:
        """Whether lists leave the tool out for now (B8)."""
        options, shared = entry.manifest.breaker, self.of(entry)
        if options is None or shared is None or not options.hide:
            return False
        return shared.breaker.state == "open" and self.refusal_s(entry) > 0

    def known(self, entries: Iterable[ToolEntry]) -> dict[Named, Known]:
        """How the breakers of these tools stand, by what they are of and its name.

        Where a target has several, as its tools want it or for tenants, the strictest counts.
        """
        moves: defaultdict[Named, Counter[State]] = defaultdict(Counter)
        found_by: defaultdict[Key, list[State]] = defaultdict(list)
        asked = {shared.key for entry in entries if (shared := self.of(entry))}
        for key, shared in self._made.items():
            moves[key.kind, key.name] += shared.breaker.moves
            found_by[without_tenant(key)].append(shared.breaker.state)
        states: defaultdict[Named, list[State]] = defaultdict(list)
        for key in asked:
            states[key.kind, key.name] += found_by[key]
        return {
            named: Known(max(found, key=STATES.index), moves[named])
            for named, found in states.items()
        }

    async def listed(self) -> list[Stored]:
        """Every breaker that anything was told of, in all processes. Raises StoreError."""
        found = await self._memory.database.read(stored_breakers.listed)
        return list(found)

    async def reset(self, name: str, actor: str) -> list[Stored]:
        """Close the breakers of a target or tool, here at once and elsewhere within a second.

        Gives those that were not closed, or had counted something. Raises StoreError.
        """
        moment = self._memory.moments.now()

        def work(session: Session) -> list[tuple[Stored, Stored]]:
            found = stored_breakers.listed(session, name)
            return [
                self._changed(session, each.key, moment.wall, stored_breakers.reset, actor)
                for each in found
            ]

        changed = await self._memory.database.run(work)
        for shared in (each for each in self._made.values() if each.key.name == name):
            shared.breaker.close()
            shared.look_at = float("-inf")
        return [before for before, after in changed if before != after]

    async def close(self) -> None:
        """Write what others have not heard: failures in a row that opened nothing yet."""
        for shared in self._made.values():
            breaker = shared.breaker
            if shared.is_known and breaker.state == "closed" and breaker.failures != shared.seen:
                self._publish(shared, self._count(shared))
        while self._running:
            await asyncio.wait(self._running)

    async def _tried(self, shared: Shared, token: int, invocation: Invocation) -> int | None:
        """The trial that this process has of itself; None where another has it."""
        if shared.task is not None:
            await asyncio.wait([shared.task])
        now, left_s = self._memory.moments.now(), invocation.remaining_s()
        step = stored_breakers.tried(now, left_s, self._owner)
        after = await self._told(shared, [step])
        if after is None or (after.state == "half-open" and after.owner == self._owner):
            return token
        if after.revision == shared.revision and after.state == "closed":
            return token  # it was never told: memory decides
        self._adopt(shared, after)
        breaker = shared.breaker
        return breaker.enter(self._clock.monotonic(), 0.0) if breaker.state == "closed" else None

    async def _look(self, shared: Shared) -> None:
        find = partial(stored_breakers.find, key=shared.key)
        found = await self._safely(lambda: self._memory.database.read(find))
        if shared.pending or shared.task is not None:
            return
        if found is not None and found.revision != shared.revision:
            self._adopt(shared, found)
        shared.revision = max(shared.revision, 0)

    def _adopt(self, shared: Shared, stored: Stored) -> None:
        """Take over what others told. Failures in a row are counted on at the first look only."""
        breaker, is_first = shared.breaker, not shared.is_known
        shared.revision = stored.revision
        left_s = stored.refusal_s(self._memory.moments.now())
        until = self._clock.monotonic() + left_s
        if stored.state == "open":
            breaker.open(until, stored.reopened)
        elif stored.state == "half-open" and stored.owner != self._owner:
            breaker.reopened = stored.reopened
            breaker.lend(until)
        elif stored.state == "closed" and breaker.state != "closed":
            breaker.close()
        if is_first:
            breaker.failures = shared.seen = stored.failures

    def _step(self, shared: Shared, change: Change) -> Step:
        moment, breaker = self._memory.moments.now(), shared.breaker
        if change == "closed":
            return stored_breakers.passed(moment, self._owner)
        if change == "released":
            return stored_breakers.released(moment, self._owner)
        shared.seen = breaker.failures = 0
        return stored_breakers.opened(
            moment, breaker.recovery_s(), breaker.reopened, self._owner, shared.why
        )

    def _count(self, shared: Shared) -> Step:
        """The failures in a row of this process, on top of those of others or in their place."""
        moment, breaker = self._memory.moments.now(), shared.breaker
        is_anew = breaker.failures < shared.seen
        count = breaker.failures if is_anew else breaker.failures - shared.seen
        most, recovery_s = breaker.most_failures, breaker.options.recovery
        return stored_breakers.counted(moment, count, most, recovery_s, shared.why, anew=is_anew)

    def _publish(self, shared: Shared, step: Step) -> None:
        shared.pending.append(step)
        if shared.task is None and is_in_loop():  # else its loop is gone, and nobody listens
            shared.task = self._begin(self._drain(shared))

    async def _drain(self, shared: Shared) -> None:
        """Tell the store, in order, all that has changed."""
        try:
            while shared.pending:
                steps = list(shared.pending)
                after = await self._told(shared, steps)
                del shared.pending[: len(steps)]
                if after is not None and not shared.pending:
                    shared.revision = after.revision
        finally:
            shared.task = None

    async def _told(self, shared: Shared, steps: list[Step]) -> Stored | None:
        """The breaker after these steps; None where the store cannot be asked."""
        wall = self._clock.wall()

        def work(session: Session) -> Stored:
            for step in steps:
                _, after = self._changed(session, shared.key, wall, step)
            return after

        return await self._safely(lambda: self._memory.database.run(work))

    def _changed(
        self, session: Session, key: Key, wall: float, step: Step, actor: str | None = None
    ) -> tuple[Stored, Stored]:
        """The breaker before and after a step; the journal hears of it in the same transaction."""
        before, after = stored_breakers.change(session, key, wall, step)
        if before.state != after.state and after.state in _EVENTS:
            told = {
                "kind": "breaker",
                "event": "reset" if actor else _EVENTS[after.state],
                "of": key.kind,
                "name": key.name,
                "why": after.why,
                "actor": actor,
            }
            self._memory.journal.audit(session, told)
        return before, after

    async def _safely(self, work: Callable[[], Awaitable[T]]) -> T | None:
        """What `work` gives; None where the store fails, of which the log hears once."""
        try:
            found = await work()
        except ToolrtError as error:
            if not self._is_failing:
                log.warning("breakers are not shared: %s", error.message)
            self._is_failing = True
            return None
        self._is_failing = False
        return found

    def _begin(self, work: Coroutine[Any, Any, None]) -> "asyncio.Task[None]":
        task = asyncio.get_running_loop().create_task(work)
        self._running.add(task)
        task.add_done_callback(self._ended)
        return task

    def _ended(self, task: "asyncio.Task[None]") -> None:
        self._running.discard(task)
        if not task.cancelled() and task.exception() is not None:
            log.error("a bug kept a breaker from being shared", exc_info=task.exception())


def is_in_loop() -> bool:
    """Whether an event loop runs here: coroutines that are thrown away end without one."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True
