"""A project whose tools write one line a call into a file, and the judge who counts the lines.

The file is the only witness: what a process says of itself is compared with it, never believed.
"""

import json
import os
import sqlite3
from collections import Counter
from contextlib import closing
from pathlib import Path

import toolrt
from toolrt.core.calls import Caller
from toolrt.core.clock import SystemClock
from toolrt.testing import write_files

SHARE = float(os.environ.get("TOOLRT_SOAK", "0"))
"""How much of the long lanes is run, 1 for all of it; 0 runs the short ones."""
SEED = int(os.environ.get("TOOLRT_SEED", "20"))

TOOLS = """\
namespace: ledger
defaults: {effect: write, timeout: 20s}
tools:
  note:
    description: Write a line, in this process.
    python: ledger_tools:note
  send:
    description: Write a line, as a program.
    parameters: {line: string, pause_s: number}
    shell: {script: 'sleep "$2"; printf "%s\\n" "$1" >> lines', argv: ["{{ line }}", "{{ pause_s }}"]}
  look:
    description: How many lines there are.
    python: ledger_tools:look
    effect: read
"""
RULES = """\
rules:
- {id: ask, decide: ask, tools: [ledger.note, ledger.send]}
default: allow
limits: {pending: 1000000, asks: 1000000}
"""
MODULE = '''\
"""Writes and reads the ledger."""

import asyncio
import os
from pathlib import Path

LINES = Path(__file__).parent / "lines"


async def note(line: str, pause_s: float) -> str:
    """Write the line whole, and be a little while before and after it."""
    await asyncio.sleep(pause_s)
    number = os.open(LINES, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
    os.write(number, f"{line}\\n".encode())
    os.fsync(number)
    os.close(number)
    await asyncio.sleep(pause_s)
    return line


def look() -> int:
    return len(LINES.read_bytes().splitlines())
'''
FILES = {
    "tools.d/ledger.yaml": TOOLS,
    "policies.d/ledger.yaml": RULES,
    "ledger_tools.py": MODULE,
    "lines": "",
}
LEASE_OVER_S = 31.0
ANN = Caller("ann", may=frozenset({"call", "approve"}))


def write_ledger(root):
    return write_files(root, FILES)


def amount(short, long):
    """How many of something: `short` of it, or the share of `long` that is asked for."""
    return max(int(long * SHARE), short) if SHARE else short


def show(lane, **figures):
    """Tell what a lane has done; pytest keeps it for those who ask (`-s`)."""
    print(f"\n{lane}: " + json.dumps({"seed": SEED, **figures}))  # noqa: T201 - figures are the point


class Later(SystemClock):
    """A clock some seconds ahead, as of another boot."""

    def __init__(self, seconds):
        self._seconds = seconds

    def wall(self):
        return super().wall() + self._seconds


class Judge:
    """Reads what is there after the processes are gone."""

    def __init__(self, root):
        self.root = Path(root)
        self.path = self.root / ".toolrt" / "state.db"

    def lines(self):
        """How often each line was written."""
        return Counter((self.root / "lines").read_text().splitlines())

    def rows(self, sql="SELECT id, state, arguments, owner FROM approvals"):
        with closing(sqlite3.connect(self.path)) as connection:
            return connection.execute(sql).fetchall()

    def states(self):
        """State and line by approval."""
        return {id_: (state, json.loads(text)["line"]) for id_, state, text, _ in self.rows()}

    def votes(self):
        """Actor and verdict by approval."""
        found = {}
        for id_, actor, verdict in self.rows(
            "SELECT approval_id, actor, verdict FROM approval_decisions"
        ):
            found.setdefault(id_, []).append((actor, verdict))
        return found

    def is_sound(self):
        return self.rows("PRAGMA integrity_check") == [("ok",)]

    async def after_the_leases(self, *, runs=True):
        """Let every lease lapse; what the journal's check finds, and how runs are refused then."""
        async with toolrt.open(self.root, clock=Later(LEASE_OVER_S)) as runtime:
            await runtime.approvals.listed(("claimed",))
            found = (await runtime._state.memory.journal.records.verify()).faults
            refused = Counter()
            for id_, (state, _) in self.states().items():
                if runs and state not in {"pending", "approved"}:
                    result = await runtime.approvals.run(id_)
                    refused[f"{state} {result.error.code if result.error else result.status}"] += 1
            return found, refused
