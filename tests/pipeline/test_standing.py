"""A standing yes is worth what was said about its arguments, and no more (A10, A11, A13)."""

import json

import pytest

import toolrt
from toolrt.core.calls import Caller
from toolrt.pipeline.answering import Standing
from toolrt.testing import write_files

pytestmark = pytest.mark.anyio

TOOLS = """\
tools:
  pay:
    description: Pay.
    parameters: {amount: number, to: {type: string, default: x}}
    command: [echo, "paid {{ amount }} to {{ to }}"]
    effect: write
"""
RULE = "{id: look, decide: ask, tools: [pay], approval: {scopes: [once, pattern], count: %d}}"
HUGE = (
    "{id: huge, decide: ask, tools: [pay], when: args.amount > 5000,"
    " approval: {approvers: {roles: [boss]}}}"
)
BOT = Caller("bot")
HOUR = Standing("pattern", 3600.0, 10)
MUCH = {"amount": 9000}


def person(name, *roles):
    return Caller(name, roles, may=frozenset({"call", "approve"}))


ANN, BEA, CID = person("ann"), person("bea"), person("cid")


def rules(count, *more):
    return "rules:\n" + "".join(f"- {rule}\n" for rule in (RULE % count, *more))


def identities(*names):
    known = ({"token_hash": name, "principal": name, "may": ["call", "approve"]} for name in names)
    return f"identities: {json.dumps(list(known))}\n"


@pytest.fixture
def root(tmp_path):
    """A folder; `root(count=2)` writes how many must say yes."""

    def written(*more, count=1, **files):
        base = {"tools.d/t.yaml": TOOLS, "policies.d/p.yaml": rules(count, *more)}
        return write_files(tmp_path, base | {"toolrt.yaml": files.get("project", "{}\n")})

    return written


async def asked(runtime, arguments=MUCH):
    return (await runtime.call("pay", arguments, BOT)).pause.approval_id


def meanwhile(monkeypatch, runtime, work):
    """Something that happens between what a person reads and what they say."""
    real = runtime._gateway.recheck

    async def slow(record, arguments):
        made = await real(record, arguments)
        monkeypatch.setattr(runtime._gateway, "recheck", real)
        await work()
        return made

    monkeypatch.setattr(runtime._gateway, "recheck", slow)


async def reopened(runtime, folder):
    """A question that ann said yes to for an hour, and that a stricter rule opened again."""
    approval = await asked(runtime)
    await runtime.approvals.approve(approval, ANN, standing=HOUR)
    write_files(folder, {"policies.d/p.yaml": rules(2)})
    await runtime.reload()
    await runtime.approvals.run(approval, by=ANN)
    return approval


async def test_a11_yeses_to_other_arguments_back_no_standing_yes(root):
    folder = root()
    async with toolrt.open(folder) as runtime:
        approval = await reopened(runtime, folder)
        for who, edits in ((BEA, {"amount": 1}), (CID, None)):
            await runtime.approvals.approve(approval, who, edits=edits)
        assert (await runtime.approvals.run(approval, by=CID)).text == "paid 1 to x\n"

        assert (await runtime.call("pay", MUCH, BOT)).status == "paused"


async def test_a11_somebody_elses_yes_to_other_arguments_revives_no_standing_yes(root):
    folder = root(project=identities("bot", "bea", "ann"))
    async with toolrt.open(folder) as runtime:
        approval = await asked(runtime)
        await runtime.approvals.approve(approval, ANN, standing=HOUR)
        write_files(folder, {"toolrt.yaml": identities("bot", "bea")})
        await runtime.reload()
        await runtime.approvals.run(approval, by=BEA)
        await runtime.approvals.approve(approval, BEA, edits={"amount": 1})
        assert (await runtime.approvals.run(approval, by=BEA)).text == "paid 1 to x\n"

        assert (await runtime.call("pay", MUCH, BOT)).status == "paused"


async def test_a11_an_edit_ends_the_standing_yes_that_was_given_before_it(root):
    folder = root()
    async with toolrt.open(folder) as runtime:
        approval = await reopened(runtime, folder)
        await runtime.approvals.approve(approval, BEA, edits={"amount": 1})

        [grant] = await runtime.approvals.grants()
        assert grant.revoked_by == "bea"


