"""A plan under people, failures and kills, beside a small model of it: every step takes effect at
most once a run, in order, and never without its yes.
"""

import asyncio
import shutil
import tempfile
from collections.abc import Callable, Coroutine
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    Bundle,
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
)

import toolrt
from toolrt.core.calls import Caller
from toolrt.core.results import ToolResult
from toolrt.opened import Runtime
from toolrt.stores.plans import LEASE_S
from toolrt.testing import ManualClock, ToolError, stubbed, write_files

ANN = Caller("ann", session="s")
BOSS = Caller("boss", may=frozenset({"call", "approve", "admin"}))
TOOLS = """
tools:
  make: {description: M., parameters: {run: integer, step: string}, python: "stub:one"}
  pay: {description: P., parameters: {run: integer, step: string}, python: "stub:one", hitl: confirm}
  order:
    description: O.
    parameters: {run: integer}
    steps:
      - {id: a, tool: make, args: {run: "{{ run }}", step: a}}
      - {id: b, tool: pay, args: {run: "{{ run }}", step: b}}
      - {id: c, tool: make, args: {run: "{{ run }}", step: c}}
      - {id: d, tool: pay, args: {run: "{{ run }}", step: d}}
      - {id: e, tool: make, args: {run: "{{ run }}", step: e}}
"""
STUB = "def one(run: int, step: str) -> str:\n    return step\n"
ORDER = "abcde"
ASKING = "bd"


class Killed(BaseException):
    """The process is gone in the middle of a call: nothing after this may count."""


class Plans(RuleBasedStateMachine):
    """`run` numbers the runs: another number is another call. What is expected stands beside."""

    approvals = Bundle("approvals")

    def __init__(self) -> None:
        super().__init__()
        self.loop = asyncio.new_event_loop()
        self.folder = Path(tempfile.mkdtemp(prefix="toolrt-machine-"))
        self.clock = ManualClock()
        self.run = 1
        self.effects: list[tuple[int, str]] = []
        self.plan: dict[str, str] = {}
        self.done: list[str] = []
        self.waiting: str | None = None
        self.is_approved = self.is_denied = self.is_lost = False
        self.approval = ""

    def teardown(self) -> None:
        self.wait(self.stack.aclose())
        self.loop.close()
        shutil.rmtree(self.folder)

    def wait(self, work: Coroutine[Any, Any, Any]) -> Any:
        return self.loop.run_until_complete(work)

    @initialize()
    def begin(self) -> None:
        write_files(self.folder / "p1", {"tools.d/t.yaml": TOOLS, "stub.py": STUB})
        self.number = 1
        self.wait(self._open())

    async def _open(self) -> None:
        self.stack = AsyncExitStack()
        folder = self.folder / f"p{self.number}"
        self.rt: Runtime = await self.stack.enter_async_context(
            toolrt.open(folder, clock=self.clock)
        )
        answer = self._answer
        self.stack.enter_context(stubbed(self.rt, {"make": answer, "pay": answer}))

    def _answer(self, given: dict[str, Any]) -> Any:
        """What the world does: it takes effect, and may fail or see us die after that."""
        step = given["step"]
        self.effects.append((given["run"], step))
        fate = self.plan.pop(step, "well")
        if fate == "fails":
            raise ToolError("broken")
        if fate == "dies":
            shutil.copytree(self.folder / f"p{self.number}", self.folder / f"p{self.number + 1}")
        return step

    @rule(step=st.sampled_from(ORDER), fate=st.sampled_from(["fails", "dies", "dies"]))
    def doom(self, step: str, fate: str) -> None:
        """What becomes of the next call of a step."""
        self.plan[step] = fate

    @rule()
    def call(self) -> None:
        self._expect(lambda: self.rt.call("order", {"run": self.run}, ANN))

    @precondition(lambda self: self.waiting is not None)
    @rule()
    def run_the_approval(self) -> None:
        self._expect(lambda: self.rt.approvals.run(self.approval))

    @precondition(lambda self: self.waiting is not None and not self.is_denied)
    @rule()
    def approve(self) -> None:
        if not self.is_approved:
            self.wait(self.rt.approvals.approve(self.approval, BOSS))
        self.is_approved = True

    @precondition(lambda self: self.waiting is not None and not self.is_approved)
    @rule()
    def deny(self) -> None:
        if not self.is_denied:
            self.wait(self.rt.approvals.deny(self.approval, BOSS))
        self.is_denied = True

    @rule()
    def restart(self) -> None:
        self.wait(self.stack.aclose())
        self.wait(self._open())

    def _expect(self, make: Callable[[], Coroutine[Any, Any, ToolResult]]) -> None:
        """Make the call, and hold what it comes to against the model."""
        fates, before = dict(self.plan), len(self.effects)
        expected, steps = self._foreseen(fates)
        result = self.wait(make())
        if expected == "killed":
            self._die(before, steps)
            return
        assert [step for _, step in self.effects[before:]] == steps, (expected, result)
        assert result.status == expected, result
        if result.pause is not None:
            self.approval = result.pause.approval_id
        if expected != "paused":
            self._end()

    def _foreseen(self, fates: dict[str, str]) -> tuple[str, list[str]]:
        """How the call ends, and the steps that take effect in it."""
        made: list[str] = []
        if self.is_lost or self.is_denied:
            return "error", made
        for step in ORDER:
            if step in self.done:
                continue
            if step in ASKING and not (self.waiting == step and self.is_approved):
                if self.waiting != step:
                    self.waiting, self.is_approved = step, False
                return "paused", made
            made.append(step)
            fate = fates.get(step, "well")
            if fate == "dies":
                return "killed", made
            if fate == "fails":
                return "error", made
            self.done.append(step)
            self.waiting = None if self.waiting == step else self.waiting
        return "success", made

    def _die(self, before: int, steps: list[str]) -> None:
        """Go on from what was in the store when the step took effect; all after that is undone."""
        kept = before + len(steps)
        del self.effects[kept:]
        self.plan.clear()
        self.is_lost = True
        self.wait(self.stack.aclose())
        self.number += 1
        self.clock.advance(LEASE_S + 1)
        self.wait(self._open())

    def _end(self) -> None:
        self.run += 1
        self.done, self.waiting = [], None
        self.is_approved = self.is_denied = self.is_lost = False
        self.approval = ""

    @invariant()
    def each_step_takes_effect_at_most_once_and_in_order(self) -> None:
        for run in {number for number, _ in self.effects}:
            steps = "".join(step for number, step in self.effects if number == run)
            assert ORDER.startswith(steps), steps


Plans.TestCase.settings = settings(
    max_examples=15,
    stateful_step_count=25,
    deadline=None,
    suppress_health_check=list(HealthCheck),
)
TestPlans = Plans.TestCase
