"""`run_in: process`: real worker processes, and nothing left of them."""

import asyncio
import logging
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.limits import AT_ONCE_S
from tests.python_tools import Project
from toolrt.core.errors import BindingError, CallError, RefusedError, ToolError

pytestmark = pytest.mark.anyio

KIT = """
    import asyncio, logging, os, signal, subprocess, sys, threading, time
    from datetime import date
    from toolrt.core.context import Context
    from toolrt.core.errors import ToolError

    made = []

    def pid(): return os.getpid()
    def day(when: date): return when
    async def later(n: int):
        await asyncio.sleep(0)
        return n
    def noisy(n: int):
        print("{" * 10)
        os.write(1, b"noise")
        return n
    def misspelt(tag: str):
        class Silent:
            def __str__(self): raise RuntimeError("no word")
        logging.getLogger("toolrt.tools").warning("%d items", tag)
        logging.getLogger("toolrt.tools").warning("%s", Silent())
        return tag
    def told(ctx: Context):
        ctx.progress(1, 2, "half")
        ctx.log("here", "warning")
        return [ctx.caller.principal, ctx.caller.roles, ctx.caller.tenant, ctx.call_id, ctx.tool, 0 < ctx.deadline_s <= 30]
    def hang(mark: str):
        child = subprocess.Popen(["sleep", "60"])
        with open(mark, "w") as file:
            file.write(f"{os.getpid()} {child.pid}")
        time.sleep(60)
    def die(how: int): os.kill(os.getpid(), how)
    def leave(status: int): os._exit(status)
    def refuse(): raise ToolError("no", code="sold-out", hint="later", retryable=True, details={"left": 0})
    def fail(): raise ValueError("first\\nsecond")
    def quit(): sys.exit(3)
    def stop(): raise StopIteration
    def huge(): return "x" * (65 * 1024**2)
    def odd(): return object()
    def forks(how: str, ctx: Context):
        child = os.fork()
        if child == 0:
            ctx.progress(9, 9, "clone")
            ctx.log("clone")
            if how == "raises": raise ValueError("clone")
            if how == "exits": sys.exit(7)
            return "clone"
        return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    def leaves_a_child():
        if os.fork() == 0:
            time.sleep(20)
        os._exit(5)
    def late(ctx: Context):
        def tell():
            time.sleep(0.05)
            ctx.progress(1, 1, "late")
            ctx.log("late")
        threading.Thread(target=tell).start()
        return "first"
    def slow(ctx: Context):
        time.sleep(0.15)
        ctx.progress(2, 2, "own")
        return "second"

    class Kit:
        def __init__(self, base: int):
            made.append(base)
            self.base = base
        def add(self, n: int): return [self.base + n, len(made)]
"""


@pytest.fixture(scope="module")
def project(tmp_path_factory):
    made = Project(tmp_path_factory.mktemp("project"))
    made.write("process_kit", KIT)
    others = children()
    yield made
    workers = set(children()) - set(others)
    asyncio.run(made.close())
    assert workers
    assert not any(map(is_there, workers))


def bind(project, name, **options):
    bound = project.bind(f"process_kit:{name}", run_in="process", **options)
    assert bound.faults == []
    return bound


def children():
    """Our child processes, whichever thread started them."""
    listed = [path.read_text("ascii") for path in Path("/proc/self/task").glob("*/children")]
    return [int(pid) for pid in " ".join(listed).split()]


def is_there(pid):
    """Whether a process is there, as a zombie too."""
    return Path(f"/proc/{pid}").exists()


def pids_in(mark):
    while not (mark.exists() and " " in mark.read_text()):
        time.sleep(0.01)
    return map(int, mark.read_text().split())


async def gone(pid, within_s=20.0):
    deadline = time.monotonic() + within_s
    while is_there(pid) and time.monotonic() < deadline:  # noqa: ASYNC110 - /proc tells nobody
        await asyncio.sleep(0.01)
    return not is_there(pid)


async def failure(bound, **arguments):
    call = bound.invocation(**arguments)
    with pytest.raises(CallError) as error:
        await bound.binding.call(call)
    return error.value, call


