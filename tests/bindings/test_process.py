import asyncio
import contextlib
import gc
import os
import random
import resource
import shutil
import signal
import threading
import time
import weakref
from pathlib import Path

import pytest

from tests.limits import AT_ONCE_S, Memory
from toolrt.bindings import exit_watch, spawn
from toolrt.bindings.launch import launch, launch_by_popen
from toolrt.bindings.limits import Limits, set_limits
from toolrt.bindings.os_text import encoded
from toolrt.bindings.outputs import Captured, Drain
from toolrt.bindings.process import FLOOD_BYTES, ProcessRequest, ProcessRunner
from toolrt.core.errors import BindingError

pytestmark = pytest.mark.anyio

ENV = {b"PATH": b"/usr/bin:/bin", b"LANG": b"C.UTF-8"}


def request(*argv, **more):
    executable = shutil.which(argv[0])
    options = {"env": ENV, "cwd": b"/", "limits": Limits().rlimits(), **more}
    return ProcessRequest(encoded(executable), tuple(map(encoded, argv)), **options)


def script(text, *arguments, **more):
    return request("bash", "-c", text, "bash", *arguments, **more)


def open_descriptors():
    return len(list(Path("/proc/self/fd").iterdir()))


def members(pgid):
    """Live processes of a group; zombies that wait for init to reap them are not ours."""
    found = set()
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        with contextlib.suppress(OSError):
            state, _, pgrp = (entry / "stat").read_text().rpartition(")")[2].split()[:3]
            if int(pgrp) == pgid and state != "Z":
                found.add(int(entry.name))
    return found


def children_of_ours():
    with contextlib.suppress(ChildProcessError):
        return os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
    return None


@pytest.fixture
async def runner():
    before = open_descriptors()
    runner = ProcessRunner(grace_s=0.1)
    yield runner
    await runner.close()
    assert open_descriptors() == before
    assert children_of_ours() is None


@pytest.fixture
def way(request, monkeypatch):
    """How children are started: as this interpreter does, or the long way that works anywhere."""
    monkeypatch.setattr(spawn, "launch", request.param)


def both_ways(test):
    ways = pytest.mark.parametrize(
        "way", [launch, launch_by_popen], ids=["shortest", "by popen"], indirect=True
    )
    return ways(pytest.mark.usefixtures("way")(test))


async def run(runner, what):
    return await runner.start(what).finished()


@both_ways
async def test_a_child_ends_with_its_code_and_output(runner):
    done = await run(runner, script("echo out; echo err >&2; exit 3"))
    assert (done.exit_code, done.signal) == (3, None)
    assert done.stdout.whole() == b"out\n"
    assert done.stderr.whole() == b"err\n"
    assert 0 < done.time_s < 30


@both_ways
async def test_s12_signal_death_is_told_from_an_exit(runner):
    done = await run(runner, script("kill -SEGV $$"))
    assert (done.exit_code, done.signal) == (None, signal.SIGSEGV)


@both_ways
async def test_s5_the_environment_is_exactly_the_given_one(runner):
    done = await run(runner, request("env", env={b"A": b"1", b"B": b"zwei 2"}))
    assert done.stdout.whole() == b"A=1\nB=zwei 2\n"


@both_ways
async def test_s6_child_has_three_streams_own_session_umask_077_and_no_stdin(runner):
    text = "umask; ls /proc/$$/fd; wc -c; cut -d' ' -f5-7 /proc/$$/stat; echo $$; pwd"
    leak = os.open("/dev/null", os.O_RDONLY)
    os.set_inheritable(leak, True)
    try:
        done = await run(runner, script(text))
    finally:
        os.close(leak)
    umask, *rest = done.stdout.whole().decode().split()
    assert umask == "0077"
    *fds, size, pgid, sid, tty, pid, cwd = rest
    assert set(fds) <= {"0", "1", "2", "255"}
    assert (size, tty, cwd) == ("0", "0", "/")
    assert sid == pgid == pid


