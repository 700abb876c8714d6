"""The process that keeps workers: what it is told in any moment of theirs comes to its end."""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
from click.testing import CliRunner
from served import FILES

from toolrt.faces.cli.main import cli
from toolrt.testing import write_files

ROOT = Path(__file__).resolve().parents[2]
KEPT = """
import os, signal, sys, time
from toolrt.faces.cli.workers import READY, Keeper


def work(number, line):
    starting(number)
    signal.signal(signal.SIGTERM, lambda *_: os._exit(0))
    signal.signal(signal.SIGHUP, lambda *_: os.write(1, b"hangup\\n"))
    line.send(READY)
    while True:
        os.write(1, b"told %b\\n" % line.recv(64))


keeper = Keeper(work, 3)
"""


def kept(how: str) -> tuple[int, str]:
    """The status of a keeper of three workers, and what was written until its end."""
    script = KEPT + how + "\nsys.exit(keeper.run())\n"
    done = subprocess.run(
        [sys.executable, "-c", script],
        capture_output=True, text=True, timeout=20, check=False,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )  # fmt: skip
    return done.returncode, done.stdout + done.stderr


def test_a_worker_that_starts_hears_of_a_reload_once_it_has_started() -> None:
    status, written = kept("""
def starting(number):
    if number == 1:
        time.sleep(0.2)
        os.kill(os.getppid(), signal.SIGHUP)
        os.kill(os.getpid(), signal.SIGHUP)
        time.sleep(0.5)
        os.write(1, b"started\\n")
        signal.signal(signal.SIGALRM, lambda *_: os.kill(os.getppid(), signal.SIGTERM))
        signal.setitimer(signal.ITIMER_REAL, 0.5)
""")

    assert "told R" in written.partition("started")[2]
    assert status == 0


def test_an_end_that_comes_while_a_worker_is_made_ends_that_too() -> None:
    status, _ = kept("""
def starting(number):
    pass


def ends():
    starts.append(1)
    if len(starts) == 2:
        os.kill(os.getpid(), signal.SIGTERM)


starts = []
os.register_at_fork(after_in_parent=ends)
""")

    assert status == 0


def test_a_worker_that_hears_nothing_holds_up_nobody() -> None:
    status, written = kept("""
def starting(number):
    if number == 1:
        signal.signal(signal.SIGTERM, lambda *_: os._exit(0))
        time.sleep(60)


def work(number, line):
    line.send(READY)
    starting(number)
    if len(starts) == 4:
        os.write(1, b"another\\n")
        os.kill(os.getppid(), signal.SIGTERM)
    for _ in range(2000):
        line.send(b"R")
        time.sleep(0.0005)
    os._exit(7)


starts = []
os.register_at_fork(before=lambda: starts.append(1))
keeper.work = work
""")

    assert "another" in written
    assert status == 0


@pytest.mark.parametrize("folder", ["x" * 120, "nothing"])
def test_workers_that_can_have_no_sockets_are_told_so(tmp_path, monkeypatch, folder) -> None:
    project = write_files(tmp_path / "project", FILES)
    (tmp_path / ("x" * 120)).mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / folder))
    serve = ["-p", str(project), "serve", "--port", "0", "--workers", "2"]
    said = CliRunner().invoke(cli, serve)

    assert said.exit_code == 1
    assert "workers cannot have sockets of their own" in said.stderr
    assert "TMPDIR" in said.stderr
