"""rt.turn and rt.export: a model's answer in, messages out, through the one door (R11-R19, R35)."""

import json
from typing import Any

import pytest

from toolrt.core.calls import Caller
from toolrt.core.errors import RefusedError
from toolrt.dialects.base import DIALECTS, ParseError
from toolrt.testing import ManualClock, ToolError, open_files, stubbed

pytestmark = pytest.mark.anyio

TOOLS = """
namespace: bank
tools:
  look:
    description: Look at an account. Pay with `bank.pay`.
    parameters:
      account: string
      last: {type: integer, default: 3}
      tenant: {type: string, from: caller.tenant, required: false}
    effect: read
    python: "stub:look"
  pay: {description: Pay., parameters: {to: string, amount: number}, python: "stub:pay"}
  done: {description: End., python: "stub:done", result: {final: true}}
  show: {description: Show., python: "stub:show", result: {to: user}, effect: read}
  vault: {description: Open it., python: "stub:done"}
  lame: {description: It needs a secret., http: {url: "http://127.0.0.1:9/${env:NEVER_SET_TOOLRT}"}}
  weak: {description: It fails., python: "stub:weak", effect: read, retry: none,
         breaker: {failures: 1, hide: true}}
"""
STUB = """
def look(account: str, last: int = 3, tenant: str | None = None) -> dict:
    return {"account": account, "last": last, "tenant": tenant}


def pay(to: str, amount: float) -> str:
    return f"paid {amount} to {to}"


def done() -> str:
    return "done"


def show() -> dict:
    return {"chart": [1, 2]}


def weak() -> None:
    raise ConnectionError("no")
"""
RULES = """
default: allow
rules:
  - {id: big, decide: ask, tools: [bank.pay], when: args.amount > 500, reason: Over 500.,
     approval: {approvers: {roles: [finance]}}}
  - {id: hide, decide: deny, tools: [bank.vault], when: '!("boss" in caller.roles)'}
"""
FILES = {"tools.d/t.yaml": TOOLS, "stub.py": STUB, "policies.d/p.yaml": RULES}


def answer(*calls: tuple[str, Any], **more: Any) -> dict[str, Any]:
    """A chat completion that asks for `calls`, each by its name on the wire."""
    made = [
        {"id": f"c{n}", "type": "function", "function": {
            "name": name, "arguments": given if isinstance(given, str) else json.dumps(given)}}
        for n, (name, given) in enumerate(calls, 1)
    ]  # fmt: skip
    message = {"role": "assistant", "content": None, "tool_calls": made}
    return {"choices": [{"finish_reason": "tool_calls", "message": message, **more}]}


@pytest.fixture
async def rt():
    async with open_files(FILES) as opened:
        yield opened


async def test_r19_the_calls_of_an_answer_are_made_and_answered_in_their_order(rt):
    turn = await rt.turn(
        answer(
            ("bank_look", {"account": "A1", "last": None}), ("bank_pay", {"to": "x", "amount": 3})
        ),
        caller=Caller("ann", tenant="acme"),
    )

    assert turn.dialect == "openai"
    assert [each["tool_call_id"] for each in turn.messages] == ["c1", "c2"]
    assert json.loads(turn.messages[0]["content"]) == {
        "account": "A1", "last": 3, "tenant": "acme",
    }  # fmt: skip
    assert turn.messages[1]["content"] == "paid 3 to x"
    assert [each.tool for each in turn.results] == ["bank.look", "bank.pay"]


async def test_u53_a_turn_is_one_batch_with_the_ids_of_the_vendor(rt):
    turn = await rt.turn(answer(("bank_done", {}), ("bank_look", {"account": "A1"})), serial=True)

    batches = [each.context["batch"] for each in turn.results]
    assert [each["call"] for each in batches] == ["c1", "c2"]
    assert batches[0]["id"] == batches[1]["id"]


async def test_equal_ids_of_a_vendor_do_not_spoil_the_turn(rt):
    both = answer(("bank_look", {"account": "A"}), ("bank_look", {"account": "B"}))
    for call in both["choices"][0]["message"]["tool_calls"]:
        call["id"] = "same"

    turn = await rt.turn(both)

    assert [json.loads(each["content"])["account"] for each in turn.messages] == ["A", "B"]


async def test_m6_what_is_wrong_with_one_call_is_its_failure_alone(rt):
    turn = await rt.turn(
        answer(
            ("bank_look", '{"account": "A1'), ("bank_look", "{}"), ("bank_look", "[]"),
            ("bank_lok", {}), ("", {}), ("bank_look", {"account": "A1"}),
        )
    )  # fmt: skip

    assert [each.error.code if each.error else "ok" for each in turn.results] == [
        "invalid-arguments", "missing-arguments", "invalid-arguments", "unknown-tool",
        "unknown-tool", "ok",
    ]  # fmt: skip
    cut, missing, *_ = (each["content"] for each in turn.messages)
    assert "the JSON ends too early" in cut
    assert "`account` is missing" in missing
    assert "did you mean `bank_look`?" in turn.messages[3]["content"]


async def test_where_tokens_ran_out_a_call_without_arguments_was_cut_off(rt):
    cut = await rt.turn(answer(("bank_look", ""), finish_reason="length"))
    whole = await rt.turn(answer(("bank_look", "")))

    assert [each.results[0].error.code for each in (cut, whole)] == [
        "invalid-arguments", "missing-arguments",
    ]  # fmt: skip


async def test_p15_a_hidden_tool_is_as_unknown_as_none(rt):
    hidden, none = (
        await rt.turn(answer(("bank_vault", {}))),
        await rt.turn(answer(("bank_vaux", {}))),
    )

    texts = [each.messages[0]["content"] for each in (hidden, none)]
    assert texts[0].partition("\n")[0].replace("vault", "vaux") == texts[1].partition("\n")[0]
    open_ = await rt.turn(answer(("bank_vault", {})), caller=Caller(roles=("boss",)))
    assert open_.messages[0]["content"] == "done"