@pytest.mark.realtime
async def test_s8_background_grandchild_that_keeps_the_pipe_does_not_hold_the_call(runner):
    started = time.monotonic()
    process = runner.start(script("sleep 30 & echo $!"))
    done = await process.finished()
    assert 0.15 < time.monotonic() - started < AT_ONCE_S
    assert done.exit_code == 0
    os.kill(int(done.stdout.whole()), signal.SIGKILL)


async def test_s8_last_bytes_of_a_finished_child_are_all_there(runner):
    done = await run(runner, request("head", "-c", "900000", "/dev/zero"))
    assert done.stdout == Captured(b"\0" * 524288, b"\0" * 375712, 0)


async def test_s9_head_and_tail_are_kept_and_the_rest_is_counted(runner):
    done = await run(runner, request("seq", "200000", keep_bytes=1000))
    assert done.stdout.head.startswith(b"1\n2\n")
    assert done.stdout.tail.endswith(b"199999\n200000\n")
    assert len(done.stdout.head) == len(done.stdout.tail) == 500
    assert done.stdout.cut == 1288895 - 1000
    assert b"\n[... 1287895 bytes left out ...]\n" in done.stdout.whole()


async def test_s9_stdout_and_stderr_are_read_together(runner):
    done = await run(runner, script("head -c 300000 /dev/zero >&2; head -c 300000 /dev/zero"))
    assert len(done.stdout.whole()) == 300000
    assert done.stderr.cut == 300000 - 65536


async def test_s9_byte_by_byte_output_takes_no_more_memory_than_the_cap():
    drain = Drain(asyncio.get_running_loop(), 1000, lambda: None)
    for number in range(200_000):
        drain._keep(bytes([number % 251]))
    assert len(drain._head) == 500
    assert len(drain._tail) <= 65536
    assert drain.captured().tail == bytes(number % 251 for number in range(199_500, 200_000))
    drain.close()


async def test_s9_flood_is_killed_with_its_group_and_memory_stays_flat(runner):
    memory = Memory()
    flood = script("trap '' TERM; cat /dev/zero & cat /dev/zero >&2 & wait", keep_bytes=1024**2)
    pids = []
    for _ in range(20):
        process = runner.start(flood)
        pids.append(process.pid)
        with pytest.raises(BindingError, match="stopped after 64 MiB of output") as caught:
            await process.finished()
        assert caught.value.code == "output-flood"
    await runner.close()
    grown = memory.grown()
    assert grown <= 2 * FLOOD_BYTES
    assert grown <= 16 * 1024**2
    assert [members(pid) for pid in pids] == [set()] * 20


@both_ways
async def test_s10_limits_hold_in_the_child(runner):
    limits = Limits(cpu="7s", memory="4GiB", file_size="2MiB", open_files=99).rlimits()
    done = await run(
        runner,
        script("sleep 0.1; ulimit -c; ulimit -n; ulimit -t; ulimit -f; ulimit -v", limits=limits),
    )
    assert done.stdout.whole().split() == [b"0", b"99", b"7", b"2048", b"4194304"]


async def test_s10_children_that_a_child_has_already_are_limited_too(runner):
    process = runner.start(script("(sleep 30 & sleep 30; true) & wait"))
    await asyncio.sleep(0.2)
    set_limits(process.pid, ((resource.RLIMIT_NOFILE, (77, 77)),), runner.births)
    limits = [resource.prlimit(pid, resource.RLIMIT_NOFILE) for pid in members(process.pid)]
    assert limits == [(77, 77)] * 4
    process.abandon()


async def test_s10_address_space_and_process_count_are_limited_only_when_asked():
    default = dict(Limits().rlimits())
    assert resource.RLIMIT_AS not in default
    assert resource.RLIMIT_NPROC not in default
    assert dict(Limits(processes=50).rlimits())[resource.RLIMIT_NPROC] == (50, 50)


