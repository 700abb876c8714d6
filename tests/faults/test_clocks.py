"""Clocks that run, jump and start anew, between asking, deciding and running (A6, A7)."""

import random
from collections import Counter

import pytest

import toolrt
from tests.faults.ledger import ANN, RULES, SEED, Judge, amount, show, write_ledger
from toolrt.stores.moments import ManualMoments

pytestmark = pytest.mark.anyio

TTL_S, EXECUTE_BY_S = 600.0, 300.0


class Deadlines:
    """What must hold, kept beside: when each approval ends, and the latest wall clock seen.

    Whoever changes one approval may end all whose time was over at that moment: `passed` are those,
    and a clock that goes back later does not make them due again.
    """

    def __init__(self, moments):
        self.moments, self.latest = moments, None
        self.open, self.passed = {}, set()

    def look(self):
        """Every change looks at the clock; by the second, the store remembers the latest one."""
        now = self.moments.now()
        if self.latest is None or now.wall >= self.latest + 1:
            self.latest = now.wall
        return now

    def begin(self, id_, state, seconds):
        self.open[id_] = (state, self.moments.now().plus(seconds))

    def state(self, id_, said=None):
        """The state that it must be in; `said` is the code that the runtime gave."""
        now = self.look()
        for each, (state, ends) in self.open.items():
            if state in {"pending", "approved"} and self._is_over(now, ends):
                self.passed.add((each, state))
        state, ends = self.open[id_]
        has_passed = said == "approval-expired" and (id_, state) in self.passed
        if state in {"pending", "approved"} and (has_passed or self._is_over(now, ends)):
            self.open[id_] = ("expired", ends)
        return self.open[id_][0]

    def _is_over(self, now, ends):
        if ends.boot_id == now.boot_id:
            return now.boot_s >= ends.boot_s
        return max(now.wall, self.latest) >= ends.wall


class Walk:
    """Steps chosen by chance, each judged."""

    def __init__(self, runtime, moments, chance):
        self.runtime, self.moments, self.chance = runtime, moments, chance
        self.deadlines = Deadlines(moments)
        self.seen, self.asked = Counter(), 0

    async def step(self):
        step = self.chance.choices(
            [self.ask, self.approve, self.run, self.advance, self.jump, self.reboot],
            [6, 9, 9, 3, 3, 1],
        )[0]
        await step()

    async def ask(self):
        self.asked += 1
        self.deadlines.look()
        arguments = {"line": f"{self.asked}", "pause_s": 0}
        result = await self.runtime.call("ledger.note", arguments, ANN)
        self.deadlines.begin(result.pause.approval_id, "pending", TTL_S)

    async def approve(self):
        id_ = self._any()
        if id_ is None:
            return
        moved = await self.runtime.approvals.approve(id_, ANN)
        expected = self.deadlines.state(id_, moved.code)
        self._saw("approve", expected, moved.code)
        assert (moved.code == "approval-expired") == (expected == "expired")
        assert moved.record.state == ("approved" if expected == "pending" else expected)
        if expected == "pending":
            self.deadlines.begin(id_, "approved", EXECUTE_BY_S)

    async def run(self):
        id_ = self._any()
        if id_ is None:
            return
        result = await self.runtime.approvals.run(id_)
        code = result.error.code if result.error else None
        expected = self.deadlines.state(id_, code)
        self._saw("run", expected, code)
        wanted = {"approved": None, "expired": "approval-expired"}.get(expected, "conflict")
        assert code == wanted
        if code is None:
            self.deadlines.begin(id_, "succeeded", 0)

    async def advance(self):
        self.moments.advance(self.chance.choice([0.5, 1, 5, 20, 60, 120, 299, 300, 301, 600]))

    async def jump(self):
        self.moments.jump(self.chance.choice([-1, 1]) * self.chance.choice([1, 100, 650, 10**6]))

    async def reboot(self):
        self.moments.reboot()

    def _any(self):
        """One of the last few, as the others are over."""
        known = list(self.deadlines.open)[-8:]
        return self.chance.choice(known) if known else None

    def _saw(self, step, state, code):
        self.seen[f"{step} {state}: {code or 'done'}"] += 1


async def test_a6_a7_no_clock_revives_what_is_over_or_ends_what_has_time_left(tmp_path):
    times = f"{{id: ask, approval: {{ttl: {TTL_S:.0f}s, execute_by: {EXECUTE_BY_S:.0f}s}}, "
    root = write_ledger(tmp_path)
    (root / "policies.d" / "ledger.yaml").write_text(RULES.replace("{id: ask, ", times))
    steps = amount(600, 30_000)
    async with toolrt.open(root) as runtime:
        moments = runtime._state.memory.questions.moments = ManualMoments()
        walk = Walk(runtime, moments, random.Random(SEED))
        for _ in range(steps):
            await walk.step()
        assert (await runtime._state.memory.journal.records.verify()).faults == []
    lines = Judge(root).lines()
    done = {id_ for id_, (state, _) in walk.deadlines.open.items() if state == "succeeded"}
    assert lines.total() == len(lines) == len(done)
    show("clocks", steps=steps, seen=dict(sorted(walk.seen.items())))
