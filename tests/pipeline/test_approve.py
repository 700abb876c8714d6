"""A call that people are asked about: paused, answered, claimed, run once (A1 to A18)."""

import asyncio
import json
import sqlite3
from contextlib import closing
from dataclasses import replace

import pytest

import toolrt
from toolrt.core.calls import Caller
from toolrt.core.clock import ManualClock
from toolrt.core.decisions import Terms
from toolrt.core.errors import BindingError, RefusedError, ToolError
from toolrt.pipeline.approvals import Standing, Supplied
from toolrt.stores.grants import stands
from toolrt.testing import open_files, stubbed, write_files

pytestmark = pytest.mark.anyio

ANN = Caller("ann", session="s1")
BOSS = Caller("boss", ("finance",), may=frozenset({"approve"}))
CHIEF = Caller("chief", ("finance",), may=frozenset({"approve"}))
PAY = """
  pay:
    description: Pay.
    parameters: {invoice: string, amount: {type: number, exclusiveMinimum: 0}}
    command: [echo, "{{ invoice }}", "{{ amount }}"]
    effect: irreversible
"""
CALL = {"invoice": "A1", "amount": 900}


def project(tool=PAY, policies=None):
    files = {"tools.d/t.yaml": "tools:" + tool}
    return files | ({"policies.d/p.yaml": policies} if policies else {})


class Desk:
    """An open project whose tool `pay` counts its runs."""

    def __init__(self, runtime, calls):
        self.runtime, self.calls = runtime, calls
        self.approvals = runtime.approvals

    async def call(self, arguments=None, caller=ANN):
        return await self.runtime.call("pay", CALL if arguments is None else arguments, caller)

    async def asked(self, arguments=None, caller=ANN):
        """The id of the approval that a call waits for."""
        result = await self.call(arguments, caller)
        assert (result.status, result.error) == ("paused", None)
        return result.pause.approval_id

    async def state(self, approval):
        return (await self.approvals.get(approval)).state


@pytest.fixture
def opened():
    """Opens a desk: `async with opened(tool, policies, answer) as desk`."""
    from contextlib import asynccontextmanager

    @asynccontextmanager
    async def desk(tool=PAY, policies=None, answer=lambda _: "paid", **options):
        async with open_files(project(tool, policies), **options) as runtime:
            with stubbed(runtime, {"pay": answer}) as calls:
                yield Desk(runtime, calls)

    return desk


async def test_a1_a_call_that_asks_comes_back_paused_and_runs_nothing(opened):
    async with opened() as desk:
        result = await desk.call()
        document = result.document()
        assert document["status"] == "paused"
        told = {"rules", "needs", "reopened", "same_call"}
        assert document["pause"].keys() == {
            *("approval_id", "mode", "fields", "expires_at", "url"),
            *told,
        }
        assert desk.calls == []
        assert await desk.state(result.pause.approval_id) == "pending"


async def test_a19_deciding_never_executes_and_the_same_call_again_runs_it(opened):
    async with opened() as desk:
        approval = await desk.asked()
        await desk.approvals.approve(approval, BOSS)
        assert desk.calls == []
        result = await desk.call()
        assert (result.status, result.text, len(desk.calls)) == ("success", "paid", 1)
        assert await desk.state(approval) == "succeeded"


async def test_the_same_question_is_asked_once(opened):
    async with opened() as desk:
        assert await desk.asked() == await desk.asked()
        assert await desk.asked({**CALL, "amount": 901}) != await desk.asked()
        assert await desk.asked(caller=Caller("bob")) != await desk.asked()


async def test_a8_of_many_that_run_it_at_once_one_does(opened):
    async with opened() as desk:
        approval = await desk.asked()
        await desk.approvals.approve(approval, BOSS)
        results = await asyncio.gather(*(desk.approvals.run(approval) for _ in range(20)))
        assert sorted(result.status for result in results).count("success") == 1
        assert len(desk.calls) == 1


