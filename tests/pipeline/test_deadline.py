"""Deadlines: whose cancellation it was, and a caller that is never held (E3, E13)."""

import asyncio
import sys
import threading
import time

import pytest

from tests.limits import AT_ONCE_S
from toolrt.core.errors import BindingError
from toolrt.core.results import Answer
from toolrt.pipeline.deadline import Deadlines
from toolrt.testing import open_files, stubbed

pytestmark = [pytest.mark.anyio, pytest.mark.realtime]

FILES = {
    "deaf.py": """
        import asyncio, threading, time

        seen = []
        over = threading.Event()

        async def returns():
            '''Makes an answer of its cancellation.'''
            try:
                await asyncio.sleep(5)
            except asyncio.CancelledError:
                return "late"

        async def converts():
            '''Makes another error of its cancellation.'''
            try:
                await asyncio.sleep(5)
            except asyncio.CancelledError:
                raise ValueError("converted")

        async def stubborn():
            '''Swallows every cancellation until it is over, and fails in the end.'''
            while not over.is_set():
                try:
                    await asyncio.sleep(0.02)
                except asyncio.CancelledError:
                    continue
            seen.append(asyncio.current_task())
            raise ValueError("too late for anyone")

        async def obeys():
            '''Stops when it is told to.'''
            await asyncio.sleep(5)

        def blocks():
            '''Cannot be told anything.'''
            over.wait(10)

        async def quick():
            '''Waits a moment.'''
            await asyncio.sleep(0)
            return 1

        def plain():
            '''Is done at once.'''
            return 1
        """,
    "tools.d/t.yaml": """
        defaults: {effect: write, timeout: 100ms}
        tools:
          returns: {python: "deaf:returns"}
          converts: {python: "deaf:converts"}
          stubborn: {python: "deaf:stubborn"}
          steady: {python: "deaf:stubborn", idempotent: true, timeout: {attempt: 100ms, total: 5s}}
          reads: {python: "deaf:stubborn", effect: read, timeout: {attempt: 100ms, total: 5s}}
          obeys: {python: "deaf:obeys"}
          blocks: {python: "deaf:blocks"}
          inline: {python: {call: "deaf:returns", run_in: inline}}
          quick: {python: "deaf:quick"}
          plain: {python: "deaf:plain"}
        """,
}
PATIENT = {
    **FILES,
    "tools.d/t.yaml": FILES["tools.d/t.yaml"].replace("timeout: 100ms", "timeout: 8s"),
}
DEAF = ["returns", "converts", "stubborn", "inline"]


@pytest.fixture(autouse=True)
async def over():
    """Ends what would not end by itself."""
    yield
    if deaf := sys.modules.get("deaf"):
        deaf.over.set()


async def usable_task():
    """Whether the running task can still wait, with nothing of a cancellation left."""
    await asyncio.sleep(0)
    return asyncio.current_task().cancelling() == 0


@pytest.mark.parametrize("tool", [*DEAF, "obeys", "blocks"])
async def test_e3_write_that_got_no_answer_in_time_timed_out_with_unknown_outcome(tool):
    async with open_files(FILES) as rt:
        result = await rt.call(tool, {})
        assert result.error.code == "timeout"
        assert result.error.details["outcome"] == "unknown"
        assert result.error.retryable is False
        assert 0.09 < result.time_s < AT_ONCE_S
        assert await usable_task()
        assert (await rt.call("quick", {})).data == 1


@pytest.mark.parametrize(("tool", "attempts"), [("steady", 1), ("reads", 1)])
async def test_no_attempt_is_made_while_an_orphan_runs(tool, attempts):
    async with open_files(FILES) as rt:
        result = await rt.call(tool, {})
    assert (result.error.code, result.attempts) == ("timeout", attempts)
    assert result.error.retryable is (tool == "reads")


async def test_orphan_goes_on_and_what_it_raises_is_logged_nowhere(caplog):
    told = []
    asyncio.get_running_loop().set_exception_handler(lambda _, context: told.append(context))
    async with open_files(FILES) as rt:
        await rt.call("stubborn", {})
        import deaf

        deaf.seen.clear()
        deaf.over.set()
        while not deaf.seen:  # noqa: ASYNC110 - it tells nobody
            await asyncio.sleep(0.01)
        await asyncio.sleep(0.01)
    assert told == []
    assert [record for record in caplog.records if record.name == "asyncio"] == []


@pytest.mark.parametrize("tool", [*DEAF, "obeys", "blocks"])
async def test_e13_cancelled_caller_goes_on_within_a_moment(tool):
    async with open_files(PATIENT) as rt:
        task = asyncio.create_task(rt.call(tool, {}))
        await asyncio.sleep(0.02)
        started = time.monotonic()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert time.monotonic() - started < AT_ONCE_S
        assert task.cancelled()


@pytest.mark.parametrize("tool", [*DEAF, "obeys"])
async def test_timeout_around_a_call_is_the_callers_own(tool):
    async with open_files(PATIENT) as rt:
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.03):
                await rt.call(tool, {})
        assert await usable_task()


