"""Processes of all shapes that run out of time: none survives, and none stays as a zombie (S7)."""

import asyncio
import os
from pathlib import Path

import pytest

from tests.faults.ledger import amount, show
from toolrt.testing import open_files

pytestmark = [pytest.mark.anyio, pytest.mark.realtime]

MARK = f"TOOLRT_TEST_TIMEOUTS={os.getpid()}"
SHAPES = (
    "sleep 60",
    "trap '' TERM; sleep 60; sleep 60",
    "sleep 60 & sleep 60 & wait",
    "(sleep 60 & exec sleep 60) & wait",
    "exec >&- 2>&-; sleep 60",
    "kill -STOP $$; sleep 60",
    "while :; do printf 0123456789; done",
    "trap 'sleep 60 & wait' TERM; sleep 60",
)
TOOL = """\
  t{n}:
    description: Takes too long.
    parameters: {{}}
    shell: {{script: "{script}", env: {{{mark}}}}}
    effect: read
    retry: none
    timeout: 0.3s
"""
NAME, _, VALUE = MARK.partition("=")
FILES = {
    "tools.d/t.yaml": "tools:\n"
    + "".join(
        TOOL.format(n=n, script=script, mark=f'{NAME}: "{VALUE}"')
        for n, script in enumerate(SHAPES)
    )
}
AT_ONCE = 16


def alive():
    """Processes with our mark, and children of ours that nobody has waited for."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            if MARK.encode() in (folder / "environ").read_bytes():
                found.append(folder.name)
            state, parent = (folder / "stat").read_text().rpartition(") ")[2].split()[:2]
        except OSError:
            continue
        if state == "Z" and int(parent) == os.getpid():
            found.append(f"{folder.name} (zombie)")
    return found


async def test_s7_of_processes_that_run_out_of_time_none_survives():
    count, gate = amount(80, 1000), asyncio.Semaphore(AT_ONCE)
    async with open_files(FILES) as rt:

        async def call(number):
            async with gate:
                return await rt.call(f"t{number % len(SHAPES)}", {})

        results = await asyncio.gather(*map(call, range(count)))
        for _ in range(200):
            left = alive()
            if not left:
                break
            await asyncio.sleep(0.02)
    assert {each.error.code for each in results} == {"timeout"}
    assert left == []
    show("timeouts", count=count)
