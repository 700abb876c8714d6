"""Many calls in one go: planned, made, and given back in the order of the request.

Every call goes through the gateway like any other, so that rules, people and limits hold for each
by itself. What all results come to together is bounded (O7).
"""

from collections import Counter, deque
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any

from toolrt.core.calls import Caller
from toolrt.core.clock import Clock
from toolrt.core.decisions import Recovery
from toolrt.core.errors import RefusedError
from toolrt.core.results import ToolResult
from toolrt.pipeline.batch_plan import BatchCall, BatchPlan, planned
from toolrt.pipeline.fitting import fitted
from toolrt.pipeline.gateway import Gateway
from toolrt.pipeline.memory import Memory
from toolrt.pipeline.workers import share

Progress = Callable[[float, float | None, str], None]
Call = Callable[..., Awaitable[ToolResult]]

_LONGEST_NAME = 200


class Batches:
    """Makes many calls through `call`, the gateway's own as long as the runtime is open."""

    def __init__(self, gateway: Gateway, memory: Memory, clock: Clock, call: Call) -> None:
        self._gateway = gateway
        self._memory = memory
        self._clock = clock
        self._call = call

    def plan(
        self,
        calls: Sequence[Mapping[str, Any]],
        caller: Caller | None = None,
        *,
        serial: bool = False,
    ) -> BatchPlan:
        """In which order, and which of them together, `calls` would be made; nothing runs.

        Raises:
            RefusedError: they are no batch, see `call_many`.
        """
        snapshot = self._gateway.snapshot
        return planned(calls, snapshot, caller or Caller(), self._clock, serial=serial)

    async def call_many(
        self,
        calls: Sequence[Mapping[str, Any]],
        caller: Caller | None = None,
        *,
        serial: bool = False,
        stop_on_error: bool = False,
        on_progress: Progress | None = None,
    ) -> list[ToolResult]:
        """Make all of `calls`, and give a result for each, in their order.

        A call has `tool`, `arguments` (a mapping, or JSON text), and, where wanted, an `id` and the
        ids that it `depends_on`. `serial` makes one after the other, `stop_on_error` none after one
        that failed. `on_progress` hears how many of how many are over.

        Raises:
            RefusedError: they are no batch (no list, twice the same id, a dependency that is not
                there or goes round in a circle); nothing ran.
        """
        caller = caller or Caller()
        plan = self.plan(calls, caller, serial=serial)
        batch = _Batch(self._gateway, self._call, plan, caller, on_progress, stops=stop_on_error)
        if plan.calls:
            self._memory.journal.mention("batch", batch.document())
        results = await batch.results()
        return await fitted(results, caller, self._memory.spills)


