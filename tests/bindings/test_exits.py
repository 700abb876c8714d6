import signal

import pytest

from toolrt.bindings.exits import answer
from toolrt.bindings.oom import oom_kills
from toolrt.bindings.outputs import Captured
from toolrt.bindings.process import Finished
from toolrt.core.errors import BindingError


def finished(exit_code=None, number=None, **more):
    return Finished(exit_code, number, Captured(b"out"), Captured(b"err"), 0.1, **more)


def test_s12_death_for_want_of_memory_says_so():
    with pytest.raises(BindingError, match=r"\(SIGKILL\): the system was out of memory"):
        answer(finished(number=signal.SIGKILL, out_of_memory=True), {0}, "text")


def test_a_pipe_that_broke_under_a_shell_is_explained():
    with pytest.raises(BindingError, match=r"^exited with 141: err$") as caught:
        answer(finished(141), {0}, "text")
    assert caught.value.hint.startswith("128+13: a program of a pipe was stopped because")


def test_exit_code_that_was_lost_may_have_had_an_effect():
    with pytest.raises(BindingError, match="taken by somebody else") as caught:
        answer(finished(), {0}, "text")
    assert caught.value.sent == "maybe"


def test_body_of_a_failure_is_its_json_if_it_is_any():
    failed = Finished(1, None, Captured(b'{"a": '), Captured(), 0.1)
    with pytest.raises(BindingError) as caught:
        answer(failed, {0}, "text")
    assert caught.value.body is None


@pytest.mark.parametrize(
    "text",
    ["low 0\noom 3\noom_kill 2\n", "oom_kill_disable 0\nunder_oom 0\noom_kill 2\n"],
    ids=["version 2", "version 1"],
)
def test_s12_the_cgroup_counts_kills_for_want_of_memory(tmp_path, text):
    (tmp_path / "events").write_text(text)
    assert oom_kills(tmp_path / "events") == 2


def test_s12_a_system_that_does_not_count_them_is_fine(tmp_path):
    assert oom_kills(tmp_path / "none") == 0
