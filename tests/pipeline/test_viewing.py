"""Approvals as people see them: known secrets masked, and said to be (A12, O1)."""

import json

import pytest

from toolrt.core.calls import Caller
from toolrt.testing import open_files

pytestmark = pytest.mark.anyio

SECRET = "sup3rs3cret-value"
TOOLS = """
tools:
  pay:
    description: Pay.
    parameters: {to: {type: object}, many: {type: array}, pin: {type: string, sensitive: true}}
    command: {argv: [echo, "{{ to }}{{ many }}{{ pin }}"], env: {K: "${env:PAY_KEY}"}}
    hitl: confirm
"""
BOSS = Caller("boss", may=frozenset({"approve"}))


@pytest.fixture
async def seen(monkeypatch):
    """`seen(arguments)`: the approval of a call with these arguments, as people see it."""
    monkeypatch.setenv("PAY_KEY", SECRET)
    async with open_files({"tools.d/t.yaml": TOOLS}) as runtime:

        async def view(**arguments):
            call = {"to": {}, "many": [], "pin": "1", **arguments}
            paused = await runtime.call("pay", call, Caller("ann"))
            record = await runtime.approvals.get(paused.pause.approval_id)
            await runtime.approvals.deny(record.id, BOSS, note=f"that is {SECRET}")
            [viewed] = await runtime.approvals.viewed(record)
            return viewed

        yield view


async def test_a12_each_place_that_holds_a_known_secret_is_named(seen):
    viewed = await seen(to={"token": SECRET, "name": "x"}, many=["a", f"of {SECRET}"])

    assert viewed.secrets == {"to.token": True, "many[1]": False}
    assert json.loads(viewed.record.arguments)["to"] == {"token": "***", "name": "x"}
    assert viewed.record.asked_arguments == viewed.record.arguments
    assert SECRET not in repr(viewed)


async def test_a12_a_key_that_is_a_secret_is_masked_where_it_stands(seen):
    viewed = await seen(to={SECRET: 1})

    assert viewed.secrets == {"to": False}
    assert SECRET not in repr(viewed)


async def test_what_is_sensitive_is_masked_and_no_known_secret(seen):
    viewed = await seen(pin="4711")

    assert viewed.secrets == {}
    assert json.loads(viewed.record.arguments)["pin"] == "***"
    assert [vote.note for vote in viewed.votes] == ["that is ***"]
