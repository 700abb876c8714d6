"""Breakers and rates over real processes: runs that come and go, and some that stay."""

import asyncio
import json
import os
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest
import resilience_process

import toolrt
from toolrt.core.errors import BindingError
from toolrt.testing import stubbed, write_files

pytestmark = [pytest.mark.anyio, pytest.mark.realtime]

ENVIRONMENT = {**os.environ, "PYTHONPATH": str(Path(toolrt.__file__).parent.parent)}
KIT = """
import asyncio

async def waits() -> str:
    '''Takes its time.'''
    await asyncio.sleep(1.5)
    return "done"
"""
PROCESSES = 6


def start(*arguments):
    command = [sys.executable, "-W", "ignore", resilience_process.__file__, *map(str, arguments)]
    pipe = subprocess.PIPE
    return subprocess.Popen(command, env=ENVIRONMENT, stdin=pipe, stdout=pipe, text=True)


def together(count, *arguments):
    """The lines of so many processes that begin at the same moment."""
    children = [start(*arguments) for _ in range(count)]
    for child in children:
        assert json.loads(child.stdout.readline()) == ["ready"]
    for child in children:
        child.stdin.write("go\n")
        child.stdin.flush()
    return [finish(child) for child in children]


def finish(child):
    text, _ = child.communicate(timeout=25)
    assert child.returncode == 0
    return [json.loads(line) for line in text.splitlines()]


def run(project, tool):
    """The exit status of `toolrt run`, and what it says."""
    command = [sys.executable, "-W", "ignore", "-m", "toolrt", "-p", project, "run", tool]
    done = subprocess.run(command, env=ENVIRONMENT, capture_output=True, text=True, check=False)
    return done.returncode, done.stderr


def test_three_failing_runs_open_a_breaker_of_three_and_the_fourth_is_refused(tmp_path):
    tool = "tools: {t: {description: T., command: ['false'], breaker: {failures: 3}}}"
    write_files(tmp_path, {"tools.d/t.yaml": tool})

    assert [run(tmp_path, "t")[0] for _ in range(3)] == [1, 1, 1]
    status, said = run(tmp_path, "t")
    assert status == 8
    assert said.startswith("error[circuit-open]")


async def test_b4_b5_of_six_processes_one_makes_the_trial(tmp_path):
    breaker = "{failures: 1, recovery: 10ms}"
    tool = f"tools: {{t: {{python: 'kit:waits', effect: read, retry: none, breaker: {breaker}}}}}"
    write_files(tmp_path, {"tools.d/t.yaml": tool, "kit.py": KIT})
    async with toolrt.open(tmp_path) as runtime:

        def fail(_arguments):
            raise BindingError("down", target_fault=True)

        with stubbed(runtime, {"t": fail}):
            await runtime.call("t", {})

    told = await asyncio.to_thread(together, PROCESSES, "trial", tmp_path)
    counts = Counter(tuple(lines[0]) for lines in told)
    assert counts == {("success", 1): 1, ("circuit-open", 0): PROCESSES - 1}


def test_over_three_processes_no_span_has_more_calls_than_the_limit(tmp_path):
    """A call happened at some moment between the two that are told of it."""
    limit, per_s = 24, 0.5
    tool = f"tools: {{t: {{description: T., command: ['true'], rate: {limit}/500ms}}}}"
    tool = tool.replace("command: ['true']", "python: 'kit:nothing'")
    kit = "async def nothing() -> str:\n    '''N.'''\n    return 'done'\n"
    write_files(tmp_path, {"tools.d/t.yaml": tool, "kit.py": kit})

    told = together(3, "hammer", tmp_path, 1.2)
    calls = sorted(tuple(line) for lines in told for line in lines)
    for number in range(len(calls) - limit):
        among = calls[number : number + limit + 1]
        assert max(ended for _, ended in among) - among[0][0] >= per_s
    assert len(calls) >= 2 * limit
    assert sum(bool(lines) for lines in told) >= 2
