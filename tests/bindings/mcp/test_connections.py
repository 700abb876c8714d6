"""Connections to servers that behave, that break, and that mean harm: real processes all."""

import asyncio
import json
import os
import shutil
import sys
import time
from pathlib import Path

import pytest
from bindings.mcp.desk import opened

from toolrt.bindings.mcp import definitions
from toolrt.bindings.mcp.child import Child
from toolrt.bindings.mcp.connection import Connection
from toolrt.bindings.mcp.server import Launch

pytestmark = [pytest.mark.anyio, pytest.mark.realtime]

OBJECT = {"type": "object"}


def listed(folder, *names, **more):
    tools = [{"name": name, "description": name, "inputSchema": OBJECT, **more} for name in names]
    (folder / "tools.json").write_text(json.dumps(tools))


def is_alive(pid):
    try:
        os.kill(int(pid), 0)
    except ProcessLookupError:
        return False
    state = Path(f"/proc/{pid}/stat")
    return state.exists() and state.read_text().rpartition(")")[2].split()[0] != "Z"


def children():
    """The names of the processes that this one has started."""
    found = Path(f"/proc/self/task/{os.getpid()}/children").read_text().split()
    return [Path(f"/proc/{each}/comm").read_text() for each in found]


def open_files():
    return len(list(Path("/proc/self/fd").iterdir()))


async def until(condition, patience_s=10.0):
    ends = time.monotonic() + patience_s
    while not condition():
        assert time.monotonic() < ends, "it did not come to be"
        await asyncio.sleep(0.02)


async def test_a_server_is_asked_once_and_called_over_the_same_process(tmp_path):
    async with opened(tmp_path) as desk:
        assert await desk.names() == ["echo"]
        assert json.loads(await desk.call("echo", a=1)) == {"a": 1}
        assert json.loads(await desk.call("echo", a=2)) == {"a": 2}

    assert sum(note.startswith("started") for note in desk.notes()) == 1


async def test_u60_calls_at_once_share_the_first_connection(tmp_path):
    async with opened(tmp_path) as desk:
        await asyncio.gather(*(desk.call("echo", n=n) for n in range(20)))

    assert sum(note.startswith("started") for note in desk.notes()) == 1


async def test_pages_are_followed_to_the_last(tmp_path):
    listed(tmp_path, "a", "b", "c")
    async with opened(tmp_path, "paged") as desk:
        assert await desk.names() == ["a", "b", "c"]


async def test_pages_without_end_are_given_up(tmp_path):
    async with opened(tmp_path, "endless") as desk:
        assert await desk.names() is None


async def test_one_broken_definition_spoils_no_other(tmp_path):
    tools = [{"name": "good", "inputSchema": OBJECT}, {"name": "odd", "inputSchema": 7}, 8]
    (tmp_path / "tools.json").write_text(json.dumps(tools))
    async with opened(tmp_path) as desk:
        await desk.names()
        listing = desk.servers.listing(desk.server)

    assert [(each.name, each.problem is None) for each in listing.tools] == [
        ("good", True),
        ("odd", False),
        ("?", False),
    ]


async def test_an_error_of_a_tool_is_an_error(tmp_path):
    async with opened(tmp_path) as desk:
        failed = await desk.failure("fail")

    assert (failed.code, failed.message) == ("execution-failed", "no such book")


async def test_content_of_all_kinds_arrives(tmp_path):
    async with opened(tmp_path) as desk:
        image = await desk.call("image")
        resources = await desk.call("resources")
        odd = await desk.call("odd")
        structured = await desk.call("structured")
        bad = await desk.failure("bad")

    assert [each["type"] for each in image] == ["text", "image"]
    assert [each["type"] for each in resources] == ["resource", "resource_link"]
    assert "hologram" in odd
    assert structured == {"sum": 3}
    assert bad.code == "bad-response"


async def test_progress_is_passed_on(tmp_path):
    async with opened(tmp_path) as desk:
        await desk.call("progress")
        await until(lambda: len(desk.told) == 2)

    assert sorted(desk.told) == [(1.0, 2.0, "step 1"), (2.0, 2.0, "step 2")]


async def test_requests_of_a_server_are_refused(tmp_path):
    async with opened(tmp_path) as desk:
        said = await desk.call("ask")

    assert "not supported" in said.lower()


async def test_what_is_no_message_is_passed_over(tmp_path):
    async with opened(tmp_path) as desk:
        assert await desk.call("junk") == "{}"
        assert await desk.call("echo") == "{}"


