"""What the steps of one run have come to: in memory, and in the store where it may have to wait.

A run that may wait for people is kept from its first step on: before a step that changes something
begins, and once it is done. So whoever goes on with it, in whichever process, makes no step twice.
"""

import asyncio
import json
import logging
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from typing import Any, Literal, NamedTuple

from toolrt.catalog.snapshot import OF_FILES, ToolEntry
from toolrt.core.calls import Invocation
from toolrt.core.errors import RefusedError, ToolrtError
from toolrt.pipeline.asking import given, subject_of
from toolrt.pipeline.memory import Memory
from toolrt.policy.questions import Subject
from toolrt.stores.approvals import Approval
from toolrt.stores.base import StoreError
from toolrt.stores.plans import LEASE_S, KeptStep, PlanRun, PlanRuns

log = logging.getLogger("toolrt")

StepStatus = Literal["success", "partial", "error", "skipped"]
_RENEWALS = 3


class Told(NamedTuple):
    """What a step came to, as later steps read it."""

    status: StepStatus
    data: Any = None
    text: str = ""


SKIPPED = Told("skipped")


class LostRunError(ToolrtError):
    """Somebody else has the run by now: nothing more of it may be done here."""


class StepRun:
    """One run. `done` and `open` are calls of steps by slot: a step's id, with a number for each
    of several items; `told` is what later steps read, by id, and `notes` what was noted of the
    calls, by slot. `has_acted` says that a step may have changed something.
    """

    __slots__ = (
        "_entry", "_invocation", "_memory", "_run", "done", "has_acted", "is_kept", "is_over",
        "notes", "open", "thought", "told",
    )  # fmt: skip

    def __init__(self, memory: Memory, entry: ToolEntry, invocation: Invocation) -> None:
        self.done: dict[str, Told] = {}
        self.open: dict[str, KeptStep] = {}
        self.told: dict[str, dict[str, Any]] = {}
        self.notes: dict[str, Sequence[str]] = {}
        self.thought: dict[str, Any] | None = None
        self.has_acted = False
        self.is_over = False
        self.is_kept = False
        self._memory = memory
        self._entry = entry
        self._invocation = invocation
        self._run: PlanRun | None = None

    @property
    def _store(self) -> PlanRuns:
        return self._memory.plan_runs

    @property
    def _owner(self) -> str:
        return self._invocation.call_id

    async def keep(self) -> None:
        """Keep it from now on, or go on with the one that is kept already.

        Raises RefusedError where somebody else runs it, StoreError where the store cannot be used.
        """
        run = run_of(self._memory, self._entry, self._invocation)
        begun = await self._store.begin(run, self._owner)
        if begun.standing == "running":
            raise _running(self._entry.name)
        if begun.standing == "changed":
            raise _changed(self._entry.name)
        self._run, self.is_kept = begun.run, True
        if begun.standing == "resumed":
            self._take(begun.steps)
            self._invocation.arguments = self._resumed_arguments()
            self.thought = thought_of(begun.run)
            return
        for id_, told in self.told.items():
            self.done.setdefault(id_, Told(**told))
        await self._put(*map(self._done, self.done))
        if self.thought is not None:
            await self.think(self.thought)

    def _resumed_arguments(self) -> dict[str, Any]:
        """The arguments that it began with: people may have edited those of the call."""
        assert self._run is not None  # noqa: S101 - it was kept a moment ago
        arguments: dict[str, Any] = json.loads(self._run.arguments)
        return arguments

    def _take(self, steps: "list[KeptStep] | Any") -> None:
        for step in steps:
            if step.state != "done" or step.body is None:
                self.open[step.slot] = step
                continue
            status, data, text, has_acted, *noted = json.loads(step.body)
            if noted:
                self.notes[step.slot] = noted[0]
            self.done[step.slot] = Told(status, data, text)
            self.has_acted |= has_acted
        self.has_acted |= any(each.state == "begun" for each in self.open.values())

    async def begin(self, slot: str) -> None:
        """A step that changes something is about to run. Raises as `keep`."""
        self.has_acted = True
        if self.is_kept:
            await self._put(KeptStep(slot, "begun"))

    async def finish(self, slot: str, told: Told) -> None:
        """A step is done. Where that cannot be kept, nobody will make it again all the same."""
        self.done[slot] = told
        if not self.is_kept:
            return
        self.open.pop(slot, None)
        try:
            await self._put(self._done(slot))
        except StoreError:
            log.exception("the end of step %s of `%s` could not be kept", slot, self._entry.name)

    def _done(self, slot: str) -> KeptStep:
        noted = [self.notes[slot]] if slot in self.notes else []
        body = json.dumps([*self.done[slot], self.has_acted, *noted], default=str).encode()
        return KeptStep(slot, "done", None, body)

    async def wait(self, slot: str, approval_id: str, below: Sequence[str] = ()) -> None:
        """A step waits for people: where it has called a plan, for the approvals `below`. Raises
        as `keep`.
        """
        if not self.is_kept:
            await self.keep()
        how = json.dumps([self._invocation.depth, *below]).encode()
        slots = {each: f"{slot}#{number}" for number, each in enumerate(below)}
        slots[approval_id] = slot
        waiting = [KeptStep(at, "waiting", each, how) for each, at in slots.items()]
        self.open |= {each.slot: each for each in waiting}
        await self._put(*waiting)

    async def think(self, thought: Mapping[str, Any]) -> None:
        """The plan has become another one. Raises as `keep`."""
        self.thought = dict(thought)
        if self._run is None:
            return
        run = PlanRun(
            self._run.key, self._run.likeness, self._run.tool, self._run.caller,
            self._run.arguments, self._run.approval, json.dumps(self.thought),
        )  # fmt: skip
        self._run = run
        if not await self._store.think(run, self._owner):
            raise LostRunError(run.key)

    async def _put(self, *steps: KeptStep) -> None:
        if not steps:
            return
        assert self._run is not None  # noqa: S101 - it is kept
        if not await self._store.keep(self._run.key, self._owner, *steps):
            raise LostRunError(self._run.key)

    async def renew(self) -> None:
        """Say now and then that it still runs."""
        while self._run is not None:
            await asyncio.sleep(LEASE_S / _RENEWALS)
            with suppress(StoreError):
                await self._store.renew(self._run.key, self._owner)

    async def leave(self) -> None:
        """Forget what is over; let others go on with what waits."""
        if self._run is None:
            return
        try:
            if self.is_over:
                await self._store.end(self._run.key, self._owner)
            else:
                await self._store.let_go(self._run.key, self._owner)
        except StoreError:  # its lease lapses
            log.exception("the end of a run of `%s` could not be kept", self._entry.name)


