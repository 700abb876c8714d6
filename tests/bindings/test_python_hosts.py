"""Coroutines of tools: what they see of their task, and how they are left behind."""

import asyncio
import contextvars
import time

import pytest

from tests.limits import AT_ONCE_S
from tests.python_tools import Project
from toolrt.bindings.python_hosts import GRACE_S, Hosts, never_waits
from toolrt.core.errors import BindingError, CallError, RefusedError

pytestmark = pytest.mark.anyio

LOCAL = contextvars.ContextVar("LOCAL", default="unset")


@pytest.fixture
async def project(tmp_path):
    made = Project(tmp_path)
    yield made
    await made.close()


def begun(project, fn, **options):
    """A call on its way, which has had time to wait for something."""
    bound = project.bind(fn, **options)
    call = bound.invocation()
    return call, asyncio.create_task(bound.binding.call(call))


async def test_coroutine_is_in_one_task_of_its_own_from_first_to_last(project):
    async def fn():
        first = asyncio.current_task()
        await asyncio.sleep(0)
        second = asyncio.current_task()
        await asyncio.sleep(0.001)
        return [first is second is asyncio.current_task(), first is caller]

    caller = asyncio.current_task()
    assert await project.bind(fn).value() == [True, False]
    assert asyncio.current_task() is caller


async def test_contextvars_of_the_caller_are_seen_and_changes_stay_inside(project):
    async def fn():
        token = LOCAL.set("theirs")
        before = token.old_value
        await asyncio.sleep(0)
        during = LOCAL.get()
        LOCAL.reset(token)
        await asyncio.sleep(0)
        LOCAL.set("left")
        return [before, during]

    LOCAL.set("mine")
    assert await project.bind(fn).value() == ["mine", "theirs"]
    assert LOCAL.get() == "mine"


async def test_timeouts_and_groups_inside_a_coroutine_work(project):
    async def fn():
        async with asyncio.timeout(5), asyncio.TaskGroup() as group:
            slow = group.create_task(asyncio.sleep(0.001, "done"))
        try:
            async with asyncio.timeout(0.01):
                try:
                    await asyncio.sleep(5)
                finally:
                    await asyncio.sleep(2 * GRACE_S)  # longer than any grace
        except TimeoutError:
            return slow.result()

    assert await project.bind(fn).value() == "done"


async def test_coroutine_that_awaits_what_is_done_answers_at_once(project):
    async def fn():
        done = asyncio.get_running_loop().create_future()
        done.set_result(5)
        return await done

    assert await project.bind(fn).value() == 5


async def test_exception_that_is_awaited_is_thrown_where_it_is_awaited(project):
    async def fails():
        await asyncio.sleep(0)
        raise KeyError("in")

    async def fn():
        try:
            await asyncio.ensure_future(fails())
        except KeyError as error:
            return str(error)

    assert await project.bind(fn).value() == "'in'"


async def test_calls_side_by_side_and_inside_each_other_keep_apart(project):
    async def inner(name: str):
        task = asyncio.current_task()
        await asyncio.sleep(0.001)
        return [name, task is asyncio.current_task(), id(task)]

    inside = project.bind(inner)

    async def outer(name: str):
        task = asyncio.current_task()
        value = await inside.value(name=name)
        return [*value, task is asyncio.current_task()]

    bound = project.bind(outer)
    values = await asyncio.gather(*(bound.value(name=str(n)) for n in range(30)))

    assert [value[0] for value in values] == [str(n) for n in range(30)]
    assert all(value[1] and value[3] for value in values)
    assert len({value[2] for value in values}) == 30


@pytest.mark.realtime
@pytest.mark.parametrize("kind", ["async", "inline", "thread"])
async def test_e13_coroutine_that_swallows_every_cancellation_does_not_hold_its_caller(
    project, kind
):
    entered, release, goes_on = asyncio.Event(), asyncio.Event(), asyncio.Event()

    async def fn():
        entered.set()
        for _ in range(3):
            try:
                await release.wait()
            except asyncio.CancelledError:
                continue
            break
        goes_on.set()
        raise ValueError("too late")

    def plain():
        return fn()

    options = {} if kind == "async" else {"run_in": kind}
    call, task = begun(project, fn if kind == "async" else plain, **options)
    await entered.wait()
    started = time.monotonic()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    took = time.monotonic() - started
    release.set()
    await asyncio.wait_for(goes_on.wait(), 5)

    assert took < AT_ONCE_S
    assert call.is_orphaned


@pytest.mark.parametrize("ending", ["return 5", "raise ValueError('other')"])
async def test_e13_cancellation_wins_over_what_a_coroutine_makes_of_it(project, ending):
    project.write(
        "makes",
        f"""
        import asyncio

        async def fn():
            try:
                await asyncio.sleep(5)
            except asyncio.CancelledError:
                {ending}
        """,
    )
    call, task = begun(project, "makes:fn")
    await asyncio.sleep(0.01)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task

    assert (call.is_orphaned, call.sent) == (False, "maybe")