async def test_a3_a_repeat_about_arguments_of_before_an_edit_is_none(root, monkeypatch):
    folder = root(count=2)
    async with toolrt.open(folder) as runtime, toolrt.open(folder) as other:
        approval = await asked(runtime)

        async def edited():
            await other.approvals.approve(approval, ANN, edits={"amount": 1})
            await other.approvals.approve(approval, BEA)

        meanwhile(monkeypatch, runtime, edited)
        moved = await runtime.approvals.approve(approval, ANN, standing=HOUR)

        assert (moved.code, moved.is_repeat) == ("already-decided", False)
        assert "other arguments" in moved.message
        assert await runtime.approvals.grants() == []


async def test_a3_the_same_yes_for_a_while_again_makes_no_second_standing_yes(root):
    async with toolrt.open(root()) as runtime:
        approval = await asked(runtime)
        for _ in range(2):
            moved = await runtime.approvals.approve(approval, ANN, standing=HOUR)
            assert moved.is_done

        assert len(await runtime.approvals.grants()) == 1


@pytest.mark.parametrize("other", [Standing("pattern", 7200.0, 10), Standing("pattern", 3600.0, 9)])
async def test_a11_an_approval_has_one_standing_yes_and_another_is_refused(root, other):
    async with toolrt.open(root()) as runtime:
        approval = await asked(runtime)
        await runtime.approvals.approve(approval, ANN, standing=HOUR)
        moved = await runtime.approvals.approve(approval, ANN, standing=other)

        assert moved.code == "already-decided"
        assert len(await runtime.approvals.grants()) == 1


async def test_a11_a_standing_yes_that_was_ended_is_not_given_again_by_a_repeat(root):
    async with toolrt.open(root()) as runtime:
        approval = await asked(runtime)
        await runtime.approvals.approve(approval, ANN, standing=HOUR)
        [grant] = await runtime.approvals.grants()
        await runtime.approvals.revoke(grant.id, BEA)
        moved = await runtime.approvals.approve(approval, ANN, standing=HOUR)

        assert moved.code == "already-decided"
        assert [each.revoked_by for each in await runtime.approvals.grants()] == ["bea"]


async def test_a11_who_said_yes_before_it_was_enough_may_say_for_how_long_after_that(root):
    async with toolrt.open(root(count=2)) as runtime:
        approval = await asked(runtime)
        await runtime.approvals.approve(approval, ANN, standing=HOUR)
        await runtime.approvals.approve(approval, BEA)
        assert (await runtime.approvals.approve(approval, ANN, standing=HOUR)).is_repeat

        await runtime.approvals.run(approval, by=ANN)
        assert (await runtime.call("pay", MUCH, BOT)).text == "paid 9000 to x\n"


async def test_a13_nobody_edits_over_an_edit_that_they_have_not_seen(root, monkeypatch):
    folder = root(HUGE)
    async with toolrt.open(folder) as runtime, toolrt.open(folder) as other:
        record = await runtime.approvals.get(await asked(runtime, {"amount": 10}))

        async def edited():
            await other.approvals.approve(record.id, person("dan"), edits=MUCH)

        meanwhile(monkeypatch, runtime, edited)
        moved = await runtime.approvals.approve(record.id, CID, edits={"to": "y"})
        now = await runtime.approvals.get(record.id)

        assert (moved.code, moved.message) == (
            "conflict",
            "dan has edited the arguments meanwhile: look again",
        )
        assert (json.loads(now.arguments)["amount"], now.rules) == (9000, ("huge", "look"))


async def test_a3_who_edits_what_was_decided_meanwhile_is_told_by_whom(root, monkeypatch):
    folder = root()
    async with toolrt.open(folder) as runtime, toolrt.open(folder) as other:
        approval = await asked(runtime)
        meanwhile(monkeypatch, runtime, lambda: other.approvals.approve(approval, BEA))
        moved = await runtime.approvals.approve(approval, CID, edits={"to": "y"})

        assert (moved.code, moved.earlier.actor) == ("already-decided", "bea")
