"""Who may: people who lose a right after they used it, and tenants as walls (A5, A17)."""

from dataclasses import replace

import pytest

import toolrt
from toolrt.core.calls import Caller, Reach
from toolrt.core.errors import RefusedError
from toolrt.pipeline.approvals import Standing
from toolrt.testing import open_files, write_files

pytestmark = pytest.mark.anyio

TOOL = """\
tools:
  pay:
    description: Pay.
    parameters: {invoice: string}
    command: [echo, "{{ invoice }}"]
    effect: write
"""
RULES = """\
rules:
  - id: look
    decide: ask
    tools: [pay]
    approval: {approvers: {roles: [finance]}, scopes: [once, pattern], count: %d}
default: allow
"""
ANN = {"token_hash": "a", "principal": "ann", "may": ["call"]}
BOSS = {
    "token_hash": "b", "principal": "boss", "roles": ["finance", "it"], "may": ["approve"],
}  # fmt: skip
CHIEF = {"token_hash": "c", "principal": "chief", "roles": ["finance"], "may": ["approve"]}
MAY = frozenset({"approve"})
boss = Caller("boss", ("finance", "it"), may=MAY)
chief = Caller("chief", ("finance",), may=MAY)
ann = Caller("ann", session="s")
CALL = {"invoice": "A1"}


def project(*people, count=1):
    identities = "".join(f"\n- {person}" for person in people)
    return {
        "toolrt.yaml": f"identities:{identities}\n" if people else "vars: {}\n",
        "tools.d/t.yaml": TOOL,
        "policies.d/p.yaml": RULES % count,
    }


@pytest.fixture
def root(tmp_path):
    """A folder; `root(people…)` writes who there is from now on."""

    def written(*people, count=1):
        return write_files(tmp_path, project(*people, count=count))

    return written


async def asked(runtime, caller=ann):
    return (await runtime.call("pay", CALL, caller)).pause.approval_id


async def approved(root, by=boss, standing=None):
    async with toolrt.open(root) as runtime:
        approval = await asked(runtime)
        assert (await runtime.approvals.approve(approval, by, standing=standing)).is_done
    return approval


LOSSES = {
    "is gone": (ANN, CHIEF),
    "may approve no more": (ANN, CHIEF, {**BOSS, "may": ["call"]}),
    "has lost the role": (ANN, CHIEF, {**BOSS, "roles": ["it"]}),
    "belongs to a tenant": (ANN, CHIEF, {**BOSS, "tenant": "other"}),
}


@pytest.mark.parametrize("then", LOSSES.values(), ids=list(LOSSES))
@pytest.mark.parametrize("way", ["run", "the same call again"])
async def test_a5_the_yes_of_who_may_decide_no_more_sends_it_back_to_people(root, then, way):
    approval = await approved(root(ANN, CHIEF, BOSS))
    async with toolrt.open(root(*then)) as runtime:
        run, call = runtime.approvals.run, runtime.call
        result = await (run(approval) if way == "run" else call("pay", CALL, ann))
        assert (result.status, result.pause.approval_id) == ("paused", approval)
        assert "a yes that was given counts no more" in result.text
        assert "boss" not in result.text
        assert result.pause.is_reopened
        assert [need.said for need in result.pause.needs] == [()]
        assert (await runtime.approvals.get(approval)).state == "pending"

        await runtime.approvals.approve(approval, chief)
        assert (await runtime.approvals.run(approval)).status == "success"


async def test_a5_it_is_in_the_journal_whose_yes_was_withdrawn(root):
    approval = await approved(root(ANN, BOSS))
    async with toolrt.open(root(ANN, CHIEF)) as runtime:
        await runtime.approvals.run(approval)
        entries = await runtime._state.memory.journal.records.entries()

    [entry] = [each for each in entries if each.get("event") == "reopened"]
    assert (entry["approval"], entry["withdrawn"]) == (approval, ["boss"])


async def test_a5_a_role_that_nobody_asks_for_may_go(root):
    approval = await approved(root(ANN, BOSS))
    async with toolrt.open(root(ANN, {**BOSS, "roles": ["finance"]})) as runtime:
        assert (await runtime.approvals.run(approval)).status == "success"


