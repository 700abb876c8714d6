"""A store that is full, locked, broken or gone, seen from the calls of a whole runtime (A21)."""

import asyncio
import json
import os
import random
import shutil
import sqlite3
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import pytest

import toolrt
from tests.faults import full, read_only
from tests.faults.ledger import ANN, SEED, amount, show, write_ledger
from tests.limits import AT_ONCE_S

pytestmark = pytest.mark.anyio

PAGE = 4096


@pytest.fixture
def root(tmp_path):
    return write_ledger(tmp_path)


@pytest.fixture
def path(root):
    return root / ".toolrt" / "state.db"


async def ask(runtime, line="x"):
    return await runtime.call("ledger.note", {"line": line, "pause_s": 0}, ANN)


def told(result):
    """The code of a failure, or the status."""
    return result.error.code if result.error else result.status


async def used(root, count=40):
    """Leave a store behind that has been used; gives an approval that may run."""
    async with toolrt.open(root) as runtime:
        ids = [(await ask(runtime, f"{number}")).pause.approval_id for number in range(count)]
        for id_ in ids[::2]:
            await runtime.approvals.approve(id_, ANN)
    return ids[0]


def lines(root):
    return (root / "lines").read_text().splitlines()


def contents(path):
    return {each.name: each.read_bytes() for each in path.parent.iterdir()}


def emptied(path):
    path.write_bytes(b"")


def of_no_database(path):
    path.write_bytes(b"this is no database" * 100)


