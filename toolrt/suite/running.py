"""Runs the tests of a project, each by itself.

Every call goes through the gateway, like any other. Where a test has a `mock`, only the binding is
stood in for, and the clock waits for nobody. What people are asked is kept in a store that goes
away with the test, and no test sees the calls of another.
"""

from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, replace
from random import Random
from typing import Any

from toolrt.bindings.mocks import MockBinding
from toolrt.catalog.registry import Registry
from toolrt.catalog.snapshot import Snapshot, ToolEntry
from toolrt.core.calls import Caller, Invocation
from toolrt.core.clock import Clock, ManualClock, SystemClock
from toolrt.core.decisions import Decision
from toolrt.core.errors import CallError
from toolrt.expressions.references import References
from toolrt.loading.loader import LoadedFiles
from toolrt.manifest.cases import As, Mock, RuleTest, ToolTest
from toolrt.pipeline.gateway import Gateway
from toolrt.pipeline.memory import Memory
from toolrt.pipeline.stages.authorize import decider_of
from toolrt.policy.engine import ToolPolicy
from toolrt.policy.history import History
from toolrt.suite.cases import Case, Coverage, Report, cases_of, rules_of
from toolrt.suite.expecting import unmet

Memories = Callable[[Clock], AbstractAsyncContextManager[Memory]]
"""Opens a store for what one test asks of people."""

_NEEDS_MOCK = "it may change something: give it a `mock`, or run it with --live"


@dataclass(frozen=True, slots=True)
class Equipment:
    """What tests use beside the tools. `history` is the one that the rules count calls in."""

    references: References
    history: History
    memory: Memories


class Suite:
    """The tests of one project, and which rules they have seen match so far."""

    def __init__(self, snapshot: Snapshot, files: LoadedFiles, equipment: Equipment) -> None:
        self._snapshot = snapshot
        self._equipment = equipment
        self._clock = SystemClock()
        self.cases = cases_of(snapshot, files)
        self.coverage = Coverage(rules_of(files))

    async def run(self, case: Case, *, live: bool = False) -> Report:
        """Run one test. `live` lets the world answer, but for mocks that stand for a failure."""
        began = self._clock.monotonic()
        if isinstance(case.test, RuleTest):
            report = await self._of_rule(case, case.test)
        else:
            report = await self._of_tool(case, case.test, _mock(case.test, live=live), live=live)
        return replace(report, time_s=self._clock.monotonic() - began)

    async def _of_tool(
        self, case: Case, test: ToolTest, mock: Mock | None, *, live: bool
    ) -> Report:
        entry = self._snapshot.tools[case.name]
        if mock is None and not live and entry.effect != "read":
            return Report(case, "skipped", (_NEEDS_MOCK,))
        clock = self._clock if mock is None else self._still()
        arguments, caller = dict(test.args), _caller(test.as_)
        async with self._opened(_mocked(entry, mock), clock) as gateway:
            decision = await self._decision(gateway, case.name, arguments, caller)
            result = await gateway.call(case.name, arguments, caller)
        why = tuple(unmet(test.expect, result, decision))
        return Report(case, "failed" if why else "passed", why)

    async def _decision(
        self, gateway: Gateway, tool: str, arguments: Mapping[str, Any], caller: Caller
    ) -> Decision | None:
        """What policy says of the call; None where it is refused before that."""
        try:
            entry, invocation = await gateway.checked(tool, dict(arguments), caller)
        except CallError:
            return None
        decision = decider_of(entry).explain(invocation)
        self.coverage.matched |= {each.id for each in decision.rules if each.matched}
        return decision

    async def _of_rule(self, case: Case, test: RuleTest) -> Report:
        call, caller, clock = test.call, _caller(test.call.as_), self._still()
        entry = self._snapshot.tool(call.tool)
        if entry is None:
            return Report(case, "failed", (f"there is no tool `{call.tool}`",))
        async with self._opened(entry, clock) as gateway:
            before = [clock.monotonic()] * call.history
            self._equipment.history.seed(entry.name, caller, before)
            try:
                entry, invocation = await gateway.checked(call.tool, dict(call.args), caller)
            except CallError as error:
                return Report(case, "failed", (f"the call is refused: {error.message}",))
            return self._judged(case, test, entry, invocation)

    def _judged(
        self, case: Case, test: RuleTest, entry: ToolEntry, invocation: Invocation
    ) -> Report:
        """Whether the rule matches the call, as the test expects."""
        rules = decider_of(entry).explain(invocation).rules
        trace = next((each for each in rules if each.id == case.name), None)
        has_matched = trace is not None and trace.matched
        if has_matched:
            self.coverage.matched.add(case.name)
        if has_matched == (test.expect == "match"):
            return Report(case, "passed")
        said = "matches" if has_matched else "does not match"
        because = trace.because if trace else f"its `tools` do not name `{entry.name}`"
        return Report(case, "failed", (f"the rule {said}: {because}",))

    @asynccontextmanager
    async def _opened(self, entry: ToolEntry, clock: Clock) -> AsyncIterator[Gateway]:
        """A gateway for one test, in which `entry` stands for the tool of its name."""
        tools = {**self._snapshot.tools, entry.name: entry}
        registry = Registry(replace(self._snapshot, tools=tools))
        equipment = self._equipment
        equipment.history.forget()
        async with equipment.memory(clock) as memory:
            chance = Random(0)  # noqa: S311 - jitter, the same each time
            gateway = Gateway(
                registry, equipment.references, clock, memory, chance, is_attended=True
            )
            try:
                yield gateway
            finally:
                await gateway.settle()
                gateway.close()

    def _still(self) -> ManualClock:
        """A clock that stands still at this moment."""
        return ManualClock(self._clock.wall())


def _mock(test: ToolTest, *, live: bool) -> Mock | None:
    """The mock that counts."""
    if live and test.mock is not None and not test.mock.is_failure:
        return None
    return test.mock


def _mocked(entry: ToolEntry, mock: Mock | None) -> ToolEntry:
    if mock is None:
        return entry
    binding = MockBinding(entry.kind, entry.binding, mock)
    made = entry.answered_by(binding)
    if not mock.approved or not isinstance(made.decider, ToolPolicy):
        return made
    return made.decided_by(made.decider.answered())


def _caller(written: As | None) -> Caller:
    if written is None:
        return Caller()
    return Caller(
        written.principal,
        tuple(written.roles),
        written.tenant,
        written.session,
        tuple(written.scopes),
        written.claims,
    )