async def test_a_run_that_was_made_is_not_made_again(opened):
    async with opened() as desk:
        approval = await desk.asked()
        await desk.approvals.approve(approval, BOSS)
        await desk.approvals.run(approval)
        again = await desk.approvals.run(approval)
        assert (again.status, again.error.code, len(desk.calls)) == ("error", "conflict", 1)


async def test_an_approval_that_is_pending_does_not_run(opened):
    async with opened() as desk:
        refused = await desk.approvals.run(await desk.asked())
        assert (refused.status, desk.calls) == ("error", [])


async def test_a15_what_was_denied_is_not_asked_again_at_once(opened):
    clock = ManualClock()
    async with opened(clock=clock) as desk:
        approval = await desk.asked()
        await desk.approvals.deny(approval, BOSS, note="no")
        assert (await desk.call()).error.code == "recently-denied"
        clock.advance(61)
        assert await desk.asked() != approval


async def test_o3_the_note_of_a_no_reaches_the_model_with_nothing_invisible(opened):
    async with opened() as desk:
        approval = await desk.asked()
        await desk.approvals.deny(
            approval, BOSS, note="n\x1b[2J\u202eo\u200b\U000e0041, " + "x" * 80
        )
        result = await desk.approvals.run(approval)
        text = result.error.message

        assert result.error.code == "approval-denied"
        assert f"n\\x1b[2J\\u202eo\\u200b\\U000e0041, {'x' * 80}" in text
        assert text.isprintable()


async def test_o3_the_note_of_a_no_reaches_who_makes_the_same_call_again(opened):
    async with opened() as desk:
        approval = await desk.asked()
        await desk.approvals.deny(approval, BOSS, note="use\x1b invoice 7")

        error = (await desk.call()).error

        assert error.code == "recently-denied"
        assert error.message.endswith("do something else; they said: use\\x1b invoice 7")


async def test_a_no_without_a_note_says_nothing_of_one(opened):
    async with opened() as desk:
        await desk.approvals.deny(await desk.asked(), BOSS)

        assert (await desk.call()).error.message.endswith("do something else")


async def test_a6_a_question_expires(opened):
    clock = ManualClock()
    async with opened(PAY + "    hitl: {mode: confirm, ttl: 5m}\n", clock=clock) as desk:
        approval = await desk.asked()
        clock.advance(301)
        late = await desk.approvals.approve(approval, BOSS)
        assert late.code == "approval-expired"
        assert await desk.state(approval) == "expired"


async def test_a7_a_yes_that_nobody_uses_expires(opened):
    clock = ManualClock()
    async with opened(clock=clock) as desk:
        approval = await desk.asked()
        await desk.approvals.approve(approval, BOSS)
        clock.advance(3600)
        assert (await desk.approvals.run(approval)).error.code == "approval-expired"
        assert desk.calls == []


@pytest.mark.parametrize(
    ("arguments", "code"),
    [({"amount": -1}, "invalid-arguments"), ({"amount": 6000}, "denied")],
)
async def test_a13_an_edit_passes_schema_and_policy_anew(opened, arguments, code):
    rules = """
    rules:
      - {id: limit, decide: deny, tools: [pay], when: args.amount > 5000, reason: Too much.}
    default: allow
    """
    async with opened(policies=rules) as desk:
        approval = await desk.asked()
        with pytest.raises(RefusedError) as refused:
            await desk.approvals.approve(approval, BOSS, edits=arguments)
        assert refused.value.code == code
        assert await desk.state(approval) == "pending"


async def test_a13_the_result_says_that_the_arguments_were_edited(opened):
    async with opened() as desk:
        approval = await desk.asked()
        await desk.approvals.approve(approval, BOSS, edits={"amount": 800})
        result = await desk.call()
        assert desk.calls[0].arguments == {"invoice": "A1", "amount": 800}
        assert "edited by boss" in result.document()["context"]["notes"][0]


RULES = """
rules:
  - {id: %s, decide: %s, tools: [pay]}
default: allow
"""


