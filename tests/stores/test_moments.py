"""Points of time, and the machine's own."""

import time

import pytest

from toolrt.stores import moments
from toolrt.stores.moments import ManualMoments, Moment, SystemMoments, ahead, passed, settled

pytestmark = pytest.mark.anyio


def test_within_a_boot_only_the_time_since_it_counts():
    deadline = Moment(100.0, 50.0, "a").plus(10)

    assert deadline.remaining_s(Moment(9999.0, 55.0, "a")) == 5
    assert deadline.remaining_s(Moment(0.0, 60.0, "a")) == 0


def test_in_another_boot_only_the_wall_clock_counts():
    deadline = Moment(100.0, 50.0, "a").plus(10)

    assert deadline.remaining_s(Moment(105.0, 9999.0, "b")) == 5
    assert deadline.remaining_s(Moment(110.0, 0.0, "b")) == 0


def test_the_machine_counts_on_and_names_its_boot():
    source = SystemMoments()
    first, second = source.now(), source.now()

    assert abs(first.wall - time.time()) < 5
    assert second.boot_s >= first.boot_s
    assert first.boot_id == second.boot_id == SystemMoments().now().boot_id


def test_without_a_boot_id_every_process_is_a_boot_of_its_own(monkeypatch, tmp_path):
    monkeypatch.setattr(moments, "_BOOT_ID", tmp_path / "nothing")

    assert SystemMoments().now().boot_id != SystemMoments().now().boot_id


async def test_a6_the_store_never_goes_back_behind_the_latest_wall_clock(database):
    source = ManualMoments()
    seen = [await database.run(lambda s: settled(s, source.now()).wall)]
    for jump_s in (10, -3600, 5, 7200):
        source.jump(jump_s)
        seen.append(await database.run(lambda s: settled(s, source.now()).wall))

    start = seen[0]
    assert [wall - start for wall in seen] == [0, 10, 10, 10, 3615]


@pytest.mark.parametrize("after_s", [0.0, 60.0])
@pytest.mark.parametrize("boot", ["a", "b"])
async def test_a_statement_and_the_code_agree_about_what_has_passed(database, boot, after_s):
    end = Moment(100.0, 50.0, "a")

    def work(session, now):
        session.change("DELETE FROM journal_heads")
        session.change("CREATE TEMPORARY TABLE t (e_wall DOUBLE PRECISION, e_s DOUBLE PRECISION,"
                       " e_boot TEXT)")  # fmt: skip
        session.change("INSERT INTO t VALUES (?, ?, ?)", end.wall, end.boot_s, end.boot_id)
        counts = [
            session.row(f"SELECT count(*) FROM t WHERE {each.sql}", *each.parameters)[0]
            for each in (passed("e", now, after_s), ahead("e", now, after_s))
        ]
        session.change("DROP TABLE t")
        return counts

    for step in (-1.0, -0.001, 0.0, 0.001, 1.0):
        now = Moment(100.0 + after_s + step, 50.0 + after_s + step, boot)
        is_past = end.plus(after_s).remaining_s(now) <= 0
        assert await database.run(lambda s, now=now: work(s, now)) == [is_past, not is_past]