async def test_a_call_that_is_cancelled_is_cancelled_at_the_server_within_100_ms(tmp_path):
    async with opened(tmp_path) as desk:
        await desk.names()
        calling = asyncio.create_task(desk.call("hang"))
        await until(lambda: "hang" in desk.notes())
        calling.cancel()
        done, _ = await asyncio.wait([calling], timeout=0.1)
        assert done
        await until(lambda: "cancelled" in desk.notes())
        assert await desk.call("echo") == "{}"


async def test_u64_a_server_that_dies_is_unavailable_with_a_reason_and_comes_back(tmp_path):
    async with opened(tmp_path) as desk:
        await desk.names()
        failed = await desk.failure("die")
        await until(lambda: desk.servers.fault(desk.server) is not None)
        fault, said = desk.servers.fault(desk.server), desk.servers.said(desk.server)
        await until(lambda: desk.servers.fault(desk.server) is None)
        assert await desk.call("echo") == "{}"

    assert (failed.code, failed.retryable) == ("unavailable", True)
    assert fault == "it ended with exit code 3"
    assert "out of paper" in said
    assert "paper" not in failed.message


async def test_a_server_that_dies_is_missed_though_its_child_holds_the_pipe(tmp_path):
    async with opened(tmp_path, "spawning") as desk:
        await desk.names()
        failed = await desk.failure("die")
        await until(lambda: desk.servers.fault(desk.server) is not None)
        child = next(note.split()[1] for note in desk.notes() if note.startswith("child"))
        await until(lambda: not is_alive(child))

    assert failed.code == "unavailable"


@pytest.mark.parametrize("anyio_backend", [("asyncio", {"use_uvloop": True})])
async def test_servers_work_on_the_loop_that_serves(tmp_path, anyio_backend):
    async with opened(tmp_path, "spawning") as desk:
        assert await desk.names() == ["echo"]
        assert await desk.call("echo") == "{}"
        assert (await desk.failure("die")).code == "unavailable"
        await until(lambda: desk.servers.fault(desk.server) is not None)
        await until(lambda: desk.servers.fault(desk.server) is None)
        assert await desk.call("echo") == "{}"

    pids = [note.split()[1] for note in desk.notes() if note.startswith(("started", "child"))]
    await until(lambda: not any(map(is_alive, pids)), 2.0)


async def test_a_server_that_cannot_start_says_why_to_the_operator_and_waits_longer(tmp_path):
    async with opened(tmp_path, "broken") as desk:
        assert await desk.names() is None
        assert desk.servers.fault(desk.server) == "it ended with exit code 1"
        assert "no configuration" in desk.servers.said(desk.server)
        await until(lambda: len(desk.notes()) >= 2)
        failed = await desk.failure("echo")

    assert failed.code == "unavailable"
    assert failed.sent == "never"
    assert "configuration" not in failed.message


async def test_u58_a_connect_timeout_is_kept_as_it_is_written(tmp_path):
    async with opened(tmp_path, "silent", timeout={"connect": "400ms"}) as desk:
        begun = time.monotonic()
        assert await desk.names() is None
        took_s = time.monotonic() - begun

    assert 0.35 < took_s < 3
    assert desk.servers.fault(desk.server) is None or "0.4 s" in desk.servers.fault(desk.server)


async def test_a_line_without_an_end_ends_the_connection_and_not_the_memory(tmp_path):
    async with opened(tmp_path) as desk:
        await desk.names()
        failed = await desk.failure("flood")
        await until(lambda: desk.servers.fault(desk.server) is not None)
        fault = desk.servers.fault(desk.server)

    assert failed.code == "unavailable"
    assert fault == "it sent a message that is too long"


async def test_a_storm_of_changes_is_few_looks(tmp_path):
    async with opened(tmp_path) as desk:
        await desk.names()
        begun = time.monotonic()
        await desk.call("storm", times=1200)
        await desk.call("echo")
        took_s = time.monotonic() - begun
        await asyncio.sleep(0.5)

    assert desk.notes().count("listed") <= 2 + took_s + 1


async def test_a_changed_list_is_heard_of(tmp_path):
    listed(tmp_path, "echo", "notify")
    async with opened(tmp_path) as desk:
        heard = []
        await desk.names()
        desk.servers.on_change(lambda: heard.append(desk.servers.listing(desk.server)))
        listed(tmp_path, "echo", "notify", "more")
        await desk.call("notify")
        await until(lambda: heard)

    assert [each.name for each in heard[-1].tools] == ["echo", "notify", "more"]


