"""`toolrt ask` where it does not come to an answer: how to go on is told, and no trace is."""

import asyncio
import os
import signal
import sys
from pathlib import Path

import pytest
from agent.scripted import Says, model
from agent.test_loop import ENVIRON, TOOLS, files
from until import until

from toolrt.testing import write_files

pytestmark = pytest.mark.anyio

SLOW = "  slow: {description: Slow., shell: {script: 'echo begun >> slow.txt; sleep 30'}}\n"


async def ask(folder: Path, *words: str) -> asyncio.subprocess.Process:
    return await asyncio.create_subprocess_exec(
        sys.executable,
        *("-m", "toolrt", "ask", *words),
        cwd=folder,
        env={**os.environ, **ENVIRON},
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )


async def ended(process: asyncio.subprocess.Process) -> tuple[int | None, str, str]:
    out, err = await process.communicate()
    return process.returncode, out.decode(), err.decode()


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM])
async def test_who_interrupts_it_is_told_how_to_go_on(tmp_path: Path, how: signal.Signals) -> None:
    script = (Says("", (("shop_slow", {}),)), Says("Nobody knows."))
    async with model("openai", *script) as (made, server):
        write_files(tmp_path, dict(files(server, "openai")) | {"tools.d/shop.yaml": TOOLS + SLOW})
        process = await ask(tmp_path, "Wait")
        await until((tmp_path / "slow.txt").exists)
        process.send_signal(how)
        code, _, told = await ended(process)
        id_ = told.split("--resume ")[1].split()[0]
        again = await ended(await ask(tmp_path, "--resume", id_))
    assert code == 130
    assert again[:2] == (0, "Nobody knows.\n")
    assert "nobody knows what came of it" in made.results()
    assert (tmp_path / "slow.txt").read_text() == "begun\n"


async def test_what_fails_is_told_with_how_to_go_on(tmp_path: Path) -> None:
    async with model("openai", Says(status=401)) as (_, server):
        write_files(tmp_path, files(server, "openai"))
        code, _, told = await ended(await ask(tmp_path, "Hello?"))
    assert (code, "then: toolrt ask --resume ask-" in told) == (1, True)


async def test_a_store_that_is_none_is_no_bug(tmp_path: Path) -> None:
    async with model("openai", Says("Hello.")) as (_, server):
        write_files(tmp_path, files(server, "openai"))
        (tmp_path / ".toolrt").mkdir(mode=0o700)
        (tmp_path / ".toolrt" / "state.db").mkdir()
        code, _, told = await ended(await ask(tmp_path, "Hello?"))
    assert code == 1
    assert "error[unavailable]" in told
    assert "bug" not in told


async def test_half_characters_are_no_bug(tmp_path: Path) -> None:
    half = os.fsdecode(b"a\xff")
    async with model("openai", Says("Hello.")) as (_, server):
        write_files(tmp_path, files(server, "openai"))
        answered = await ended(await ask(tmp_path, half))
        unknown = await ended(await ask(tmp_path, "--resume", half))
    assert answered[:2] == (0, "Hello.\n")
    assert unknown[0] == 1
    assert "error[not-found]" in unknown[2]