async def test_coroutine_may_clean_up_within_its_grace(project):
    cleaned = []

    async def fn():
        try:
            await asyncio.sleep(5)
        finally:
            await asyncio.sleep(GRACE_S / 5)
            cleaned.append(True)

    call, task = begun(project, fn)
    await asyncio.sleep(0.01)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task

    assert cleaned == [True]
    assert not call.is_orphaned


async def test_call_that_is_cancelled_before_its_task_began_still_cancels_the_coroutine(project):
    seen = []

    async def fn():
        try:
            await asyncio.sleep(5)
        except asyncio.CancelledError:
            seen.append(True)
            raise

    bound = project.bind(fn)
    task = asyncio.create_task(bound.binding.call(bound.invocation()))
    asyncio.get_running_loop().call_soon(task.cancel)
    with pytest.raises(asyncio.CancelledError):
        await task

    assert seen == [True]


@pytest.mark.realtime
def test_loop_ends_though_an_orphan_swallows_every_cancellation(tmp_path, caplog):
    async def fn():
        while True:
            try:
                await asyncio.sleep(5)
            except asyncio.CancelledError:
                continue

    async def main():
        _, task = begun(Project(tmp_path), fn)
        await asyncio.sleep(0.01)
        task.cancel()
        await asyncio.wait([task])

    started = time.monotonic()
    asyncio.run(main())

    assert time.monotonic() - started < AT_ONCE_S
    assert caplog.records == []


async def test_closing_ends_the_idle_tasks_and_the_orphans(tmp_path):
    async def fn():
        while True:
            try:
                await asyncio.sleep(5)
            except asyncio.CancelledError:
                continue

    project = Project(tmp_path)
    before = asyncio.all_tasks()
    _, task = begun(project, fn)
    await project.bind(lambda: asyncio.sleep(0), run_in="inline").value()
    task.cancel()
    await asyncio.wait([task])
    await project.close()

    assert asyncio.all_tasks() == before


def test_another_loop_is_refused_with_what_to_do(tmp_path):
    async def fn():
        await asyncio.sleep(0)
        return 1

    bound = Project(tmp_path).bind(fn)
    assert asyncio.run(bound.value()) == 1
    with pytest.raises(RefusedError, match="another event loop") as error:
        asyncio.run(bound.value())
    assert "open the project in this loop" in error.value.hint


async def test_closed_hosts_refuse(tmp_path):
    hosts = Hosts()
    await hosts.close()
    with pytest.raises(RefusedError, match="is closed"):
        hosts.start(asyncio.sleep(0))


async def test_coroutine_that_never_waits_is_run_by_its_caller_and_fails_as_any(project):
    async def fn():
        return asyncio.current_task() is caller

    async def broken():
        raise ValueError("it broke")

    caller = asyncio.current_task()
    bound = project.bind(fn)
    assert bound.binding.never_waits
    assert await bound.value() is True
    with pytest.raises(BindingError, match="it broke"):
        await project.bind(broken).value()


def test_what_never_waits_is_known_by_its_code():
    async def none():
        return 1

    async def waits():
        await asyncio.sleep(0)

    async def loops():
        async for _ in ():
            pass

    async def enters():
        async with ():
            pass

    async def nested():
        async def inner():
            await asyncio.sleep(0)

        return inner

    assert [never_waits(fn) for fn in (none, nested)] == [True, True]
    assert not any(never_waits(fn) for fn in (waits, loops, enters, print, len))


@pytest.mark.parametrize("error", [ValueError("x"), SystemExit(3), asyncio.CancelledError("x")])
async def test_what_is_raised_after_waiting_is_the_calls_failure(project, error):
    async def fn():
        await asyncio.sleep(0)
        raise error

    with pytest.raises(CallError) as failure:
        await project.bind(fn).value()
    assert isinstance(failure.value, BindingError)
    assert failure.value.message.startswith(type(error).__name__)


async def test_cancellation_of_a_call_that_ends_meanwhile_meets_no_other_call(project):
    """The task that served it serves another in the next moment."""
    gates = {"first": asyncio.Event(), "second": asyncio.Event()}

    async def fn(name: str):
        await gates[name].wait()
        return name

    bound = project.bind(fn)
    first = asyncio.create_task(bound.value(name="first"))
    await asyncio.sleep(0)
    first.cancel()
    gates["first"].set()
    await asyncio.sleep(0)
    second = asyncio.create_task(bound.value(name="second"))
    await asyncio.wait([first])
    await asyncio.sleep(0)
    gates["second"].set()

    assert first.cancelled()
    assert await second == "second"
