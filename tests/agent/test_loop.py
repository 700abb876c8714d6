"""The loop against a model that follows a script, in the words of each vendor (R48 to R50)."""

import asyncio
import json
import os
import signal
import sys
import time
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from textwrap import dedent
from typing import Any

import pytest
from agent.scripted import DIALECTS, Model, Says, model
from loopback import json_reply

import toolrt
from toolrt.agent.loop import Reply
from toolrt.core.calls import Caller
from toolrt.core.clock import ManualClock
from toolrt.core.errors import RefusedError
from toolrt.opened import Runtime
from toolrt.runtime import load
from toolrt.stores.base import StoreError
from toolrt.testing import write_files

pytestmark = pytest.mark.anyio

TOOLS = """
namespace: shop
tools:
  price:
    description: The price of an article.
    effect: read
    parameters: {article: string}
    command: [printf, "%s costs 5", "{{ article }}"]
  stock:
    description: How much of an article is there.
    effect: read
    parameters: {article: string}
    instructions: Ask for the stock before you buy.
    command: [printf, "3 of %s", "{{ article }}"]
  buy:
    description: Buy an article.
    parameters: {article: string}
    hitl: confirm
    shell: {script: 'echo "$1" >> bought.txt; printf bought', argv: ["{{ article }}"]}
  broken:
    description: Never works.
    effect: read
    command: ["false"]
  done:
    description: End with a word.
    effect: read
    parameters: {word: string}
    command: [printf, "%s", "{{ word }}"]
    result: {final: true}
"""
ANN = Caller("ann")
BOSS = Caller("bob", may=frozenset({"call", "approve"}))


def files(server: Any, dialect: str, more: str = "") -> Mapping[str, str]:
    return {
        "tools.d/shop.yaml": TOOLS,
        "tools.d/model.yaml": f"""
            targets:
              vendor:
                url: {server.url}/v
                allow_private: true
                auth: {{bearer: "${{secret:vendor}}"}}
            """,
        "toolrt.yaml": f"""
            agent:
              model: {{dialect: {dialect}, name: clever, target: vendor, timeout: 5s}}
              {more}
            """,
    }


ENVIRON = {"TOOLRT_SECRET_VENDOR": "the-key-of-vendor", "PATH": "/usr/bin:/bin"}


@asynccontextmanager
async def asked(
    folder: Path, dialect: str, *script: Says, more: str = ""
) -> AsyncIterator[tuple[Runtime, Model]]:
    """A project with a model that follows the script."""
    async with model(dialect, *script) as (made, server):
        write_files(folder, files(server, dialect, more))
        async with toolrt.open(folder, environ=ENVIRON) as runtime:
            yield runtime, made


def bought(folder: Path) -> list[str]:
    path = folder / "bought.txt"
    return path.read_text().splitlines() if path.exists() else []


@pytest.mark.parametrize("dialect", DIALECTS)
async def test_r49_calls_are_made_until_the_model_answers(tmp_path: Path, dialect: str) -> None:
    script = (
        Says("I look.", (("shop_price", {"article": "tea"}), ("shop_stock", {"article": "tea"}))),
        Says("", (("shop_price", {"article": "jam"}),)),
        Says("Tea costs 5, and there are 3."),
    )
    async with asked(tmp_path, dialect, *script) as (runtime, made):
        reply = await runtime.ask("What does tea cost?", ANN)
    assert (reply.status, reply.text, reply.iterations) == (
        "answered", "Tea costs 5, and there are 3.", 3,
    )  # fmt: skip
    assert "tea costs 5" in made.results(1)
    assert "3 of tea" in made.results(1)
    assert "jam costs 5" in made.results(2)
    assert sorted(made.tools()) == [
        "shop_broken", "shop_buy", "shop_done", "shop_price", "shop_stock",
    ]  # fmt: skip


BUY = Says("", (("shop_price", {"article": "tea"}), ("shop_buy", {"article": "tea"})))