async def test_calls_share_a_process_that_is_not_ours(project):
    first = await bind(project, "pid").value()
    second = await bind(project, "pid").value()

    assert first == second != os.getpid()


async def test_arguments_and_results_are_converted_there(project):
    assert await bind(project, "day").value(when="2026-01-31") == "2026-01-31"
    assert await bind(project, "later").value(n=5) == 5

    error, _ = await failure(bind(project, "day"), when="soon")
    assert isinstance(error, RefusedError)
    assert error.code == "invalid-arguments"


async def test_what_a_callable_prints_disturbs_nobody(project, capfd):
    fresh = Project(project.folder)
    assert await bind(fresh, "noisy").value(n=5) == 5
    assert await bind(fresh, "noisy").value(n=6) == 6
    await fresh.close()

    out, err = capfd.readouterr()
    assert out == ""
    assert err.count("noise") == 2


async def test_context_works_across_the_border(project, caplog):
    caplog.set_level(logging.INFO, "toolrt.tools")
    told = []
    bound = bind(project, "told")
    call = bound.invocation(on_progress=lambda *progress: told.append(progress))
    answer = await bound.binding.call(call)

    assert answer.value == ["ann", ["ops"], "acme", "c1", "kit.t", True]
    assert told == [(1, 2, "half")]
    assert [(r.levelname, r.message) for r in caplog.records] == [("WARNING", "kit.t [c1]: here")]


async def test_object_is_made_once_in_its_worker(project):
    bound = project.bind("add", object="process_kit:Kit", init={"base": 40}, run_in="process")

    assert [await bound.value(n=1), await bound.value(n=2)] == [[41, 1], [42, 1]]


@pytest.mark.realtime
async def test_e13_cancelled_call_kills_its_worker_and_what_that_started(project, tmp_path):
    mark = tmp_path / "mark"
    bound = bind(project, "hang")
    call = bound.invocation(mark=str(mark))
    task = asyncio.create_task(bound.binding.call(call))
    worker, child = await asyncio.to_thread(pids_in, mark)
    started = time.monotonic()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task

    assert time.monotonic() - started < AT_ONCE_S
    assert (call.is_orphaned, call.sent) == (False, "maybe")
    assert await gone(worker)
    assert await gone(child)
    assert await bind(project, "later").value(n=1) == 1


async def test_call_that_waits_for_a_worker_was_never_sent_when_cancelled(project, tmp_path):
    bound = bind(project, "hang")
    busy = [bound.invocation(mark=str(tmp_path / f"{n}")) for n in range(os.cpu_count() or 1)]
    waiting = bound.invocation(mark=str(tmp_path / "waiting"))
    tasks = [asyncio.create_task(bound.binding.call(call)) for call in (*busy, waiting)]
    await asyncio.sleep(0.05)
    for task in reversed(tasks):
        task.cancel()
    await asyncio.wait(tasks)

    assert waiting.sent == "never"
    assert not (tmp_path / "waiting").exists()


@pytest.mark.parametrize(
    ("name", "arguments", "code", "message"),
    [
        ("die", {"how": 11}, "signaled", "the worker process was ended by SIGSEGV"),
        ("die", {"how": 9}, "signaled", "the worker process was ended by SIGKILL"),
        ("leave", {"status": 3}, "execution-failed", "the worker process ended with status 3"),
    ],
)
async def test_s12_worker_that_dies_says_how(project, name, arguments, code, message):
    error, call = await failure(bind(project, name), **arguments)

    assert isinstance(error, BindingError)
    assert (error.code, error.message, error.sent, call.sent) == (code, message, "maybe", "maybe")
    assert await bind(project, "later").value(n=1) == 1


async def test_worker_that_died_while_idle_is_replaced(project):
    pid = await bind(project, "pid").value()
    os.kill(pid, 9)
    assert await bind(project, "pid").value() != pid


