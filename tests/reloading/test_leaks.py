"""L9: what only an old generation used is gone once its last call has ended."""

import asyncio
import gc
import threading
import time
import weakref
from pathlib import Path

import pytest
from loopback import json_reply, loopback
from reloading_project import replace

import toolrt
from toolrt.bindings.network import Network
from toolrt.bindings.python_workers import WorkerPool
from toolrt.testing import write_files

pytestmark = [pytest.mark.anyio, pytest.mark.realtime]

KIT = """\
import os, time

def pid(wait: float = 0.0) -> int:
    "The process that answers."
    time.sleep(wait)
    return os.getpid()

def other() -> str:
    "Something else."
    return "other"

class Holder:
    def __init__(self, number):
        self.number = number

    def told(self) -> int:
        "What it was made with."
        return self.number
"""
TOOLS = """\
targets: {{api: {{url: "{url}", allow_private: true}}}}
tools:
  get: {{description: Get., http: {{target: api, url: "/{number}"}}}}
  say: {{description: Say., command: [echo, "{number}"], effect: read}}
  count: {{description: Count., python: "kit:other", timeout: {number}s}}
  pid: {{description: Pid., python: {{call: "kit:pid", run_in: process}}, timeout: {number}s}}
  held: {{description: Held., python: {{object: "kit:Holder", call: told, init: {{number: {number}}}, run_in: process}}}}
"""
WITHOUT_PID = """\
tools:
  say: {description: Say., command: [echo, x], effect: read}
"""


class Watched:
    """An open project whose tools a test changes, and what the process holds meanwhile."""

    def __init__(self, root, runtime):
        self.tools = root / "tools.d" / "t.yaml"
        self.runtime = runtime

    async def change(self, text):
        replace(self.tools, text)
        outcome = await self.runtime.reload()
        assert outcome.is_new, outcome.why or outcome.report

    async def call(self, name, **arguments):
        result = await self.runtime.call(name, arguments)
        assert result.error is None, result.error
        return result.data if result.data is not None else result.text


@pytest.fixture
async def watched(tmp_path):
    write_files(tmp_path, {"kit.py": KIT, "tools.d/t.yaml": WITHOUT_PID})
    async with toolrt.open(tmp_path) as runtime:
        yield Watched(tmp_path, runtime)


def descriptors():
    return sum(1 for _ in Path("/proc/self/fd").iterdir())


def children():
    tasks = Path("/proc/self/task").iterdir()
    return {int(each) for task in tasks for each in (task / "children").read_text().split()}


async def until(holds, what):
    give_up = time.monotonic() + 5
    while not holds():
        assert time.monotonic() < give_up, what
        await asyncio.sleep(0.01)


def is_running(pid):
    return Path(f"/proc/{pid}").exists()


async def test_l9_many_generations_hold_no_more_than_one(watched):
    async with loopback(json_reply('"x"')) as server:
        generations, held = [], []
        for number in range(1, 13):
            url = f"http://a{number}.localhost:{server.port}"
            await watched.change(TOOLS.format(url=url, number=number))
            for name in ("get", "say", "count", "pid", "held"):
                await watched.call(name)
            generations.append(weakref.ref(watched.runtime.snapshot))
            held.append((descriptors(), threading.active_count(), len(children())))

        gc.collect()
        assert sum(each() is not None for each in generations) == 1
        early, late = held[3], held[-1]
        assert all(after <= before + 2 for before, after in zip(early, late, strict=True)), held


async def test_l9_the_first_generation_goes_like_any_other(watched):
    first = weakref.ref(watched.runtime.snapshot)
    await watched.change(WITHOUT_PID.replace("[echo, x]", "[echo, y]"))
    await watched.call("say")
    gc.collect()

    assert first() is None