async def test_no_process_no_file_and_no_task_is_left(tmp_path):
    files, tasks = open_files(), asyncio.all_tasks()
    async with opened(tmp_path, "stubborn", "spawning") as desk:
        await desk.names()
        calling = asyncio.create_task(desk.failure("hang"))
        await until(lambda: "hang" in desk.notes())
    await calling

    pids = [note.split()[1] for note in desk.notes() if note.startswith(("started", "child"))]
    assert len(pids) == 2
    await until(lambda: not any(map(is_alive, pids)), 2.0)
    assert asyncio.all_tasks() <= tasks
    assert open_files() <= files


async def test_a_server_gets_what_is_written_and_nothing_else_of_the_environment(tmp_path):
    environ = {"HOME": "/nowhere", "AWS_SECRET_ACCESS_KEY": "x", "MINE": "s3cret"}
    async with opened(tmp_path, environ=environ, env={"TOKEN": "${env:MINE}"}) as desk:
        said = await desk.call("secret")

    assert said.startswith("s3cret ")
    assert "HOME" in said
    assert "AWS" not in said
    assert "MINE" not in said


async def test_after_the_end_nothing_is_started_any_more(tmp_path):
    async with opened(tmp_path) as desk:
        pass
    failed = await desk.failure("echo")

    assert failed.code == "unavailable"
    assert desk.notes() == []


async def test_connections_that_nobody_needs_end(tmp_path):
    async with opened(tmp_path) as desk:
        await desk.names()
        pid = desk.notes()[0].split()[1]
        desk.servers.keep_only(desk.server.uses)
        await asyncio.sleep(0.1)
        assert is_alive(pid)
        desk.servers.keep_only(frozenset())
        await until(lambda: not is_alive(pid))


def test_waits_between_tries_are_bounded():
    from toolrt.bindings.mcp import connection

    assert connection.FIRST_WAIT_S < connection.LONGEST_WAIT_S <= 60
    assert Connection.call


async def test_tools_on_many_pages_are_bounded_together(tmp_path, monkeypatch):
    monkeypatch.setattr(definitions, "MOST_TOOLS", 3)
    listed(tmp_path, "a", "b", "c", "d", "e")
    async with opened(tmp_path, "paged") as desk:
        assert await desk.names() == ["a", "b", "c"]
        assert desk.servers.listing(desk.server).left_out == 2


async def test_two_looks_at_a_time_do_not_mix_their_pages(tmp_path):
    listed(tmp_path, "a", "b", "c")
    async with opened(tmp_path, "paged") as desk:
        await desk.names()
        looks = await asyncio.gather(*(desk.names() for _ in range(5)))

    assert looks == [["a", "b", "c"]] * 5


@pytest.mark.parametrize(
    "line", ["\\n", '{\\"jsonrpc\\": \\"2.0\\", \\"id\\": 999, \\"result\\": {}}\\n']
)
async def test_a_flood_of_lines_that_nobody_asked_for_holds_nobody_else(tmp_path, line):
    flood = f"import sys\nfor _ in range(60): sys.stdout.write('{line}' * 20_000)\n"
    code = "import subprocess, sys, runpy\nsubprocess.Popen([sys.executable, 'flood.py'])\n"
    (tmp_path / "flood.py").write_text(flood)
    (tmp_path / "start.py").write_text(f"{code}runpy.run_path('mcp_server.py')\n")
    async with opened(tmp_path, command=[sys.executable, "start.py"]) as desk:
        looking = asyncio.create_task(desk.names())
        worst, ends = 0.0, time.monotonic() + 1.5
        while time.monotonic() < ends:
            before = time.monotonic()
            await asyncio.sleep(0.005)
            worst = max(worst, time.monotonic() - before)
        looking.cancel()
        await asyncio.wait([looking])

    assert worst < 0.4


@pytest.mark.parametrize("turns", range(8))
async def test_a_start_that_is_given_up_at_any_moment_leaves_nothing(tmp_path, turns):
    before = open_files()
    launch = Launch(("cat",), shutil.which("cat"), {}, {}, tmp_path)
    starting = asyncio.create_task(Child.start(launch, {}))
    for _ in range(turns):
        await asyncio.sleep(0)
    starting.cancel()
    await asyncio.wait([starting])
    if not starting.cancelled():
        await starting.result().end()

    assert open_files() == before
    assert not any(name == "cat\n" for name in children())
