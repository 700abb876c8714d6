"""Where the files of the state should be stands something else, or half of one (A21)."""

import json
import os
import signal
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest
import store_process

import toolrt
from toolrt.stores.base import StoreError
from toolrt.stores.key import lasting_key
from toolrt.stores.private import is_there
from toolrt.stores.sqlite import SqliteDatabase

pytestmark = pytest.mark.anyio

ENVIRONMENT = {**os.environ, "PYTHONPATH": str(Path(toolrt.__file__).parent.parent)}


def a_folder(path, _canary):
    path.mkdir()


def a_pipe(path, _canary):
    os.mkfifo(path)


def a_link(path, canary):
    path.symlink_to(canary)


def a_link_to_nothing(path, canary):
    path.symlink_to(canary.with_name("nothing"))


ODD = {
    "a folder": a_folder,
    "a pipe": a_pipe,
    "a link": a_link,
    "a link to elsewhere": a_link_to_nothing,
}
NAMES = ("state.db", "state.db-wal", "state.db-shm", "key")


@pytest.fixture
def path(folder):
    return folder / ".toolrt" / "state.db"


async def used(path):
    """Use the store and the key."""
    database = SqliteDatabase(path, busy_s=0.1)
    try:
        await database.run(lambda s: s.row("SELECT count(*) FROM approvals"))
        return lasting_key(path.with_name("key"))
    finally:
        await database.close()


def seen(folder):
    """What lies there: names, kinds, and to whom they are open."""
    return {each.name: (each.lstat().st_ino, each.lstat().st_mode) for each in folder.iterdir()}


@pytest.mark.parametrize("odd", ODD.values(), ids=list(ODD))
@pytest.mark.parametrize("name", NAMES)
async def test_a21_what_is_no_file_is_told_at_once_and_left_as_it_is(folder, path, name, odd):
    await used(path)
    place, canary = path.with_name(name), folder / "canary" / "file"
    canary.parent.mkdir()
    if place.exists():
        place.rename(canary)
    else:
        canary.write_bytes(b"")
    canary.chmod(0o644)
    odd(place, canary)
    before = seen(path.parent), seen(canary.parent), canary.read_bytes()

    with pytest.raises(StoreError) as caught:
        await used(path)
    assert caught.value.problem == "unreachable"
    assert str(place) in caught.value.message
    assert "no file" in caught.value.message
    assert caught.value.hint
    assert (seen(path.parent), seen(canary.parent), canary.read_bytes()) == before
    assert is_there(place)


def killed_while_asking(path):
    """Ids that a process was told before it was killed; its log is left behind."""
    child = subprocess.Popen(
        [sys.executable, "-W", "ignore", store_process.__file__, "ask", str(path), "k", "100000"],
        env=ENVIRONMENT, stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    told = [json.loads(child.stdout.readline())[0] for _ in range(60)]
    child.send_signal(signal.SIGKILL)
    told += [json.loads(line)[0] for line in child.stdout.read().splitlines() if line.endswith("]")]
    child.wait()
    child.stdout.close()
    return told


def kept(path):
    with closing(sqlite3.connect(path)) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        return [id_ for (id_,) in connection.execute("SELECT id FROM approvals ORDER BY rowid")]


@pytest.mark.realtime
async def test_a1_what_a_killed_process_left_in_its_log_is_kept(path):
    told = killed_while_asking(path)
    assert path.with_name("state.db-wal").stat().st_size > 0

    await used(path)
    assert set(told) <= set(kept(path))


@pytest.mark.realtime
@pytest.mark.parametrize("share", [0.0, 0.001, 0.5, 0.999])
async def test_a21_of_a_log_that_was_cut_off_what_is_whole_counts_and_nothing_is_half_there(
    path, share
):
    told = killed_while_asking(path)
    log = path.with_name("state.db-wal")
    size = log.stat().st_size
    os.truncate(log, int(size * share))

    await used(path)
    found = kept(path)
    assert found == (told + found)[: len(found)] or found[: len(told)] == told
    assert len(found) >= len(told) if share == 1 else len(found) <= len(told) + 1