async def test_a5_who_may_decide_again_is_asked_again(root):
    approval = await approved(root(ANN, BOSS))
    async with toolrt.open(root(ANN, CHIEF)) as runtime:
        await runtime.approvals.run(approval)
    async with toolrt.open(root(ANN, BOSS)) as runtime:
        assert (await runtime.approvals.run(approval)).error.code == "conflict"
        await runtime.approvals.approve(approval, boss)
        assert (await runtime.approvals.run(approval)).status == "success"


async def test_a5_of_two_yeses_the_one_that_stands_still_counts(root):
    async with toolrt.open(root(ANN, BOSS, CHIEF, count=2)) as runtime:
        approval = await asked(runtime)
        await runtime.approvals.approve(approval, boss)
        await runtime.approvals.approve(approval, chief)
    third = {**CHIEF, "token_hash": "d", "principal": "third"}
    async with toolrt.open(root(ANN, CHIEF, third, count=2)) as runtime:
        paused = (await runtime.approvals.run(approval)).pause
        assert [need.said for need in paused.needs] == [("chief",)]
        await runtime.approvals.approve(approval, replace(chief, principal="third"))
        assert (await runtime.approvals.run(approval)).status == "success"


async def test_a11_a_standing_yes_of_who_may_decide_no_more_answers_nothing(root):
    standing = Standing("pattern", 3600.0, free=frozenset({"invoice"}))
    await approved(root(ANN, BOSS), standing=standing)
    async with toolrt.open(root(ANN, BOSS)) as runtime:
        assert (await runtime.call("pay", {"invoice": "A2"}, ann)).status == "success"
    async with toolrt.open(root(ANN, CHIEF)) as runtime:
        assert (await runtime.call("pay", {"invoice": "A3"}, ann)).status == "paused"


async def test_a5_of_a_project_that_is_open_the_people_of_now_count(root):
    async with toolrt.open(root(ANN, CHIEF, BOSS)) as runtime:
        approval = await asked(runtime)
        await runtime.approvals.approve(approval, boss)
        root(ANN, CHIEF)
        assert (await runtime.reload(accept_loss=True)).is_accepted
        assert (await runtime.approvals.run(approval)).status == "paused"


@pytest.mark.parametrize(
    "then", [(BOSS,), (BOSS, {**ANN, "may": ["approve"]}), (BOSS, {**ANN, "tenant": "acme"})],
    ids=["is gone", "may call no more", "belongs to a tenant"],
)  # fmt: skip
async def test_a5_an_approved_call_of_who_may_call_no_more_does_not_run(root, then):
    approval = await approved(root(ANN, BOSS))
    async with toolrt.open(root(*then)) as runtime:
        result = await runtime.approvals.run(approval, by=boss)
        assert result.error.code == "denied"
        assert (await runtime.approvals.get(approval)).state == "approved"


async def test_a5_rules_see_the_roles_that_the_caller_has_now(root):
    folder = root(ANN, BOSS)
    approval = await approved(folder)
    rule = "  - {id: left, decide: deny, tools: [pay], when: '\"left\" in caller.roles'}\n"
    write_files(folder, {"policies.d/p.yaml": (RULES % 1).replace("default:", rule + "default:")})
    root_yaml = project({**ANN, "roles": ["left"]}, BOSS)["toolrt.yaml"]
    write_files(folder, {"toolrt.yaml": root_yaml})
    async with toolrt.open(folder) as runtime:
        assert (await runtime.approvals.run(approval)).error.code in {"denied", "unknown-tool"}


async def test_a17_where_identities_are_written_nobody_else_decides():
    async with open_files(project(ANN, CHIEF)) as runtime:
        approval = await asked(runtime)
        for decide in (runtime.approvals.approve, runtime.approvals.deny):
            with pytest.raises(RefusedError) as refused:
                await decide(approval, boss)
            assert refused.value.code == "access-denied"
        assert (await runtime.approvals.get(approval)).state == "pending"


