"""Several processes with one store, and some that are killed."""

import asyncio
import json
import os
import random
import signal
import sqlite3
import subprocess
import sys
from collections import Counter
from contextlib import closing
from pathlib import Path

import pytest
import store_process
from approval_desk import Desk, few

import toolrt
from toolrt.stores import approval_asks
from toolrt.stores.moments import SystemMoments
from toolrt.stores.sqlite import SqliteDatabase

pytestmark = pytest.mark.anyio

ENVIRONMENT = {**os.environ, "PYTHONPATH": str(Path(toolrt.__file__).parent.parent)}
PROCESSES = 6


def start(*arguments):
    command = [sys.executable, "-W", "ignore", store_process.__file__, *map(str, arguments)]
    pipe = subprocess.PIPE
    return subprocess.Popen(command, env=ENVIRONMENT, stdin=pipe, stdout=pipe, text=True)


def finish(child):
    """Its lines, once it has ended well."""
    text, _ = child.communicate(timeout=25)
    assert child.returncode == 0
    return [json.loads(line) for line in text.splitlines()]


def kill(child):
    """The lines that it got out whole."""
    child.send_signal(signal.SIGKILL)
    with child:
        text = child.stdout.read()
    return [json.loads(line) for line in text.splitlines(keepends=True) if line.endswith("\n")]


@pytest.fixture
def path(folder):
    return folder / ".toolrt" / "state.db"


@pytest.fixture
async def desk(path, anyio_backend):
    desk = Desk(SqliteDatabase(path))
    desk.moments = SystemMoments()
    yield desk
    await desk.database.close()


async def many(desk, count):
    """So many approvals that wait."""

    def work(session):
        moment = desk.moments.now()
        for number in range(count):
            new, caps = store_process.question(number), few(10**6, 10**6)
            approval_asks.create(session, new, moment, caps, seals=store_process.SEALS)

    await desk.database.run(work)


@pytest.mark.realtime
async def test_a3_a8_of_six_processes_one_decides_and_one_runs_each_call(desk, path):
    await many(desk, 120)
    children = [start("race", path, f"p{number}") for number in range(PROCESSES)]
    for child in children:
        child.stdout.readline()
    for child in children:
        child.stdin.write("go\n")
        child.stdin.flush()
    told = {f"p{number}": finish(child) for number, child in enumerate(children)}

    records = {each.id: each for each in await desk.listed(limit=1000)}
    for which, record in records.items():
        (vote,) = await desk.votes(which)
        said = {
            name: line
            for name, lines in told.items()
            for line in lines
            if line[:2] == ["decided", which]
        }
        winners = [name for name, (*_, code, _) in said.items() if code is None]
        assert winners == [vote.actor]
        assert said[vote.actor][2] == vote.verdict
        losers = [line for name, line in said.items() if name != vote.actor]
        assert {line[3] for line in losers} == {"already-decided"}
        assert {tuple(line[4]) for line in losers} == {(vote.actor, vote.verdict)}
        assert record.state == {"approve": "succeeded", "deny": "denied"}[vote.verdict]
    ran = Counter(line[1] for lines in told.values() for line in lines if line[0] == "ran")
    assert set(ran.values()) == {1}
    assert set(ran) == {which for which, record in records.items() if record.state == "succeeded"}
    lost = [line for lines in told.values() for line in lines if line[0] == "claimed" and line[2]]
    assert all(line[3] == records[line[1]].owner for line in lost)


@pytest.mark.realtime
async def test_a1_what_a_killed_process_was_told_is_kept_and_nothing_is_half_done(desk, path):
    luck = random.Random(4)
    told = {}
    for name in ("k0", "k1", "k2"):
        child = start("ask", path, name, 100_000)
        first = json.loads(child.stdout.readline())
        await asyncio.sleep(luck.uniform(0.05, 0.3))
        told[name] = {which for (which,) in [first, *kill(child)]}

    with closing(sqlite3.connect(path)) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        kept = connection.execute("SELECT id, asked_hash FROM approvals").fetchall()
        counted = dict(connection.execute("SELECT name, value FROM meta WHERE name LIKE 'asked%'"))
    for name, ids in told.items():
        found = {which for which, asked in kept if asked.startswith(f"a{name}-")}
        assert ids <= found
        assert len(found) - len(ids) <= 1  # committed, and killed before it was told
        assert counted[f"asked by {name}"] == str(len(found))


@pytest.mark.realtime
async def test_a9_what_a_killed_process_ran_is_unknown_and_runs_no_second_time(desk, path):
    await many(desk, 400)
    ran = []
    for name in ("k0", "k1", "k2"):
        child = start("race", path, name)
        child.stdout.readline()
        child.stdin.write("go\n")
        child.stdin.flush()
        await asyncio.sleep(0.15)
        ran += [line[1] for line in kill(child) if line[0] == "ran"]
    await asyncio.sleep(1.1)  # the lease
    await desk.sweep()

    assert len(ran) == len(set(ran)) > 0
    states = Counter(each.state for each in await desk.listed(limit=1000))
    assert states["claimed"] == 0
    assert states["unknown"] <= 3
    assert set(ran) <= {each.id for each in await desk.listed("succeeded", "unknown", limit=1000)}


@pytest.mark.realtime
def test_processes_that_make_open_and_close_a_store_at_once_lose_nothing(path):
    children = [start("open_and_close", path, 25) for _ in range(PROCESSES)]
    for child in children:
        finish(child)

    with closing(sqlite3.connect(path)) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        assert connection.execute("SELECT count(*) FROM meta").fetchone() == (25 * PROCESSES,)
    assert [each.name for each in path.parent.iterdir()] == ["state.db"]
