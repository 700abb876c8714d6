"""Tasks: calls of modern clients that go on without their request."""

import pytest
from faces.mcp.projects import project
from faces.mcp.raw import client
from faces.mcp.serving import served
from until import until

from toolrt import Caller

pytestmark = pytest.mark.anyio
TASKS = {"extensions": {"io.modelcontextprotocol/tasks": {}}}
BOSS = Caller("boss", may=frozenset({"approve"}))


async def ended(raw, task_id):
    """How a task ends."""

    async def over():
        task = (await raw.ask("tasks/get", {"taskId": task_id}, headers=named(task_id))).result
        return task if task["status"] not in {"working", "input_required"} else None

    return await until(over)


def named(task_id):
    return {"mcp-name": task_id}


async def test_a_short_call_is_no_task_and_a_long_one_is(folder):
    async with served(project(folder)) as site, client(site.url, **TASKS) as raw:
        short = (await raw.call("slow", {"seconds": 0.01})).result
        begun = (await raw.call("slow", {"seconds": 0.3})).result
        done = await ended(raw, begun["taskId"])

    assert short["resultType"] == "complete"
    assert (begun["resultType"], begun["status"]) == ("task", "working")
    assert done["status"] == "completed"
    assert done["result"]["content"][0]["text"] == "done"


async def test_nobody_gets_a_task_who_did_not_offer_it(folder):
    async with served(project(folder)) as site, client(site.url) as raw:
        result = (await raw.call("slow", {"seconds": 0.3})).result
        refused = await raw.ask("tasks/get", {"taskId": "x"}, headers=named("x"))

    assert result["resultType"] == "complete"
    assert (refused.status, refused.error["code"]) == (400, -32021)


async def test_a_task_is_its_callers_alone(folder):
    ann = Caller("ann")
    async with served(project(folder), caller=ann) as site, client(site.url, **TASKS) as raw:
        begun = (await raw.call("slow", {"seconds": 0.3})).result
        id_ = begun["taskId"]
        site.app.caller = Caller("bob")
        stolen = await raw.ask("tasks/get", {"taskId": id_}, headers=named(id_))
        unknown = await raw.ask("tasks/cancel", {"taskId": "x"}, headers=named("x"))

    assert stolen.error == unknown.error
    assert stolen.error["code"] == -32602


async def test_a_task_that_is_called_off_ends_with_its_children(folder):
    async with served(project(folder)) as site, client(site.url, **TASKS) as raw:
        begun = (await raw.call("slow", {"seconds": 5})).result
        id_ = begun["taskId"]
        called_off = await raw.ask("tasks/cancel", {"taskId": id_}, headers=named(id_))
        again = await raw.ask("tasks/cancel", {"taskId": id_}, headers=named(id_))
        task = await ended(raw, id_)

    assert called_off.result["resultType"] == again.result["resultType"] == "complete"
    assert task["status"] == "cancelled"
    assert "result" not in task


async def test_a_task_waits_for_people_as_long_as_its_question_is_open(folder):
    tools = "tools: {pay: {description: Pays., command: [./pay], effect: irreversible}}"
    async with served(project(folder, tools)) as site, client(site.url, **TASKS) as raw:
        begun = (await raw.call("pay")).result
        (record,) = await site.runtime.approvals.listed()
        waiting = (
            await raw.ask("tasks/get", {"taskId": begun["taskId"]}, headers=named(begun["taskId"]))
        ).result
        await site.runtime.approvals.approve(record.id, BOSS)
        done = await ended(raw, begun["taskId"])

    assert begun["resultType"] == "task"
    assert record.id in waiting["statusMessage"]
    assert done["result"]["content"][0]["text"].strip() == "paid"
    assert (folder / "paid.txt").read_text().splitlines() == ["paid"]
