import asyncio
import contextlib
import contextvars
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from tests.limits import AT_ONCE_S
from toolrt.bindings import threads
from toolrt.bindings.threads import ThreadPool
from toolrt.core.errors import BindingError

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


def label(pool, call, tool="kit.t"):
    begun = threading.Event()
    job = pool.start(lambda: (begun.set(), call()), tool)
    assert begun.wait(5)
    return job


@pytest.mark.realtime
async def test_orphans_do_not_use_up_the_pool_and_too_many_are_told_by_name(monkeypatch):
    monkeypatch.setattr(threads, "MOST_ORPHANS", 20)
    pool, release = ThreadPool(2), threading.Event()
    try:
        for number in range(22):
            tool = "kit.stuck" if number else "kit.other"
            assert pool.abandon(label(pool, lambda: release.wait(20), tool))
            if number < 21:
                assert (await asyncio.wait_for(settled(pool, lambda: 1), 5))[0] == 1
        started = time.monotonic()
        with pytest.raises(BindingError) as error:
            pool.start(lambda: 1)
        assert time.monotonic() - started < AT_ONCE_S
        assert (error.value.code, error.value.sent) == ("unavailable", "never")
        assert "21 by `kit.stuck`, 1 by `kit.other`" in error.value.message
    finally:
        release.set()
    for _ in range(200):
        with contextlib.suppress(BindingError):
            assert (await settled(pool, lambda: 2))[0] == 2
            break
        await asyncio.sleep(0.01)
    else:
        pytest.fail("the pool did not recover")
    await pool.close()


async def test_a_hundred_hung_calls_still_leave_room():
    pool, release = ThreadPool(2), threading.Event()
    for _ in range(100):
        pool.abandon(label(pool, lambda: release.wait(20)))
    assert (await asyncio.wait_for(settled(pool, lambda: 1), 5))[0] == 1
    release.set()
    await pool.close()


@pytest.mark.parametrize(
    ("ending", "status"),
    [("pass", 0), ("sys.exit(7)", 7), ("sys.exit()", 0), ("raise ValueError('x')", 1)],
)
@pytest.mark.parametrize("kind", ["thread", "inline", "async", "waits"])
def test_clone_of_the_process_that_a_callable_forks_does_not_go_on(tmp_path, kind, ending, status):
    """The parent writes what its child ended with; a child that went on would write a line, too."""
    wait = {"waits": "await asyncio.sleep(0)"}.get(kind, "")
    head = "async def fn():" if kind in {"async", "waits"} else "def fn():"
    source = f"""
import asyncio, os, sys
from pathlib import Path
from tests.python_tools import Project
{head}
    {wait or "pass"}
    child = os.fork()
    if child == 0:
        {ending}
        return "clone"
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])

async def main():
    options = {{"run_in": {kind!r}}} if {kind!r} in ("thread", "inline") else {{}}
    project = Project(Path({str(tmp_path)!r}))
    print("ended", await project.bind(fn, **options).value(), flush=True)
    await project.close()

asyncio.run(main())
"""
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", source],
        check=False,
        timeout=20,
        capture_output=True,
        text=True,
        cwd=Path(__file__).parents[2],
    )
    assert done.stdout == f"ended {status}\n", done.stderr
    assert ("ValueError: x" in done.stderr) is (status == 1)


def test_process_that_a_program_forks_may_use_the_pool_itself():
    source = """
import asyncio, os
from toolrt.bindings.threads import ThreadPool
async def main():
    print((await ThreadPool().start(lambda: 5).done)[0], flush=True)
if os.fork() == 0:
    asyncio.run(main())
    os._exit(0)
os.wait()
"""
    done = subprocess.run(
        [sys.executable, "-c", source], check=True, timeout=20, capture_output=True, text=True
    )
    assert done.stdout == "5\n"
