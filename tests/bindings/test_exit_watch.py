import asyncio
import contextvars
import gc
import os
import select
import weakref
from pathlib import Path

import pytest

from toolrt.bindings import exit_watch
from toolrt.bindings.process import ProcessRequest, ProcessRunner

pytestmark = pytest.mark.anyio
EXIT_3 = ProcessRequest(b"/bin/sh", (b"sh", b"-c", b"exit 3"), {}, b"/")


def open_descriptors():
    return len(list(Path("/proc/self/fd").iterdir()))


@pytest.fixture
async def runner():
    before = open_descriptors()
    runner = ProcessRunner(grace_s=0.1)
    yield runner
    await runner.close()
    assert open_descriptors() == before


async def code(runner):
    return (await runner.start(EXIT_3).finished()).exit_code


async def test_more_children_that_end_at_once_than_are_looked_at_in_one_go(runner, monkeypatch):
    monkeypatch.setattr(exit_watch, "_AT_ONCE", 2)
    assert await asyncio.gather(*(code(runner) for _ in range(12))) == [3] * 12


@pytest.mark.parametrize("error", [OSError(24, "no descriptor left"), AttributeError("epoll")])
async def test_where_there_is_no_epoll_the_end_is_found_by_looking(runner, monkeypatch, error):
    def none():
        raise error

    monkeypatch.setattr(select, "epoll", none)
    assert await code(runner) == 3


async def test_a_pidfd_that_cannot_be_watched_is_closed_and_the_end_found(runner, monkeypatch):
    def refuse(*_given):
        raise OSError(28, "too many watches")

    monkeypatch.setattr(exit_watch.Board, "add", refuse)
    assert await code(runner) == 3


async def test_a_pidfd_that_a_clone_of_this_process_still_has_wakes_nobody_for_ever(
    runner, monkeypatch
):
    copies = []

    def copied(pid):
        pidfd = os.pidfd_open(pid)
        copies.append(os.dup(pidfd))
        return pidfd

    monkeypatch.setattr(exit_watch, "_pidfd", copied)
    assert await code(runner) == 3
    board = runner.exits.board(asyncio.get_running_loop())
    assert board._epoll.poll(0) == []
    os.close(*copies)


async def test_loops_that_are_gone_keep_no_descriptor(runner):
    def once():
        assert asyncio.run(code(runner)) == 3
        return open_descriptors()

    counts = [await asyncio.to_thread(once) for _ in range(5)]
    assert len(set(counts[1:])) == 1


async def test_loops_of_other_threads_let_go_when_the_runner_is_closed():
    runner, other = ProcessRunner(), asyncio.new_event_loop()
    running = asyncio.ensure_future(asyncio.to_thread(other.run_forever))
    await asyncio.sleep(0)
    await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(code(runner), other))
    before = open_descriptors()
    await runner.close()
    await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(asyncio.sleep(0.01), other))
    assert (
        open_descriptors() == before - 3
    )  # the epoll, /dev/null, and the file that tells of births
    other.call_soon_threadsafe(other.stop)
    await running
    other.close()


async def test_a_runner_that_was_closed_may_start_again(runner):
    assert await code(runner) == 3
    await runner.close()
    assert await code(runner) == 3


async def test_context_of_the_first_caller_does_not_live_as_long_as_the_loop(runner):
    class Value:
        pass

    async def first():
        value = Value()
        contextvars.ContextVar("of_the_first").set(value)
        await code(runner)
        return weakref.ref(value)

    value = await asyncio.create_task(first())
    await asyncio.sleep(0.05)  # timers that were cancelled are over then
    gc.collect()
    assert value() is None
