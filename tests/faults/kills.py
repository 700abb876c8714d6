"""Processes that ask, decide and run, each killed at a random moment: `kills.py ROOT SEED COUNT`.

They are forked from one that has everything imported and nothing opened. What each of them was told
before its end is printed as one JSON document.
"""

import asyncio
import json
import os
import random
import selectors
import signal
import sys
import threading
import time
from pathlib import Path

from click.testing import CliRunner

import toolrt
from toolrt.core.calls import Caller
from toolrt.core.errors import RefusedError
from toolrt.faces.cli.main import cli
from toolrt.runtime import load

AT_ONCE = 3
LONGEST_S = 0.35
"""How long a process lives at most after it has opened the project; with commands, thrice that."""
OPEN = ("pending", "approved")
ANY = (*OPEN, "claimed", "unknown", "succeeded", "failed", "denied")
BOT = Caller("bot", session="s")
PEOPLE = [Caller(name, may=frozenset({"approve"})) for name in ("ann", "bob")]


class Life:
    """One process: does the next thing to an approval of its own, or of anybody, without end."""

    def __init__(self, name, chance, tell):
        self.name, self.chance, self.tell = name, chance, tell
        self.count = 0

    def arguments(self):
        self.count += 1
        return {"line": f"{self.name}-{self.count}", "pause_s": self.chance.uniform(0, 0.006)}

    def tool(self):
        return self.chance.choice(["ledger.note", "ledger.note", "ledger.send"])

    def verdict(self):
        return self.chance.choice(["approve"] * 5 + ["deny"])


class InPython(Life):
    """By `toolrt.open`."""

    def live(self, root):
        asyncio.run(self._live(root))

    async def _live(self, root):
        async with toolrt.open(root) as runtime:
            self.tell("ready")
            while True:
                if self.chance.random() < 0.5:
                    await self._own(runtime)
                else:
                    await self._other(runtime)

    async def _own(self, runtime):
        tool, arguments = self.tool(), self.arguments()
        id_ = await self._ask(runtime, tool, arguments)
        if self.chance.random() < 0.2:
            return
        await self._decide(runtime, id_)
        again = self.chance.random()
        if again < 0.4:
            await self._run(runtime, id_)
        elif again < 0.8:  # the same call, made again
            result = await runtime.call(tool, arguments, BOT)
            if result.status == "success":
                self.tell("again", id_, arguments["line"])
            elif result.pause:
                self.tell("asked", result.pause.approval_id, arguments["line"])

    async def _other(self, runtime):
        found = await runtime.approvals.listed(self.chance.choice([OPEN, OPEN, ANY]), 30)
        if not found:
            return
        record = self.chance.choice(found)
        await (self._decide if record.state == "pending" else self._run)(runtime, record.id)

    async def _ask(self, runtime, tool, arguments):
        result = await runtime.call(tool, arguments, BOT)
        self.tell("asked", result.pause.approval_id, arguments["line"])
        return result.pause.approval_id

    async def _decide(self, runtime, id_):
        by, verdict = self.chance.choice(PEOPLE), self.verdict()
        say = runtime.approvals.approve if verdict == "approve" else runtime.approvals.deny
        try:
            moved = await say(id_, by)
        except RefusedError as error:
            self.tell("refused", id_, error.code)
            return
        winner = moved.earlier or (None if moved.code else by)
        self.tell("decided", id_, by.principal, verdict, moved.code, getattr(winner, "actor", None))

    async def _run(self, runtime, id_):
        result = await runtime.approvals.run(id_)
        self.tell("ran", id_, result.status, result.error.code if result.error else None)