async def test_a5_a_deny_of_now_wins_over_an_approval(opened, tmp_path):

    root = write_files(tmp_path, project(policies=RULES % ("a", "allow")))
    async with toolrt.open(root) as runtime:
        approval = (await runtime.call("pay", CALL, ANN)).pause.approval_id
        await runtime.approvals.approve(approval, BOSS)
    write_files(tmp_path, {"policies.d/p.yaml": RULES % ("a", "deny")})
    async with toolrt.open(root) as runtime:
        assert (await runtime.approvals.run(approval)).error.code in {"denied", "unknown-tool"}
        assert (await runtime.approvals.get(approval)).state == "approved"


async def test_a5_a_stricter_ask_sends_it_back_to_people(tmp_path):

    root = write_files(tmp_path, project(policies=RULES % ("a", "allow")))
    async with toolrt.open(root) as runtime:
        approval = (await runtime.call("pay", CALL, ANN)).pause.approval_id
        await runtime.approvals.approve(approval, BOSS)
    two = "rules: [{id: a, decide: ask, tools: [pay], approval: {count: 2}}]\ndefault: allow\n"
    write_files(tmp_path, {"policies.d/p.yaml": two})
    async with toolrt.open(root) as runtime:
        result = await runtime.approvals.run(approval)
        assert (result.status, result.pause.approval_id) == ("paused", approval)
        await runtime.approvals.approve(approval, CHIEF)
        assert (await runtime.approvals.run(approval)).status == "success"


async def test_h125_a_tool_that_changed_voids_its_approvals(tmp_path):

    root = write_files(tmp_path, project())
    async with toolrt.open(root) as runtime:
        approval = (await runtime.call("pay", CALL, ANN)).pause.approval_id
        await runtime.approvals.approve(approval, BOSS)
    write_files(tmp_path, {"tools.d/t.yaml": "tools:" + PAY.replace("[echo,", "[printf, x,")})
    async with toolrt.open(root) as runtime:
        assert (await runtime.approvals.run(approval)).error.code == "approval-mismatch"
        assert (await runtime.approvals.get(approval)).state == "approved"
        with pytest.raises(RefusedError) as refused:
            await runtime.approvals.approve(approval, CHIEF)
        assert refused.value.code == "approval-mismatch"


async def test_a10_two_different_people_and_not_the_one_who_asked(opened):
    rules = "rules: [{id: a, decide: ask, tools: [pay], approval: {count: 2}}]\ndefault: allow\n"
    async with opened(policies=rules) as desk:
        approval = await desk.asked()
        own = Caller("ann", ("finance",), may=frozenset({"approve"}))
        with pytest.raises(RefusedError, match="whoever asked may not decide this"):
            await desk.approvals.approve(approval, own)
        await desk.approvals.approve(approval, BOSS)
        await desk.approvals.approve(approval, BOSS)
        assert await desk.state(approval) == "pending"
        await desk.approvals.approve(approval, CHIEF)
        assert await desk.state(approval) == "approved"


async def test_a17_whoever_may_not_approve_does_not(opened):
    async with opened() as desk:
        approval = await desk.asked()
        with pytest.raises(RefusedError) as refused:
            await desk.approvals.approve(approval, Caller("eve"))
        assert refused.value.code == "access-denied"


async def test_a11_a_grant_answers_the_calls_that_it_is_for(opened):
    scoped = "rules: [{id: a, decide: ask, tools: [pay], approval: {scopes: [once, pattern]}}]\n"
    tool = PAY.replace("irreversible", "write")
    async with opened(tool, scoped + "default: allow\n") as desk:
        approval = await desk.asked()
        yes = Standing("pattern", for_s=3600, uses=2, free=frozenset({"invoice"}))
        await desk.approvals.approve(approval, BOSS, standing=yes)
        assert (await desk.call()).status == "success"
        for invoice in ("A2", "A3"):
            assert (await desk.call({**CALL, "invoice": invoice})).status == "success"
        assert (await desk.call({**CALL, "invoice": "A4"})).status == "paused"
        assert (await desk.call({**CALL, "amount": 1})).status == "paused"