@pytest.mark.parametrize("dialect", DIALECTS)
async def test_r49_an_approval_in_the_middle_survives_a_restart(
    tmp_path: Path, dialect: str
) -> None:
    async with model(dialect, BUY, Says("Bought.")) as (made, server):
        write_files(tmp_path, files(server, dialect))
        async with toolrt.open(tmp_path, environ=ENVIRON) as runtime:
            reply = await runtime.ask("Buy tea", ANN)
            early = await runtime.agent.resume(reply.id, ANN)
        assert (reply.status, early.status) == ("paused", "paused")
        assert early.waits_for == reply.waits_for
        assert (bought(tmp_path), len(made.requests)) == ([], 1)
        async with toolrt.open(tmp_path, environ=ENVIRON) as runtime:
            await runtime.approvals.approve(reply.waits_for[0], BOSS)
            ended = await runtime.agent.resume(reply.id, ANN)
            again = await runtime.agent.resume(reply.id, ANN)
    assert (ended.status, ended.text) == (again.status, again.text) == ("answered", "Bought.")
    assert made.results(1).count("tea costs 5") == 1
    assert "bought" in made.results(1)
    assert bought(tmp_path) == ["tea"]


async def test_a_no_is_told_to_the_model(tmp_path: Path) -> None:
    async with asked(tmp_path, "anthropic", BUY, Says("Then not.")) as (runtime, made):
        reply = await runtime.ask("Buy tea", ANN)
        await runtime.approvals.deny(reply.waits_for[0], BOSS, note="too dear")
        ended = await runtime.agent.resume(reply.id, ANN)
    assert (ended.status, ended.text) == ("answered", "Then not.")
    assert "too dear" in made.results()
    assert bought(tmp_path) == []


async def test_two_who_resume_at_once_run_what_was_approved_once(tmp_path: Path) -> None:
    async with asked(tmp_path, "openai", BUY, Says("Bought.")) as (runtime, _):
        reply = await runtime.ask("Buy tea", ANN)
        await runtime.approvals.approve(reply.waits_for[0], BOSS)
        ends = await asyncio.gather(
            *(runtime.agent.resume(reply.id, ANN) for _ in range(8)), return_exceptions=True
        )
    told = [each.text if isinstance(each, Reply) else getattr(each, "code", each) for each in ends]
    assert set(told) <= {"Bought.", "conflict"}
    assert "Bought." in told
    assert bought(tmp_path) == ["tea"]


async def test_what_a_dead_process_began_is_not_made_again(tmp_path: Path) -> None:
    script = (
        Says("", (("shop_price", {"article": "tea"}), ("shop_order", {"article": "tea"}))),
        Says("Nobody knows."),
    )
    order = (
        TOOLS
        + """
  order:
    description: Order an article.
    parameters: {article: string}
    shell: {script: 'echo "$1" >> bought.txt; kill -9 $PPID', argv: ["{{ article }}"]}
"""
    )
    async with model("openai", *script) as (made, server):
        write_files(tmp_path, files(server, "openai") | {"tools.d/shop.yaml": order})
        program = """
import asyncio, toolrt

async def main():
    async with toolrt.open(".") as runtime:
        await runtime.ask("Order tea")

asyncio.run(main())
"""
        child = await asyncio.create_subprocess_exec(
            sys.executable, "-c", program, cwd=tmp_path, env={**os.environ, **ENVIRON}
        )
        assert await child.wait() == -signal.SIGKILL
        async with toolrt.open(
            tmp_path, environ=ENVIRON, clock=ManualClock(time.time())
        ) as runtime:
            store = runtime.agent._kept
            [(id_,)] = await store._database.read(
                lambda session: session.rows("SELECT id FROM conversations")
            )
            caller = Caller("anonymous")
            kept = await store.find(id_)
            assert kept is not None
            assert kept.state == "running"
            caller = Caller(kept.principal)
            with pytest.raises(RefusedError) as busy:
                await runtime.agent.resume(id_, caller)
            await store._database.run(
                lambda session: session.change("UPDATE conversations SET owner = NULL")
            )
            ended = await runtime.agent.resume(id_, caller)
    assert busy.value.code == "conflict"
    assert ended.text == "Nobody knows."
    assert "nobody knows what came of it" in made.results()
    assert "tea costs 5" in made.results()
    assert bought(tmp_path) == ["tea"]


async def test_a_conversation_is_its_callers_alone(tmp_path: Path) -> None:
    async with asked(tmp_path, "google", Says("Hello.")) as (runtime, _):
        reply = await runtime.ask("Hello?", ANN)
        for other in (Caller("bob"), Caller("ann", tenant="other")):
            with pytest.raises(RefusedError) as refused:
                await runtime.agent.resume(reply.id, other)
            assert refused.value.code == "not-found"