@pytest.mark.parametrize("verb", ["cancel", "resolve", "run", "revoke"])
@pytest.mark.parametrize("by", [Caller("zoe", may=MAY), Caller("ann", may=MAY)], ids=["zoe", "ann"])
async def test_a17_where_identities_are_written_nobody_else_settles_anything(root, verb, by):
    standing = Standing("pattern", 3600.0)
    other = {"token_hash": "x", "principal": "bot", "may": ["call"]}
    approval = await approved(root(ANN, BOSS, other), standing=standing)
    async with toolrt.open(root(ANN, BOSS, other)) as runtime:
        rt, (grant,) = runtime.approvals, await runtime.approvals.grants()
        asked_ = await asked(runtime, Caller("bot"))
        does = {
            "cancel": lambda by: rt.cancel(asked_, by),
            "resolve": lambda by: rt.resolve(asked_, by, "failed"),
            "run": lambda by: rt.run(asked_, by=by),
            "revoke": lambda by: rt.revoke(grant.id, by),
        }[verb]
        with pytest.raises(RefusedError, match="is not among those who may decide") as refused:
            await does(by)
        assert refused.value.code == "access-denied"
        assert (await rt.get(approval)).state == "approved"
        await does(boss)


async def test_a17_a_role_that_identities_do_not_give_is_none():
    async with open_files(project(ANN, {**BOSS, "roles": []})) as runtime:
        approval = await asked(runtime)
        with pytest.raises(RefusedError, match="not among those who may decide") as refused:
            await runtime.approvals.approve(approval, boss)
        assert refused.value.code == "access-denied"
        assert refused.value.hint == "it waits for a yes of role finance"


DECIDES = ("approve", "deny", "cancel", "run", "resolve")


async def decided(approvals, verb, approval, by):
    if verb == "run":
        return await approvals.run(approval, by=by)
    more = ("failed",) if verb == "resolve" else ()
    return await getattr(approvals, verb)(approval, by, *more)


@pytest.mark.parametrize("verb", DECIDES)
@pytest.mark.parametrize(
    "by",
    [
        replace(boss, tenant="globex"),
        replace(boss, tenant="globex", may=frozenset({"call", "approve", "admin"})),
        replace(boss, principal="ann", tenant="globex", may=frozenset({"call", "approve"})),
        boss,
    ],
    ids=["of another tenant", "its admin", "of the same name", "of no tenant"],
)
async def test_a17_nobody_beyond_the_tenant_does_anything_about_a_question(verb, by):
    async with open_files(project()) as runtime:
        approval = await asked(runtime, replace(ann, tenant="acme"))
        for prefix in (approval, approval[:4]):
            with pytest.raises(RefusedError) as refused:
                await decided(runtime.approvals, verb, prefix, by)
            assert refused.value.code == "not-found"
        assert (await runtime.approvals.get(approval)).state == "pending"


@pytest.mark.parametrize(
    "by",
    [replace(boss, tenant="acme"), replace(boss, may=frozenset({"approve", "admin"}))],
    ids=["of the tenant", "who may admin and has none"],
)
async def test_who_is_of_the_tenant_decides_and_so_does_an_admin_of_none(by):
    async with open_files(project()) as runtime:
        approval = await asked(runtime, replace(ann, tenant="acme"))
        assert (await runtime.approvals.approve(approval, by)).record.state == "approved"


async def test_one_principal_of_two_tenants_sees_what_is_of_each():
    async with open_files(project()) as runtime:
        ids = {
            tenant: await asked(runtime, replace(ann, tenant=tenant))
            for tenant in ("acme", "globex", None)
        }
        for tenant, approval in ids.items():
            mine = runtime.approvals.through("cli", Reach(tenant, "ann"))
            assert [each.id for each in await mine.listed()] == [approval]
            for other in ids.values():
                if other != approval:
                    with pytest.raises(RefusedError):
                        await mine.get(other[:6])
        assert len(await runtime.approvals.listed()) == 3