class AtTheTerminal(Life):
    """By the command line."""

    def live(self, root):
        os.chdir(root)
        self.tell("ready")
        while True:
            self._one()

    def _one(self):
        arguments = self.arguments()
        given = [f"{name}={value}" for name, value in arguments.items()]
        _, asked = self._cli("run", self.tool(), *given)
        id_ = asked["pause"]["approval_id"]
        self.tell("asked", id_, arguments["line"])
        way = self.chance.random()
        if way < 0.3:
            self._ran(id_, *self._cli("approvals", "approve", id_, "--run"))
        elif way < 0.8:
            verdict = self.verdict()
            self._decided(id_, verdict, *self._cli("approvals", verdict, id_))
            self._ran(id_, *self._cli("approvals", "run", id_))

    def _decided(self, id_, verdict, status, document):
        if status:
            self.tell("refused", id_, document["error"]["code"])
            return
        self.tell("decided", id_, document["votes"][-1]["actor"], verdict, None, None)

    def _ran(self, id_, status, document):
        self.tell("ran", id_, document.get("status", status), document.get("error", {}).get("code"))

    def _cli(self, *words):
        """Exit status and document."""
        shown = CliRunner().invoke(cli, [*words, "-o", "json"])
        if shown.exit_code not in {0, 1, 4, 6}:
            self.tell("odd", words, shown.exit_code, shown.stderr)
        return shown.exit_code, json.loads(shown.stdout)


class Nursery:
    """Forks lives and ends them."""

    def __init__(self, root, seed, count):
        self.root, self.count, self.seed = root, count, seed
        self.chance = random.Random(seed)
        self.born = 0
        self.told = []
        self.selector = selectors.DefaultSelector()
        self.ends = {}

    def run(self):
        while self.born < self.count or self.ends:
            while self.born < self.count and len(self.ends) < AT_ONCE:
                self._bear()
            for key, _ in self.selector.select(0.001):
                self._hear(key.data)
            for pid in [pid for pid, child in self.ends.items() if time.monotonic() > child.until]:
                self._end(pid)
        return self.told

    def _bear(self):
        kind = AtTheTerminal if self.chance.random() < 0.25 else InPython
        name, seed = f"k{self.seed}-{self.born}", self.chance.random()
        longest = self.chance.uniform(0, LONGEST_S) * (3 if kind is AtTheTerminal else 1)
        self.born += 1
        reading, writing = os.pipe()
        pid = os.fork()
        if not pid:
            live(kind, name, seed, writing, self.root)
        os.close(writing)
        child = self.ends[pid] = _Child(pid, reading, longest)
        self.selector.register(reading, selectors.EVENT_READ, child)

    def _hear(self, child):
        text = os.read(child.reading, 1 << 16)
        child.text += text
        if text and not child.is_ready:
            child.is_ready, child.until = True, time.monotonic() + child.longest
        if not text:
            self._end(child.pid)

    def _end(self, pid):
        child = self.ends.pop(pid)
        os.kill(pid, signal.SIGKILL)
        _, status = os.waitpid(pid, 0)
        self.selector.unregister(child.reading)
        with os.fdopen(child.reading, "rb") as rest:
            child.text += rest.read()
        whole = [each for each in child.text.splitlines(keepends=True) if each.endswith(b"\n")]
        self.told.append([os.waitstatus_to_exitcode(status), [json.loads(each) for each in whole]])


class _Child:
    def __init__(self, pid, reading, longest):
        self.pid, self.reading, self.longest = pid, reading, longest
        self.text, self.is_ready, self.until = b"", False, time.monotonic() + 20


def live(kind, name, seed, writing, root):
    """What a child does, until it is killed; it never comes back."""

    def tell(*value):
        os.write(writing, json.dumps(value).encode() + b"\n")

    try:
        kind(name, random.Random(seed), tell).live(root)
    except BaseException as error:  # noqa: BLE001 - told, and judged by whoever reads it
        import traceback

        tell("broke", repr(error), traceback.format_exc())
    finally:
        os._exit(1)


def main(root, seed, count):
    load(root)  # everything is imported once
    CliRunner().invoke(cli, ["approvals", "approve", "--help"])
    if threading.active_count() > 1:
        raise SystemExit("there are threads, so nothing may be forked")
    began = time.monotonic()
    told = Nursery(Path(root), int(seed), int(count)).run()
    print(json.dumps({"told": told, "took_s": time.monotonic() - began}))  # noqa: T201 - the report


if __name__ == "__main__":
    main(*sys.argv[1:])