async def test_a_conversation_that_was_changed_by_hand_is_refused(tmp_path: Path) -> None:
    async with asked(tmp_path, "openai", BUY) as (runtime, _):
        reply = await runtime.ask("Buy tea", ANN)
        await runtime.agent._kept._database.run(
            lambda session: session.change(
                "UPDATE conversations SET body = replace(body, 'tea', 'jam')"
            )
        )
        with pytest.raises(StoreError, match="changed by hand"):
            await runtime.agent.resume(reply.id, ANN)


async def test_another_question_goes_on_with_the_same_conversation(tmp_path: Path) -> None:
    async with asked(tmp_path, "anthropic", Says("Hello."), Says("Five.")) as (runtime, made):
        reply = await runtime.ask("Hello?", ANN)
        more = await runtime.agent.resume(reply.id, ANN, question="How much is tea?")
    assert more.text == "Five."
    assert [each["role"] for each in made.requests[1]["messages"]] == ["user", "assistant", "user"]


async def test_a_question_must_wait_where_people_are_asked(tmp_path: Path) -> None:
    async with asked(tmp_path, "openai", BUY) as (runtime, _):
        reply = await runtime.ask("Buy tea", ANN)
        with pytest.raises(RefusedError) as refused:
            await runtime.agent.resume(reply.id, ANN, question="And jam?")
        still = await runtime.agent.resume(reply.id, ANN)
    assert refused.value.code == "conflict"
    assert still.status == "paused"


@pytest.mark.parametrize("dialect", DIALECTS)
async def test_d13_the_loop_ends_at_its_limit(tmp_path: Path, dialect: str) -> None:
    look = Says("", (("shop_price", {"article": "tea"}),))
    more = "max_iterations: 3"
    async with asked(tmp_path, dialect, *[look] * 6, more=more) as (runtime, made):
        reply = await runtime.ask("What?", ANN)
        assert (reply.status, reply.iterations, len(made.requests)) == ("limit", 3, 3)
        on = await runtime.agent.resume(reply.id, ANN)
    assert (on.status, len(made.requests)) == ("limit", 6)


async def test_a_final_result_ends_the_run_without_the_model(tmp_path: Path) -> None:
    script = (Says("", (("shop_done", {"word": "enough"}),)),)
    async with asked(tmp_path, "openai", *script) as (runtime, made):
        reply = await runtime.ask("Stop", ANN)
    assert (reply.status, reply.text, len(made.requests)) == ("answered", "enough", 1)


async def test_r48_a_model_that_gets_nowhere_is_told_to_plan_anew(tmp_path: Path) -> None:
    fails = Says("", (("shop_broken", {}),))
    async with asked(tmp_path, "openai", fails, fails, Says("I give up.")) as (runtime, made):
        reply = await runtime.ask("What is the price of the article tea?", ANN)
    assert reply.text == "I give up."
    [said] = [each for each in made.requests[2]["messages"] if each["role"] == "user"][1:]
    assert "plan anew" in said["content"]
    assert "shop_price" in said["content"]
    assert "shop_broken" not in said["content"]


async def test_candidates_are_those_that_serve_the_question(tmp_path: Path) -> None:
    script = (Says("", (("shop_stock", {"article": "tea"}),)), Says("Three."))
    async with asked(tmp_path, "openai", *script, more="candidates: 1") as (runtime, made):
        reply = await runtime.ask("What is the price?", ANN)
    assert made.tools(0) == ["shop_price"]
    assert sorted(made.tools(1)) == ["shop_price", "shop_stock"]
    assert reply.text == "Three."


async def test_a_vendor_that_is_busy_is_asked_again_and_one_that_refuses_is_not(
    tmp_path: Path,
) -> None:
    async with asked(tmp_path, "openai", Says(status=503), Says("Now.")) as (runtime, made):
        assert (await runtime.ask("Hello?", ANN)).text == "Now."
        made.script.append(Says(status=401))
        reply = await runtime.ask("Hello?", ANN)
    assert reply.status == "failed"
    assert reply.error is not None
    assert reply.error.code == "access-denied"
    assert len(made.requests) == 3