class Waiting:
    """A binding that waits, and then does as it is told with its cancellation."""

    def __init__(self, ending):
        self.ending = ending
        self.begun = asyncio.Event()

    async def call(self, invocation):
        invocation.sent = "maybe"
        self.begun.set()
        try:
            await asyncio.sleep(5)
        except asyncio.CancelledError:
            await asyncio.sleep(0)
            if self.ending is None:
                raise
            if isinstance(self.ending, Exception):
                raise self.ending from None
            return self.ending


class Kept:
    """One attempt under a deadline in a task of its own, which is expired and cancelled by hand."""

    def __init__(self, ending, invocation):
        self.deadlines = Deadlines()
        self.binding = Waiting(ending)
        self.invocation = invocation
        self.counts = []
        self.task = asyncio.create_task(self._run())

    async def _run(self):
        try:
            return await self.deadlines.keep(
                self.binding.call(self.invocation), self.invocation, 5.0
            )
        finally:
            self.counts.append(asyncio.current_task().cancelling())

    def expire(self):
        self.invocation.patience_ends = 0.0
        self.deadlines._sweep(asyncio.get_running_loop())


ENDINGS = [None, Answer("late"), BindingError("converted")]


@pytest.fixture
def invocation(tmp_path):
    from tests.python_tools import Tool

    return Tool(None, None, None).invocation()


@pytest.mark.parametrize("ending", ENDINGS, ids=["raises", "returns", "converts"])
@pytest.mark.parametrize("order", ["expire cancel", "cancel expire"])
@pytest.mark.parametrize("apart", [0, 1], ids=["one turn", "two turns"])
async def test_cancellation_from_outside_wins_over_the_deadlines(invocation, ending, order, apart):
    kept = Kept(ending, invocation)
    await kept.binding.begun.wait()
    steps = {"expire": kept.expire, "cancel": kept.task.cancel}
    first, second = order.split()
    steps[first]()
    for _ in range(apart):
        await asyncio.sleep(0)
    steps[second]()
    with pytest.raises(asyncio.CancelledError):
        await kept.task

    assert kept.task.cancelled()
    assert kept.counts == [1]


@pytest.mark.parametrize("ending", ENDINGS, ids=["raises", "returns", "converts"])
async def test_deadlines_own_cancellation_is_taken_back_however_the_attempt_ends(
    invocation, ending
):
    kept = Kept(ending, invocation)
    await kept.binding.begun.wait()
    kept.expire()
    with pytest.raises(BindingError) as error:
        await kept.task

    assert (error.value.code, error.value.sent) == ("timeout", "maybe")
    assert kept.counts == [0]


async def test_bug_in_an_attempt_that_ran_out_leaves_no_cancellation_behind(invocation):
    kept = Kept(KeyError("bug"), invocation)
    await kept.binding.begun.wait()
    kept.expire()
    with pytest.raises(KeyError):
        await kept.task

    assert kept.counts == [0]


@pytest.mark.parametrize("ending", ENDINGS[1:], ids=["returns", "converts"])
async def test_e13_cancellation_that_an_attempt_swallows_goes_on(invocation, ending):
    kept = Kept(ending, invocation)
    await kept.binding.begun.wait()
    kept.task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await kept.task


# the loop that a runtime belongs to


def in_another_loop(work):
    """What `work()` comes to in a loop of another thread, within five seconds."""
    found = []

    async def limited():
        return await asyncio.wait_for(work(), 5)

    thread = threading.Thread(target=lambda: found.append(asyncio.run(limited())), daemon=True)
    thread.start()
    return thread, found


@pytest.mark.parametrize("tool", ["obeys", "quick", "blocks", "plain"])
async def test_call_from_another_loop_is_refused_at_once(tool):
    async with open_files(FILES) as rt:
        started = time.monotonic()
        thread, found = in_another_loop(lambda: rt.call(tool, {}))
        while thread.is_alive():  # noqa: ASYNC110 - a thread tells nobody
            await asyncio.sleep(0.001)
        assert (await rt.call("quick", {})).data == 1
    (result,) = found
    assert time.monotonic() - started < AT_ONCE_S
    assert result.error.code == "unavailable"
    assert result.error.message == "the runtime belongs to another event loop"
    assert "on the loop that opened it" in result.error.hint


@pytest.mark.parametrize("tool", ["obeys", "quick", "blocks", "plain"])
async def test_call_after_close_is_refused_at_once(tool):
    async with open_files(FILES) as rt:
        held = rt.call
    for call in (rt.call, held):
        result = await asyncio.wait_for(call(tool, {}), 5)
        assert result.error.code == "unavailable"
        assert result.error.message == "the runtime is closed"
        assert result.error.hint == "open the project again with toolrt.open"


async def test_attempt_that_runs_while_the_runtime_closes_keeps_its_deadline():
    async with open_files(FILES) as rt:
        running = asyncio.create_task(rt.call("obeys", {}))
        await asyncio.sleep(0.01)
    result = await asyncio.wait_for(running, 5)
    assert result.error.code == "timeout"


async def test_a_stand_in_from_another_loop_is_refused_too():
    async with open_files(FILES) as rt:
        with stubbed(rt, {"quick": lambda _: 1}):
            thread, found = in_another_loop(lambda: rt.call("quick", {}))
            while thread.is_alive():  # noqa: ASYNC110 - a thread tells nobody
                await asyncio.sleep(0.001)
    assert found[0].error.code == "unavailable"
