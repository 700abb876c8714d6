"""Six processes that decide about the same approvals and run them: `race.py ROOT SEED COUNT RUNS`.

Each asks for its share; then all decide about everything in orders of their own, and run of each batch
at most RUNS that were approved. What each was told is in ROOT/told, a file for each process, one JSON value a line.
"""

import asyncio
import itertools
import json
import os
import random
import signal
import sys
import time
import traceback
from pathlib import Path

import toolrt
from toolrt.core.calls import Caller
from toolrt.runtime import load

PROCESSES = 6
BATCH = 2000
ARRIVED, FAILED = b".", b"!"
BOT = Caller("bot", session="s")


class Racer:
    """One process; `meet` waits for all the others."""

    def __init__(self, root, number, chance, runs, meet):
        self.root, self.number, self.chance, self.meet = root, number, chance, meet
        self.runs = runs
        self.by = Caller(f"p{number}", may=frozenset({"approve"}))

    async def race(self, count):
        with (self.root / "told" / f"p{self.number}").open("w") as told:
            self.tell = lambda *value: told.write(json.dumps(value) + "\n")
            async with toolrt.open(self.root) as self.runtime:
                for first in range(0, count, BATCH):
                    await self._batch(range(first, min(first + BATCH, count)))

    async def _batch(self, numbers):
        """Ask, decide and run; whatever is open then is of this batch."""
        for number in numbers[self.number :: PROCESSES]:
            await self._ask(number)
        self.meet()
        for id_ in await self._open("pending", len(numbers)):
            await self._decide(id_)
        self.meet()
        yes = await self._open("approved", self.runs)
        for id_ in yes:
            await self._run(id_)
        self.meet()

    async def _open(self, state, most):
        """Ids of what is in that state, in an order of this process."""
        ids = [each.id for each in await self.runtime.approvals.listed((state,), most)]
        self.meet()
        return self.chance.sample(ids, len(ids))

    async def _ask(self, number):
        line = {"line": f"{number}", "pause_s": 0}
        result = await self.runtime.call("ledger.note", line, BOT)
        self.tell("asked", result.pause.approval_id)

    async def _run(self, id_):
        result = await self.runtime.approvals.run(id_)
        self.tell("ran", id_, result.status, result.error.code if result.error else None)

    async def _decide(self, id_):
        verdict = self.chance.choice(["approve", "deny"])
        say = getattr(self.runtime.approvals, verdict)
        moved = await say(id_, self.by)
        winner = moved.earlier and (moved.earlier.actor, moved.earlier.verdict)
        self.tell("decided", id_, verdict, moved.code, winner)


def main(root, seed, count, runs):
    root = Path(root)
    (root / "told").mkdir()
    load(root)  # everything is imported once
    arriving, *gates = [os.pipe() for _ in range(1 + PROCESSES)]
    began = time.monotonic()
    children = [
        forked(
            root, number, random.Random(f"{seed} {number}"), int(count), int(runs), (arriving, gate)
        )
        for number, gate in enumerate(gates)
    ]
    os.close(arriving[1])
    for at in itertools.count():  # until nobody is left who could come
        word = os.read(arriving[0], 1)
        if word == FAILED:
            for pid in children:
                os.kill(pid, signal.SIGKILL)
        if word != ARRIVED:
            break
        if at % PROCESSES == PROCESSES - 1:
            for _, gate in gates:
                os.write(gate, b".")
    statuses = [os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) for pid in children]
    print(json.dumps({"statuses": statuses, "took_s": time.monotonic() - began}))  # noqa: T201 - the report


def forked(root, number, chance, count, runs, pipes):
    """The process id of a racer."""
    pid = os.fork()
    if pid:
        return pid
    (_, arriving), (gate, _) = pipes

    def meet():  # where all are, and go on together
        os.write(arriving, ARRIVED)
        os.read(gate, 1)

    try:
        asyncio.run(Racer(root, number, chance, runs, meet).race(count))
        os._exit(0)
    except BaseException:
        traceback.print_exc()
        os.write(arriving, FAILED)
        raise
    finally:
        os._exit(1)


if __name__ == "__main__":
    main(*sys.argv[1:])
