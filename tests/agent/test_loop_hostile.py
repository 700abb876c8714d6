"""The loop against models and projects that do what nobody would."""

import json
from collections.abc import Callable
from pathlib import Path
from textwrap import dedent
from typing import Any

import pytest
from agent.scripted import Model, Says, model
from agent.test_loop import ANN, BOSS, BUY, ENVIRON, TOOLS, asked, bought, files
from loopback import Heard, json_reply

import toolrt
from toolrt.core.errors import RefusedError
from toolrt.testing import write_files

pytestmark = pytest.mark.anyio

ASK = "rules:\n  - {id: people, decide: ask, tools: [agent.model]}\n"


def always(made: Model, answer: Any) -> Callable[[Heard], bytes]:
    """A model that gives the same answer for ever."""

    def hear(heard: Heard) -> bytes:
        made.requests.append(json.loads(heard.body))
        return json_reply(json.dumps(answer))

    return hear


def said(**message: Any) -> dict[str, Any]:
    return {"choices": [{"message": {"role": "assistant", **message}}]}


@pytest.mark.parametrize(
    ("dialect", "answer"),
    [
        ("openai", {"error": {"message": "overloaded"}}),
        ("openai", None),
        ("openai", said(content=None)),
        ("openai", said(content=" \n")),
        ("openai", {"role": "assistant", "content": "bare"}),
        ("anthropic", {"type": "message", "content": [], "stop_reason": "refusal"}),
        ("anthropic", {"type": "error", "error": {"message": "no"}}),
        ("openai_responses", {"status": "completed", "output": []}),
        ("google", {"promptFeedback": {"blockReason": "SAFETY"}}),
        ("google", {"candidates": [{"finishReason": "SAFETY"}]}),
    ],
)
async def test_a_model_that_never_answers_is_given_up(
    tmp_path: Path, dialect: str, answer: Any
) -> None:
    async with asked(tmp_path, dialect) as (runtime, made):
        made.hook = always(made, answer)
        reply = await runtime.ask("Hello?", ANN)
    assert (reply.status, len(made.requests)) == ("failed", 3)
    assert reply.error is not None
    assert reply.error.code == "bad-response"


async def test_after_an_empty_answer_a_model_goes_on(tmp_path: Path) -> None:
    for dialect in ("openai", "anthropic", "google", "openai_responses"):
        folder = tmp_path / dialect
        async with asked(folder, dialect, Says(""), Says("Hello.")) as (runtime, made):
            reply = await runtime.ask("Hello?", ANN)
        assert (reply.status, reply.text) == ("answered", "Hello.")
        assert "neither words nor calls" in made.results()


@pytest.mark.parametrize(
    ("dialect", "answer"),
    [
        ("openai", said(content=None, refusal="I will not.")),
        (
            "openai_responses",
            {
                "output": [
                    {
                        "type": "message",
                        "role": "assistant",
                        "content": [{"type": "refusal", "refusal": "I will not."}],
                    }
                ]
            },
        ),
    ],
)
async def test_what_a_model_refuses_is_its_answer(
    tmp_path: Path, dialect: str, answer: Any
) -> None:
    async with asked(tmp_path, dialect) as (runtime, made):
        made.hook = always(made, answer)
        reply = await runtime.ask("Hello?", ANN)
    assert (reply.status, reply.text, len(made.requests)) == ("answered", "I will not.", 1)


async def test_an_answer_that_a_vendor_has_broken_off_is_sent_back_as_it_is(
    tmp_path: Path,
) -> None:
    search = {"type": "server_tool_use", "id": "s1", "name": "web_search", "input": {}}
    async with asked(tmp_path, "anthropic", Says("Found.")) as (runtime, made):
        rest = made.answer

        def first(heard: Heard) -> bytes:
            if made.requests:
                return rest(heard)
            made.requests.append(json.loads(heard.body))
            document = {"role": "assistant", "content": [search], "stop_reason": "pause_turn"}
            return json_reply(json.dumps(document))

        made.hook = first
        reply = await runtime.ask("Search", ANN)
    assert reply.text == "Found."
    assert made.requests[1]["messages"][1:] == [{"role": "assistant", "content": [search]}]


async def test_people_who_are_asked_about_the_model_let_it_go_on(tmp_path: Path) -> None:
    write_files(tmp_path, {"policies.d/p.yaml": ASK})
    async with asked(tmp_path, "openai", Says("Hello.")) as (runtime, made):
        heard: list[str] = []
        reply = await runtime.agent.ask(
            "Hello?", ANN, on_call=lambda result: heard.append(result.tool)
        )
        assert (reply.status, reply.iterations, len(made.requests)) == ("paused", 0, 0)
        early = await runtime.agent.resume(reply.id, ANN)
        assert early.waits_for == reply.waits_for
        await runtime.approvals.approve(reply.waits_for[0], BOSS)
        ended = await runtime.agent.resume(reply.id, ANN)
    assert (ended.status, ended.text, heard) == ("answered", "Hello.", ["agent.model"])


async def test_half_characters_of_a_question_are_none(tmp_path: Path) -> None:
    async with asked(tmp_path, "openai", Says("Hello."), Says("Again.")) as (runtime, made):
        reply = await runtime.ask("a\udcff\0", ANN)
        more = await runtime.agent.resume(reply.id, ANN, question="\ud800")
        with pytest.raises(RefusedError) as refused:
            await runtime.agent.resume("ask-\udcff\0", ANN)
    assert (reply.text, more.text, refused.value.code) == ("Hello.", "Again.", "not-found")
    assert made.requests[0]["messages"][-1]["content"] == "a\ufffd\0"


