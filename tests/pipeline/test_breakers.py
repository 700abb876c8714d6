"""Breakers around calls: what counts, what is refused, and that nothing is left behind (B1 to B8)."""

import asyncio
import time
from contextlib import asynccontextmanager
from dataclasses import replace

import pytest

from toolrt.core.calls import Caller, Invocation
from toolrt.core.clock import SystemClock
from toolrt.core.errors import AttemptTimeoutError, BindingError, ToolError
from toolrt.core.results import Answer
from toolrt.pipeline import breakers
from toolrt.pipeline.guarding import guarded
from toolrt.runtime import open as open_project
from toolrt.testing import ManualClock, open_files, stubbed, write_files

pytestmark = pytest.mark.anyio

TOOLS = """
targets:
  shop: {url: "http://127.0.0.1:9"}
defaults: {effect: read, retry: none, breaker: {failures: 3, recovery: 100s}}
tools:
  buy: {description: Buys., python: "kit:nothing"}
  look: {description: Looks., http: {target: shop, url: /look}}
  list: {description: Lists., http: {target: shop, url: /list}}
  plain: {description: Has none., python: "kit:nothing", breaker: null}
  slow: {description: Waits., python: "kit:waits", timeout: 200ms, breaker: {failures: 1, recovery: 100s}}
  writes: {description: Writes., python: "kit:nothing", effect: write, hitl: confirm}
  again: {description: Tries twice., python: "kit:nothing", retry: {attempts: 3, initial: 1s}}
"""
KIT = """
import asyncio
import time

async def nothing() -> str:
    '''Does nothing.'''
    await asyncio.sleep(0)
    return "done"

async def waits() -> str:
    '''Waits.'''
    await asyncio.sleep(30)
    return "done"
"""
FILES = {"tools.d/t.yaml": TOOLS, "kit.py": KIT}
DOWN = BindingError("down", target_fault=True)
BOSS = Caller("boss", may=frozenset({"call", "approve", "admin"}))


class World:
    """An open project whose tools answer what they are told to."""

    def __init__(self, runtime, clock):
        self.runtime, self.clock = runtime, clock
        self.answer = "ok"
        self.made = 0

    def __call__(self, _arguments):
        self.made += 1
        if isinstance(self.answer, BaseException):
            raise self.answer
        return self.answer

    async def call(self, name="buy", answer="ok", caller=None):
        self.answer = answer
        result = await self.runtime.call(name, {}, caller)
        return result.error.code if result.error else result.status

    async def fail(self, times=3, name="buy"):
        return [await self.call(name, DOWN) for _ in range(times)]


STUBBED = ("buy", "look", "list", "plain", "writes", "again")


@asynccontextmanager
async def opened(files=FILES):
    clock = ManualClock()
    async with open_files(files, clock=clock) as runtime:
        world = World(runtime, clock)
        with stubbed(runtime, dict.fromkeys(STUBBED, world)):
            yield world


async def test_b1_b3_three_faults_in_a_row_and_nothing_is_called_any_more():
    async with opened() as world:
        await world.fail()
        refused = await world.runtime.call("buy", {})

    assert world.made == 3
    assert (refused.error.code, refused.attempts) == ("circuit-open", 0)
    assert refused.error.details == {"retry_after": 100.0}
    assert refused.error.retryable
    assert refused.error.hint == "nothing ran; try again in 100 s, or use another tool"


async def test_b3_a_refusal_costs_less_than_a_millisecond():
    async with opened() as world:
        await world.fail()
        began = time.process_time()
        for _ in range(300):
            assert await world.call() == "circuit-open"
        assert time.process_time() - began < 0.3


async def test_b1_a_success_in_between_begins_the_count_anew():
    async with opened() as world:
        await world.fail(2)
        await world.call()
        await world.fail(2)
        assert await world.call() == "success"


NOT_THE_TARGETS = [
    BindingError("no such thing", code="not-found", status=404),
    BindingError("slow down", code="rate-limited", status=429, retryable=True),
    ToolError("what you ask makes no sense"),
    ValueError("what you ask makes no sense"),
]
THE_TARGETS = [
    BindingError("oh", status=500, target_fault=True),
    AttemptTimeoutError("no answer"),
    BindingError("refused", sent="never", target_fault=True),
    ToolError("come back later", retryable=True),
]


@pytest.mark.parametrize("error", NOT_THE_TARGETS, ids=str)
async def test_b2_what_is_not_the_targets_fault_does_not_count(error):
    async with opened() as world:
        for _ in range(12):
            assert await world.call("buy", error) != "circuit-open"