async def test_tool_error_passes_the_border_whole(project):
    error, _ = await failure(bind(project, "refuse"))

    assert isinstance(error, ToolError)
    assert (error.code, error.message, error.hint) == ("sold-out", "no", "later")
    assert (error.retryable, error.details) == (True, {"left": 0})


@pytest.mark.parametrize(
    ("name", "message"),
    [("fail", "ValueError: first"), ("quit", "SystemExit: 3"), ("stop", "StopIteration")],
)
async def test_exception_keeps_its_first_line_and_its_traceback_for_the_operator(
    project, name, message
):
    error, _ = await failure(bind(project, name))

    assert (error.code, error.message, error.sent) == ("execution-failed", message, "answered")
    assert "process_kit.py" in str(error.__cause__)


@pytest.mark.parametrize(
    ("name", "message"), [("odd", "has no JSON form"), ("huge", "more than 64 MiB")]
)
async def test_result_that_cannot_pass_is_a_bad_response(project, name, message):
    error, _ = await failure(bind(project, name))

    assert error.code == "bad-response"
    assert message in error.message


@pytest.mark.parametrize(("how", "status"), [("returns", 0), ("raises", 1), ("exits", 7)])
async def test_clone_that_a_callable_forks_is_ended_and_not_heard(project, caplog, how, status):
    caplog.set_level(logging.INFO, "toolrt.tools")
    told = []
    bound = bind(project, "forks")
    call = bound.invocation(on_progress=lambda *progress: told.append(progress), how=how)

    assert (await bound.binding.call(call)).value == status
    assert [await bind(project, "later").value(n=n) for n in range(3)] == [0, 1, 2]
    assert (told, caplog.records) == ([], [])


async def test_worker_that_dies_is_noticed_though_its_child_lives_on(project):
    started = time.monotonic()
    error, _ = await failure(bind(project, "leaves_a_child"))

    assert error.message == "the worker process ended with status 5"
    assert time.monotonic() - started < 10
    assert await bind(project, "later").value(n=1) == 1


async def test_late_word_of_an_earlier_call_reaches_no_other(tmp_path, caplog):
    caplog.set_level(logging.INFO, "toolrt.tools")
    project = Project(tmp_path)
    project.write("process_late", KIT)
    told = {"first": [], "second": []}
    for name, mark in (("late", "first"), ("slow", "second")):
        bound = project.bind(f"process_late:{name}", run_in="process")
        call = bound.invocation(
            on_progress=lambda *progress, mark=mark: told[mark].append(progress)
        )
        call.call_id = mark
        assert (await bound.binding.call(call)).value == mark
    await project.close()

    assert told == {"first": [], "second": [(2, 2, "own")]}
    assert [(record.call_id, record.message) for record in caplog.records] == [
        ("first", "kit.t [first]: late")
    ]


async def test_file_of_the_folder_we_are_in_takes_no_place_in_a_worker(tmp_path, monkeypatch):
    project = Project(tmp_path)
    project.write("process_folder", KIT)
    project.write("json", "raise SystemExit('taken')\n")
    monkeypatch.chdir(tmp_path)
    value = await project.bind("process_folder:later", run_in="process").value(n=5)
    await project.close()

    assert value == 5


async def test_live_callable_cannot_go_to_a_process(project):
    def fn():
        """Do."""

    assert project.bind(fn, run_in="process").faults == [("unsupported-callable", ("run_in",))]


def test_worker_ends_with_its_parent(tmp_path):
    project = Project(tmp_path)
    project.write("process_kit", KIT)
    script = tmp_path / "parent.py"
    script.write_text(
        f"import asyncio, os, sys\n"
        f"sys.path.insert(0, {str(Path(__file__).parents[2])!r})\n"
        "from pathlib import Path\n"
        "from tests.python_tools import Project\n"
        f"bound = Project(Path({str(tmp_path)!r})).bind('process_kit:pid', run_in='process')\n"
        "print(asyncio.run(bound.value()), flush=True)\n"
        "os._exit(0)\n",
        encoding="utf-8",
    )
    done = subprocess.run(
        [sys.executable, script], capture_output=True, text=True, check=True, timeout=20
    )

    assert asyncio.run(gone(int(done.stdout)))


