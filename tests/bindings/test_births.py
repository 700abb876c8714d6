import os
import signal

import pytest

from toolrt.bindings import births as module
from toolrt.bindings.births import Births

SLEEP = ["/bin/sleep", "30"]


def end(pid):
    os.killpg(pid, signal.SIGKILL)
    os.waitpid(pid, 0)


@pytest.fixture
def births(tmp_path, monkeypatch):
    """Where the youngest is number 10, until `births.youngest` says another."""
    listing = tmp_path / "loadavg"
    monkeypatch.setattr(module, "_BIRTHS", str(listing))

    class Told(Births):
        def youngest(self, pid):
            listing.write_text(f"0.10 0.20 0.30 1/100 {pid}\n")

    told = Told()
    told.youngest(10)
    yield told
    told.close()


def test_s10_a_process_that_others_were_born_after_is_not_the_last():
    births = Births()
    first = os.posix_spawn(SLEEP[0], SLEEP, os.environ, setpgroup=0)
    second = os.posix_spawn(SLEEP[0], SLEEP, os.environ, setpgroup=0)
    assert not births.is_last(first)
    end(first)
    end(second)
    births.close()


def test_s10_another_file_in_place_of_the_kept_one_says_nothing(tmp_path):
    births = Births()
    births.is_last(1)
    os.close(births._file)
    other = os.open(tmp_path, os.O_RDONLY)
    births._file = other
    assert not births.is_last(1)
    births.close()


def test_s5_a_child_that_nobody_was_born_after_has_left_none(births):
    births.note(10)
    assert births.has_left_none(10)


def test_s5_children_of_ours_that_were_born_later_are_not_its_own(births):
    for pid in (10, 11, 12):
        births.note(pid)
    births.youngest(12)
    assert births.has_left_none(10)


def test_s5_anybody_else_may_be_of_its_making(births):
    for pid in (10, 12):
        births.note(pid)
    births.youngest(12)
    assert not births.has_left_none(10)
    assert births.has_left_none(12)


def test_s5_a_number_that_was_ours_before_is_not_taken_for_ours_now(births):
    for pid in (11, 10):
        births.note(pid)
    births.youngest(11)
    assert not births.has_left_none(10)


@pytest.mark.parametrize("last", [9, 75, 10_000])
def test_s5_numbers_that_went_far_or_back_say_nothing(births, last):
    for pid in range(10, 10 + module._MOST):
        births.note(pid)
    births.youngest(last)
    assert not births.has_left_none(10)


def test_s5_a_child_that_ran_for_long_may_have_seen_the_numbers_come_round(births, monkeypatch):
    births.note(10)
    now = module.time.monotonic()
    monkeypatch.setattr(module.time, "monotonic", lambda: now + module._LONGEST_S + 0.01)
    assert not births.has_left_none(10)


def test_s5_nothing_is_known_of_one_that_was_not_noted_or_is_forgotten(births):
    assert not births.has_left_none(10)
    for pid in range(10, 10 + module._MOST + 1):
        births.note(pid)
    assert not births.has_left_none(10)


@pytest.mark.parametrize("text", ["", "0.10 0.20 0.30 1/100", "x y"])
def test_s5_a_system_that_does_not_say_says_nothing(births, tmp_path, text):
    births.note(10)
    (tmp_path / "loadavg").write_text(text)
    assert not births.has_left_none(10)


def test_s5_what_a_child_leaves_is_noticed_however_it_went_away():
    births = Births()
    leaving = ["/bin/sh", "-c", "setsid -f sleep 0.2"]
    pid = os.posix_spawn(leaving[0], leaving, os.environ)
    births.note(pid)
    os.waitpid(pid, 0)
    assert not births.has_left_none(pid)
    births.close()