@both_ways
async def test_large_stdin_is_fed_without_deadlock(runner):
    text = os.urandom(3_000_000)
    done = await run(runner, request("cat", stdin=text, keep_bytes=8_000_000))
    assert done.stdout.whole() == text


async def test_child_that_does_not_read_its_stdin_is_no_fault(runner):
    done = await run(runner, request("true", stdin=b"x" * 3_000_000))
    assert done.exit_code == 0


async def test_child_that_stops_reading_half_way_is_no_fault(runner):
    done = await run(runner, script("head -c 10; exec <&-; sleep 0.05", stdin=b"x" * 3_000_000))
    assert done.stdout.whole() == b"x" * 10


@both_ways
@pytest.mark.parametrize(
    ("change", "code", "message"),
    [
        ({"executable": b"/no/such"}, "unavailable", "program `true` was not found"),
        ({"executable": b"/etc/passwd"}, "execution-failed", "found but is not executable"),
        (
            {"cwd": b"/no/such"},
            "execution-failed",
            "working folder cannot be entered: no such file",
        ),
        (
            {"argv": (b"true", *[b"x" * 100_000] * 60)},
            "invalid-arguments",
            "longer than the system",
        ),
    ],
)
async def test_spawn_that_fails_has_sent_nothing(runner, change, code, message):
    good = {"executable": b"/bin/true", "argv": (b"true",), "env": ENV, "cwd": b"/"}
    with pytest.raises(BindingError, match=message) as caught:
        runner.start(ProcessRequest(**{**good, **change}))
    assert (caught.value.code, caught.value.sent) == (code, "never")
    assert not caught.value.retryable


@both_ways
async def test_no_descriptors_left_is_retryable_and_leaks_none(runner):
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    fed = ProcessRequest(b"/bin/true", (b"true",), ENV, b"/", stdin=b"x")
    for room in range(7):
        resource.setrlimit(resource.RLIMIT_NOFILE, (open_descriptors() - 1 + room, hard))
        try:
            with pytest.raises(BindingError, match="no room for another process") as caught:
                runner.start(fed)
        finally:
            resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
        assert (caught.value.retryable, caught.value.sent) == (True, "never")


SHAPES = {
    "plain": "sleep 30",
    "ignores TERM": "trap '' TERM; while :; do sleep 0.05; done",
    "forks": "sleep 30 & sleep 30 & wait",
    "double fork": "(sleep 30 & sleep 30 &) ; sleep 30",
    "ignoring grandchild": "(trap '' TERM; while :; do sleep 0.05; done) & exit 0",
    "floods": "while :; do head -c 100000 /dev/zero; done",
    "closes stdout": "exec >&- 2>&-; sleep 30",
    "only stderr": "while :; do echo x >&2; sleep 0.01; done",
}


@pytest.mark.realtime
async def test_s7_eighty_timeouts_leave_no_survivor_no_zombie_and_no_descriptor(runner):
    before = open_descriptors()
    started = time.monotonic()
    pids = []
    for _ in range(10):
        processes = [runner.start(script(text)) for text in SHAPES.values()]
        pids += [process.pid for process in processes]
        waiting = asyncio.gather(*[process.finished() for process in processes])
        with pytest.raises(asyncio.TimeoutError):
            await asyncio.wait_for(waiting, 0.1)
    await runner.close()
    assert time.monotonic() - started < 5 * AT_ONCE_S
    assert [pid for pid in pids if members(pid)] == []
    assert children_of_ours() is None
    assert open_descriptors() == before


@pytest.mark.realtime
async def test_e13_whoever_waits_is_let_go_within_100_ms(runner):
    tasks = [asyncio.ensure_future(run(runner, script(text))) for text in SHAPES.values()]
    await asyncio.sleep(0.1)
    started = time.monotonic()
    for task in tasks:
        task.cancel()
    await asyncio.wait(tasks)
    assert time.monotonic() - started < AT_ONCE_S
    assert [task.cancelled() for task in tasks] == [True] * len(SHAPES)


