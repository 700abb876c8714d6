"""The tables: what they forbid, and how they change from version to version."""

import sqlite3
from contextlib import closing

import pytest

from toolrt.stores import sqlite, tables
from toolrt.stores.base import ForbiddenChangeError
from toolrt.stores.sqlite import SqliteDatabase
from toolrt.stores.tables import MIGRATIONS, VERSION, Guard

pytestmark = pytest.mark.anyio

ENTRY = "INSERT INTO journal VALUES ('w', 1, 'call', 0, 0, 1, ?, 'mac')"
PRUNING = "INSERT INTO meta (name, value) VALUES ('pruning', '1')"


async def test_a20_the_journal_takes_entries_and_gives_none_back(database):
    await database.run(lambda s: s.change(ENTRY, b"{}"))

    for sql in (
        "UPDATE journal SET mac = 'x'",
        "UPDATE journal SET seq = 2",
        "DELETE FROM journal",
    ):
        with pytest.raises(ForbiddenChangeError, match="journal"):
            await database.run(lambda s, sql=sql: s.change(sql))
    assert await database.read(lambda s: s.rows("SELECT body FROM journal")) == [(b"{}",)]


async def test_a20_a_number_of_a_writer_is_used_once(database):
    await database.run(lambda s: s.change(ENTRY, b"{}"))

    with pytest.raises(ForbiddenChangeError):
        await database.run(lambda s: s.change(ENTRY, b"[]"))


@pytest.mark.parametrize("table", ["journal", "approvals", "approval_decisions", "grants"])
async def test_retention_deletes_what_nothing_else_may(desk, table):
    asked = await desk.ask()
    await desk.decide(asked.id)
    await desk.grant(approval_id=None)
    await desk.database.run(lambda s: s.change(ENTRY, b"{}"))

    def prune(session):
        session.change(PRUNING)
        gone = session.change(f"DELETE FROM {table}")
        session.change("DELETE FROM meta WHERE name = 'pruning'")
        return gone

    with pytest.raises(ForbiddenChangeError, match="kept"):
        await desk.database.run(lambda s: s.change(f"DELETE FROM {table}"))
    assert await desk.database.run(prune) == 1
    found = await desk.database.read(lambda s: s.rows(f"SELECT * FROM {table}"))
    assert found == []


async def test_two_open_questions_about_one_call_are_forbidden_by_the_tables(desk):
    await desk.ask(id="a")
    columns = "id, state, asked_hash"
    kept = await desk.database.read(lambda s: s.row(f"SELECT {columns} FROM approvals"))
    assert kept == ("a", "pending", "asked-1")

    with pytest.raises(ForbiddenChangeError):
        await desk.database.run(
            lambda s: s.change(
                "INSERT INTO approvals (id, state, mode, tool, tool_hash, asked_hash, final_hash,"
                " asked_arguments, arguments, caller, principal, rules, terms, generation,"
                " policy_hash, call_id, created_wall, created_s, created_boot, expires_wall,"
                " expires_s, expires_boot) SELECT 'b', state, mode, tool, tool_hash, asked_hash,"
                " final_hash, asked_arguments, arguments, caller, principal, rules, terms,"
                " generation, policy_hash, call_id, created_wall, created_s, created_boot,"
                " expires_wall, expires_s, expires_boot FROM approvals"
            )
        )


def test_names_of_guards_are_unique_and_name_their_table():
    guards = [each for steps in MIGRATIONS for each in steps if isinstance(each, Guard)]

    assert len({each.name for each in guards}) == len(guards)
    assert all(each.name.startswith(each.table) for each in guards)


def test_statements_use_no_word_that_only_one_database_knows():
    written = " ".join(
        each.when if isinstance(each, Guard) else each for steps in MIGRATIONS for each in steps
    ).upper()

    for word in ("AUTOINCREMENT", "ROWID", "STRICT", "SERIAL", "JSONB", "IFNULL", "GLOB", "PRAGMA"):
        assert f" {word}" not in written


@pytest.fixture
def later(monkeypatch):
    """Versions of toolrt that know more migrations."""

    def learn(*statements):
        monkeypatch.setattr(sqlite, "MIGRATIONS", (*MIGRATIONS, tuple(statements)))
        monkeypatch.setattr(sqlite, "VERSION", VERSION + 1)

    return learn


def version(path):
    with closing(sqlite3.connect(path)) as connection:
        return connection.execute("PRAGMA user_version").fetchone()[0]


async def opened(path):
    database = SqliteDatabase(path)
    try:
        return await database.read(lambda s: s.rows("SELECT name, value FROM meta"))
    finally:
        await database.close()


async def test_an_earlier_file_is_brought_up_to_date_and_keeps_what_it_has(folder, later):
    path = folder / "state.db"
    database = SqliteDatabase(path)
    await database.run(lambda s: s.change("INSERT INTO meta VALUES ('a', '1')"))
    await database.close()
    later("CREATE TABLE more (x TEXT)", "INSERT INTO meta VALUES ('b', '2')")

    assert await opened(path) == [("a", "1"), ("b", "2")]
    assert version(path) == VERSION + 1
    assert await opened(path) == [("a", "1"), ("b", "2")]


async def test_a_migration_that_fails_changes_nothing(folder, later):
    path = folder / "state.db"
    await opened(path)
    later("INSERT INTO meta VALUES ('b', '2')", "CREATE TABLE meta (x TEXT)")
    with pytest.raises(sqlite3.OperationalError):
        await opened(path)

    assert version(path) == VERSION
    with closing(sqlite3.connect(path)) as connection:
        assert connection.execute("SELECT * FROM meta").fetchall() == []


async def test_a_first_migration_that_fails_leaves_no_file(folder, later):
    later("CREATE TABLE meta (x TEXT)")
    with pytest.raises(sqlite3.OperationalError):
        await opened(folder / "state.db")

    assert list(folder.iterdir()) == []


def test_the_final_states_are_those_of_the_statements():
    assert set(tables.FINAL) == {"denied", "expired", "cancelled", "succeeded", "failed"}