def halved(path):
    os.truncate(path, path.stat().st_size // 2)


def without_its_tables(path):
    path.write_bytes(path.read_bytes()[:100] + b"\xff" * (path.stat().st_size - 100))


@pytest.mark.parametrize("harm", [emptied, of_no_database, halved, without_its_tables])
async def test_a21_with_a_broken_store_no_question_is_asked_nothing_runs_and_reads_go_on(
    root, path, harm
):
    approved = await used(root)
    harm(path)
    before = path.read_bytes()
    async with toolrt.open(root) as runtime:
        assert told(await ask(runtime)) == "approval-unavailable"
        assert told(await ask(runtime, "0")) == "approval-unavailable"
        with pytest.raises(toolrt.ToolrtError):
            await runtime.approvals.run(approved)
        assert (await runtime.call("ledger.look", {})).data == 0
        assert told(await ask(runtime)) == "approval-unavailable"

    assert lines(root) == []
    assert path.read_bytes() == before


def newer(path):
    with sqlite3.connect(path) as connection:
        connection.execute("PRAGMA user_version = 1000")
    connection.close()


def a_folder(path):
    path.unlink()
    path.mkdir()


def a_pipe(path):
    path.unlink()
    os.mkfifo(path)


def a_link(path):
    path.symlink_to(path.rename(path.with_name("elsewhere")))


@pytest.mark.parametrize("harm", [newer, a_folder, a_pipe, a_link])
async def test_a21_what_is_no_store_of_ours_lets_nothing_through_and_is_left_as_it_is(
    root, path, caplog, harm
):
    approved = await used(root, 2)
    harm(path)
    before = {each.name: each.lstat()[:2] for each in path.parent.iterdir()}
    async with toolrt.open(root) as runtime:
        assert told(await ask(runtime)) == "approval-unavailable"
        assert told(await ask(runtime, "0")) == "approval-unavailable"
        with pytest.raises(toolrt.ToolrtError):
            await runtime.approvals.run(approved)
        assert (await runtime.call("ledger.look", {})).data == 0

    assert lines(root) == []
    assert {each.name: each.lstat()[:2] for each in path.parent.iterdir()} == before
    assert str(path) in caplog.text


@pytest.mark.parametrize("is_there", [True, False])
def test_a21_where_nothing_can_be_written_no_question_is_asked_and_reads_go_on(tmp_path, is_there):
    write_ledger(tmp_path)
    if is_there:
        asyncio.run(used(tmp_path, 2))
    mount = 'mount --bind "$1" "$1" && mount -o remount,bind,ro "$1" && shift && exec "$@"'
    private = ["unshare", "--mount", "--map-root-user", "sh", "-c", mount, "sh", str(tmp_path)]
    path = os.pathsep.join([str(Path(toolrt.__file__).parent.parent), *sys.path])
    done = subprocess.run(
        [*private, sys.executable, "-W", "ignore", read_only.__file__, str(tmp_path)],
        env={**os.environ, "PYTHONPATH": path}, capture_output=True, text=True, check=False,
    )  # fmt: skip
    if done.returncode and not done.stdout and "Traceback" not in done.stderr:
        pytest.skip(f"no mounts of its own here: {done.stderr.strip()}")
    assert done.returncode == 0, done.stderr
    seen = json.loads(done.stdout)

    assert seen == {"asked": "approval-unavailable", "approved": "approval-unavailable", "look": 0}
    assert "may be written" in done.stderr
    assert (tmp_path / ".toolrt").exists() is is_there


@pytest.mark.parametrize("is_open", [True, False])
async def test_a21_a_store_with_broken_pages_lets_nothing_through_and_runs_nothing_twice(
    root, path, is_open
):
    chance, came_to = random.Random(SEED), Counter()
    count = amount(8, 150)
    for number in range(count):
        shutil.rmtree(path.parent, ignore_errors=True)
        approved = await used(root, 6)
        async with toolrt.open(root) as runtime:
            if is_open:
                await ask(runtime, "opened")
            scribbled(path, chance)
            written = len(lines(root))
            asked = told(await ask(runtime, f"{number} broken"))
            assert asked in {"paused", "approval-unavailable"}
            came_to[f"ask: {asked}"] += 1
            for _ in range(2):
                came_to[f"run: {await ran(runtime, approved)}"] += 1
            assert told(await runtime.call("ledger.look", {})) == "success"
            assert len(lines(root)) <= written + 1
    show("broken pages", is_open=is_open, stores=count, came_to=came_to)


async def ran(runtime, approval):
    try:
        return told(await runtime.approvals.run(approval))
    except toolrt.ToolrtError:
        return "unreadable"


def scribbled(path, chance):
    """Overwrite some pages, but the first, with anything."""
    size = path.stat().st_size // PAGE
    with path.open("r+b") as file:
        for page in chance.sample(range(1, size), min(chance.randrange(1, 12), size - 1)):
            file.seek(page * PAGE)
            file.write(chance.randbytes(PAGE))


@pytest.mark.parametrize("takes_all", [True, False])
async def test_a21_a_store_that_was_taken_away_is_not_made_anew_without_a_word(
    root, path, caplog, takes_all
):
    approved = await used(root)
    async with toolrt.open(root) as runtime:
        await ask(runtime, "opened")
        path.unlink()
        if takes_all:
            shutil.rmtree(path.parent)
        caplog.clear()
        assert told(await ask(runtime)) == "approval-unavailable"
        assert "was moved, deleted or replaced while it was in use" in caplog.text
        with pytest.raises(toolrt.ToolrtError):
            await runtime.approvals.run(approved)
    assert lines(root) == []


@pytest.mark.realtime
async def test_a21_a_locked_store_refuses_after_5_s_and_reads_go_on(root, path):
    approved = await used(root)
    async with toolrt.open(root) as runtime:
        await ask(runtime, "opened")
        with sqlite3.connect(path, isolation_level=None) as other:
            other.execute("BEGIN IMMEDIATE")
            began = time.monotonic()
            asked = asyncio.create_task(ask(runtime, "locked"))
            await asyncio.sleep(0.1)
            assert (await runtime.call("ledger.look", {})).data == 0
            assert time.monotonic() - began < AT_ONCE_S
            assert told(await asked) == "approval-unavailable"
            assert 4.5 < time.monotonic() - began < 9
            began = time.monotonic()
            assert (await runtime.approvals.current(approved)).state == "approved"
            assert len(await runtime.approvals.listed()) == 21
            assert time.monotonic() - began < 4
            other.execute("ROLLBACK")
        other.close()
        assert told(await ask(runtime, "locked")) == "paused"
        assert told(await runtime.approvals.run(approved)) == "success"
    assert lines(root) == ["0"]


def test_a21_a_full_disk_refuses_keeps_what_was_told_and_reads_go_on(tmp_path):
    command = [sys.executable, "-W", "ignore", full.__file__, str(tmp_path)]
    mount = f'mount -t tmpfs -o size=1m,mode=700 none "{tmp_path}" && exec "$@"'
    private = ["unshare", "--mount", "--map-root-user", "sh", "-c", mount, "sh"]
    path = os.pathsep.join([str(Path(toolrt.__file__).parent.parent), *sys.path])
    done = subprocess.run(
        [*private, *command], env={**os.environ, "PYTHONPATH": path}, capture_output=True,
        text=True, check=False,
    )  # fmt: skip
    if done.returncode and not done.stdout and "Traceback" not in done.stderr:
        pytest.skip(f"no mounts of its own here: {done.stderr.strip()}")
    assert done.returncode == 0, done.stderr
    seen = json.loads(done.stdout)

    assert seen["refused"] == ["approval-unavailable"]
    assert (seen["run"], seen["state"]) == ("approval-unavailable", "approved")
    assert seen["look"] == 0
    assert set(seen["paused"]) == set(seen["kept"])
    assert seen["listed"] == len(seen["paused"]) - 2  # not the approved one, nor the one after
    assert (seen["again"], seen["lines"], seen["verify"]) == ("success", ["first"], 0)