@asynccontextmanager
async def running(
    memory: Memory, entry: ToolEntry, invocation: Invocation
) -> AsyncIterator[StepRun]:
    """One run of the plan `entry` that is kept; whoever leaves it says by `is_over` whether it has
    ended.

    Raises as `StepRun.keep`.
    """
    run = StepRun(memory, entry, invocation)
    keeping = asyncio.create_task(run.keep())
    try:
        await asyncio.shield(keeping)
    except asyncio.CancelledError:
        await asyncio.shield(_given_up(run, keeping))
        raise
    renewing = asyncio.create_task(run.renew())
    try:
        yield run
    finally:
        renewing.cancel()
        await asyncio.shield(run.leave())


async def _given_up(run: StepRun, keeping: "asyncio.Task[None]") -> None:
    """Let others go on at once with a run whose caller gave up while it was taken."""
    with suppress(ToolrtError):  # then it was not taken
        await keeping
        await run.leave()


def run_of(memory: Memory, entry: ToolEntry, invocation: Invocation) -> PlanRun:
    """The run as the store knows it: by the call as it was asked for. Raises StoreError."""
    known: PlanRun | None = invocation.run
    if known is not None:
        return known
    record = invocation.approval if isinstance(invocation.approval, Approval) else None
    subject, caller, questions = subject_of(entry), invocation.caller, memory.questions
    likeness = Subject(f"plan:{entry.name}", f"plan:{entry.name}", subject.sensitive)
    arguments = given(entry, invocation.arguments)
    asked = record.asked_hash if record else questions.hash_of(subject, arguments, caller)
    return PlanRun(
        f"{asked}:{caller.session or ''}",
        f"{questions.hash_of(likeness, arguments, caller)}:{caller.session or ''}",
        entry.name,
        json.dumps(caller.document()),
        json.dumps(dict(arguments)),
        record.id if record else None,
        _own_text(entry),
    )


def _own_text(entry: ToolEntry) -> str | None:
    """A plan that is in no catalogue, as it is written: whoever goes on with it needs it."""
    if not entry.name.startswith(OF_FILES):
        return None
    document = entry.layered.own.document
    return json.dumps({"file": document.file, "plan": document.text})


def thought_of(run: PlanRun) -> dict[str, Any] | None:
    """What is known of a run beside its steps."""
    known: dict[str, Any] | None = json.loads(run.thought) if run.thought else None
    return known


def waits_below(step: KeptStep) -> Sequence[str]:
    """The approvals that a plan waits for which a step has called."""
    approvals: list[str] = json.loads(step.body)[1:] if step.body is not None else []
    return approvals


async def is_let_through(memory: Memory, entry: ToolEntry, invocation: Invocation) -> bool:
    """Whether people have said yes to this very plan already, which waits at one of its steps.

    Only as long as no more is asked for than they were asked for then. Raises StoreError.
    """
    run = await memory.plan_runs.find(run_of(memory, entry, invocation).key)
    if run is None or run.approval is None or invocation.decision is None:
        return False
    record = await memory.questions.get(run.approval)
    return invocation.decision.terms == record.terms


def _running(name: str) -> RefusedError:
    return RefusedError(
        f"this very call of `{name}` runs already",
        code="conflict",
        hint="nothing ran; wait for its end, then make the call again if there is need",
        retryable=True,
    )


def _changed(name: str) -> RefusedError:
    return RefusedError(
        f"`{name}` has become another tool since this call paused, so nobody goes on with it",
        code="conflict",
        hint="what its steps had done by then stays done; the same call again begins anew",
    )