async def test_an_answer_that_is_none_is_told_to_the_model(tmp_path: Path) -> None:
    async with asked(tmp_path, "anthropic", Says("Hello.")) as (runtime, made):
        first = made.answer

        def odd(heard: Any) -> bytes:
            if not made.requests:
                made.requests.append(json.loads(heard.body))
                return json_reply('{"role": "assistant"}')
            return first(heard)

        made.hook = odd
        reply = await runtime.ask("Hello?", ANN)
    assert reply.text == "Hello."
    assert "cannot be used" in made.results()


async def test_the_key_of_the_vendor_is_sent_and_the_model_is_no_tool_of_anybody(
    tmp_path: Path,
) -> None:
    async with asked(tmp_path, "anthropic", Says("Hello.")) as (runtime, made):
        await runtime.ask("Hello?", ANN)
        listed = [entry.name for entry in await runtime.listed(ANN)]
        result = await runtime.call("agent.model", {"body": {}}, ANN)
    assert made.headers["authorization"] == "Bearer the-key-of-vendor"
    assert made.headers["anthropic-version"] == "2023-06-01"
    assert "agent.model" not in listed
    assert result.error is not None
    assert result.error.code == "unknown-tool"


async def test_rules_hold_for_what_a_model_calls(tmp_path: Path) -> None:
    write_files(
        tmp_path, {"policies.d/p.yaml": "rules:\n  - {id: a, decide: allow, tools: [shop.stock]}\n"}
    )
    script = (Says("", (("shop_price", {"article": "tea"}),)), Says("Not allowed."))
    async with asked(tmp_path, "openai", *script) as (runtime, made):
        reply = await runtime.ask("What is the price?", ANN)
    assert reply.text == "Not allowed."
    assert "costs 5" not in made.results()


async def test_a_project_without_a_model_says_what_to_write(tmp_path: Path) -> None:
    write_files(tmp_path, {"tools.d/shop.yaml": TOOLS})
    async with toolrt.open(tmp_path) as runtime:
        with pytest.raises(RefusedError, match="no model") as refused:
            await runtime.ask("Hello?")
    assert refused.value.code == "unsupported"


@pytest.mark.parametrize("candidates", ["", "candidates: 2"])
async def test_u25_instructions_of_the_project_and_of_tools_come_first(
    tmp_path: Path, candidates: str
) -> None:
    more = f"instructions: Be short.\n              {candidates}"
    async with asked(tmp_path, "anthropic", Says("Five."), more=more) as (runtime, made):
        await runtime.ask("How much stock of the article?", ANN)
    assert made.requests[0]["system"] == (
        "Be short.\nshop_stock: Ask for the stock before you buy."
    )


async def test_u66_another_agent_hands_a_task_over(tmp_path: Path) -> None:
    script = (BUY, Says("Bought."), Says("Hello."))
    async with model("openai", *script) as (made, server):
        project = files(server, "openai")
        project = project | {"toolrt.yaml": "builtins: [do]\n" + dedent(project["toolrt.yaml"])}
        write_files(tmp_path, project)
        async with toolrt.open(tmp_path, environ=ENVIRON) as runtime:
            first = await runtime.call("do", {"task": "Buy tea"}, ANN)
            waits = first.data["waits_for"]
            await runtime.approvals.approve(waits[0], BOSS)
            again = {"conversation": first.data["conversation"]}
            second = await runtime.call("do", again, ANN)
            other = await runtime.call("do", again, Caller("bob"))
            neither = await runtime.call("do", {}, ANN)
    assert (first.data["status"], second.data["text"]) == ("paused", "Bought.")
    assert bought(tmp_path) == ["tea"]
    assert "do" not in made.tools(0)
    assert [each.error and each.error.code for each in (other, neither)] == [
        "not-found", "invalid-arguments",
    ]  # fmt: skip


def test_u66_a_task_for_no_model_is_told(tmp_path: Path) -> None:
    write_files(tmp_path, {"toolrt.yaml": "builtins: [do]\n", "tools.d/shop.yaml": TOOLS})
    found = load(tmp_path, environ={}).diagnostics
    assert [(each.code, each.line) for each in found if each.severity == "error"] == [
        ("no-effect", 1)
    ]
