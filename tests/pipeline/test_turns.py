"""Turns: so many attempts at once and no more, in order, and nobody leaves a place taken."""

import asyncio
import re
from contextlib import asynccontextmanager
from itertools import count

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from tests.limits import AT_ONCE_S
from toolrt.core.calls import Caller
from toolrt.pipeline.turns import Queue
from toolrt.testing import open_files

pytestmark = [pytest.mark.anyio, pytest.mark.realtime]

KIT = """
import asyncio

running, most, began = 0, 0, []
doors = {}

async def work(name: str = "x") -> str:
    '''Works until its door opens.'''
    global running, most
    running += 1
    most = max(most, running)
    began.append(name)
    try:
        await asyncio.sleep(0)
        await doors.setdefault(name, asyncio.Event()).wait()
    finally:
        running -= 1
    return name
"""
TOOLS = """
defaults: {effect: write, timeout: 20s, retry: none}
tools:
  two: {python: "%s:work", concurrency: 2}
  one: {python: "%s:work", concurrency: serial}
  any: {python: "%s:work"}
  patient: {python: "%s:work", concurrency: 1, timeout: {attempt: 200ms, total: 9s}}
"""
POLICIES = """
rules: [{id: all, decide: allow, tools: ["*"]}]
settings: [{tools: [one], when: caller.principal == "hasty", timeout: 100ms, retry: {attempts: 3}}]
"""
numbers = count(1)


@asynccontextmanager
async def opened():
    """A project whose module nobody has imported before, and that module."""
    name = f"kit_of_turns_{next(numbers)}"
    files = {f"{name}.py": KIT, "tools.d/t.yaml": TOOLS.replace("%s", name)}
    files["policies.d/p.yaml"] = POLICIES
    async with open_files(files) as runtime:
        yield runtime, __import__(name)


def call(runtime, tool, name):
    return asyncio.create_task(runtime.call(tool, {"name": name}))


async def began(kit, many):
    while len(kit.began) < many:  # noqa: ASYNC110 - it tells nobody
        await asyncio.sleep(0.001)
    await asyncio.sleep(0.01)
    assert len(kit.began) == many


def let(kit, *names):
    for name in names:
        kit.doors.setdefault(name, asyncio.Event()).set()


async def test_of_200_calls_two_run_at_once_and_in_order():
    async with opened() as (runtime, kit):
        names = [f"n{number}" for number in range(200)]
        let(kit, *names)
        results = await asyncio.gather(*[call(runtime, "two", name) for name in names])

    assert {each.status for each in results} == {"success"}
    assert (kit.most, kit.began) == (2, names)


async def test_serial_is_one_at_a_time_and_without_a_limit_all_run():
    async with opened() as (runtime, kit):
        let(kit, "x")
        await asyncio.gather(*[call(runtime, "one", "x") for _ in range(20)])
        assert kit.most == 1
        await asyncio.gather(*[call(runtime, "any", "x") for _ in range(20)])
        assert kit.most == 20


async def test_e13_whoever_gives_up_waiting_leaves_no_place_taken():
    async with opened() as (runtime, kit):
        first = call(runtime, "one", "first")
        await began(kit, 1)
        waiting = [call(runtime, "one", f"w{number}") for number in range(5)]
        await asyncio.sleep(0.01)
        for each in waiting[:-1]:
            each.cancel()
        let(kit, "first", "w4")
        assert (await waiting[-1]).status == "success"
        assert (await first).status == "success"
        assert kit.began == ["first", "w4"]
        let(kit, "later")
        assert (await call(runtime, "one", "later")).status == "success"


async def test_whoever_is_cancelled_in_the_moment_of_the_turn_passes_it_on():
    async with opened() as (runtime, kit):
        first, second, third = (call(runtime, "one", name) for name in ("a", "b", "c"))
        await began(kit, 1)
        let(kit, "a", "c")
        while not first.done():  # noqa: ASYNC110 - each turn of the loop counts
            await asyncio.sleep(0)
        second.cancel()
        await asyncio.wait([second], timeout=AT_ONCE_S)
        assert (await third).status == "success"


async def test_a_call_that_got_no_turn_in_time_says_so_and_was_never_sent():
    async with opened() as (runtime, kit):
        first = call(runtime, "one", "first")
        await began(kit, 1)
        late = await runtime.call("one", {"name": "late"}, Caller("hasty"))
        let(kit, "first", "next")
        assert (await first).status == "success"
        assert (await call(runtime, "one", "next")).status == "success"

    assert (late.error.code, late.attempts) == ("timeout", 0)
    assert re.match(r"no turn within 0\.\d+ s: 1 of `one` may run at once", late.error.message)
    assert "outcome" not in late.error.details
    assert late.error.retryable
    assert kit.began == ["first", "next"]


async def test_waiting_does_not_take_from_the_time_of_the_attempt():
    async with opened() as (runtime, kit):
        first = call(runtime, "patient", "first")
        await began(kit, 1)
        second = call(runtime, "patient", "second")
        assert (await first).error.message.startswith("no answer within 0.2 s")
        await began(kit, 2)
        await asyncio.sleep(0.1)
        let(kit, "second")
        assert (await second).status == "success"


class Waiters(RuleBasedStateMachine):
    """Callers of a queue come, leave and give up in any order; a plain list is the reference."""

    def __init__(self):
        super().__init__()
        self.loop = asyncio.new_event_loop()
        self.queue = Queue(2)
        self.tasks, self.running, self.waiting = {}, [], []

    def turn(self):
        self.loop.run_until_complete(asyncio.sleep(0))
        self.loop.run_until_complete(asyncio.sleep(0))

    @rule()
    def come(self):
        name = len(self.tasks)
        self.tasks[name] = self.loop.create_task(self.queue.enter())
        (self.running if len(self.running) < 2 else self.waiting).append(name)
        self.turn()

    @precondition(lambda self: self.running)
    @rule(data=st.data(), at_once=st.booleans())
    def leave(self, data, at_once):
        self.running.remove(data.draw(st.sampled_from(self.running)))
        self.queue.leave()
        if not self.waiting:
            return
        following = self.waiting.pop(0)
        if at_once:  # it gives up in the very moment that it gets the place
            self.tasks[following].cancel()
            if self.waiting:
                self.running.append(self.waiting.pop(0))
        else:
            self.running.append(following)
        self.turn()

    @precondition(lambda self: self.waiting)
    @rule(data=st.data())
    def give_up(self, data):
        name = data.draw(st.sampled_from(self.waiting))
        self.waiting.remove(name)
        self.tasks[name].cancel()
        self.turn()

    @invariant()
    def agrees(self):
        self.turn()
        assert self.queue.running == len(self.running)
        assert all(self.tasks[name].done() for name in self.running)
        assert not any(self.tasks[name].done() for name in self.waiting)

    def teardown(self):
        for task in self.tasks.values():
            task.cancel()
        self.turn()
        self.loop.close()


TestWaiters = Waiters.TestCase
TestWaiters.settings = settings(max_examples=40, stateful_step_count=25, deadline=None)
TestWaiters.pytestmark = []
