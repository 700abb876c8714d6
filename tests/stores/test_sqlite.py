"""The embedded store: its file, and what becomes of it when things go wrong."""

import asyncio
import json
import os
import shutil
import sqlite3
import stat
import subprocess
import sys
import tempfile
import threading
import time
from contextlib import closing
from pathlib import Path

import pytest
import store_process
from approval_desk import Desk

import toolrt
from toolrt.stores.base import StoreError
from toolrt.stores.sqlite import SqliteDatabase
from toolrt.stores.tables import APPLICATION_ID, VERSION

pytestmark = pytest.mark.anyio

SCRIPT = store_process.__file__
ENVIRONMENT = {**os.environ, "PYTHONPATH": str(Path(toolrt.__file__).parent.parent)}
NOBODY = 65534


def mode(path):
    return stat.S_IMODE(path.stat().st_mode)


def process(*arguments, **options):
    """One that runs to its end: its lines."""
    done = subprocess.run(
        [sys.executable, "-W", "ignore", SCRIPT, *map(str, arguments)],
        **{"env": ENVIRONMENT, "capture_output": True, "text": True, "timeout": 20, **options},
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


@pytest.fixture
def path(folder):
    return folder / ".toolrt" / "state.db"


@pytest.fixture
async def made(path, anyio_backend):
    """The path of a store that holds one approval, and is closed."""
    desk = Desk(SqliteDatabase(path))
    await desk.ask(id="kept")
    await desk.database.close()
    return path


async def trouble(path):
    """The error that using the store there meets."""
    database = SqliteDatabase(path, busy_s=0.1)
    with pytest.raises(StoreError) as caught:
        await database.run(lambda s: s.rows("SELECT * FROM approvals"))
    with pytest.raises(StoreError) as again:
        await database.run(lambda s: s.rows("SELECT * FROM approvals"))
    await database.close()
    assert again.value.problem == caught.value.problem
    assert str(path.parent) in caught.value.message
    assert caught.value.hint
    return caught.value


async def test_nothing_is_made_before_first_use(path):
    database = SqliteDatabase(path)
    await database.close()

    assert not path.parent.exists()


async def test_a1_the_file_is_safe_and_for_its_owner_only(path):
    before = os.umask(0)
    try:
        database = SqliteDatabase(path)
        pragmas = ("journal_mode", "synchronous", "application_id", "user_version", "foreign_keys")
        found = await database.run(lambda s: [s.row(f"PRAGMA {each}")[0] for each in pragmas])
        await database.run(lambda s: s.change("INSERT INTO meta VALUES ('a', '1')"))
    finally:
        os.umask(before)

    assert found == ["wal", 2, APPLICATION_ID, VERSION, 1]
    assert mode(path.parent) == 0o700
    files = {each.name: mode(each) for each in path.parent.iterdir()}
    assert files == {"state.db": 0o600, "state.db-wal": 0o600, "state.db-shm": 0o600}
    await database.close()
    assert [each.name for each in path.parent.iterdir()] == ["state.db"]


async def test_a_file_open_to_others_is_closed_to_them(made):
    made.chmod(0o664)
    database = SqliteDatabase(made)
    await database.read(lambda s: s.row("SELECT 1"))
    await database.close()

    assert mode(made) == 0o600


async def test_what_was_kept_is_there_the_next_time(made):
    desk = Desk(SqliteDatabase(made))
    assert (await desk.get("kept")).state == "pending"
    await desk.database.close()


async def test_a4_what_was_erased_is_not_in_the_file_either(path):
    desk = Desk(SqliteDatabase(path))
    asked = await desk.ask(sealed='{"card":"4111-2222-3333"}' + 2000 * " 4111-2222")
    await desk.cancel(asked.id)
    await desk.database.close()

    assert b"4111-2222" not in path.read_bytes()


def scribble(path):
    data = bytearray(path.read_bytes())
    data[4096:] = b"\x5a" * (len(data) - 4096)
    path.write_bytes(data)


def cut(path):
    data = path.read_bytes()
    path.write_bytes(data[: len(data) // 2])


def drop(path):
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("DROP TABLE approvals")


CORRUPTIONS = {
    "no database": lambda path: path.write_text("hello " * 1000),
    "another beginning": lambda path: path.write_bytes(b"\0" * 100 + path.read_bytes()[100:]),
    "other pages": scribble,
    "cut off": cut,
    "empty": lambda path: path.write_bytes(b""),
    "a table gone": drop,
}


@pytest.mark.parametrize("corrupt", CORRUPTIONS.values(), ids=list(CORRUPTIONS))
async def test_a21_a_corrupt_file_is_told_and_left_as_it_is(made, corrupt):
    corrupt(made)
    before = made.read_bytes()

    assert (await trouble(made)).problem == "corrupt"
    assert made.read_bytes() == before


async def test_a21_a_file_that_is_gone_while_its_log_is_there_is_not_made_anew(made):
    log = made.with_name("state.db-wal")
    log.write_bytes(b"x" * 100)
    made.unlink()

    assert (await trouble(made)).problem == "corrupt"
    assert [each.name for each in made.parent.iterdir()] == ["state.db-wal"]


@pytest.mark.parametrize("application_id", [0, 1234])
async def test_a21_a_file_of_another_program_is_left_alone(path, application_id):
    path.parent.mkdir()
    with closing(sqlite3.connect(path)) as connection:
        connection.execute(f"PRAGMA application_id = {application_id}")
        connection.execute("CREATE TABLE approvals (which)")
    before = path.read_bytes()

    assert (await trouble(path)).problem == "foreign"
    assert path.read_bytes() == before


async def test_a21_a_file_of_a_later_version_is_left_alone(made):
    with closing(sqlite3.connect(made)) as connection:
        connection.execute(f"PRAGMA user_version = {VERSION + 1}")
        connection.commit()

    error = await trouble(made)
    assert error.problem == "newer"
    assert "upgrade" in error.hint


async def test_a21_a_store_that_is_locked_for_too_long_is_told_and_works_again_later(made):
    database = SqliteDatabase(made, busy_s=0.1)
    await database.read(lambda s: s.row("SELECT 1"))
    with closing(sqlite3.connect(made, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(StoreError) as caught:
            await database.run(lambda s: s.change("INSERT INTO meta VALUES ('a', '1')"))
        assert await database.read(lambda s: s.row("SELECT count(*) FROM approvals")) == (1,)
    assert caught.value.problem == "locked"

    await database.run(lambda s: s.change("INSERT INTO meta VALUES ('a', '1')"))
    await database.close()


async def test_who_waits_for_a_store_that_others_use_without_pause_has_a_turn_in_time(made):
    database, ended = SqliteDatabase(made, busy_s=4), threading.Event()

    def hold():
        with closing(sqlite3.connect(made, isolation_level=None)) as other:
            while not ended.is_set():
                other.execute("BEGIN IMMEDIATE")
                time.sleep(0.02)
                other.execute("ROLLBACK")
                time.sleep(0.0003)

    holding = threading.Thread(target=hold)
    holding.start()
    try:
        for _ in range(6):
            await database.run(lambda s: s.change("DELETE FROM meta"))
    finally:
        ended.set()
        holding.join()
        await database.close()


async def test_a21_of_many_that_meet_a_lock_each_waits_once_and_not_for_those_before_it(made):
    database = SqliteDatabase(made, busy_s=0.4)
    await database.read(lambda s: s.row("SELECT 1"))
    with closing(sqlite3.connect(made, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        began = time.monotonic()
        work = [database.run(lambda s: s.change("DELETE FROM meta")) for _ in range(10)]
        results = await asyncio.gather(*work, return_exceptions=True)
        took = time.monotonic() - began
        assert [result.problem for result in results] == ["locked"] * 10
        assert 0.4 <= took < 1.6

        began = time.monotonic()
        with pytest.raises(StoreError):
            await database.run(lambda s: s.change("DELETE FROM meta"))
        assert time.monotonic() - began >= 0.4
    await database.close()


async def test_a_store_that_is_locked_for_a_moment_is_waited_for(made):
    database = SqliteDatabase(made, busy_s=5)
    with closing(sqlite3.connect(made, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        waiting = asyncio.create_task(
            database.run(lambda s: s.change("INSERT INTO meta VALUES ('a', '1')"))
        )
        await asyncio.sleep(0.1)
        assert not waiting.done()
    assert await waiting == 1
    await database.close()


async def test_a21_a_store_without_room_is_told_and_keeps_what_it_has(made):
    desk = Desk(SqliteDatabase(made))
    (pages,) = await desk.database.run(lambda s: s.row("PRAGMA page_count"))
    await desk.database.run(lambda s: s.row(f"PRAGMA max_page_count = {pages}"))

    with pytest.raises(StoreError) as caught:
        await desk.ask("big", arguments="x" * 100_000)
    assert caught.value.problem == "full"
    assert "room" in caught.value.hint
    assert [each.id for each in await desk.listed()] == ["kept"]
    await desk.database.close()


def test_a21_a_store_at_the_limit_of_a_files_size_is_told_and_keeps_what_it_has(path):
    ((number, problem),) = process("small", path, 400_000)

    assert number > 10
    assert problem in {"full", "unreachable"}
    with closing(sqlite3.connect(path)) as connection:
        assert connection.execute("SELECT count(*) FROM meta").fetchone() == (number,)
        assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)


async def test_a21_a_missing_folder_is_told_and_not_made(folder):
    path = folder / "no" / "such" / "state.db"

    assert (await trouble(path)).problem == "unreachable"
    assert list(folder.iterdir()) == []


async def test_a21_a_folder_in_the_place_of_the_file_is_told(path):
    path.mkdir(parents=True)

    assert (await trouble(path)).problem == "unreachable"


@pytest.mark.parametrize("is_there", [True, False])
def test_a21_a_folder_that_may_not_be_written_is_told(is_there):
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name) / ".toolrt"
        folder.mkdir()
        if is_there:
            process("problem", folder / "state.db")
            (folder / "state.db").chmod(0o400)
        folder.chmod(0o500)
        Path(name).chmod(0o755)
        if os.getuid() == 0:  # whom no permission stops
            for each in (folder, *folder.iterdir()):
                os.chown(each, NOBODY, NOBODY)
        try:
            ((problem, message, hint),) = process("unprivileged", folder / "state.db", NOBODY)
        finally:
            folder.chmod(0o700)

    assert problem == "unreachable"
    assert "state.db" in message
    assert hint


async def test_a_store_works_again_once_its_trouble_is_over(folder):
    path = folder / "later" / ".toolrt" / "state.db"
    database = SqliteDatabase(path)
    with pytest.raises(StoreError):
        await database.run(lambda s: s.row("SELECT 1"))

    path.parent.parent.mkdir()
    assert await database.run(lambda s: s.row("SELECT 1")) == (1,)
    await database.close()


async def test_a_file_brought_back_from_a_backup_is_of_use_at_once(made):
    backup = made.with_name("backup")
    shutil.copy(made, backup)
    scribble(made)
    desk = Desk(SqliteDatabase(made))
    with pytest.raises(StoreError, match="corrupt"):
        await desk.get("kept")
    backup.replace(made)

    assert (await desk.get("kept")).state == "pending"
    await desk.database.close()


@pytest.mark.parametrize("is_replaced", [True, False])
async def test_a21_a_file_taken_away_while_in_use_is_told_and_nothing_is_lost_in_it(
    made, is_replaced
):
    desk = Desk(SqliteDatabase(made))
    await desk.get("kept")
    backup = made.with_name("backup")
    shutil.copy(made, backup)
    made.unlink()
    if is_replaced:
        backup.replace(made)

    with pytest.raises(StoreError) as caught:
        await desk.ask("lost")
    assert caught.value.problem == "unreachable"
    assert "while it was in use" in caught.value.message
    if is_replaced:
        assert [each.id for each in await desk.listed()] == ["kept"]
    await desk.database.close()


async def test_a_mistake_in_a_statement_is_no_trouble_of_the_store(made):
    database = SqliteDatabase(made)
    with pytest.raises(sqlite3.OperationalError, match="syntax"):
        await database.read(lambda s: s.rows("SELEC"))
    await database.close()


def test_a_store_opened_before_a_fork_is_refused_after_it(path):
    assert process("forked", path) == [[0]]
    with closing(sqlite3.connect(path)) as connection:
        assert connection.execute("SELECT count(*) FROM meta").fetchone() == (2,)


def test_a_store_opened_after_a_fork_works(path):
    assert process("forked_before", path) == [[0]]


async def test_a_path_with_odd_characters_is_only_a_path(folder):
    path = folder / "a?mode=memory&b#c%20 é" / "state.db"
    path.parent.mkdir()
    database = SqliteDatabase(path)
    await database.run(lambda s: s.row("SELECT 1"))
    await database.close()

    assert [each.name for each in path.parent.iterdir()] == ["state.db"]


async def test_a_draft_that_was_left_behind_is_in_nobodys_way(path):
    path.parent.mkdir()
    draft = path.parent / ".state.db-abc"
    draft.write_bytes(b"half")
    database = SqliteDatabase(path)
    await database.run(lambda s: s.row("SELECT 1"))
    await database.close()

    assert draft.read_bytes() == b"half"
    shutil.rmtree(path.parent)