async def test_a11_a_scope_that_no_rule_offers_is_refused(opened):
    async with opened() as desk:
        approval = await desk.asked()
        with pytest.raises(RefusedError):
            await desk.approvals.approve(approval, BOSS, standing=Standing("session", 60))


SCOPED = "rules: [{id: a, decide: ask, tools: [pay], approval: {scopes: [once, pattern]}}]\n"
TOP = "at the top of a policy file for the tool itself"


@pytest.mark.parametrize(
    ("tool", "policies", "where"),
    [
        (PAY, "default: allow\n", f"{TOP} says what is possible"),
        (PAY, SCOPED, f"of rule `a` and {TOP} says what is possible; each of them must allow it"),
        (
            PAY.replace("irreversible", "write"),
            SCOPED.replace(", pattern", ""),
            "of rule `a` says what is possible",
        ),
    ],
    ids=["the tool", "the tool beside a rule", "a rule"],
)
async def test_a11_the_hint_names_all_who_have_to_offer_a_scope(opened, tool, policies, where):
    async with opened(tool, policies) as desk:
        approval = await desk.asked()
        with pytest.raises(RefusedError) as refused:
            await desk.approvals.approve(approval, BOSS, standing=Standing("pattern", 60))

        assert refused.value.hint == f"`approval.scopes` {where}"


async def test_input_hides_the_fields_and_a_person_fills_them(opened):
    tool = PAY + "    hitl: {mode: input, fields: [amount]}\n"
    async with opened(tool) as desk:
        entry = desk.runtime.snapshot.tools["pay"]
        assert set(entry.input_schema["properties"]) == {"invoice"}
        assert "`amount`" in entry.description
        assert (await desk.call()).error.code == "invalid-arguments"
        result = await desk.call({"invoice": "A1"})
        assert (result.pause.mode, result.pause.fields) == ("input", ("amount",))
        with pytest.raises(RefusedError) as refused:
            await desk.approvals.approve(result.pause.approval_id, BOSS)
        assert refused.value.code == "missing-arguments"
        await desk.approvals.approve(result.pause.approval_id, BOSS, edits={"amount": 5})
        assert (await desk.call({"invoice": "A1"})).status == "success"
        assert desk.calls[0].arguments == {"invoice": "A1", "amount": 5}


async def test_a_field_inside_a_longer_text_is_asked_for_like_any_other(tmp_path):
    tool = """
      pay:
        description: Pay.
        parameters: {invoice: string, code: string}
        command: [echo, "paid {{ invoice }} with {{ code }}"]
        hitl: {mode: input, fields: [code]}
    """
    async with toolrt.open(write_files(tmp_path, project(tool))) as runtime:
        seen = await runtime.preview("pay", {"invoice": "A1"}, ANN)
        assert seen["arguments"] == {"invoice": "A1"}
        assert seen["request"]["argv"][1] == "paid A1 with <code>"
        result = await runtime.call("pay", {"invoice": "A1"}, ANN)
        assert (result.status, result.pause.fields) == ("paused", ("code",))
        await runtime.approvals.approve(result.pause.approval_id, BOSS, edits={"code": "77"})
        again = await runtime.call("pay", {"invoice": "A1"}, ANN)
        assert again.text == "paid A1 with 77\n"


async def test_sensitive_arguments_are_sealed_and_erased(opened):
    tool = PAY.replace("invoice: string", "invoice: {type: string, sensitive: true}")
    async with opened(tool) as desk:
        approval = await desk.asked({"invoice": "TOPSECRET1", "amount": 1})
        record = await desk.approvals.get(approval)
        assert "TOPSECRET1" not in record.arguments + record.asked_arguments
        assert json.loads(record.sealed) == {"invoice": "TOPSECRET1"}
        await desk.approvals.approve(approval, BOSS)
        await desk.approvals.run(approval)
        assert desk.calls[0].arguments["invoice"] == "TOPSECRET1"
        assert (await desk.approvals.get(approval)).sealed is None


