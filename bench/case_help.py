"""`toolrt --help` against a Python that only imports click: user + system time, best of many."""

import os
import sys
from pathlib import Path

from rounds import Figure, show

RUNS = 12
TOOLRT = [str(Path(sys.executable).parent / "toolrt"), "--help"]
CLICK = [sys.executable, "-c", "import click"]


def cpu_s(command: list[str]) -> float:
    """User and system time of one run of `command`, its output thrown away."""
    nowhere = [(os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0)]
    pid = os.posix_spawn(command[0], command, os.environ, file_actions=nowhere)
    _, status, usage = os.wait4(pid, 0)
    if os.waitstatus_to_exitcode(status):
        raise SystemExit(f"{command} failed")
    return usage.ru_utime + usage.ru_stime


pairs = [(cpu_s(TOOLRT), cpu_s(CLICK)) for _ in range(RUNS)]
ours, limit = (min(column) for column in zip(*pairs, strict=True))
show(Figure("toolrt --help, CPU", "import click", ours / limit, 2.0, 1.5))