async def test_grants_of_another_tenant_are_neither_listed_nor_revoked():
    by = replace(boss, tenant="acme")
    async with open_files(project()) as runtime:
        approval = await asked(runtime, replace(ann, tenant="acme"))
        await runtime.approvals.approve(approval, by, standing=Standing("pattern", 60.0))
        [grant] = await runtime.approvals.grants()
        assert await runtime.approvals.through("cli", Reach("globex")).grants() == []
        for other in (boss, replace(boss, tenant="globex")):
            with pytest.raises(RefusedError) as refused:
                await runtime.approvals.revoke(grant.id, other)
            assert refused.value.code == "not-found"
        assert (await runtime.approvals.revoke(grant.id, by)).revoked_by == "boss"


async def test_a15_a_no_of_one_tenant_is_none_of_another():
    async with open_files(project()) as runtime:
        approval = await asked(runtime, replace(ann, tenant="acme"))
        await runtime.approvals.deny(approval, replace(boss, tenant="acme"))
        refused = await runtime.call("pay", CALL, replace(ann, tenant="acme"))
        assert refused.error.code == "recently-denied"
        assert (await runtime.call("pay", CALL, replace(ann, tenant="globex"))).status == "paused"


async def test_p18_calls_of_another_tenant_are_not_counted(tmp_path):
    rules = "rules: [{id: often, decide: deny, tools: [pay], when: 'history.calls(\"1h\") >= 1'}]"
    files = project() | {"policies.d/p.yaml": rules + "\ndefault: allow\n"}
    statuses = []
    for tenants in (("acme", "globex"), ("acme", "third")):  # by memory, and by the journal
        async with toolrt.open(write_files(tmp_path, files)) as runtime:
            calls = [await runtime.call("pay", CALL, replace(ann, tenant=one)) for one in tenants]
            statuses += [call.status for call in calls]

    assert statuses == ["success", "success", "error", "success"]


GONE = {"is gone": (BOSS,), "may call no more": (BOSS, {**ANN, "may": ["approve"]})}


@pytest.mark.parametrize("then", GONE.values(), ids=list(GONE))
async def test_a5_an_approved_call_of_who_may_call_no_more_runs_by_no_door(root, then):
    approval = await approved(root(ANN, BOSS))
    async with toolrt.open(root(*then)) as runtime:
        by_id = await runtime.approvals.run(approval)
        stand_in = await runtime.approvals.run(approval, ann)
        by_call = await runtime.call("pay", CALL, ann)
        for result in (by_id, stand_in, by_call):
            assert (result.status, result.error.code) == ("error", "denied")
            assert result.error.message == "ann may make no calls here"
            assert result.error.hint == by_id.error.hint
        assert (await runtime.approvals.get(approval)).state == "approved"


async def test_a11_a_standing_yes_to_who_may_call_no_more_answers_nothing(root):
    standing = Standing("pattern", 3600.0, free=frozenset({"invoice"}))
    await approved(root(ANN, BOSS), standing=standing)
    async with toolrt.open(root(BOSS)) as runtime:
        assert (await runtime.call("pay", {"invoice": "A2"}, ann)).status == "paused"


async def test_where_no_identities_are_written_a_caller_is_the_word_of_the_host(root):
    approval = await approved(root(), by=replace(boss, roles=("finance",)))
    async with toolrt.open(root()) as runtime:
        assert (await runtime.approvals.run(approval)).status == "success"


OUTSIDERS = {
    "whoever asked": replace(boss, principal="ann"),
    "another role": Caller("eve", ("it",), may=MAY),
    "no right": Caller("eve", ("finance",)),
}


@pytest.mark.parametrize("by", OUTSIDERS.values(), ids=list(OUTSIDERS))
async def test_a17_who_may_not_decide_is_told_by_an_exception_whatever_the_reason(root, by):
    async with toolrt.open(root(count=2)) as runtime:
        approval = await asked(runtime)
        for decide in (runtime.approvals.approve, runtime.approvals.deny):
            with pytest.raises(RefusedError) as refused:
                await decide(approval, by)
            assert refused.value.code == "access-denied"
        with pytest.raises(RefusedError):
            await runtime.approvals.approve(approval, by, edits={"invoice": "A2"})
        assert (await runtime.approvals.get(approval)).state == "pending"