@both_ways
async def test_s7_child_that_obeys_term_may_clean_up(runner, tmp_path):
    text = f"trap 'echo bye; echo done > {tmp_path}/note; exit 0' TERM; echo on; sleep 30 & wait"
    task = asyncio.ensure_future(run(runner, script(text)))
    await asyncio.sleep(0.1)
    task.cancel()
    await asyncio.wait([task])
    await runner.close()
    assert (tmp_path / "note").read_text() == "done\n"


@pytest.mark.realtime
async def test_s7_ladder_ends_with_the_group_not_with_the_grace():
    runner = ProcessRunner(grace_s=30)
    task = asyncio.ensure_future(run(runner, request("sleep", "30")))
    await asyncio.sleep(0.05)
    started = time.monotonic()
    task.cancel()
    await asyncio.wait([task])
    await runner.close()
    assert time.monotonic() - started < AT_ONCE_S


async def test_s7_grandchild_with_a_session_of_its_own_survives_without_a_sandbox(runner):
    text = "setsid sleep 30 >/dev/null 2>&1 & echo $!; sleep 0.05; exit 0"
    done = await run(runner, script(text))
    grandchild = int(done.stdout.whole())
    os.kill(grandchild, signal.SIGKILL)


async def test_cancel_before_the_first_step_starts_nothing(runner):
    task = asyncio.ensure_future(run(runner, script("sleep 30")))
    task.cancel()
    await asyncio.wait([task])
    assert task.cancelled()
    assert not runner._alive


async def test_closing_the_runner_ends_children_that_still_run():
    runner = ProcessRunner(grace_s=0.1)
    process = runner.start(script("trap '' TERM; while :; do sleep 0.05; done"))
    await asyncio.sleep(0.05)
    await runner.close()
    assert members(process.pid) == set()


async def test_e13_whoever_waits_while_the_runner_is_closed_is_told_and_not_cancelled():
    runner = ProcessRunner(grace_s=0.1)
    task = asyncio.ensure_future(run(runner, request("sleep", "30")))
    await asyncio.sleep(0.05)
    await runner.close()
    with pytest.raises(BindingError, match="the runtime was closed") as error:
        await asyncio.wait_for(task, 5)
    assert (error.value.code, error.value.sent) == ("unavailable", "maybe")


async def test_nobody_hears_of_a_child_that_nobody_waits_for(caplog):
    runner = ProcessRunner(grace_s=0.1)
    runner.start(request("sleep", "30"))
    await runner.close()
    gc.collect()
    assert caplog.records == []


async def test_children_of_a_loop_that_is_gone_are_ended_by_close():
    before = open_descriptors()
    runner = ProcessRunner(grace_s=5)
    pids = []

    async def leave_behind():
        pids.append(runner.start(script("trap '' TERM; while :; do sleep 0.05; done")).pid)
        await asyncio.sleep(0.05)

    thread = threading.Thread(target=lambda: asyncio.run(leave_behind()))
    thread.start()
    await asyncio.to_thread(thread.join)
    assert members(pids[0])
    await runner.close()
    assert members(pids[0]) == set()
    assert open_descriptors() == before


async def test_runs_on_the_loop_of_any_thread(runner):
    codes = []

    def other():
        codes.append(asyncio.run(run(runner, script("exit 7"))).exit_code)

    await asyncio.to_thread(other)
    assert codes == [7]


async def test_without_pidfd_the_end_is_found_by_looking(runner, monkeypatch):
    monkeypatch.setattr(exit_watch, "_pidfd", lambda _pid: None)
    done = await run(runner, script("sleep 0.05; echo hi; exit 3"))
    assert (done.exit_code, done.stdout.whole()) == (3, b"hi\n")
    task = asyncio.ensure_future(run(runner, script("sleep 30")))
    await asyncio.sleep(0.05)
    task.cancel()
    await asyncio.wait([task])