@pytest.mark.parametrize("error", THE_TARGETS, ids=str)
async def test_b2_what_is_the_targets_fault_counts(error):
    async with opened() as world:
        for _ in range(3):
            assert await world.call("buy", error) != "circuit-open"
        assert await world.call() == "circuit-open"


async def test_b2_arguments_that_do_not_fit_do_not_count():
    async with opened() as world:
        for _ in range(5):
            assert (await world.runtime.call("buy", {"x": 1})).error.code == "invalid-arguments"
        assert await world.call() == "success"


@pytest.mark.realtime
async def test_b2_e3_an_attempt_that_ran_out_of_time_counts():
    async with open_files(FILES) as runtime:
        assert (await runtime.call("slow", {})).error.code == "timeout"
        assert (await runtime.call("slow", {})).error.code == "circuit-open"


@pytest.mark.realtime
async def test_b2_a_caller_that_gives_up_does_not_count():
    patient = {**FILES, "tools.d/t.yaml": TOOLS.replace("timeout: 200ms", "timeout: 9s")}
    async with open_files(patient) as runtime:
        for _ in range(3):
            call = asyncio.create_task(runtime.call("slow", {}))
            await asyncio.sleep(0.02)
            call.cancel()
            await asyncio.wait([call])
            assert call.cancelled()
        assert await runtime.breakers.listed() == []


async def test_b5_after_the_recovery_one_call_tries_and_a_success_closes_it():
    async with opened() as world:
        await world.fail()
        world.clock.advance(99.0)
        assert await world.call() == "circuit-open"
        world.clock.advance(1.0)
        assert await world.call() == "success"
        assert await world.fail(2) == ["execution-failed"] * 2


async def test_b5_a_trial_that_fails_opens_it_for_twice_as_long():
    async with opened() as world:
        await world.fail()
        world.clock.advance(100.0)
        assert await world.call("buy", DOWN) == "execution-failed"
        refused = await world.runtime.call("buy", {})

    assert refused.error.details == {"retry_after": 200.0}


async def test_b6_tools_of_one_target_have_one_breaker_and_others_their_own():
    async with opened() as world:
        await world.fail(2, "look")
        await world.fail(1, "list")
        assert await world.call("look") == "circuit-open"
        assert await world.call("list") == "circuit-open"
        assert await world.call("buy") == "success"


async def test_b6_a_tool_without_a_breaker_is_called_whatever_happens():
    async with opened() as world:
        await world.fail(9, "plain")
        assert await world.call("plain") == "success"


async def test_b6_it_stays_open_over_a_reload_as_long_as_its_options_stay(tmp_path):
    clock = ManualClock()
    write_files(tmp_path, FILES)
    async with open_project(tmp_path, clock=clock) as runtime:

        async def call():
            with stubbed(runtime, {"buy": World(runtime, clock)}):
                result = await runtime.call("buy", {})
            return result.error.code if result.error else result.status

        world = World(runtime, clock)
        with stubbed(runtime, {"buy": world}):
            await world.fail()
        write_files(tmp_path, {"tools.d/t.yaml": TOOLS.replace("Buys.", "Buys a book.")})
        await runtime.reload()
        assert await call() == "circuit-open"
        write_files(tmp_path, {"tools.d/t.yaml": TOOLS.replace("recovery: 100s", "recovery: 9s")})
        await runtime.reload()
        assert await call() == "success"


async def test_settings_of_operators_lay_a_breaker_over_a_tool():
    policies = "settings: [{tools: [plain], breaker: {failures: 1}}]"
    async with opened({**FILES, "policies.d/p.yaml": policies}) as world:
        await world.fail(1, "plain")
        assert await world.call("plain") == "circuit-open"


async def test_b7_one_that_opens_between_attempts_ends_them():
    files = {**FILES, "tools.d/t.yaml": TOOLS.replace("failures: 3", "failures: 2")}
    down = BindingError("down", target_fault=True, retryable=True, sent="never")
    async with opened(files) as world:
        world.answer = down
        result = await world.runtime.call("again", {})

    assert (world.made, result.attempts) == (2, 2)
    assert result.error.code == "circuit-open"
    assert result.error.details["failed_attempts"] == ["execution-failed"] * 2


async def test_b7_what_is_left_of_the_time_is_waited_for():
    files = {
        **FILES,
        "tools.d/t.yaml": TOOLS.replace(
            "failures: 3, recovery: 100s", "failures: 1, recovery: 10s"
        ),
    }
    down = BindingError("down", target_fault=True, retryable=True, sent="never")
    async with opened(files) as world:
        steps = iter([down, "there"])

        def answer(_arguments):
            step = next(steps)
            if isinstance(step, Exception):
                raise step
            return step

        with stubbed(world.runtime, {"again": answer}):
            result = await world.runtime.call("again", {})

    assert (result.data, result.attempts) == ("there", 2)
    assert sum(world.clock.slept) == pytest.approx(10.0)


