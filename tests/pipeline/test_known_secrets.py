"""A known secret that somebody is called by, or types, is told to nobody else (O1)."""

import json

import pytest

import toolrt
from toolrt.core.calls import Caller
from toolrt.core.errors import CallError
from toolrt.pipeline.answering import Standing
from toolrt.testing import write_files

pytestmark = pytest.mark.anyio

SECRET = "sup3rs3cret-value"
PIN = "kid-pin-4411"
FILES = {
    "toolrt.yaml": "approvals: {notify: tell}\n",
    "tools.d/t.yaml": """\
tools:
  pay:
    description: Pay.
    parameters:
      amount: {type: integer}
      pin: {type: string, sensitive: true, required: false}
    command: {argv: [echo, "{{ amount }}"], env: {KEY: "${env:PAY_KEY}", PIN: "{{ pin }}"}}
    effect: write
  tell:
    description: Tell.
    parameters: {principal: string, needs: string}
    shell: {script: 'echo "$1 $2" > told.txt', argv: ["{{ principal }}", "{{ needs }}"]}
""",
    "policies.d/p.yaml": """\
rules:
- {id: look, decide: ask, tools: [pay], approval: {scopes: [once, pattern], count: 2}}
default: allow
""",
}
MAY = frozenset({"call", "approve"})
ANN, BOB = Caller("ann", may=MAY), Caller("bob", may=MAY)
NAMED = Caller(SECRET, (SECRET,), session=SECRET, claims={"a": SECRET}, may=MAY)
NAMED_BOSS = Caller(f"boss {SECRET}", (SECRET,), may=MAY)


@pytest.fixture
async def runtime(anyio_backend, tmp_path, monkeypatch):
    monkeypatch.setenv("PAY_KEY", SECRET)
    async with toolrt.open(write_files(tmp_path, FILES)) as opened:
        yield opened


async def asked(runtime, caller=ANN, **more):
    return await runtime.call("pay", {"amount": 1, **more}, caller)


async def test_a_question_of_somebody_who_is_called_by_a_secret_shows_it_not(runtime, tmp_path):
    paused = await asked(runtime, NAMED)
    approval = paused.pause.approval_id
    voted = await runtime.approvals.approve(approval, NAMED_BOSS, edits={"amount": 2})
    again = await asked(runtime, NAMED)
    [viewed] = await runtime.approvals.viewed(voted.record)

    assert [vote.actor for vote in viewed.votes] == ["boss ***"]
    assert viewed.needs[0].said == ("boss ***",)
    assert (viewed.record.principal, viewed.record.session) == ("***", "***")
    for shown in (paused, again, viewed):
        assert SECRET not in repr(shown)


async def test_a_standing_yes_for_somebody_who_is_called_by_a_secret_shows_it_not(runtime):
    approval = (await asked(runtime, NAMED)).pause.approval_id
    for who in (ANN, NAMED_BOSS):
        await runtime.approvals.approve(approval, who, standing=Standing("pattern", 60.0))
    [grant] = await runtime.approvals.grants()

    assert SECRET not in repr(grant)
    assert SECRET not in repr(await runtime.approvals.revoke(grant.id, NAMED_BOSS))


async def test_a_notice_about_somebody_who_is_called_by_a_secret_shows_it_not(runtime, tmp_path):
    await asked(runtime, NAMED)
    await runtime.close()

    assert (tmp_path / "told.txt").read_text().startswith("*** ")


def told(error):
    return repr(error) + str(error) + error.message + str(error.hint) + json.dumps(error.details)


@pytest.mark.parametrize("verb", ["get", "approve", "deny", "cancel", "run", "revoke"])
async def test_a_secret_that_is_typed_for_an_id_is_not_repeated(runtime, verb):
    by = () if verb in {"get", "run"} else (ANN,)
    with pytest.raises(CallError) as refused:
        await getattr(runtime.approvals, verb)(SECRET, *by)

    assert "***" in refused.value.message
    assert SECRET not in told(refused.value)


@pytest.mark.parametrize("typed", [SECRET, f"of {SECRET}.", PIN])
async def test_a_secret_that_is_typed_for_an_argument_is_not_repeated(runtime, typed):
    approval = (await asked(runtime, pin=PIN)).pause.approval_id
    with pytest.raises(CallError) as refused:
        await runtime.approvals.approve(approval, BOB, edits={"amount": typed})

    assert "`amount` must be an integer" in refused.value.message
    assert SECRET not in told(refused.value)
    assert PIN not in told(refused.value)
