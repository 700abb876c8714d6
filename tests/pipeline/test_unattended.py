"""P17: `approvals.when_unattended: deny` refuses what nobody is there to be asked for."""

import pytest

import toolrt
from toolrt.core.calls import Caller
from toolrt.pipeline.approvals import Standing
from toolrt.testing import open_files, stubbed, write_files

pytestmark = pytest.mark.anyio

BOSS = Caller("boss", may=frozenset({"approve"}))
TOOLS = """
tools:
  pay: {description: Pay., parameters: {amount: integer}, command: [echo, "{{ amount }}"], hitl: confirm}
"""
SCOPES = "approval: {scopes: [once, pattern]}\n"
CALL = {"amount": 1}


def project(written="deny"):
    return {
        "tools.d/t.yaml": TOOLS,
        "policies.d/p.yaml": SCOPES,
        "toolrt.yaml": f"approvals: {{when_unattended: {written}}}\n" if written else "{}\n",
    }


async def test_p17_with_nobody_attached_an_ask_ends_in_approval_unavailable():
    async with open_files(project()) as runtime:
        with stubbed(runtime, {"pay": lambda _: "paid"}) as calls:
            result = await runtime.call("pay", CALL)
            assert (result.status, result.error.code) == ("error", "approval-unavailable")
            assert "nobody is there" in result.error.message
            assert calls == []
            assert await runtime.approvals.listed() == []


@pytest.mark.parametrize(("written", "attended"), [("deny", True), ("queue", False), (None, False)])
async def test_p17_where_somebody_is_attached_or_calls_may_wait_the_call_pauses(written, attended):
    async with open_files(project(written), attended=attended) as runtime:
        assert (await runtime.call("pay", CALL)).status == "paused"


async def test_p17_a_question_that_is_open_lets_no_unattended_call_wait(tmp_path):
    write_files(tmp_path, project())
    async with toolrt.open(tmp_path, attended=True) as runtime:
        approval = (await runtime.call("pay", CALL)).pause.approval_id
    async with toolrt.open(tmp_path) as runtime:
        assert (await runtime.call("pay", CALL)).error.code == "approval-unavailable"
        await runtime.approvals.approve(approval, BOSS)
        assert (await runtime.call("pay", CALL)).status == "success"


async def test_p17_a_standing_yes_needs_nobody_attached(tmp_path):
    write_files(tmp_path, project())
    async with toolrt.open(tmp_path, attended=True) as runtime:
        approval = (await runtime.call("pay", CALL)).pause.approval_id
        standing = Standing("pattern", 60.0, free=frozenset({"amount"}))
        await runtime.approvals.approve(approval, BOSS, standing=standing)
    async with toolrt.open(tmp_path) as runtime:
        assert (await runtime.call("pay", {"amount": 2})).status == "success"


async def test_p17_a_reload_brings_it_into_force():
    async with open_files(project("queue")) as runtime:
        write_files(runtime.project, project())
        await runtime.reload()
        assert (await runtime.call("pay", CALL)).error.code == "approval-unavailable"
