"""`toolrt run --watch`, as a child: it stays, tells what changed, and calls again."""

import os
import signal
import subprocess
import sys
import threading
from queue import Empty, SimpleQueue

import pytest
from reloading_project import ECHO, RULES, Project, replace

pytestmark = pytest.mark.realtime


class Watch:
    """`toolrt run echo text=hi --watch` in a project; what it says is waited for."""

    def __init__(self, root, *more):
        command = [sys.executable, "-m", "toolrt", "run", "echo", "text=hi", "--watch", *more]
        self.child = subprocess.Popen(
            command, cwd=root, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
            env={**os.environ, "PYTHONUNBUFFERED": "1", "NO_COLOR": "1"},
        )  # fmt: skip
        self.lines = SimpleQueue()
        self.heard = []
        threading.Thread(target=self._listen, daemon=True).start()

    def _listen(self):
        for line in self.child.stdout:
            self.lines.put(line.rstrip("\n"))

    def wait_for(self, piece):
        while True:
            try:
                self.heard.append(self.lines.get(timeout=15))
            except Empty:
                raise AssertionError(f"no {piece!r} in {self.heard}") from None
            if piece in self.heard[-1]:
                return self.heard[-1]

    def end(self):
        self.child.send_signal(signal.SIGTERM)
        return self.child.wait(10)


@pytest.fixture
def watched(tmp_path):
    return Project(tmp_path / "watched")


@pytest.fixture
def watch(watched):
    started = []

    def begin(*more):
        started.append(Watch(watched.root, *more))
        return started[-1]

    yield begin
    for each in started:
        each.child.kill()
        each.child.wait()
        each.child.stdout.close()


def test_it_calls_again_after_a_change_and_tells_the_change(watched, watch):
    shown = watch()
    shown.wait_for("hi")
    replace(watched.tools, ECHO.replace('"{{ text }}"', '"<{{ text }}>"').replace("5s", "8s"))

    assert "timeout 5s -> 8s" in shown.wait_for("reloaded: ~ echo (")
    shown.wait_for("<hi>")
    assert shown.end() != 0


def test_a_broken_file_is_shown_and_the_last_good_generation_stays(watched, watch):
    shown = watch()
    shown.wait_for("hi")
    replace(watched.tools, ECHO.replace("timeout", "timeot"))

    shown.wait_for("tools.d/echo.yaml:7:5: error[unknown-key]")
    assert shown.wait_for("not reloaded").endswith("the files have 1 error; generation 1 stays")
    replace(watched.tools, ECHO.replace("5s", "6s"))
    shown.wait_for("reloaded: ~ echo (timeout 5s -> 6s)")


def test_files_that_are_mended_are_told_to_be_sound_again(watched, watch):
    shown = watch()
    shown.wait_for("hi")
    replace(watched.tools, ECHO.replace("timeout", "timeot"))
    shown.wait_for("not reloaded")
    replace(watched.tools, ECHO)

    shown.wait_for("sound again: the files are those of generation 1, which is in force")


def test_l6_a_changed_constant_that_a_rule_reads_is_told_and_waits(watched, watch):
    project = watched.root / "toolrt.yaml"
    project.write_text("vars: {word: loud}\n")
    replace(watched.rules, RULES.replace('"loud"', "vars.word"))
    shown = watch()
    shown.wait_for("hi")
    replace(project, "vars: {word: soft}\n")

    shown.wait_for("not reloaded: deny rule `loud` reads `vars.word`, which changes; generation 1")
    shown.wait_for("would be: ~ vars.word (loud -> soft)")


def test_l6_a_lost_rule_is_told_and_how_it_is_confirmed(watched, watch):
    shown = watch()
    shown.wait_for("hi")
    replace(watched.rules, RULES.replace("decide: deny", "decide: allow"))

    shown.wait_for("not reloaded: deny rule `loud` would no longer hold; generation 1 stays")
    shown.wait_for("hint: left as it is for 10 s it is taken as meant")


def test_l11_a_hangup_reloads(watched, watch):
    shown = watch()
    shown.wait_for("hi")
    shown.child.send_signal(signal.SIGHUP)

    shown.wait_for("reloaded: nothing has changed")
    assert shown.child.poll() is None


def test_arguments_from_stdin_are_refused(invoke):
    shown = invoke("run", "t.echo", "-", "--watch")

    assert shown.exit_code == 2
    assert "hint: write @file" in shown.stderr


def test_l10_folders_that_everybody_may_write_to_are_refused_unless_allowed(invoke, project):
    (project / "tools.d").chmod(0o777)
    refused = invoke("run", "t.echo", "text=hi")
    allowed = invoke("run", "t.echo", "text=hi", "--allow-foreign-config")

    assert refused.exit_code == 3
    assert "everybody may write to" in refused.stderr
    assert "--allow-foreign-config" in refused.stderr
    assert allowed.stdout == "hi\n"


def test_rules_that_may_not_hold_are_told_once_and_new_ones_after_a_reload(watched, watch):
    more = watched.root / "policies.d" / "more.yaml"
    more.write_text("rules: [{id: odd, decide: deny, tools: [ech]}]\n")
    shown = watch()
    shown.wait_for("warning:")
    replace(more, "rules: [{id: odd, decide: deny, tools: [ech, eco]}]\n")
    shown.wait_for("`eco` is no tool")

    assert len([line for line in shown.heard if "`ech` is no tool" in line]) == 1
