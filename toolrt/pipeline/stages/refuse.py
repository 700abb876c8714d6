"""refuse: calls that would not be made anyway end here, before a person is asked about them.

An open breaker is only looked at, for each attempt asks it again; of the rate each call takes one
token, however many attempts it makes. Absent from the chain of a tool that declares neither.
"""

from collections.abc import Awaitable

from toolrt.catalog.snapshot import ToolEntry
from toolrt.core.calls import Caller, Invocation
from toolrt.core.results import Failure, Outcome
from toolrt.manifest.limits import Rate
from toolrt.pipeline.breakers import Shared
from toolrt.pipeline.guarding import is_apart, open_hint, open_message, wait_text
from toolrt.pipeline.stage import Chain, Equipment
from toolrt.pipeline.throttling import Throttle


def refuse(entry: ToolEntry, equipment: Equipment, following: Chain) -> Chain:
    """Refuse what the breaker or the rate stands against."""
    rate = entry.manifest.rate
    if rate is None:
        return refuse_open(entry, equipment, following)
    refusing = _Refusing(entry, equipment, following)
    shared, throttles = refusing.shared, equipment.throttles
    if rate.by != "tool" or refusing.is_apart:
        return refusing.by_caller(rate)
    throttle = throttles.of(entry, rate, Caller())
    return refusing.limited(throttle) if shared is None else refusing.both(shared, throttle)


def refuse_open(entry: ToolEntry, equipment: Equipment, following: Chain) -> Chain:
    """Refuse while the breaker is open; so that an approved call keeps its yes until later."""
    refusing = _Refusing(entry, equipment, following)
    if refusing.is_apart:
        return refusing.by_tenant()
    return following if refusing.shared is None else refusing.watched(refusing.shared)


class _Refusing:
    """Refusals of one tool. Each way has a chain of its own, which waits for nobody as long as
    nothing stands against the call.
    """

    def __init__(self, entry: ToolEntry, equipment: Equipment, following: Chain) -> None:
        self.entry = entry
        self.equipment = equipment
        self.following = following
        self.shared = equipment.breakers.of(entry)
        self.is_apart = is_apart(entry)
        self.monotonic = equipment.clock.monotonic

    def watched(self, shared: Shared) -> Chain:
        monotonic, breaker, following = self.monotonic, shared.breaker, self.following

        def handle(invocation: Invocation) -> Awaitable[Outcome]:
            if breaker.is_closed and monotonic() < shared.look_at:
                return following(invocation)
            return self._slowly(invocation, None, shared)

        return handle

    def by_tenant(self) -> Chain:
        breaker_of, entry = self.equipment.breakers.of, self.entry

        def handle(invocation: Invocation) -> Awaitable[Outcome]:
            return self._slowly(invocation, None, breaker_of(entry, invocation.caller))

        return handle

    def limited(self, throttle: Throttle) -> Chain:
        monotonic, following = self.monotonic, self.following

        def handle(invocation: Invocation) -> Awaitable[Outcome]:
            if throttle.left and monotonic() < throttle.ends:
                throttle.left -= 1
                return following(invocation)
            return self._slowly(invocation, throttle, None)

        return handle

    def both(self, shared: Shared, throttle: Throttle) -> Chain:
        monotonic, breaker, following = self.monotonic, shared.breaker, self.following

        def handle(invocation: Invocation) -> Awaitable[Outcome]:
            now = monotonic()
            if throttle.left and now < throttle.ends and breaker.is_closed and now < shared.look_at:
                throttle.left -= 1
                return following(invocation)
            return self._slowly(invocation, throttle, shared)

        return handle

    def by_caller(self, rate: Rate) -> Chain:
        throttle_of, breaker_of = self.equipment.throttles.of, self.equipment.breakers.of
        entry = self.entry

        def handle(invocation: Invocation) -> Awaitable[Outcome]:
            caller = invocation.caller
            throttle, shared = throttle_of(entry, rate, caller), breaker_of(entry, caller)
            return self._slowly(invocation, throttle, shared)

        return handle

    async def _slowly(
        self, invocation: Invocation, throttle: Throttle | None, shared: Shared | None
    ) -> Outcome:
        """The same, where the store is to be asked or the call is refused."""
        entry = self.entry
        if shared is not None:
            wait_s = await self.equipment.breakers.ask(shared)
            if wait_s > 0:
                return _refused("circuit-open", open_message(entry), open_hint(wait_s), wait_s)
        wait_s = 0.0 if throttle is None else await throttle.wait_s()
        if wait_s > 0:
            self.equipment.telemetry.meter(entry).throttled += 1
            hint = f"nothing ran; try again in {wait_text(wait_s)}"
            return _refused("rate-limited", _used_up(entry), hint, wait_s)
        return await self.following(invocation)


def _used_up(entry: ToolEntry) -> str:
    rate = entry.manifest.rate
    if rate is None:
        raise AssertionError(f"{entry.name} has no rate")
    by = "" if rate.by == "tool" else f" for each {rate.by}"
    many = f"{rate.limit} call{'s' * (rate.limit > 1)}"
    return f"`{entry.name}` takes {many} in {wait_text(rate.per)}{by}, and these are used up"


def _refused(code: str, message: str, hint: str, wait_s: float) -> Failure:
    return Failure(code, message, hint, retryable=True, details={"retry_after": round(wait_s, 3)})
