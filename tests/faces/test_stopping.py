"""Signals that end a running call: nothing of it is left, whenever they come and however many."""

import contextlib
import os
import pty
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

TOOLS = """\
namespace: t
tools:
  stubborn:
    description: It does not obey TERM, nor does its child.
    parameters: {seconds: {type: number}}
    shell: {script: 'trap "" TERM; sleep "$1" & sleep "$1"; wait', argv: ["{{ seconds }}"]}
  tidy:
    description: It cleans up when it is told to end.
    parameters: {seconds: {type: number}}
    shell:
      script: 'trap "echo bye > tidied; exit" TERM; sleep "$1" & wait'
      argv: ["{{ seconds }}"]
  blocks: {python: {call: "slow:blocks", run_in: inline}}
"""

SLOW = '''\
"""Things that take long."""

import os
import time
from pathlib import Path

if Path("import-slowly").exists():
    Path("importing").touch()
    time.sleep(60)


def blocks() -> int:
    """Block the loop."""
    Path("blocking").touch()
    time.sleep(60)
    return 1
'''

PATIENT = """
from toolrt.bindings.process import ProcessRunner
from toolrt.faces.cli.main import run

ProcessRunner.__init__.__defaults__ = (60,)  # of grace: whatever ends sooner was killed
run()
"""
ENDS = [signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT]


class Run:
    """A call of `tool` by the command line, with a folder of its own for temporary files."""

    def __init__(self, folder, tool, *arguments, program=("-m", "toolrt")):
        self.folder = folder
        (folder / "tmp").mkdir(exist_ok=True)
        self.seconds = str(random.randrange(10**7, 10**8))
        arguments = arguments or (f"seconds={self.seconds}",)
        self.process = subprocess.Popen(
            [sys.executable, *program, "run", tool, *arguments],
            cwd=folder, env={**os.environ, "TMPDIR": str(folder / "tmp")},
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        )  # fmt: skip

    def children(self):
        return sleepers(self.seconds)

    def started(self):
        wait_until(self.children)

    def send(self, number):
        with contextlib.suppress(ProcessLookupError):
            self.process.send_signal(number)

    def ended(self, within_s):
        began = time.monotonic()
        out, err = self.process.communicate(timeout=20)
        assert time.monotonic() - began < within_s
        return self.process.returncode, out, err.strip()

    def left_behind(self):
        return [*self.children(), *(self.folder / "tmp").glob("toolrt-*")]


def sleepers(seconds):
    return [
        words
        for words in command_lines()
        if words[0].endswith(b"sleep") and seconds.encode() in words
    ]


def command_lines():
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        with contextlib.suppress(OSError):
            yield path.read_bytes().split(b"\0")


def wait_until(holds):
    until = time.monotonic() + 20
    while not holds():
        assert time.monotonic() < until
        time.sleep(0.01)


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "tools.d").mkdir()
    (tmp_path / "tools.d" / "t.yaml").write_text(TOOLS)
    (tmp_path / "slow.py").write_text(SLOW)
    return tmp_path


@pytest.mark.parametrize("number", ENDS, ids=lambda number: number.name)
def test_s7_one_signal_leaves_time_to_clean_up(folder, number):
    run = Run(folder, "t.tidy")
    run.started()
    run.send(number)

    assert run.ended(within_s=10) == (130, "", "interrupted")
    assert (folder / "tidied").exists()
    assert run.left_behind() == []


@pytest.mark.parametrize("number", ENDS, ids=lambda number: number.name)
def test_s7_a_second_signal_kills_at_once(folder, number):
    run = Run(folder, "t.stubborn", program=("-c", PATIENT))
    run.started()
    run.send(number)
    time.sleep(0.2)
    run.send(number)

    assert run.ended(within_s=5) == (130, "", "interrupted")
    assert run.left_behind() == []


@pytest.mark.parametrize("seed", range(6))
def test_s7_signals_at_any_time_leave_nothing_behind(folder, seed):
    chance = random.Random(seed)
    runs = [Run(folder, "t.stubborn") for _ in range(2)]
    if seed % 3:
        for run in runs:
            run.started()
    for _ in range(chance.randint(2, 6)):
        for run in runs:
            run.send(chance.choice(ENDS))
        time.sleep(chance.choice((0, 0.001, 0.02, 0.2)) * chance.random() * 2)
    for run in runs:
        status, out, _ = run.ended(within_s=10)
        assert (status in {130, *(-number for number in ENDS)}, out) == (True, "")
    for run in runs:
        assert run.left_behind() == []


def test_a_signal_while_a_module_is_imported_ends_at_once(folder):
    (folder / "import-slowly").touch()
    run = Run(folder, "t.blocks", "--dry-run")
    wait_until((folder / "importing").exists)
    run.send(signal.SIGTERM)

    assert run.ended(within_s=8) == (130, "", "interrupted")
    assert run.left_behind() == []


def test_a_second_signal_gets_through_to_a_callable_that_blocks_the_loop(folder):
    run = Run(folder, "t.blocks", "--quiet")
    wait_until((folder / "blocking").exists)
    run.send(signal.SIGINT)
    time.sleep(1.2)
    run.send(signal.SIGINT)

    assert run.ended(within_s=8) == (130, "", "interrupted")


def test_a_terminal_that_is_closed_ends_the_call(folder):
    seconds = str(random.randrange(10**7, 10**8))
    pid, terminal = pty.fork()
    if pid == 0:
        os.chdir(folder)
        os.environ["TMPDIR"] = str(folder)
        words = [sys.executable, "-m", "toolrt", "run", "t.tidy", f"seconds={seconds}"]
        os.execv(words[0], words)
    wait_until(lambda: sleepers(seconds))
    time.sleep(1.2)  # so that the line of progress is being drawn
    os.close(terminal)
    _, status = os.waitpid(pid, 0)

    assert os.waitstatus_to_exitcode(status) == 130
    assert sleepers(seconds) == []
    assert list(folder.glob("toolrt-home-*")) == []


def test_hang_ups_that_are_ignored_stay_ignored(folder):
    command = [
        "sh", "-c", 'trap "" HUP; exec "$@"', "sh",
        sys.executable, "-m", "toolrt", "run", "t.tidy", "seconds=1.25",
    ]  # fmt: skip
    process = subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE)
    wait_until(lambda: sleepers("1.25"))
    process.send_signal(signal.SIGHUP)
    process.communicate(timeout=20)

    assert process.returncode == 0
