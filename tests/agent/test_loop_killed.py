"""A loop that is killed at any moment: what it had begun takes effect once at most, by a log of
the effects themselves.
"""

import asyncio
import json
import os
import signal
import sqlite3
import sys
import time
from pathlib import Path

import pytest
from agent.scripted import Model, model
from agent.test_loop import ANN, BOSS, ENVIRON, TOOLS, bought, files
from loopback import Heard, json_reply

import toolrt
from toolrt.core.clock import ManualClock
from toolrt.testing import write_files

pytestmark = pytest.mark.anyio

ORDER = """
  order:
    description: Order an article.
    shell: {script: 'echo order >> bought.txt; printf ordered'}
"""
CHILD = """
import asyncio, os, signal, sys, toolrt
from toolrt.core.calls import Caller
from toolrt.stores.conversations import KeptConversations

how, number, id_ = sys.argv[1], int(sys.argv[2]), sys.argv[3]
keep = KeptConversations.keep

async def killing(self, *given, **named):
    global number
    number -= 1
    if number == 0 and how == "before":
        os.kill(os.getpid(), signal.SIGKILL)
    kept = await keep(self, *given, **named)
    if number == 0:
        os.kill(os.getpid(), signal.SIGKILL)
    return kept

KeptConversations.keep = killing

async def main():
    async with toolrt.open(".") as runtime:
        if id_ == "-":
            await runtime.ask("Order", Caller("ann"))
        else:
            await runtime.agent.resume(id_, Caller("ann"))

asyncio.run(main())
"""


def wants(made: Model, tool: str) -> None:
    """Let the model want one call of a tool, until it has heard of one."""

    def hear(heard: Heard) -> bytes:
        body = json.loads(heard.body)
        made.requests.append(body)
        if any(each["role"] == "tool" for each in body["messages"]):
            return json_reply(
                '{"choices": [{"message": {"role": "assistant", "content": "Done."}}]}'
            )
        function = {"name": tool, "arguments": '{"article": "tea"}' if tool == "shop_buy" else "{}"}
        call = {"id": "c1", "type": "function", "function": function}
        message = {"role": "assistant", "content": None, "tool_calls": [call]}
        return json_reply(json.dumps({"choices": [{"message": message}]}))

    made.hook = hear


async def killed(folder: Path, how: str, number: int, id_: str = "-") -> int | None:
    child = await asyncio.create_subprocess_exec(
        sys.executable, "-c", CHILD, how, str(number), id_, cwd=folder,
        env={**os.environ, **ENVIRON}, stderr=asyncio.subprocess.DEVNULL,
    )  # fmt: skip
    return await child.wait()


def left(folder: Path) -> list[str]:
    """The conversations that are there; nobody has them any more."""
    path = folder / ".toolrt" / "state.db"
    if not path.exists():
        return []
    with sqlite3.connect(path) as store:
        store.execute("UPDATE conversations SET owner = NULL")
        found = [id_ for (id_,) in store.execute("SELECT id FROM conversations")]
    store.close()
    return found


@pytest.mark.parametrize("how", ["before", "after"])
@pytest.mark.parametrize("number", [1, 2, 3, 4])
async def test_what_a_killed_loop_began_takes_effect_once(
    tmp_path: Path, how: str, number: int
) -> None:
    async with model("openai") as (made, server):
        write_files(tmp_path, dict(files(server, "openai")) | {"tools.d/shop.yaml": TOOLS + ORDER})
        wants(made, "shop_order")
        assert await killed(tmp_path, how, number) == -signal.SIGKILL
        ids = left(tmp_path)
        async with toolrt.open(tmp_path, environ=ENVIRON) as runtime:
            replies = [await runtime.agent.resume(id_, ANN) for id_ in ids]
    assert [each.text for each in replies] == ["Done."] * len(ids)
    assert len(ids) == (0 if (how, number) == ("before", 1) else 1)
    assert len(bought(tmp_path)) <= 1


@pytest.mark.parametrize("how", ["before", "after"])
@pytest.mark.parametrize("number", [1, 2, 3])
async def test_one_yes_is_one_effect_wherever_a_loop_is_killed(
    tmp_path: Path, how: str, number: int
) -> None:
    async with model("openai") as (made, server):
        write_files(tmp_path, files(server, "openai"))
        wants(made, "shop_buy")
        async with toolrt.open(tmp_path, environ=ENVIRON) as runtime:
            reply = await runtime.ask("Buy", ANN)
            await runtime.approvals.approve(reply.waits_for[0], BOSS)
        assert await killed(tmp_path, how, number, reply.id) == -signal.SIGKILL
        before = bought(tmp_path)
        left(tmp_path)
        async with toolrt.open(tmp_path, environ=ENVIRON) as runtime:
            again = await runtime.agent.resume(reply.id, ANN)
    assert (again.text, bought(tmp_path)) == ("Done.", ["tea"])
    assert ("has run already" in made.results()) is ((how, number) == ("before", 2))
    assert (before == ["tea"]) is ((how, number) not in {("before", 1), ("after", 1)})


async def test_what_was_run_by_somebody_else_is_not_made_again(tmp_path: Path) -> None:
    async with model("openai") as (made, server):
        write_files(tmp_path, files(server, "openai"))
        wants(made, "shop_buy")
        async with toolrt.open(tmp_path, environ=ENVIRON) as runtime:
            reply = await runtime.ask("Buy", ANN)
            await runtime.approvals.approve(reply.waits_for[0], BOSS)
            await runtime.approvals.run(reply.waits_for[0])
            ended = await runtime.agent.resume(reply.id, ANN)
    assert (ended.text, bought(tmp_path)) == ("Done.", ["tea"])
    assert "went well" in made.results()


async def test_a_loop_that_is_killed_in_an_approved_call_does_not_make_it_again(
    tmp_path: Path,
) -> None:
    kills = TOOLS.replace("printf bought", "kill -9 $PPID")
    async with model("openai") as (made, server):
        write_files(tmp_path, dict(files(server, "openai")) | {"tools.d/shop.yaml": kills})
        wants(made, "shop_buy")
        async with toolrt.open(tmp_path, environ=ENVIRON) as runtime:
            reply = await runtime.ask("Buy", ANN)
            await runtime.approvals.approve(reply.waits_for[0], BOSS)
        assert await killed(tmp_path, "before", 99, reply.id) == -signal.SIGKILL
        left(tmp_path)
        async with toolrt.open(tmp_path, environ=ENVIRON) as runtime:
            still = await runtime.agent.resume(reply.id, ANN)
        later = ManualClock(time.time() + 3600)
        async with toolrt.open(tmp_path, environ=ENVIRON, clock=later) as runtime:
            ended = await runtime.agent.resume(reply.id, ANN)
    assert (still.status, still.waits_for) == ("paused", reply.waits_for)
    assert (ended.text, bought(tmp_path)) == ("Done.", ["tea"])
    assert "nobody knows what came of it" in made.results()