async def test_l9_connections_to_a_target_that_is_gone_are_closed_at_once(watched):
    async with loopback(json_reply('"x"')) as server:
        await watched.change(TOOLS.format(url=server.url, number=1))
        before = descriptors()
        await watched.call("get")
        assert descriptors() > before
        network = watched.runtime._services.share(Network)
        await watched.change(WITHOUT_PID)

        await until(lambda: descriptors() <= before, "the connection is still open")
        await until(lambda: not network._transports, "the pool is still there")


async def test_l9_connections_to_a_target_that_stays_are_kept(watched):
    async with loopback(json_reply('"x"')) as server:
        for number in range(1, 5):
            await watched.change(TOOLS.format(url=server.url, number=number))
            await watched.call("get")

        assert server.connections == 1


async def test_l9_a_call_under_way_keeps_its_connection_until_it_ends(watched):
    go = asyncio.Event()

    async def slowly():
        await go.wait()
        yield json_reply('"late"')

    async with loopback(lambda _heard: slowly()) as server:
        await watched.change(TOOLS.format(url=server.url, number=5))
        before = descriptors()
        call = asyncio.create_task(watched.call("get"))
        await server.until_heard(1)
        await watched.change(WITHOUT_PID)
        await asyncio.sleep(0.05)
        assert descriptors() > before
        go.set()

        assert await call == "late"
        await until(lambda: descriptors() <= before, "the connection is still open")
        network = watched.runtime._services.share(Network)
        await until(lambda: all(each.is_closed for each in network._leaving), "still leaving")


async def test_l9_a_call_of_an_old_generation_may_still_connect(watched):
    """It retries over a new connection, which nobody keeps."""
    answers = iter([json_reply('"no"', 503), json_reply('"yes"')])
    go = asyncio.Event()

    async def slowly():
        await go.wait()
        yield next(answers)

    text = TOOLS.replace("http: {{target", "retry: {{attempts: 2, initial: 300ms}}, http: {{target")
    async with loopback(lambda _heard: slowly()) as server:
        await watched.change(text.format(url=server.url, number=5))
        before = descriptors()
        call = asyncio.create_task(watched.call("get"))
        await server.until_heard(1)
        await watched.change(WITHOUT_PID)
        go.set()

        assert await call == "yes"
        await until(lambda: descriptors() <= before, "the connection is still open")


async def test_l9_the_worker_of_a_tool_that_is_gone_ends(watched):
    await watched.change(TOOLS.format(url="http://127.0.0.1:9", number=1))
    worker = await watched.call("pid")
    assert is_running(worker)
    await watched.change(WITHOUT_PID)

    await until(lambda: not is_running(worker), "the worker is still there")
    pool = watched.runtime._services.share(WorkerPool)
    await until(lambda: not pool._workers, "the pool still counts it")


async def test_l9_a_worker_at_work_ends_with_its_call(watched):
    await watched.change(TOOLS.format(url="http://127.0.0.1:9", number=5))
    call = asyncio.create_task(watched.call("pid", wait=0.3))
    pool = watched.runtime._services.share(WorkerPool)
    await until(lambda: pool._workers, "no worker")
    await watched.change(WITHOUT_PID)
    worker = await call

    await until(lambda: not is_running(worker), "the worker is still there")


async def test_l9_the_worker_of_a_tool_that_stays_is_kept(watched):
    await watched.change(TOOLS.format(url="http://127.0.0.1:9", number=1))
    worker = await watched.call("pid")
    for number in (2, 3):
        await watched.change(TOOLS.format(url="http://127.0.0.1:9", number=number))

    assert await watched.call("pid") == worker


async def test_l9_an_object_that_is_made_otherwise_is_made_in_another_worker(watched):
    await watched.change(TOOLS.format(url="http://127.0.0.1:9", number=1))
    before = await watched.call("held"), await watched.call("pid")
    await watched.change(TOOLS.format(url="http://127.0.0.1:9", number=2))
    after = await watched.call("held"), await watched.call("pid")

    assert (before[0], after[0]) == (1, 2)
    assert before[1] != after[1]
    await until(lambda: not is_running(before[1]), "the worker is still there")