async def test_a_conversation_in_the_words_of_another_vendor_does_not_go_on(
    tmp_path: Path,
) -> None:
    async with model("openai", BUY) as (made, server):
        write_files(tmp_path, files(server, "openai"))
        async with toolrt.open(tmp_path, environ=ENVIRON) as runtime:
            reply = await runtime.ask("Buy tea", ANN)
            await runtime.approvals.approve(reply.waits_for[0], BOSS)
        write_files(tmp_path, files(server, "anthropic"))
        async with toolrt.open(tmp_path, environ=ENVIRON) as runtime:
            for question in (None, "more"):
                with pytest.raises(RefusedError) as refused:
                    await runtime.agent.resume(reply.id, ANN, question=question)
                assert refused.value.code == "conflict"
                assert "in the words of openai" in refused.value.message
        write_files(tmp_path, files(server, "openai"))
        made.script.append(Says("Bought."))
        async with toolrt.open(tmp_path, environ=ENVIRON) as runtime:
            ended = await runtime.agent.resume(reply.id, ANN)
    assert (ended.text, bought(tmp_path)) == ("Bought.", ["tea"])


async def test_a_call_is_of_the_tool_that_was_meant_though_another_has_its_name(
    tmp_path: Path,
) -> None:
    call = "{description: Buy., hitl: confirm, shell: {script: 'echo %s >> bought.txt'}}"
    one = f"namespace: shop\ntools:\n  buy: {call % 'right'}\n"
    other = f"namespace: null\ntools:\n  shop_buy: {call % 'wrong'}\n"
    script = (Says("", (("shop_buy", {}),)), Says("Gone."))
    async with model("openai", *script) as (made, server):
        write_files(tmp_path, dict(files(server, "openai")) | {"tools.d/shop.yaml": one})
        async with toolrt.open(tmp_path, environ=ENVIRON) as runtime:
            reply = await runtime.ask("Buy", ANN)
        write_files(tmp_path, {"tools.d/shop.yaml": other.replace("namespace: null\n", "")})
        async with toolrt.open(tmp_path, environ=ENVIRON) as runtime:
            ended = await runtime.agent.resume(reply.id, ANN)
    assert (ended.status, bought(tmp_path)) == ("answered", [])
    assert "no tool" in made.results()


async def test_the_same_call_twice_in_an_answer_waits_once_and_runs_once_for_each_yes(
    tmp_path: Path,
) -> None:
    twice = Says("", (("shop_buy", {"article": "tea"}),) * 2)
    async with asked(tmp_path, "openai", twice, Says("Bought.")) as (runtime, _):
        reply = await runtime.ask("Buy", ANN)
        for times in (1, 2):
            assert len(reply.waits_for) == 1
            await runtime.approvals.approve(reply.waits_for[0], BOSS)
            reply = await runtime.agent.resume(reply.id, ANN)
            assert bought(tmp_path) == ["tea"] * times
    assert reply.text == "Bought."


async def test_what_ends_the_run_ends_it_though_another_call_waited(tmp_path: Path) -> None:
    both = Says("", (("shop_buy", {"article": "tea"}), ("shop_done", {"word": "enough"})))
    async with asked(tmp_path, "openai", both) as (runtime, made):
        reply = await runtime.ask("Buy", ANN)
        await runtime.approvals.approve(reply.waits_for[0], BOSS)
        ended = await runtime.agent.resume(reply.id, ANN)
    assert (ended.status, ended.text, len(made.requests)) == ("answered", "enough", 1)


async def test_a_model_that_asks_itself_is_refused(tmp_path: Path) -> None:
    do = Says("", (("do", {"task": "again"}),))
    through = Says("", (("call_tool", {"name": "do", "arguments": {"task": "again"}}),))
    async with model("openai", do, through, Says("Then not.")) as (made, server):
        project = dict(files(server, "openai"))
        project["toolrt.yaml"] = "builtins: [do, call_tool]\n" + dedent(project["toolrt.yaml"])
        write_files(tmp_path, project)
        async with toolrt.open(tmp_path, environ=ENVIRON) as runtime:
            result = await runtime.call("do", {"task": "Do"}, ANN)
    assert result.data["text"] == "Then not."
    assert len(made.requests) == 3
    assert made.results().count("cannot ask itself") == 2


async def test_answers_that_are_edited_by_people_are_told_as_they_ran(tmp_path: Path) -> None:
    async with asked(tmp_path, "openai", BUY, Says("Bought.")) as (runtime, _):
        reply = await runtime.ask("Buy tea", ANN)
        await runtime.approvals.approve(reply.waits_for[0], BOSS, edits={"article": "jam"})
        ended = await runtime.agent.resume(reply.id, ANN)
    assert (ended.text, bought(tmp_path)) == ("Bought.", ["jam"])


@pytest.mark.parametrize("name", ["agent.model", "agent_model", "shop_hidden", "x" * 100_000])
async def test_a_thousand_calls_of_what_is_no_tool_are_refused(tmp_path: Path, name: str) -> None:
    hidden = "  hidden: {description: H., effect: read, expose: false, command: [echo, hush]}\n"
    many = Says("", ((name, {"body": {}}),) * (1000 if len(name) < 100 else 10))
    async with model("openai", many, Says("None.")) as (made, server):
        write_files(tmp_path, dict(files(server, "openai")) | {"tools.d/shop.yaml": TOOLS + hidden})
        async with toolrt.open(tmp_path, environ=ENVIRON) as runtime:
            reply = await runtime.ask("Hello?", ANN)
    assert (reply.text, len(made.requests)) == ("None.", 2)
    assert "hush" not in made.results()