class _Batch:
    """One batch on its way. `over` says why no more calls are made."""

    def __init__(
        self,
        gateway: Gateway,
        call: Call,
        plan: BatchPlan,
        caller: Caller,
        on_progress: Progress | None,
        *,
        stops: bool,
    ) -> None:
        self.id = gateway.new_id()
        self._gateway = gateway
        self._call = call
        self._plan = plan
        self._caller = caller
        self._on_progress = on_progress
        self._stops = stops
        self._over = ""
        self._results: dict[str, ToolResult] = {}

    def document(self) -> dict[str, Any]:
        """What the journal is told before the first call."""
        caller = self._caller
        told = {
            "principal": _short(caller.principal),
            "tenant": _short(caller.tenant),
            "session": _short(caller.session),
        }
        waiting = {each.id: each.depends_on for each in self._plan.calls if each.depends_on}
        groups = [[each.id for each in group] for group in self._plan.groups]
        return {"batch": self.id, "caller": told, "groups": groups, "depends_on": waiting}

    async def results(self) -> list[ToolResult]:
        for group in self._plan.groups:
            await self._together(group)
        return [self._results.get(each.id) or self._given_up(each) for each in self._plan.calls]

    async def _together(self, group: tuple[BatchCall, ...]) -> None:
        """Make the calls of a group. None is left running, however this ends."""
        if len(group) == 1:
            await self._take(group[0])
            return
        waiting = _Waiting(group)

        async def work() -> None:
            while (call := waiting.next()) is not None:
                await self._take(call)
                waiting.end(call)

        await share(work, len(group))

    async def _take(self, call: BatchCall) -> None:
        result = self._results[call.id] = await self._made(call)
        self._look_at(call, result)
        if self._on_progress is not None:
            done, total = len(self._results), len(self._plan.calls)
            self._on_progress(done, total, f"{result.tool} {result.status}")

    async def _made(self, call: BatchCall) -> ToolResult:
        unmade = self._unmade(call)
        if unmade is not None:
            return unmade
        if call.refusal is not None:
            return self._marked(call, self._gateway.refuse(call.tool, call.refusal, self._caller))
        marks = self._marks(call)
        return await self._call(call.tool, call.arguments, self._caller, None, marks)

    def _look_at(self, call: BatchCall, result: ToolResult) -> None:
        if result.final and result.error is None:
            self._over = f"`{call.tool}` has ended the run"
        elif self._stops and result.error is not None and not self._over:
            self._over = f"the call `{call.id}` failed, and the batch stops there"

    def _unmade(self, call: BatchCall) -> ToolResult | None:
        """The result of a call that is not made after what has happened; None where it is."""
        if self._over:
            refusal = RefusedError(
                f"this call was not made: {self._over}", code="cancelled", hint="nothing ran"
            )
            refused = self._gateway.refuse(call.tool, refusal, self._caller)
            return self._marked(call, refused, not_made=True)
        for each in call.depends_on:
            before = self._results.get(each)
            if before is None or before.error is not None or before.pause is not None:
                return self._without(call, each, before)
        return None

    def _without(self, call: BatchCall, missing: str, before: ToolResult | None) -> ToolResult:
        """The result of a call that depends on one which has no value."""
        is_paused = before is not None and before.pause is not None
        code = before.error.code if before and before.error else "paused"
        why = "waits for a person" if is_paused else f"failed ({code})"
        hint = f"nothing ran; make this call again once `{missing}` has been answered"
        refusal = RefusedError(
            f"this call was not made: it depends on `{missing}`, which {why}",
            code="unavailable",
            hint=hint,
            details={"depends_on": missing, "because": code},
        )
        refused = self._gateway.refuse(call.tool, refusal, self._caller)
        recovery = Recovery("return-error", "what it depends on has to be answered first")
        return self._marked(call, refused, recovery=recovery.document(), not_made=True)

    def _given_up(self, call: BatchCall) -> ToolResult:
        """The result of a call whose tool cancelled the task that waited for it."""
        refusal = RefusedError("the call was given up from within", code="cancelled")
        return self._marked(call, self._gateway.refuse(call.tool, refusal, self._caller))

    def _marks(self, call: BatchCall) -> dict[str, Any]:
        return {"batch": {"id": self.id, "call": call.id}}

    def _marked(self, call: BatchCall, result: ToolResult, **told: Any) -> ToolResult:
        return result._replace(context={**result.context, **self._marks(call), **told})


def _short(name: str | None) -> str | None:
    """A name of anybody's choice as text that JSON can carry."""
    return name and name[:_LONGEST_NAME].encode("ascii", "backslashreplace").decode()


class _Waiting:
    """The calls of a group that have not begun, and how many of each tool run."""

    def __init__(self, group: Sequence[BatchCall]) -> None:
        self._waiting = deque(group)
        self._running: Counter[str] = Counter()

    def next(self) -> BatchCall | None:
        """The first call whose tool has a place; who ends one of that tool asks again."""
        for at, call in enumerate(self._waiting):
            if self._running[call.tool] < call.at_once:
                del self._waiting[at]
                self._running[call.tool] += 1
                return call
        return None

    def end(self, call: BatchCall) -> None:
        self._running[call.tool] -= 1