async def test_external_a_person_makes_the_call_and_gives_its_result(tmp_path):

    tool = "{description: Call them., parameters: {who: string}, hitl: external}"
    root = write_files(tmp_path, {"tools.d/t.yaml": f"tools: {{ring: {tool}}}"})
    async with toolrt.open(root) as runtime:
        result = await runtime.call("ring", {"who": "ann"}, ANN)
        assert (result.status, result.pause.mode) == ("paused", "external")
        approval = result.pause.approval_id
        with pytest.raises(RefusedError) as refused:
            await runtime.approvals.approve(approval, BOSS)
        assert refused.value.code == "missing-arguments"
        await runtime.approvals.approve(approval, BOSS, supplied=Supplied({"said": "yes"}))
        result = await runtime.call("ring", {"who": "ann"}, ANN)
        assert (result.status, result.data) == ("success", {"said": "yes"})
        approval = (await runtime.call("ring", {"who": "bob"}, ANN)).pause.approval_id
        await runtime.approvals.approve(approval, BOSS, supplied=Supplied(error="no answer"))
        failed = await runtime.call("ring", {"who": "bob"}, ANN)
        assert (failed.error.code, failed.error.message) == ("execution-failed", "no answer")
        assert (await runtime.approvals.get(approval)).state == "failed"


async def test_a_time_that_a_tool_writes_is_not_cut_by_one_that_nobody_writes(opened):
    async with opened(PAY + "    hitl: {mode: confirm, ttl: 2h}\n") as desk:
        record = await desk.approvals.get(await desk.asked())
        assert record.expires.wall - record.created.wall == pytest.approx(7200)


@pytest.mark.parametrize(
    "kind", ["command: [cat, '{{ path }}']", "python: 'paths_tool:read'"], ids=["command", "python"]
)
async def test_f1_a_path_that_was_approved_is_the_one_that_runs(opened, tmp_path, kind):

    tool = f"""
      pay:
        description: Read.
        parameters: {{path: {{type: string, format: path, root: data}}}}
        {kind}
        hitl: confirm
    """
    files = {"tools.d/t.yaml": f"tools:{tool}", "data/data/a.txt": "inner", "data/a.txt": "outer"}
    files["paths_tool.py"] = (
        "import pathlib\ndef read(path: str) -> str:\n    return pathlib.Path(path).read_text()\n"
    )
    async with toolrt.open(write_files(tmp_path, files)) as runtime:
        for path, text in (("a.txt", "outer"), ("data/a.txt", "inner")):
            approval = (await runtime.call("pay", {"path": path}, ANN)).pause.approval_id
            await runtime.approvals.approve(approval, BOSS)
            assert (await runtime.approvals.run(approval)).text == text
        approval = (await runtime.call("pay", {"path": "a.txt"}, ANN)).pause.approval_id
        with pytest.raises(RefusedError):
            await runtime.approvals.approve(approval, BOSS, edits={"path": "../../etc/passwd"})


@pytest.mark.parametrize("shared", [False, True])
async def test_what_is_sensitive_inside_an_argument_seals_the_whole_of_it(tmp_path, shared):
    card = "{type: object, properties: {number: {type: string, sensitive: true}}}"
    place = "{$ref: '#/$defs/card'}" if shared else card
    defs = f", $defs: {{card: {card}}}" if shared else ""
    schema = f"{{type: object, properties: {{card: {place}}}, required: [card]{defs}}}"
    tool = f"""
      pay: {{description: Pay., input_schema: {schema}, http: "http://127.0.0.1:9/x",
        effect: irreversible}}
    """
    async with toolrt.open(write_files(tmp_path, project(tool))) as runtime:
        result = await runtime.call("pay", {"card": {"number": "4111222233334444"}}, ANN)
        record = await runtime.approvals.get(result.pause.approval_id)
        assert "4111222233334444" in record.sealed
        assert "4111222233334444" not in record.arguments + record.asked_arguments + record.view


def failing(error):
    def answer(_):
        raise error

    return answer


