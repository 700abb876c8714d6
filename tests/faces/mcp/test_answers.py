"""Answers of clients: each counts for the very question that was asked, and only a yes is a yes."""

import pytest
from faces.mcp.projects import project
from faces.mcp.raw import client
from faces.mcp.serving import served
from faces.mcp.test_approvals import ANN, ASKING, ERAS, _asked, paid
from faces.mcp.test_tasks import TASKS, ended
from until import until

from toolrt import Caller

pytestmark = pytest.mark.anyio
YES = {"approval": {"action": "accept", "content": {"decision": "approve"}}}


@pytest.mark.parametrize("content", [{"decision": "approve"}, {}, None])
async def test_an_answer_that_comes_before_its_question_is_none(folder, content):
    said = {"approval": {"action": "accept", "content": content}}
    async with (
        served(project(folder, ASKING), caller=ANN) as site,
        client(site.url, elicitation={}) as raw,
    ):
        reply = await raw.call("pay", inputResponses=said)

    assert reply.result["resultType"] == "input_required"
    assert paid(folder) == []


async def test_a_tool_hears_no_answer_that_comes_before_its_question(folder):
    said = {"who": {"action": "accept", "content": {"name": "Eve"}}}
    async with served(project(folder)) as site, client(site.url, elicitation={}) as raw:
        reply = await raw.call("hello", inputResponses=said)

    assert set(reply.result["inputRequests"]) == {"who"}


@pytest.mark.parametrize("is_other_process", [False, True])
async def test_one_yes_is_for_one_approval(folder, is_other_process):
    key = lambda: b"k" * 32  # noqa: E731
    async with (
        served(project(folder, ASKING), caller=ANN, key=key) as site,
        client(site.url, elicitation={}) as raw,
    ):
        state = (await raw.call("pay")).result["requestState"]
        done = await raw.call("pay", requestState=state, inputResponses=YES)
        again = await raw.call("pay", requestState=state, inputResponses=YES)
    if is_other_process:
        async with (
            served(folder, caller=ANN, key=key) as other,
            client(other.url, elicitation={}) as raw,
        ):
            again = await raw.call("pay", requestState=state, inputResponses=YES)

    assert done.result["isError"] is False
    assert again.result["resultType"] == "input_required"
    assert paid(folder) == ["paid"]


async def test_a_state_is_for_its_arguments_and_its_caller_alone(folder):
    tools = """
    tools:
      send:
        description: Sends.
        command: [./pay, "{{ to }}"]
        parameters: {to: string}
        effect: irreversible
    """
    async with (
        served(project(folder, tools), caller=ANN) as site,
        client(site.url, elicitation={}) as raw,
    ):
        first = (await raw.call("send", {"to": "a"})).result
        more = {"requestState": first["requestState"], "inputResponses": YES}
        other = await raw.call("send", {"to": "b"}, **more)
        site.app.caller = Caller("bob", may=frozenset({"call", "approve"}))
        stolen = await raw.call("send", {"to": "a"}, **more)

    assert other.error["code"] == stolen.error["code"] == -32602
    assert paid(folder) == []


async def test_a_question_of_a_tool_is_no_approval_whatever_its_key(folder):
    """A call that has begun is not made anew, whatever the tool calls its question."""
    tools = """
    tools:
      hello: {python: "asks:hello", effect: write}
    """
    code = """
    import pathlib
    import toolrt
    async def hello(context: toolrt.Context) -> str:
        "Asks."
        with pathlib.Path(__file__).with_name("begun.txt").open("a") as file:
            file.write("begun\\n")
        await context.elicit("Who?", {"name": {"type": "string"}}, key="approval")
        return "done"
    """
    key = lambda: b"k" * 32  # noqa: E731
    made = project(folder, tools, asks_py=code)
    async with served(made, key=key) as one, client(one.url, elicitation={}) as raw:
        state = (await raw.call("hello")).result["requestState"]
    async with served(folder, key=key) as other, client(other.url, elicitation={}) as raw:
        refused = await raw.call("hello", requestState=state, inputResponses=YES)

    assert refused.error["code"] == -32602
    assert (folder / "begun.txt").read_text().splitlines() == ["begun"]


@ERAS
@pytest.mark.parametrize(
    "content", [None, {}, {"decision": "yes"}, {"decision": True}, {"decision": ["approve"]}, []]
)
async def test_what_is_no_decision_leaves_the_call_where_it_was(folder, era, content):
    answers = iter([{"action": "accept", "content": content}])
    async with served(project(folder, ASKING), caller=ANN) as site:
        result = await _asked(site, era, lambda _: next(answers), {"elicitation": {}})
        (record,) = await site.runtime.approvals.listed()

    assert result["isError"] is True
    assert "waits for a person" in result["content"][0]["text"]
    assert record.state == "pending"
    assert paid(folder) == []


@ERAS
@pytest.mark.parametrize("note", [{"a": 1}, 3, ["x"]])
async def test_a_note_that_is_no_text_is_none(folder, era, note):
    said = {"action": "accept", "content": {"decision": "deny", "note": note}}
    async with served(project(folder, ASKING), caller=ANN) as site:
        result = await _asked(site, era, lambda _: said, {"elicitation": {}})

    assert "denied" in result["content"][0]["text"]
    assert paid(folder) == []


async def test_a_task_hears_an_answer_only_once_it_has_shown_its_question(folder):
    tools = """
    tools:
      late: {python: "late:late", effect: read}
    """
    code = """
    import asyncio
    import pathlib
    import toolrt
    async def late(context: toolrt.Context) -> str:
        "Asks late."
        while not pathlib.Path(__file__).with_name("asks").exists():
            await asyncio.sleep(0)
        said = await context.elicit("Who?", {"name": {"type": "string"}}, key="who")
        return f"hello {said.content.get('name')}"
    """
    said = {"who": {"action": "accept", "content": {"name": "Ann"}}}
    made = project(folder, tools, late_py=code)
    async with served(made) as site, client(site.url, elicitation={}, **TASKS) as raw:
        id_ = (await raw.call("late")).result["taskId"]
        more = {"taskId": id_, "inputResponses": said}
        await raw.ask("tasks/update", more, headers={"mcp-name": id_})
        (folder / "asks").touch()

        async def asks():
            task = (await raw.ask("tasks/get", {"taskId": id_}, headers={"mcp-name": id_})).result
            return task if task["status"] != "working" else None

        asked = await until(asks)
        await raw.ask("tasks/update", more, headers={"mcp-name": id_})
        done = await ended(raw, id_)

    assert asked["status"] == "input_required"
    assert done["result"]["content"][0]["text"] == "hello Ann"
