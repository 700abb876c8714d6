import os
import signal
import time

from toolrt.bindings import limits
from toolrt.bindings.limits import Births, set_limits

SLEEP = ["/bin/sleep", "30"]
ONE_CHILD = ["/bin/bash", "-c", "sleep 30 & wait"]


def end(pid):
    os.killpg(pid, signal.SIGKILL)
    os.waitpid(pid, 0)


def test_s10_a_process_that_others_were_born_after_is_not_the_last():
    births = Births()
    first = os.posix_spawn(SLEEP[0], SLEEP, os.environ, setpgroup=0)
    second = os.posix_spawn(SLEEP[0], SLEEP, os.environ, setpgroup=0)
    assert not births.is_last(first)
    end(first)
    end(second)
    births.close()


def test_s10_a_process_with_a_child_is_never_taken_for_the_last():
    births = Births()
    pid = os.posix_spawn(ONE_CHILD[0], ONE_CHILD, os.environ, setpgroup=0)
    give_up = time.monotonic() + 10
    while not limits.children(pid) and time.monotonic() < give_up:
        time.sleep(0.01)
    assert not births.is_last(pid)
    end(pid)
    births.close()


def test_s10_children_are_looked_up_where_the_system_does_not_tell_of_births(monkeypatch):
    asked = []
    monkeypatch.setattr(limits, "_BIRTHS", "/no/such")
    monkeypatch.setattr(limits, "children", lambda pid: asked.append(pid) or [])
    set_limits(os.getpid(), (), Births())
    assert asked == [os.getpid()]


def test_s10_another_file_in_place_of_the_kept_one_says_nothing(tmp_path):
    births = Births()
    births.is_last(1)
    os.close(births._file)
    other = os.open(tmp_path, os.O_RDONLY)
    births._file = other
    assert not births.is_last(1)
    births.close()