@pytest.mark.parametrize(
    ("error", "state"),
    [
        (ToolError("no money"), "failed"),
        (BindingError("reset", sent="maybe"), "unknown"),
        (BindingError("refused", sent="never"), "failed"),
    ],
)
async def test_a2_how_a_run_ended_is_kept(opened, error, state):
    async with opened(answer=failing(error)) as desk:
        approval = await desk.asked()
        await desk.approvals.approve(approval, BOSS)
        await desk.approvals.run(approval)
        assert await desk.state(approval) == state


async def test_a2_an_unknown_outcome_is_resolved_by_a_person(opened):
    async with opened(answer=failing(BindingError("reset", sent="maybe"))) as desk:
        approval = await desk.asked()
        await desk.approvals.approve(approval, BOSS)
        await desk.approvals.run(approval)
        await desk.approvals.resolve(approval, BOSS, "succeeded")
        assert await desk.state(approval) == "succeeded"


async def test_a16_a_session_asks_only_so_often(opened):
    async with opened(policies="limits: {pending: 2}\n") as desk:
        for amount in (1, 2):
            await desk.asked({**CALL, "amount": amount})
        refused = await desk.call({**CALL, "amount": 3})
        assert (refused.status, refused.error.code) == ("error", "rate-limited")


async def test_a21_without_a_store_nothing_is_asked_and_nothing_runs(tmp_path):

    root = write_files(tmp_path, project())
    (root / ".toolrt").mkdir(mode=0o700)
    (root / ".toolrt" / "state.db").write_bytes(b"this is no database" * 100)
    (root / ".toolrt" / "state.db").chmod(0o600)
    async with toolrt.open(root) as runtime:
        result = await runtime.call("pay", CALL, ANN)
        assert (result.status, result.error.code) == ("error", "approval-unavailable")
        assert "state.db" not in result.error.message


async def test_a18_a_cancelled_run_of_an_effect_ends_as_unknown(opened):
    async with opened() as desk:
        started = asyncio.Event()

        async def hang(invocation):
            invocation.sent = "maybe"
            started.set()
            await asyncio.sleep(60)

        desk.runtime.snapshot.tools["pay"].binding.call = hang
        approval = await desk.asked()
        await desk.approvals.approve(approval, BOSS)
        running = asyncio.create_task(desk.approvals.run(approval))
        await started.wait()
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running
        assert await desk.state(approval) == "unknown"


async def test_a18_a_run_cancelled_while_it_waits_for_its_claim_is_not_left_claimed(opened):
    async with opened() as desk:
        approval = await desk.asked()
        await desk.approvals.approve(approval, BOSS)
        store = desk.runtime.project / ".toolrt" / "state.db"
        with closing(sqlite3.connect(store, isolation_level=None)) as other:
            other.execute("BEGIN IMMEDIATE")
            running = asyncio.create_task(desk.approvals.run(approval))
            await asyncio.sleep(0.1)
            running.cancel()
            await asyncio.sleep(0)
        with pytest.raises(asyncio.CancelledError):
            await running
        assert await desk.state(approval) == "failed"
        assert desk.calls == []


async def test_a_waiter_sees_the_decision(opened):
    async with opened() as desk:
        approval = await desk.asked()
        waiting = asyncio.create_task(desk.approvals.wait(approval, 5))
        await asyncio.sleep(0)
        await desk.approvals.approve(approval, BOSS)
        assert (await waiting).state == "approved"


async def test_a12_what_was_edited_after_it_was_shown_is_not_approved(opened):
    two = "rules: [{id: a, decide: ask, tools: [pay], approval: {count: 2}}]\ndefault: allow\n"
    async with opened(policies=two) as desk:
        shown = await desk.approvals.get(await desk.asked())
        await desk.approvals.approve(shown.id, BOSS, edits={"amount": 5})
        with pytest.raises(RefusedError) as refused:
            await desk.approvals.approve(shown.id, CHIEF, seen=shown.final_hash)
        assert refused.value.code == "approval-mismatch"
        assert await desk.state(shown.id) == "pending"


