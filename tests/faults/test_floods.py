"""Tools that say far too much: cut or ended, in bounded memory, and nothing of them is left (S9)."""

import asyncio
import os
from pathlib import Path

import pytest

from tests.faults.ledger import amount, show
from tests.limits import Memory
from toolrt.testing import open_files

pytestmark = [pytest.mark.anyio, pytest.mark.realtime]

CAP = 64 * 1024**2
"""Bytes after which a process is ended."""
SHAPES = {
    "a line a time": "yes 'a line of some length' | head -c $1",
    "one line": "head -c $1 /dev/zero | tr '\\0' x",
    "zeroes": "head -c $1 /dev/zero",
    "errors": "head -c $1 /dev/zero | tr '\\0' e >&2",
    "both": "head -c $1 /dev/zero | tr '\\0' b | tee /dev/stderr",
    "no UTF-8": "head -c $1 /dev/urandom",
}
SIZES = (60_000, 3_000_000, 3_000_000, 3_000_000, 80_000_000)
TOOL = """\
  {name}:
    description: Says too much.
    parameters: {{size: integer}}
    shell: {{script: "{script}", argv: ["{{{{ size }}}}"], interpreter: [bash, -c]}}
    effect: read
    retry: none
    timeout: 20s
"""
FILES = {
    "tools.d/t.yaml": "tools:\n"
    + "".join(
        TOOL.format(name=f"t{n}", script=script.replace("\\", "\\\\"))
        for n, script in enumerate(SHAPES.values())
    )
}


def processes():
    """The children of this one."""
    return {each.name for each in Path("/proc").glob("[0-9]*") if _parent(each) == os.getpid()}


def _parent(folder):
    try:
        return int((folder / "stat").read_text().rpartition(") ")[2].split()[1])
    except OSError:
        return 0


async def _left_of(before):
    """The children that stay: one that was ended is reaped behind the back of its call."""
    for _ in range(200):
        if not (processes() - before):
            break
        await asyncio.sleep(0.02)
    return processes() - before


async def test_s9_floods_are_bounded_and_leave_nothing_behind():
    count, codes = amount(50, 500), []
    async with open_files(FILES) as rt:
        await rt.call("t0", {"size": 60_000})
        before, memory = processes(), Memory()
        for number in range(count):
            size = SIZES[number % len(SIZES)]
            result = await rt.call(f"t{number % len(SHAPES)}", {"size": size})
            codes.append(result.error.code if result.error else result.status)
            assert len(result.text.encode()) < 60_000
            assert len(str(result.data)) < 60_000
        grown = memory.grown()
        left = await _left_of(before)
    assert set(codes) == {"success", "partial", "output-flood"}
    assert left == set()
    assert grown <= 2 * CAP
    show("floods", count=count, grown_mib=grown // 1024**2)