async def test_no_person_is_asked_about_what_would_be_refused():
    async with opened() as world:
        assert await world.call("writes") == "paused"
        await world.fail(name="buy")
        breaker = world.runtime.breakers.of(world.runtime.snapshot.tools["writes"])
        breaker.breaker.open(world.clock.monotonic() + 50.0, 0)
        pending = await world.runtime.approvals.listed()
        assert await world.call("writes") == "circuit-open"
        assert await world.runtime.approvals.listed() == pending


async def test_an_approved_call_that_is_refused_keeps_its_yes():
    async with opened() as world:
        await world.call("writes")
        (record,) = await world.runtime.approvals.listed()
        approvals = world.runtime.approvals
        await approvals.approve(record.id, BOSS)
        breaker = world.runtime.breakers.of(world.runtime.snapshot.tools["writes"]).breaker
        breaker.open(world.clock.monotonic() + 50.0, 0)
        refused = await approvals.run(record.id)
        assert refused.error.code == "circuit-open"
        world.clock.advance(50.0)
        result = await approvals.run(record.id)
        assert (result.status, result.error) == ("success", None)


# every way out of a trial


class Held:
    """A binding whose calls wait until they are told how to end."""

    def __init__(self):
        self.ends = []

    async def call(self, invocation: Invocation) -> Answer:
        del invocation
        end = asyncio.get_running_loop().create_future()
        self.ends.append(end)
        return Answer(await end)

    def preview(self, _invocation):
        return {}


@asynccontextmanager
async def on_trial(turns):
    """A breaker whose trial is under way, so many turns of the loop after it was asked for."""
    clock, held = ManualClock(), Held()
    async with open_files(FILES, clock=clock) as runtime:
        world = World(runtime, clock)
        with stubbed(runtime, {"buy": world}):
            await world.fail()
        tools = runtime.snapshot.tools
        entry = tools["buy"].answered_by(held)
        runtime.swap(replace(runtime.snapshot, tools={**tools, "buy": entry}))
        clock.advance(100.0)
        trial = asyncio.create_task(runtime.call("buy", {}))
        for _ in range(turns):
            await asyncio.sleep(0)
        yield runtime, clock, held, trial


async def settle(runtime):
    """Come back when the store has heard everything."""
    while runtime.breakers._running:
        await asyncio.wait(runtime.breakers._running)


async def next_call_is_made(runtime, held):
    before = len(held.ends)
    call = asyncio.create_task(runtime.call("buy", {}))
    while len(held.ends) == before and not call.done():  # noqa: ASYNC110 - it tells nobody
        await asyncio.sleep(0.001)
    assert not call.done(), call.result()
    held.ends[-1].set_result("ok")
    return (await call).status


@pytest.mark.realtime
@pytest.mark.parametrize("turns", [0, 1, 2, 3, 5, 8, 20])
async def test_b4_a_trial_that_is_cancelled_at_any_point_lets_the_next_one_try(turns):
    async with on_trial(turns) as (runtime, _, held, trial):
        trial.cancel()
        await asyncio.wait([trial])
        await settle(runtime)

        assert await next_call_is_made(runtime, held) == "success"


async def begun(held):
    while not held.ends:  # noqa: ASYNC110 - it tells nobody
        await asyncio.sleep(0.001)


@pytest.mark.realtime
@pytest.mark.parametrize("ending", [ToolError("your mistake"), KeyError("a bug"), MemoryError()])
async def test_b4_a_trial_that_says_nothing_of_its_target_lets_the_next_one_try(ending):
    async with on_trial(0) as (runtime, _, held, trial):
        await begun(held)
        assert (await runtime.call("buy", {})).error.code == "circuit-open"
        held.ends[-1].set_exception(ending)
        await asyncio.wait([trial])

        assert await next_call_is_made(runtime, held) == "success"


async def test_b4_a_trial_whose_task_is_thrown_away_lets_the_next_one_try():
    """The coroutine of an attempt is closed where it waits, as the end of a loop does."""
    async with opened() as world:
        await world.fail()
        world.clock.advance(100.0)
        held, equipment = Held(), world.runtime._gateway._equipment
        entry, breakers = world.runtime.snapshot.tools["buy"], world.runtime.breakers
        await settle(world.runtime)
        breakers._tried = at_once
        call = guarded(held.call, entry, equipment, is_kept=False)
        now = world.clock.monotonic()
        trial = call(Invocation("c", "buy", {}, BOSS, world.clock, now, now + 60.0))
        trial.send(None)
        assert breakers.of(entry).breaker.state == "half-open"
        trial.close()
        assert breakers.of(entry).breaker.state == "open"
        assert await world.call() == "success"