@both_ways
async def test_status_that_somebody_else_took_is_lost_not_success(runner):
    process = runner.start(script("exit 3"))
    os.waitpid(process.pid, 0)  # noqa: ASYNC222 - the rival is the point
    done = await process.finished()
    assert (done.exit_code, done.signal) == (None, None)


@pytest.mark.realtime
async def test_s7_closing_that_is_cancelled_kills_at_once_and_still_leaves_nothing():
    runner = ProcessRunner(grace_s=30)
    text = 'trap "" TERM; sleep 60 & while :; do sleep 1; done'
    processes = [runner.start(script(text)) for _ in range(5)]
    await asyncio.sleep(0.1)
    closing = asyncio.create_task(runner.close())
    await asyncio.sleep(0.05)
    assert all(members(process.pid) for process in processes)
    started = time.monotonic()
    for _ in range(3):
        closing.cancel()
        await asyncio.sleep(0)
    with pytest.raises(asyncio.CancelledError):
        await closing
    assert time.monotonic() - started < AT_ONCE_S
    assert [members(process.pid) for process in processes] == [set()] * 5
    assert children_of_ours() is None


async def test_s12_forty_at_once_killed_at_random_are_told_apart_and_leave_nothing(runner):
    chance = random.Random(12)
    deadly = (signal.SIGKILL, signal.SIGTERM, signal.SIGSEGV, signal.SIGABRT, signal.SIGUSR1)

    async def one(number):
        process = runner.start(script('echo "$1"; exec sleep 5', str(number)))
        kills = chance.random() < 0.8
        chosen, after_s = chance.choice(deadly), chance.random() * 0.2
        task = asyncio.ensure_future(process.finished())
        await asyncio.sleep(after_s)
        if not kills:
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            return process.pid
        os.kill(process.pid, chosen)
        done = await task
        assert (done.exit_code, done.signal) == (None, chosen)
        assert done.stdout.whole() in {b"", f"{number}\n".encode()}
        return process.pid

    pids = await asyncio.gather(*(one(number) for number in range(40)))
    await runner.close()
    assert [members(pid) for pid in pids] == [set()] * 40


async def test_what_is_over_is_let_go_of_without_the_collector(runner):
    gc.disable()
    try:
        process = runner.start(script("echo hi; sleep 0.03; echo ho >&2"))
        gone = weakref.ref(process)
        await process.finished()
        del process
        assert gone() is None
    finally:
        gc.enable()


async def test_s9_a_child_that_soon_fills_its_pipes_is_read_before_it_ends(runner):
    text = "head -c 300000 /dev/zero; head -c 300000 /dev/zero >&2; sleep 0.03"
    done = await run(runner, script(text))
    assert len(done.stdout.whole()) == 300000
    assert done.stderr.cut == 300000 - 65536


@both_ways
@pytest.mark.parametrize(
    "change",
    [{"executable": b"/no/such"}, {"cwd": b"/no/such"}, {"argv": (b"true", b"x" * 200_000)}, {}],
)
async def test_neither_descriptors_nor_zombies_gather_over_many_children(runner, change):
    good = {"executable": b"/bin/true", "argv": (b"true",), "env": ENV, "cwd": b"/"}
    asked = ProcessRequest(**{**good, **change})
    await run(runner, request("true"))
    before = open_descriptors()
    for _ in range(50):
        with contextlib.suppress(BindingError):
            await run(runner, asked)
    assert open_descriptors() == before
    assert children_of_ours() is None


async def test_s6_stdin_is_dev_null_whoever_has_closed_the_descriptor_that_was_kept(
    runner, tmp_path
):
    assert (await run(runner, request("cat"))).stdout.whole() == b""
    (tmp_path / "file").write_text("not for the child")
    kept = runner.null.descriptor()
    other = os.open(tmp_path / "file", os.O_RDONLY)
    os.dup2(other, kept)
    assert (await run(runner, request("cat"))).stdout.whole() == b""
    assert runner.null.descriptor() != kept
    os.close(kept)
    os.close(other)
