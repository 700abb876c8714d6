"""Processes that die by `kill -9` between the asking for an approval and the end of its run."""

import asyncio
import json
import os
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

import toolrt
from tests.faults import kills
from tests.faults.ledger import SEED, Judge, amount, show, write_ledger

pytestmark = [pytest.mark.anyio, pytest.mark.realtime]

SECOND_S = 1.0
"""How long a program may still write after the process that started it was killed."""
RAN = {"succeeded", "unknown", "failed"}


def lived(root, count):
    """What the processes were told before each was killed."""
    command = [sys.executable, "-W", "ignore", kills.__file__, str(root), str(SEED), str(count)]
    environment = {**os.environ, "PYTHONPATH": str(Path(toolrt.__file__).parent.parent)}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


async def test_a1_a8_a9_of_killed_processes_no_answer_is_lost_and_no_effect_made_twice(tmp_path):
    judge = Judge(write_ledger(tmp_path))
    count = amount(60, 1000)
    lives = lived(tmp_path, count)
    told = [event for _, events in lives["told"] for event in events]
    await asyncio.sleep(SECOND_S)
    struck = Counter(state for state, _ in judge.states().values())

    odd = [event for event in told if event[0] in {"broke", "odd"}]
    assert not odd, odd
    assert [code for code, _ in lives["told"]] == [-9] * count
    assert judge.is_sound()
    nothing_is_lost(judge, told)
    nothing_ran_twice(judge)

    lines = judge.lines()
    left = [id_ for id_, (state, _) in judge.states().items() if state == "approved"]
    found, refused = await judge.after_the_leases()
    states = judge.states()
    assert found == []
    assert judge.lines() == lines
    assert not any(state == "claimed" for state, _ in states.values())
    assert refused.keys() <= {
        "succeeded conflict", "denied approval-denied", "unknown unknown-outcome", "failed conflict",
    }  # fmt: skip
    nothing_ran_twice(judge)
    for id_, (state, line) in states.items():
        assert state != "succeeded" or lines[line], (id_, line)

    await each_that_is_left_runs_once(judge, left)
    show(
        "kill -9", kills=count, took_s=round(lives["took_s"], 1), approvals=len(states),
        effects=sum(judge.lines().values()), at_death=dict(struck), refused=dict(refused),
        executed_and_unknown=sum(state == "unknown" and lines[line] > 0 for state, line in states.values()),
        claimed_and_unexecuted=sum(state == "unknown" and not lines[line] for state, line in states.values()),
    )  # fmt: skip


def nothing_is_lost(judge, told):
    """What a process was told is what the store says after it."""
    states, votes, lines = judge.states(), judge.votes(), judge.lines()
    for event, id_, *more in (event for event in told if len(event) > 1):
        if event == "asked":
            assert states[id_][1] == more[0]
        elif event == "again":
            assert states[id_] == ("succeeded", more[0])
            assert lines[more[0]]
        elif event == "decided" and more[2] is None and more[1] in {"approve", "approved"}:
            assert (more[0], "approve") in votes[id_]
            assert states[id_][0] in {"approved", "claimed", *RAN}
        elif event == "decided" and more[2] is None:
            assert (more[0], "deny") in votes[id_]
            assert states[id_][0] == "denied"
        elif event == "ran" and more[0] == "success":
            assert states[id_][0] == "succeeded"
            assert lines[states[id_][1]]


def nothing_ran_twice(judge):
    """Each approval that succeeded stands for one line, and no line stands for nothing.

    The same call made again after its run is asked about anew, so a line may have two approvals.
    """
    states, lines = judge.states().values(), judge.lines()
    done = Counter(line for state, line in states if state == "succeeded")
    may = Counter(line for state, line in states if state in {*RAN, "claimed"})
    assert done - lines == Counter()
    assert lines - may == Counter()


async def each_that_is_left_runs_once(judge, left):
    async with toolrt.open(judge.root) as runtime:
        for id_ in left:
            results = [await runtime.approvals.run(id_) for _ in range(2)]
            assert [result.status for result in results] == ["success", "error"]
    lines, states = judge.lines(), judge.states()
    assert all(lines[states[id_][1]] for id_ in left)
    nothing_ran_twice(judge)