async def at_once(_shared, token, _invocation):
    """The store gives the trial without being waited for."""
    return token


def test_a_call_that_ends_after_its_loop_does_no_harm(tmp_path):
    write_files(tmp_path, FILES)
    held = Held()

    async def begin():
        async with open_project(tmp_path) as runtime:
            entry = runtime.snapshot.tools["buy"]
            shared = runtime.breakers.of(entry)
            runtime.breakers._tried = at_once
            shared.breaker.open(0.0, 0)
            call = guarded(held.call, entry, runtime._gateway._equipment, is_kept=False)
            now = time.monotonic()
            trial = call(Invocation("c", "buy", {}, BOSS, SystemClock(), now, now + 60.0))
            shared.revision = 0
            trial.send(None)
            return trial, shared.breaker

    trial, breaker = asyncio.run(begin())
    assert breaker.state == "half-open"
    trial.close()
    assert breaker.state == "open"


@pytest.mark.realtime
async def test_b4_a_trial_older_than_its_deadline_is_given_up():
    async with on_trial(0) as (runtime, clock, held, trial):
        await begun(held)
        assert (await runtime.call("buy", {})).error.code == "circuit-open"
        clock.advance(61.0)

        assert await next_call_is_made(runtime, held) == "success"
        trial.cancel()
        await asyncio.wait([trial])


@pytest.mark.realtime
async def test_b4_of_200_calls_at_once_one_is_the_trial():
    async with on_trial(0) as (runtime, _, held, trial):
        await begun(held)
        calls = [asyncio.create_task(runtime.call("buy", {})) for _ in range(200)]
        await asyncio.wait(calls)
        assert {call.result().error.code for call in calls} == {"circuit-open"}
        held.ends[0].set_result("ok")

        assert len(held.ends) == 1
        assert (await trial).status == "success"


# lists, operators, the store


async def test_b8_open_hides_only_where_it_says_so_and_shows_it_again_for_the_trial():
    files = {**FILES, "tools.d/t.yaml": TOOLS.replace("Buys., ", "Buys., breaker: {hide: true}, ")}
    async with opened(files) as world:
        breakers, tools = world.runtime.breakers, world.runtime.snapshot.tools
        await world.fail(3, "buy")
        await world.fail(3, "look")
        assert (breakers.is_hidden(tools["buy"]), breakers.is_hidden(tools["look"])) == (
            True,
            False,
        )
        assert breakers.refusal_s(tools["look"]) == 100.0
        world.clock.advance(100.0)
        assert not breakers.is_hidden(tools["buy"])


async def test_reset_closes_it_at_once():
    async with opened() as world:
        await world.fail()
        assert await world.call() == "circuit-open"
        await settle(world.runtime)
        (closed,) = await world.runtime.breakers.reset("buy", "ann")
        assert closed.state == "open"
        assert await world.call() == "success"
        assert await world.runtime.breakers.reset("buy", "ann") == []


async def test_the_journal_hears_of_each_change():
    async with opened() as world:
        await world.fail()
        world.clock.advance(100.0)
        await world.call()
        await settle(world.runtime)
        records = world.runtime._state.memory.journal.records
        told = [each for each in await records.entries() if each["kind"] == "breaker"]

    assert [(each["event"], each["of"], each["name"], each["why"]) for each in told] == [
        ("closed", "tool", "buy", None),
        ("opened", "tool", "buy", "execution-failed"),
    ]


async def test_a_process_begins_with_what_others_left_and_writes_down_its_own(tmp_path):
    clock = ManualClock()
    write_files(tmp_path, FILES)
    for number in range(4):
        async with open_project(tmp_path, clock=clock) as runtime:
            world = World(runtime, clock)
            with stubbed(runtime, {"buy": world}):
                code = await world.call("buy", DOWN)
        assert code == ("circuit-open" if number == 3 else "execution-failed")


async def test_b5_a_long_lived_process_hears_of_others_within_a_second(tmp_path):
    clock = ManualClock()
    write_files(tmp_path, FILES)
    async with (
        open_project(tmp_path, clock=clock) as one,
        open_project(tmp_path, clock=clock) as two,
    ):
        here, there = World(one, clock), World(two, clock)
        with stubbed(one, {"buy": here}), stubbed(two, {"buy": there}):
            await here.call()
            await there.fail()
            await settle(two)
            clock.advance(1.0)
            await here.call()  # sends somebody to look
            await settle(one)
            assert await here.call() == "circuit-open"
            await one.breakers.reset("buy", "ann")
            clock.advance(1.0)
            await there.call()
            await settle(two)
            assert await there.call() == "success"