async def test_o4_record_that_cannot_be_formatted_does_not_fail_its_author(project, caplog):
    caplog.set_level(logging.INFO, "toolrt.tools")
    assert await bind(project, "misspelt").value(tag="x") == "x"
    assert "%d items" in caplog.messages[0]
    assert len(caplog.messages) == 2


async def test_arguments_that_no_frame_holds_are_refused_and_the_worker_goes_on(project):
    bound = bind(project, "misspelt")
    with pytest.raises(RefusedError, match="arguments are more than 64 MiB") as error:
        await bound.value(tag="x" * (65 * 1024**2))
    assert error.value.code == "invalid-arguments"
    assert await bound.value(tag="x") == "x"


OBJECTS = """
    import asyncio, os, time
    from pathlib import Path

    def told(what):
        with Path("events").open("a") as file:
            file.write(f"{what} {os.getpid()}\\n")

    class Plain:
        def __init__(self): self.is_up = False
        def setup(self):
            told("setup")
            if Path("fails").exists(): raise ValueError("no s3at in /etc/x")
            self.is_up = True
        def teardown(self): told("teardown")
        def use(self) -> bool: return self.is_up

    class Soon:
        async def setup(self):
            self.loop = asyncio.get_running_loop()
            self.task = asyncio.create_task(asyncio.sleep(60))
        async def teardown(self):
            told(f"teardown {self.loop is asyncio.get_running_loop()}")
            raise ValueError("late")
        async def use(self) -> list:
            asyncio.create_task(asyncio.sleep(60))
            return [self.loop is asyncio.get_running_loop(), len(asyncio.all_tasks())]

    class Stuck(Plain):
        def teardown(self): time.sleep(60)
"""


@pytest.fixture
async def objects(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    project = Project(tmp_path)
    project.write("objects_kit", OBJECTS)
    yield project
    await project.close()


def used(objects, kind):
    return objects.bind("use", object=f"objects_kit:{kind}", run_in="process")


def events():
    path = Path("events")
    return [line.split() for line in path.read_text().splitlines()] if path.exists() else []


async def test_u49_an_object_is_set_up_in_its_worker_before_its_first_use_and_torn_down_in_the_end(
    objects,
):
    tool = used(objects, "Plain")
    assert events() == []
    assert [await tool.value(), await tool.value()] == [True, True]
    await objects.close()

    [(setup, first), (teardown, last)] = events()
    assert (setup, teardown) == ("setup", "teardown")
    assert first == last != str(os.getpid())


async def test_u49_what_is_set_up_asynchronously_lives_on_the_loop_of_its_calls(objects, caplog):
    tool = used(objects, "Soon")
    assert [await tool.value(), await tool.value()] == [[True, 3], [True, 3]]
    await objects.close()

    assert [each[:2] for each in events()] == [["teardown", "True"]]
    assert "`Soon` could not be torn down: ValueError: late" in caplog.text


async def test_u49_a_setup_that_fails_in_its_worker_was_never_sent_and_is_tried_again(objects):
    tool = used(objects, "Plain")
    (objects.folder / "fails").touch()
    error, call = await failure(tool)
    assert (error.code, error.hint) == ("unavailable", "nothing ran")
    assert error.message == "`Plain` could not be set up: ValueError: no s3at in …/x"
    assert (error.sent, call.sent) == ("never", "never")
    (objects.folder / "fails").unlink()
    assert await tool.value() is True
    await objects.close()

    assert [each[0] for each in events()] == ["setup", "setup", "teardown"]


async def test_u49_an_object_that_only_takes_its_time_to_be_torn_down_holds_nobody_up(
    objects, monkeypatch
):
    monkeypatch.setattr("toolrt.bindings.python_process.TEARDOWN_S", 0.3)
    assert await used(objects, "Stuck").value() is True
    before = time.monotonic()
    await objects.close()

    assert time.monotonic() - before < AT_ONCE_S
    assert not is_there(int(events()[0][1]))
