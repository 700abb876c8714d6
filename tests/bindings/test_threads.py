import asyncio
import contextvars
import subprocess
import sys
import threading
import time

import pytest

from toolrt.bindings.threads import ThreadPool

pytestmark = pytest.mark.anyio

LOCAL = contextvars.ContextVar("LOCAL", default="unset")


async def settled(pool, call):
    return await pool.start(call).done


async def test_call_runs_in_a_named_daemon_thread_with_the_callers_context():
    pool = ThreadPool()
    LOCAL.set("mine")
    (thread, value), error = await settled(pool, lambda: (threading.current_thread(), LOCAL.get()))
    await pool.close()

    assert thread.name.startswith("toolrt-python-")
    assert thread.daemon
    assert (value, error) == ("mine", None)


async def test_change_of_a_contextvar_stays_in_its_call():
    pool = ThreadPool(1)
    await settled(pool, lambda: LOCAL.set("theirs"))
    value, _ = await settled(pool, LOCAL.get)
    await pool.close()

    assert value == "unset"


@pytest.mark.parametrize("error", [StopIteration, SystemExit, KeyboardInterrupt, GeneratorExit])
async def test_whatever_is_raised_comes_back_as_a_value(error):
    pool = ThreadPool()

    def fail():
        raise error("x")

    value, raised = await asyncio.wait_for(settled(pool, fail), 5)
    await pool.close()

    assert value is None
    assert type(raised) is error


async def test_calls_run_side_by_side_up_to_the_size():
    pool = ThreadPool(3)
    barrier = threading.Barrier(3)
    ran = await asyncio.gather(*(settled(pool, lambda: barrier.wait(5)) for _ in range(6)))
    await pool.close()

    assert sorted(place for place, _ in ran) == [0, 0, 1, 1, 2, 2]


async def test_idle_thread_is_used_again():
    pool = ThreadPool(4)
    names = {(await settled(pool, threading.current_thread))[0].name for _ in range(5)}
    await pool.close()

    assert len(names) == 1


async def test_abandoned_calls_leave_room_for_others():
    pool = ThreadPool(1)
    release = threading.Event()
    begun = threading.Event()
    job = pool.start(lambda: (begun.set(), release.wait(10)))
    assert begun.wait(5)

    assert pool.abandon(job) is True
    value, _ = await asyncio.wait_for(settled(pool, lambda: "free"), 5)
    release.set()
    await pool.close()

    assert value == "free"


async def test_surplus_thread_ends_after_its_abandoned_call():
    pool = ThreadPool(1)
    release = threading.Event()
    threads = []
    for _ in range(3):
        begun = threading.Event()
        job = pool.start(
            lambda begun=begun: (
                threads.append(threading.current_thread()),
                begun.set(),
                release.wait(10),
            )
        )
        assert begun.wait(5)
        pool.abandon(job)
    release.set()
    while sum(thread.is_alive() for thread in threads) > 1:  # noqa: ASYNC110 - threads tell nobody
        await asyncio.sleep(0.005)
    assert (await settled(pool, lambda: 1))[0] == 1
    await pool.close()


async def test_call_that_waits_is_never_begun_once_abandoned():
    pool = ThreadPool(1)
    release = threading.Event()
    begun = threading.Event()
    ran = []
    first = pool.start(lambda: (begun.set(), release.wait(10)))
    assert begun.wait(5)
    second = pool.start(lambda: ran.append("second"))

    assert pool.abandon(second) is False
    release.set()
    await first.done
    await settled(pool, lambda: None)
    await pool.close()

    assert ran == []
    assert second.stage == "queued"


async def test_call_that_is_over_cannot_be_abandoned():
    pool = ThreadPool()
    job = pool.start(lambda: 1)
    await job.done
    await pool.close()

    assert pool.abandon(job) is False


async def test_close_lets_idle_threads_end():
    pool = ThreadPool()
    thread, _ = await settled(pool, threading.current_thread)
    await pool.close()
    thread.join(5)

    assert not thread.is_alive()


def test_outcome_for_a_closed_loop_is_dropped():
    pool = ThreadPool()
    release = threading.Event()

    async def start():
        pool.start(lambda: release.wait(10))

    asyncio.run(start())
    release.set()
    (value, _) = asyncio.run(settled(pool, lambda: 1))
    asyncio.run(pool.close())

    assert value == 1


def test_call_that_hangs_does_not_hold_up_the_exit():
    source = (
        "import asyncio, time\n"
        "from toolrt.bindings.threads import ThreadPool\n"
        "async def main():\n"
        "    ThreadPool().start(lambda: time.sleep(60))\n"
        "    await asyncio.sleep(0.05)\n"
        "asyncio.run(main())\n"
    )
    started = time.monotonic()
    subprocess.run([sys.executable, "-c", source], check=True, timeout=20)

    assert time.monotonic() - started < 15