SMALL_AND_BIG = """
default: allow
rules:
  - id: small
    decide: ask
    tools: [pay]
    when: args.amount < 1000.0
    approval: {approvers: {roles: [support]}, scopes: [once, pattern]}
  - id: big
    decide: ask
    tools: [pay]
    when: args.amount >= 1000.0
    approval: {approvers: {roles: [finance]}, scopes: [once, pattern]}
"""


@pytest.mark.parametrize(
    ("roles", "scopes", "then"),
    [
        (("support",), "[once, pattern]", "paused"),
        (("support", "finance"), "[once]", "paused"),
        (("support", "finance"), "[once, pattern]", "success"),
    ],
    ids=["who may not say yes to that", "a rule that offers no grant", "all of it"],
)
async def test_a11_a_grant_counts_only_where_its_yes_would_do(opened, roles, scopes, then):
    big = "approvers: {roles: [finance]}, scopes: "
    policies = SMALL_AND_BIG.replace(f"{big}[once, pattern]", f"{big}{scopes}")
    tool = PAY.replace("irreversible", "write")
    clerk = Caller("clerk", roles, may=frozenset({"approve"}))
    async with opened(tool, policies) as desk:
        yes = Standing("pattern", for_s=3600, free=frozenset({"amount"}))
        await desk.approvals.approve(await desk.asked(), clerk, standing=yes)
        assert (await desk.call({**CALL, "amount": 5})).status == "success"
        assert (await desk.call({**CALL, "amount": 5000})).status == then


async def test_a11_a_grant_of_one_does_not_do_where_two_must_say_yes_now(tmp_path):

    asks = "rules: [{{id: a, decide: ask, tools: [pay], approval: {{{0}scopes: [pattern]}}}}]\n"
    tool = PAY.replace("irreversible", "write")
    root = write_files(tmp_path, project(tool, asks.format("")))
    yes = Standing("pattern", for_s=3600, free=frozenset({"amount"}))
    async with toolrt.open(root) as runtime:
        asked = (await runtime.call("pay", CALL, ANN)).pause.approval_id
        await runtime.approvals.approve(asked, BOSS, standing=yes)
        assert (await runtime.call("pay", {**CALL, "amount": 5}, ANN)).status == "success"
    write_files(tmp_path, project(tool, asks.format("count: 2, ")))
    async with toolrt.open(root) as runtime:
        assert (await runtime.call("pay", {**CALL, "amount": 6}, ANN)).status == "paused"


@pytest.mark.parametrize("mode", ["{mode: input, fields: [amount]}", "external"])
async def test_a11_no_standing_yes_stands_for_what_a_person_gives_each_time(opened, mode):
    scoped = "approval: {scopes: [once, pattern]}\ndefault: allow\n"
    asked = {"invoice": "A1"} if "input" in mode else CALL
    filled = {"edits": {"amount": 5}} if "input" in mode else {"supplied": Supplied(1)}
    yes = Standing("pattern", for_s=60, free=frozenset({"invoice", "amount"}))
    async with opened(f"{PAY}    hitl: {mode}\n", scoped) as desk:
        approval = await desk.asked(asked)
        with pytest.raises(RefusedError) as refused:
            await desk.approvals.approve(approval, BOSS, standing=yes, **filled)
        assert refused.value.code == "access-denied"
        assert (await desk.state(approval), await desk.approvals.grants()) == ("pending", [])


async def test_a11_a_standing_yes_of_before_does_not_fill_in_what_is_asked_for_now(opened):
    """The mode is no part of the definition that a grant is bound to."""
    scoped = "approval: {scopes: [once, pattern]}\ndefault: allow\n"
    async with opened(f"{PAY}    hitl: confirm\n", scoped) as desk:
        yes = Standing("pattern", for_s=60, free=frozenset({"invoice", "amount"}))
        await desk.approvals.approve(await desk.asked(), BOSS, standing=yes)
        calls = desk.runtime._gateway._equipment.memory.questions
        grant = (await desk.approvals.grants())[0]
        approved = Terms(mode="input", scopes=("pattern",))
        fits = await calls.database.read(
            lambda session: stands(session, grant, approved, calls.seals)
        )
        assert not fits


