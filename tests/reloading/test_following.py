"""An open project whose files change under it, in real time."""

import asyncio
import random
import shutil
import time

import pytest
from reloading_project import ECHO, RULES, replace, verdict

from toolrt.core.clock import SystemClock
from toolrt.reloading import reloader

pytestmark = [pytest.mark.anyio, pytest.mark.realtime]

SOON_S = 8.0
TEMPLATE = """\
tools:
  echo:
    description: Gives a text back.
    python: marked_echo:echo
    effect: read
    result: {text: "{{ result }}MARK"}
"""
MODULE = """\
def echo(text: str) -> str:
    return text
"""


def following_project(project):
    return project.open(watch=True, clock=SystemClock())


async def until(runtime, wanted, text="x"):
    """Wait until a call comes to `wanted`; gives the seconds that it took."""
    began = time.monotonic()
    while (found := await verdict(runtime, text)) != wanted:
        assert time.monotonic() - began < SOON_S, found
        await asyncio.sleep(0.01)
    return time.monotonic() - began


async def test_a_written_rule_is_soon_in_force(project):
    async with following_project(project) as runtime:
        await asyncio.sleep(0.3)
        replace(project.rules, RULES.replace('"loud"', '"x"'))

        assert await until(runtime, "denied") < 2.0  # 0.3 on a quiet machine


async def test_truncate_and_write_is_never_half_in_force(project):
    async with following_project(project) as runtime:
        seen = set()
        with project.rules.open("w") as file:
            for line in (RULES + "# more\n").splitlines(keepends=True):
                file.write(line)
                file.flush()
                seen.add(await verdict(runtime, "loud"))
                await asyncio.sleep(0.05)
        for _ in range(40):
            seen.add(await verdict(runtime, "loud"))
            await asyncio.sleep(0.01)

        assert seen == {"denied"}
        assert runtime.standing.reload_success


async def test_a_folder_that_is_deleted_and_made_again_is_followed(project):
    async with following_project(project) as runtime:
        await asyncio.sleep(0.3)
        shutil.rmtree(project.tools.parent)
        await until(runtime, "unknown-tool")
        project.tools.parent.mkdir()
        project.tools.write_text(ECHO)
        await until(runtime, "x")
        replace(project.tools, ECHO.replace('"{{ text }}"', '"<{{ text }}>"'))
        await until(runtime, "<x>")


async def test_l5_deleted_policies_stay_in_force(project):
    async with following_project(project) as runtime:
        heard = asyncio.Queue()
        runtime.on_reload(heard.put_nowait)
        await asyncio.sleep(0.3)
        shutil.rmtree(project.rules.parent)
        outcome = await asyncio.wait_for(heard.get(), SOON_S)

        assert "every policy file is gone" in outcome.why
        assert await verdict(runtime, "loud") == "denied"


async def test_l6_a_loss_comes_into_force_by_itself_after_a_second_look(project, monkeypatch):
    monkeypatch.setattr(reloader, "SECOND_LOOK_S", 0.5)
    async with following_project(project) as runtime:
        await asyncio.sleep(0.3)
        replace(project.rules, RULES.replace("decide: deny", "decide: allow"))

        assert await until(runtime, "loud", "loud") > 0.5


async def test_l6_a_second_look_comes_in_time_whatever_else_changes(project, monkeypatch):
    monkeypatch.setattr(reloader, "SECOND_LOOK_S", 1.5)

    async def change():
        for number in range(6, 60):
            await asyncio.sleep(0.7)
            replace(project.tools, ECHO.replace("5s", f"{number}s"))

    async with following_project(project) as runtime:
        await asyncio.sleep(0.3)
        replace(project.rules, RULES.replace("decide: deny", "decide: allow"))
        task = asyncio.create_task(change())
        await until(runtime, "loud", "loud")
        task.cancel()


async def test_nothing_is_left_running_afterwards(project):
    before = asyncio.all_tasks()
    async with following_project(project) as runtime:
        replace(project.rules, RULES + "\n")
        await until(runtime, "x")

    assert asyncio.all_tasks() == before


async def test_l1_under_load_no_call_fails_and_none_sees_two_generations(project):
    """40 reloads, 40 % of them broken, under 200 calls a second."""
    chance = random.Random(7)
    good = {1: 0}

    async def change(runtime):
        for number in range(1, 41):
            is_broken = chance.random() < 0.4
            mark = f"<{number}>"
            replace(project.tools, TEMPLATE.replace("MARK", mark))
            rules = RULES.replace("too loud", f"too loud {mark}")
            replace(
                project.rules,
                rules.replace("decide: allow", "decide: alow") if is_broken else rules,
            )
            outcome = await runtime.reload()
            assert outcome.is_new is not is_broken
            if outcome.is_new:
                good[outcome.generation] = number

    async def call(runtime, text):
        result = await runtime.call("echo", {"text": text})
        seen.append((text, result.generation, str(result.document())))

    seen = []
    (project.root / "marked_echo.py").write_text(MODULE)
    project.tools.write_text(TEMPLATE.replace("MARK", "<0>"))
    project.rules.write_text(RULES.replace("too loud", "too loud <0>"))
    async with project.open(clock=SystemClock()) as runtime:
        changing = asyncio.create_task(change(runtime))
        calls = []
        while not changing.done():
            calls.append(asyncio.create_task(call(runtime, ("x", "loud")[len(calls) % 2])))
            await asyncio.sleep(1 / 200)
        await changing
        await asyncio.gather(*calls)

    assert 15 < len(good) < 30
    assert len(seen) > 100
    for text, generation, said in seen:
        wanted = f"too loud <{good[generation]}>" if text == "loud" else f"x<{good[generation]}>"
        assert wanted in said
