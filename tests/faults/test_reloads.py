"""Reloads, many of them of broken files, while calls go on at a steady pace (L1, L2, L11)."""

import asyncio
import random
import time
from collections import Counter

import pytest

import toolrt
from tests.faults.ledger import SEED, amount, show
from toolrt.testing import write_files

pytestmark = [pytest.mark.anyio, pytest.mark.realtime]

CALLS_A_SECOND = 200
BROKEN = 0.4
PATIENCE_S = 20.0
TOOLS = """\
tools:
  marked:
    description: Gives the mark of its generation back, after a while.
    python: marked_tools:marked
    parameters: {{text: string, mark: {{type: integer, default: {mark}}}}}
    effect: read
    timeout: 20s
"""
RULES = """\
rules:
- {{id: mixed, decide: deny, tools: [marked], when: args.mark != {mark}, reason: mixed with {mark}}}
- {{id: loud, decide: deny, tools: [marked], when: args.text == "loud", reason: "mark {mark}."}}
- {{id: all, decide: allow, tools: [marked], when: args.mark == {mark}}}
default: deny
"""
MODULE = """\
import asyncio
import random

async def marked(text: str, mark: int) -> int:
    await asyncio.sleep(random.random() * 0.06)
    return mark
"""


def good(mark):
    return {"tools.d/t.yaml": TOOLS.format(mark=mark), "policies.d/p.yaml": RULES.format(mark=mark)}


def no_yaml(files, chance):
    return {"tools.d/t.yaml": files["tools.d/t.yaml"] + "  : [\n"}


def unknown_key(files, chance):
    return {"tools.d/t.yaml": files["tools.d/t.yaml"].replace("timeout:", "timeot:")}


def unknown_name(files, chance):
    return {"policies.d/p.yaml": files["policies.d/p.yaml"].replace("args.text", "args.txet")}


def no_text(files, chance):
    return {"policies.d/p.yaml": "\udcff\udcfe" + files["policies.d/p.yaml"]}


def half_written(files, chance):
    """The beginning of a file, cut before its last deny rule ends."""
    text = files["policies.d/p.yaml"]
    return {"policies.d/p.yaml": text[: chance.randrange(text.index('"loud"'))]}


def without_a_rule(files, chance):
    return {
        "policies.d/p.yaml": files["policies.d/p.yaml"].replace(
            "{id: loud, decide: deny", "{id: loud, decide: allow"
        )
    }


def not_there(files, chance):
    return {"policies.d/p.yaml": None}


HARMS = (no_yaml, unknown_key, unknown_name, no_text, half_written, without_a_rule, not_there)


class Writer:
    """Writes generations, whole or broken, and sees what becomes of each."""

    def __init__(self, root, runtime, chance):
        self.root, self.runtime, self.chance = root, runtime, chance
        self.marks = {1: 0}  # generation -> what its files say
        self.outcomes = asyncio.Queue()
        self.seen, self.longest_s = Counter(), 0.0
        runtime.on_reload(self.outcomes.put_nowait)

    async def write(self, count):
        for mark in range(1, count + 1):
            harm = self.chance.choice(HARMS) if self.chance.random() < BROKEN else None
            files = good(mark)
            put(self.root, files if harm is None else {**files, **harm(files, self.chance)})
            began = time.monotonic()
            outcome = await self._outcome()
            self.longest_s = max(self.longest_s, time.monotonic() - began)
            self.seen["accepted" if harm is None else f"refused: {harm.__name__}"] += 1
            assert outcome.is_new == (harm is None), (mark, harm, outcome)
            if outcome.is_new:
                self.marks[outcome.generation] = mark
            assert self.runtime.snapshot.generation == max(self.marks)
            await asyncio.sleep(self.chance.uniform(0, 0.05))

    async def _outcome(self):
        """What becomes of it where somebody asks, or where nobody does."""
        if self.chance.random() < 0.5:
            outcome = await self.runtime.reload()
            while not outcome.is_new and outcome.is_accepted:  # the watcher was there first
                outcome = await asyncio.wait_for(self.outcomes.get(), PATIENCE_S)
        else:
            outcome = await asyncio.wait_for(self.outcomes.get(), PATIENCE_S)
        await asyncio.sleep(0)
        while not self.outcomes.empty():
            self.outcomes.get_nowait()
        return outcome


def put(root, files):
    """All files in the place of those before, as near to at once as it goes."""
    for name, text in files.items():
        if text is not None:
            beside = root / f"{name}.tmp"
            beside.write_bytes(text.encode(errors="surrogateescape"))
    for name, text in files.items():
        if text is None:
            (root / name).unlink(missing_ok=True)
        else:
            (root / f"{name}.tmp").replace(root / name)


async def calls(runtime, until):
    """Calls at a steady pace until a task has ended: what each was, and came to."""
    running, due = [], time.monotonic()
    while not until.done():
        text = "loud" if len(running) % 5 == 0 else "calm"
        call = asyncio.create_task(runtime.call("marked", {"text": text}))
        running.append((text, call))
        due = max(due + 1 / CALLS_A_SECOND, time.monotonic() - 0.1)
        await asyncio.sleep(due - time.monotonic())
    await until
    return [(text, await call) for text, call in running]


async def test_l1_l2_no_call_fails_or_is_mixed_while_good_and_broken_files_are_reloaded(tmp_path):
    root = write_files(tmp_path, {**good(0), "marked_tools.py": MODULE})
    count = amount(40, 1000)
    async with toolrt.open(root, watch=True) as runtime:
        writer = Writer(root, runtime, random.Random(SEED))
        began = time.monotonic()
        made = await calls(runtime, asyncio.create_task(writer.write(count)))
        took_s = time.monotonic() - began

    across = Counter()
    for text, result in made:
        mark = writer.marks[result.document()["context"]["generation"]]
        if text == "calm":
            assert (result.status, result.data) == ("success", mark), result.document()
        else:
            assert result.error.code == "denied", result.document()
            assert result.error.details["rule"] == "loud"
            assert f"mark {mark}." in result.error.message
        across[result.document()["context"]["generation"]] += 1
    assert len(writer.marks) == writer.seen["accepted"] + 1
    show(
        "reloads", reloads=count, seen=dict(sorted(writer.seen.items())), calls=len(made),
        calls_a_second=round(len(made) / took_s), generations_called=len(across),
        longest_reload_s=round(writer.longest_s, 2), took_s=round(took_s, 1),
    )  # fmt: skip