async def test_a13_what_comes_from_the_caller_cannot_be_edited(opened):
    tool = PAY.replace(
        "{invoice: string", "{tenant: {type: string, from: caller.tenant}, invoice: string"
    )
    async with opened(tool) as desk:
        approval = await desk.asked(caller=Caller("ann", tenant="acme"))
        boss = replace(BOSS, tenant="acme")
        with pytest.raises(RefusedError) as refused:
            await desk.approvals.approve(approval, boss, edits={"tenant": "other"})
        assert refused.value.code == "invalid-arguments"
        assert "`tenant`" in refused.value.message
        assert await desk.state(approval) == "pending"
        await desk.approvals.approve(approval, boss, edits={"tenant": "acme", "amount": 1})
        assert (await desk.approvals.run(approval)).status == "success"


@pytest.mark.parametrize(
    ("by", "is_run"),
    [
        (Caller("eve"), False),
        (Caller("ann", may=frozenset({"approve"})), False),
        (Caller("ann"), True),
        (BOSS, True),
    ],
    ids=["somebody else", "who may call no more", "who asked", "who may approve"],
)
async def test_a17_running_what_was_approved_takes_a_right(opened, by, is_run):
    async with opened() as desk:
        approval = await desk.asked()
        await desk.approvals.approve(approval, BOSS)
        if is_run:
            assert (await desk.approvals.run(approval, by=by)).status == "success"
            return
        with pytest.raises(RefusedError) as refused:
            await desk.approvals.run(approval, by=by)
        assert refused.value.code == "access-denied"
        assert (await desk.state(approval), desk.calls) == ("approved", [])


async def test_a5_an_approved_call_of_somebody_who_may_call_no_more_does_not_run(opened):
    async with opened() as desk:
        approval = await desk.asked()
        await desk.approvals.approve(approval, BOSS)
        result = await desk.approvals.run(approval, Caller("ann", session="s1", may=frozenset()))
        assert (result.error.code, desk.calls) == ("denied", [])


async def test_a4_what_a_tool_sends_by_constants_of_the_project_is_part_of_its_definition():
    async def hashes(vars_):
        tools = "{a: {description: A., command: [echo, '{{ vars.x }}']}, b: {description: B., command: [echo]}}"
        files = {"tools.d/t.yaml": f"tools: {tools}", "toolrt.yaml": f"vars: {vars_}"}
        async with open_files(files) as runtime:
            return [each.definition_hash for each in runtime.snapshot.tools.values()]

    (a1, b1), (a2, b2) = await hashes("{x: one}"), await hashes("{x: two}")
    assert a1 != a2
    assert b1 == b2


async def test_o1_what_people_are_shown_and_what_is_explained_masks_secrets(monkeypatch):
    monkeypatch.setenv("PAY_KEY", "sup3rs3cret-value")
    tool = PAY.replace("command: [echo,", "command: {argv: [echo,").replace(
        '"{{ amount }}"]', '"{{ amount }}"], env: {PAY_KEY: "${env:PAY_KEY}"}}'
    )
    leaked = {**CALL, "invoice": "of sup3rs3cret-value"}
    async with open_files(project(tool)) as runtime:
        asked = (await runtime.call("pay", leaked, ANN)).pause.approval_id
        explained = await runtime.explain("pay", leaked, ANN)
        assert "sup3rs3cret-value" not in json.dumps(explained.document())
        assert "sup3rs3cret-value" not in (await runtime.approvals.get(asked)).view
        await runtime.approvals.approve(asked, BOSS, edits={"amount": 1})
        record = await runtime.approvals.get(asked)
        assert "sup3rs3cret-value" not in record.view
        assert (await runtime.approvals.run(asked)).text.startswith("of ***")