async def test_p20_a_call_that_waits_tells_what_to_do_and_of_nobody(rt):
    turn = await rt.turn(answer(("bank_pay", {"to": "x", "amount": 900})))

    document = json.dumps(turn.document())
    (message,) = turn.messages
    assert turn.results[0].status == "paused"
    assert turn.results[0].pause.approval_id in message["content"]
    assert "`bank_pay` waits for a person: Over 500" in message["content"]
    assert turn.results[0].pause.needs
    assert "finance" not in document
    assert '"needs"' not in document


async def test_a_call_that_waits_tells_the_page_where_people_answer(rt):
    asked = answer(("bank_pay", {"to": "x", "amount": 900}))

    turn = await rt.turn(asked, page_of=lambda approval: f"https://tools.example/a/{approval}")

    url = f"https://tools.example/a/{turn.results[0].pause.approval_id}"
    assert f"The person can answer at {url}" in turn.messages[0]["content"]
    assert turn.document()["results"][0]["pause"]["url"] == url


async def test_the_same_call_again_after_a_yes_runs_once(rt):
    asked = answer(("bank_pay", {"to": "x", "amount": 900}))
    first = await rt.turn(asked)
    boss = Caller("fin", roles=("finance",), may=frozenset({"call", "approve"}))
    await rt.approvals.approve(first.results[0].pause.approval_id, boss)

    again = await rt.turn(asked)

    assert again.messages[0]["content"] == "paid 900 to x"


async def test_a_final_result_ends_the_run(rt):
    over = await rt.turn(answer(("bank_done", {})))
    goes_on = await rt.turn(answer(("bank_look", {"account": "A1"})))

    assert (over.is_final, goes_on.is_final) == (True, False)
    assert over.document()["final"]


async def test_what_is_for_the_user_does_not_reach_the_model(rt):
    turn = await rt.turn(answer(("bank_show", {})))

    assert "chart" not in json.dumps(turn.messages)
    assert turn.results[0].for_user.data == {"chart": [1, 2]}


async def test_d13_a_failure_is_a_message_and_no_exception(rt):
    def fails(_: Any) -> Any:
        raise ToolError("the account is closed", code="closed", hint="try another")

    with stubbed(rt, {"bank.look": fails}):
        turn = await rt.turn(answer(("bank_look", {"account": "A1"})))

    assert turn.messages[0]["content"] == "Error (closed): the account is closed\nHint: try another"


async def test_an_answer_in_words_gives_an_empty_turn(rt):
    turn = await rt.turn({"role": "assistant", "content": "Hello."})

    assert (turn.calls, turn.results, turn.messages) == ((), (), [])


@pytest.mark.parametrize("broken", ["{", "", "[]", {"choices": []}, 3], ids=str)
async def test_an_answer_that_is_none_runs_nothing(rt, broken):
    with pytest.raises(ParseError):
        await rt.turn(broken)


async def test_an_unknown_dialect_is_refused_with_the_nearest(rt):
    with pytest.raises(RefusedError, match="there is no dialect `opnai`"):
        await rt.turn({}, dialect="opnai")


async def test_code_is_read_and_its_calls_are_made(rt):
    turn = await rt.turn('now = bank_look(account="A1")', dialect="python")

    assert turn.messages[0]["id"] == "now"
    assert json.loads(turn.messages[0]["output"])["account"] == "A1"


@pytest.mark.parametrize("dialect", DIALECTS)
async def test_m4_m5_tools_are_those_that_this_caller_can_call_now(rt, dialect):
    async def shown(caller: Caller | None = None) -> str:
        return json.dumps((await rt.export(dialect, caller)).documents)

    before, to_boss = await shown(), await shown(Caller(roles=("boss",)))
    await rt.call("bank.weak", {})
    after = await shown()

    assert "bank_look" in before
    assert "bank_lame" not in before
    assert ("bank_vault" in before, "bank_vault" in to_boss) == (False, True)
    assert ("bank_weak" in before, "bank_weak" in after) == (True, False)
    assert "tenant" not in before


async def test_tools_are_exported_once_and_what_somebody_writes_into_them_is_theirs(rt):
    first, second = await rt.export("anthropic"), await rt.export("anthropic")

    first.documents[-1]["cache_control"] = {"type": "ephemeral"}
    second.documents[0]["name"] = "mine"
    third = await rt.export("anthropic")

    assert first.report is second.report is third.report
    assert "cache_control" not in second.documents[-1]
    assert third.documents[0]["name"] != "mine"
    assert third.fingerprint == first.fingerprint


async def test_exports_of_another_strictness_or_generation_are_others(rt):
    before = await rt.export("anthropic")

    loose = await rt.export("anthropic", strict="never")
    (rt.project / "tools.d" / "t.yaml").write_text(TOOLS.replace("Look at", "See"))
    await rt.reload()

    assert len({each.fingerprint for each in (before, loose, await rt.export("anthropic"))}) == 3


async def test_u29_what_the_caller_fills_is_in_no_schema_and_names_are_as_the_model_knows_them(rt):
    (look,) = (
        each["function"]
        for each in (await rt.export("openai")).documents
        if each["function"]["name"] == "bank_look"
    )

    assert look["description"] == "Look at an account. Pay with `bank_pay`."
    assert list(look["parameters"]["properties"]) == ["account", "last"]


async def test_times_are_of_the_clock_of_the_project():
    async with open_files(FILES, clock=ManualClock()) as rt:
        turn = await rt.turn(answer(("bank_look", {"account": "A1"})))

    assert turn.results[0].time_s == 0.0