async def test_a_store_that_fails_stops_no_call(tmp_path, caplog):
    clock = ManualClock()
    write_files(tmp_path, FILES)
    (tmp_path / ".toolrt").mkdir()
    (tmp_path / ".toolrt" / "state.db").write_bytes(b"this is no database" * 100)
    async with open_project(tmp_path, clock=clock) as runtime:
        world = World(runtime, clock)
        with stubbed(runtime, {"buy": world}):
            assert await world.fail() == ["execution-failed"] * 3
            assert await world.call() == "circuit-open"
            clock.advance(100.0)
            assert await world.call() == "success"
            assert await world.call() == "success"

    told = [each for each in caplog.messages if "breakers are not shared" in each]
    assert len(told) == 1


async def test_e8_a_dead_target_gets_fewer_than_12_attempts_for_10_calls():
    files = {
        "kit.py": KIT,
        "tools.d/t.yaml": TOOLS.replace(
            'python: "kit:nothing", retry: {attempts: 3',
            'breaker: null, python: "kit:nothing", retry: {attempts: 5',
        ),
    }
    down = BindingError("down", target_fault=True, retryable=True, sent="never")
    async with opened(files) as world:
        for _ in range(100):
            await world.call("again", down)
        world.made = 0
        for _ in range(200):
            await world.call("again", down)

    assert world.made <= 1.2 * 200


APART = """
defaults: {effect: read, retry: none, breaker: {failures: 2, recovery: 100s, by: tenant}}
tools:
  buy: {description: Buys., python: "kit:nothing"}
  rare: {description: Is rare., python: "kit:nothing", rate: {limit: 9, per: 1h}}
"""
ACME, ZOO = Caller("ann", tenant="acme"), Caller("zoe", tenant="zoo")


@pytest.mark.parametrize("tool", ["buy", "rare"])
async def test_b6_what_fails_for_one_tenant_stops_no_other(tool):
    clock = ManualClock()
    async with open_files(FILES | {"tools.d/t.yaml": APART}, clock=clock) as runtime:
        world = World(runtime, clock)
        with stubbed(runtime, dict.fromkeys(("buy", "rare"), world)):
            for _ in range(2):
                await world.call(tool, DOWN, ACME)
            assert await world.call(tool, caller=ACME) == "circuit-open"
            assert await world.call(tool, caller=Caller("amy", tenant="acme")) == "circuit-open"
            assert await world.call(tool, caller=ZOO) == "success"
            assert await world.call(tool) == "success"
            clock.advance(101)
            assert await world.call(tool, caller=ACME) == "success"


async def test_b6_breakers_of_tenants_outlive_a_process_and_are_reset_together(tmp_path):
    write_files(tmp_path, FILES | {"tools.d/t.yaml": APART})
    odd = Caller("o", tenant='\ud800 "@/')
    async with open_project(tmp_path) as runtime:
        world = World(runtime, None)
        with stubbed(runtime, {"buy": world}):
            for caller in (ACME, odd):
                await world.call("buy", DOWN, caller)
                await world.call("buy", DOWN, caller)
    async with open_project(tmp_path) as runtime:
        world = World(runtime, None)
        with stubbed(runtime, {"buy": world}):
            for caller in (ACME, odd):
                assert await world.call(caller=caller) == "circuit-open"
            assert await world.call(caller=ZOO) == "success"
            page = await runtime.metrics()
            assert 'toolrt_breaker_state{name="buy",of="tool",state="open"} 1.0' in page
            assert "acme" not in page
            await runtime.breakers.reset("buy", "boss")
            for caller in (ACME, odd):
                assert await world.call(caller=caller) == "success"


async def test_b6_breakers_of_tenants_that_rest_make_room(monkeypatch):
    monkeypatch.setattr(breakers, "MOST_KEPT", 20)
    clock = ManualClock()
    async with open_files(FILES | {"tools.d/t.yaml": APART}, clock=clock) as runtime:
        world = World(runtime, clock)
        with stubbed(runtime, {"buy": world}):
            await world.call("buy", DOWN, ACME)
            await world.call("buy", DOWN, ACME)
            for number in range(60):
                await world.call(caller=Caller("x", tenant=str(number)))
            assert len(runtime.breakers._made) <= 21
            assert await world.call(caller=ACME) == "circuit-open"
