"""Six processes that decide about the same approvals and run them."""

import json
import os
import subprocess
import sys
from collections import Counter, defaultdict
from pathlib import Path

import pytest

import toolrt
from tests.faults import race
from tests.faults.ledger import SEED, SHARE, Judge, amount, show, write_ledger

pytestmark = [pytest.mark.anyio, pytest.mark.realtime]


def raced(root, count, runs):
    command = [
        sys.executable,
        "-W",
        "ignore",
        race.__file__,
        str(root),
        *map(str, (SEED, count, runs)),
    ]
    environment = {**os.environ, "PYTHONPATH": str(Path(toolrt.__file__).parent.parent)}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    report = json.loads(done.stdout)
    assert report["statuses"] == [0] * race.PROCESSES, done.stderr
    return report["took_s"]


def told(root):
    """What each process was told, by kind and approval: (process, …)."""
    found = {"decided": defaultdict(list), "ran": defaultdict(list), "asked": {}}
    for path in (root / "told").iterdir():
        for line in path.read_text().splitlines():
            kind, id_, *more = json.loads(line)
            if kind == "asked":
                found["asked"][id_] = path.name
            else:
                found[kind][id_].append((path.name, *more))
    return found


async def test_a3_a8_of_six_processes_one_wins_each_and_the_others_are_told_who(tmp_path):
    judge = Judge(write_ledger(tmp_path))
    count = amount(2000, 100_000)
    took_s = raced(tmp_path, count, race.BATCH if SHARE else 200)
    said, votes, states, lines = told(tmp_path), judge.votes(), judge.states(), judge.lines()

    assert len(states) == len(said["asked"]) == count
    assert states.keys() == said["decided"].keys()
    for id_, decisions in said["decided"].items():
        [(actor, verdict)] = votes[id_]
        assert len(decisions) == race.PROCESSES
        assert [(who, what) for who, what, code, _ in decisions if code is None] == [
            (actor, verdict)
        ]
        losers = [(code, winner) for who, _, code, winner in decisions if who != actor]
        assert losers == [("already-decided", [actor, verdict])] * (race.PROCESSES - 1)
        state, line = states[id_]
        ran = Counter(status for _, status, _ in said["ran"].get(id_, ()))
        if verdict == "deny":
            assert (state, ran, lines[line]) == ("denied", Counter(), 0)
        elif not ran:
            assert (state, lines[line]) == ("approved", 0)
        else:
            assert (state, lines[line]) == ("succeeded", 1)
            assert ran == Counter(success=1, error=race.PROCESSES - 1)
    refusals = Counter(code for each in said["ran"].values() for _, _, code in each if code)
    assert refusals.keys() == {"conflict"}
    found, _ = await judge.after_the_leases(runs=False)
    assert found == []
    wins = Counter(votes[id_][0][0] for id_ in votes)
    show(
        "race", processes=race.PROCESSES, approvals=count, decisions=len(states) * race.PROCESSES,
        runs_tried=sum(map(len, said["ran"].values())), effects=lines.total(),
        wins=dict(sorted(wins.items())), took_s=round(took_s, 1),
    )  # fmt: skip
