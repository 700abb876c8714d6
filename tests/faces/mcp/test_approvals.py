"""Approvals for MCP clients: a form, a page, or a result that says what to do; the call runs once."""

import asyncio

import mcp
import pytest
from faces.mcp.projects import project
from faces.mcp.raw import client
from faces.mcp.serving import served
from until import until

from toolrt import Caller

pytestmark = pytest.mark.anyio
ERAS = pytest.mark.parametrize("era", ["handshake", "modern"])
ANN = Caller("ann", may=frozenset({"call", "approve"}))
BOSS = Caller("boss", may=frozenset({"approve"}))

ASKING = """
tools:
  pay: {description: Pays., command: [./pay], effect: irreversible}
  order:
    description: Orders.
    command: [./pay, "{{ size }}"]
    parameters: {size: {type: string, enum: [s, m], description: Size}}
    hitl: {mode: input, fields: [size]}
"""


def paid(folder):
    file = folder / "paid.txt"
    return file.read_text().splitlines() if file.exists() else []


async def approval(site):
    (record,) = await site.runtime.approvals.listed()
    return record


@ERAS
async def test_without_a_way_to_ask_the_result_says_at_once_what_it_waits_for(folder, era):
    async with served(project(folder, ASKING)) as site, client(site.url, era) as raw:
        paused = (await raw.call("pay")).result
        record = await approval(site)
        again = (await raw.call("pay")).result
        await site.runtime.approvals.approve(record.id, BOSS)
        ran = (await raw.call("pay")).result
        asked_anew = (await raw.call("pay")).result

    assert paused["isError"] is True
    text = paused["content"][0]["text"]
    assert record.id in text
    assert "expires at" in text
    assert paused["_meta"]["toolrt/approval"]["approval_id"] == record.id
    assert "needs" not in paused["_meta"]["toolrt/approval"]
    assert again["_meta"]["toolrt/approval"]["approval_id"] == record.id
    assert ran["isError"] is False
    assert ran["content"][0]["text"].strip() == "paid"
    assert asked_anew["isError"] is True
    assert paid(folder) == ["paid"]


async def test_the_result_says_where_to_decide(folder):
    page_of = "https://example.org/approvals/{}".format
    async with served(project(folder, ASKING), page_of=page_of) as site, client(site.url) as raw:
        paused = (await raw.call("pay")).result
        record = await approval(site)

    assert f"https://example.org/approvals/{record.id}" in paused["content"][0]["text"]


@ERAS
@pytest.mark.parametrize(
    ("said", "runs", "words"),
    [
        ({"action": "accept", "content": {"decision": "approve"}}, 1, "paid"),
        ({"action": "accept", "content": {"decision": "deny", "note": "too dear"}}, 0, "too dear"),
        ({"action": "decline"}, 0, "denied"),
        ({"action": "cancel"}, 0, "waits for a person"),
    ],
)
async def test_who_may_approve_is_asked_by_a_form(folder, era, said, runs, words):
    asked = []

    def answer(params):
        asked.append(params)
        return said

    async with served(project(folder, ASKING), caller=ANN) as site:
        result = await _asked(site, era, answer, {"elicitation": {}})

    assert "pay" in asked[0]["message"]
    assert asked[0]["requestedSchema"]["properties"]["decision"]["enum"] == ["approve", "deny"]
    assert words in result["content"][0]["text"]
    assert len(paid(folder)) == runs


@ERAS
async def test_who_may_not_approve_is_sent_to_the_page_of_who_may(folder, era):
    page_of = "https://example.org/approvals/{}".format
    asked = []

    async with served(project(folder, ASKING), page_of=page_of) as site:

        async def later(id_):
            await site.runtime.approvals.approve(id_, BOSS)

        def answer(params):
            asked.append(params)
            id_ = params["url"].rpartition("/")[2]
            asked.append(asyncio.ensure_future(later(id_)))
            return {"action": "accept"}

        result = await _asked(site, era, answer, {"elicitation": {"url": {}}})

    assert asked[0]["mode"] == "url"
    assert ("elicitationId" in asked[0]) is (era == "handshake")
    assert result["content"][0]["text"].strip() == "paid"
    assert paid(folder) == ["paid"]


@ERAS
async def test_nobody_is_asked_by_a_form_who_may_not_approve(folder, era):
    async with served(project(folder, ASKING)) as site:
        result = await _asked(site, era, None, {"elicitation": {}})

    assert result["isError"] is True
    assert paid(folder) == []


@ERAS
async def test_what_a_person_fills_in_is_part_of_the_form(folder, era):
    asked = []

    def answer(params):
        asked.append(params)
        return {"action": "accept", "content": {"decision": "approve", "size": "m"}}

    async with served(project(folder, ASKING), caller=ANN) as site:
        result = await _asked(site, era, answer, {"elicitation": {}}, tool="order")

    assert asked[0]["requestedSchema"]["properties"]["size"]["enum"] == ["s", "m"]
    assert result["isError"] is False
    assert paid(folder) == ["paid"]


async def test_a_client_that_forgets_its_state_makes_one_call_all_the_same(folder):
    async with (
        served(project(folder, ASKING), caller=ANN) as site,
        client(site.url, elicitation={}) as raw,
    ):
        first = (await raw.call("pay")).result
        second = (await raw.call("pay")).result
        said = {"approval": {"action": "accept", "content": {"decision": "approve"}}}
        done = [
            await raw.call("pay", inputResponses=said, requestState=each["requestState"])
            for each in (first, second)
        ]

    assert first["resultType"] == second["resultType"] == "input_required"
    assert done[0].result["isError"] is False
    assert paid(folder) == ["paid"]


async def _asked(site, era, answer, capabilities, tool="pay"):
    """The result of a call whose client answers what it is asked."""
    async with client(site.url, era, **capabilities) as raw:
        if era == "modern":
            result = (await raw.call(tool)).result
            while result.get("resultType") == "input_required":
                said = {k: answer(v["params"]) for k, v in result["inputRequests"].items()}
                state = result["requestState"]
                result = (await raw.call(tool, inputResponses=said, requestState=state)).result
            return result
        async with raw.stream("tools/call", {"name": tool, "arguments": {}}) as messages:
            if answer is None:
                return (await raw.call(tool)).result
            async for message in messages:
                if message.get("method") == "elicitation/create":
                    await raw.respond(message["id"], answer(message["params"]))
                if "result" in message:
                    return message["result"]
    raise AssertionError("it was never answered")


STRICT = """
rules:
- {id: eyes, decide: ask, tools: [w.order], approval: {exclude_requester: true}}
- {id: boss, decide: ask, tools: [w.send], approval: {approvers: {roles: [boss]}}}
default: allow
"""
WIDE = """
namespace: w
tools:
  send: {description: Sends., command: [./pay], effect: write}
  order: {description: Orders., command: [./pay], effect: irreversible}
"""
OWN = "rules: [{id: own, decide: ask, tools: ['w.*']}]\ndefault: allow\n"


def with_rules(folder, rules):
    made = project(folder, WIDE)
    (folder / "policies.d").mkdir()
    (folder / "policies.d" / "all.yaml").write_text(rules)
    return made


@ERAS
async def test_nobody_is_shown_a_form_whose_yes_would_not_count(folder, era):
    site_ = served(with_rules(folder, STRICT), caller=ANN)
    async with site_ as site, client(site.url, era, elicitation={"form": {}}) as raw:
        paused = [(await raw.call(name)) for name in ("w_order", "w_send")]

    assert [each.result["isError"] for each in paused] == [True, True]
    assert [each.before for each in paused] == [[], []]
    assert paid(folder) == []


@ERAS
async def test_who_is_asked_reads_the_names_that_their_client_has(folder, era):
    site_ = served(with_rules(folder, OWN), caller=ANN)
    async with site_ as site, client(site.url, era, elicitation={"form": {}}) as raw:
        if era == "modern":
            made = (await raw.call("w_order")).result
            (question,) = made["inputRequests"].values()
        else:
            params = {"name": "w_order", "arguments": {}}
            async with raw.stream("tools/call", params) as messages:
                question = await anext(messages)

    assert "`w_order`" in question["params"]["message"]
    assert "w.order" not in str(question["params"])


@ERAS
async def test_who_is_sent_to_a_page_is_told_that_the_call_waits(folder, era):
    options = {"page_of": lambda id_: f"https://tools.example/approvals/{id_}"}
    site_ = served(with_rules(folder, OWN), **options)
    async with site_ as site, client(site.url, era, elicitation={"url": {}}) as raw:
        if era == "modern":
            made = (await raw.call("w_order")).result
            (question,) = made["inputRequests"].values()
        else:
            params = {"name": "w_order", "arguments": {}}
            async with raw.stream("tools/call", params) as messages:
                question = await anext(messages)

    assert "it runs once it is approved" in question["params"]["message"]
    assert "same call again" not in question["params"]["message"]
    assert "`w_order`" in question["params"]["message"]


async def test_over_stdio_a_paused_call_says_how_to_decide(folder):
    import sys

    arguments = ["-m", "toolrt", "-p", str(project(folder)), "serve", "--stdio"]
    started = mcp.StdioServerParameters(command=sys.executable, args=arguments)
    async with mcp.Client(started, mode="legacy") as connected:
        paused = await connected.call_tool("pay", {})

    assert paused.is_error
    id_ = paused.meta["toolrt/approval"]["approval_id"]
    assert f"`toolrt approvals approve {id_}`" in paused.content[0].text


NOTING = """
tools:
  order:
    description: Orders.
    command: [./pay, "{{ size }}", "{{ call.idempotency_key }}"]
    parameters: {size: {type: string, enum: [s, m], description: Size}, number: integer}
    effect: irreversible
    idempotency_key: "{{ number }}"
  lose: {description: Fails., command: ["false"], parameters: {size: string}, effect: irreversible}
  orders: {description: Orders., steps: [{id: p, tool: order, args: {size: s, number: 1}}]}
"""


@ERAS
@pytest.mark.parametrize("name", ["order", "lose"])
async def test_a13_the_model_reads_that_a_person_changed_its_arguments(folder, era, name):
    arguments = {"size": "s", "number": 1} if name == "order" else {"size": "s"}
    async with served(project(folder, NOTING)) as site, client(site.url, era) as raw:
        await raw.call(name, arguments)
        await site.runtime.approvals.approve((await approval(site)).id, BOSS, edits={"size": "m"})
        ran = (await raw.call(name, arguments)).result

    assert ran["isError"] is (name == "lose")
    assert ran["content"][-1]["text"] == "Note: the arguments were edited by boss."


@ERAS
async def test_a13_the_model_reads_that_a_person_changed_a_step_of_its_plan(folder, era):
    async with served(project(folder, NOTING)) as site, client(site.url, era) as raw:
        await raw.call("orders", {})
        await site.runtime.approvals.approve((await approval(site)).id, BOSS, edits={"size": "m"})
        ran = (await raw.call("orders", {})).result

    assert ran["content"][-1]["text"] == "Note: step `p`: the arguments were edited by boss."


@ERAS
async def test_the_model_reads_that_nothing_was_done_again(folder, era):
    arguments = {"size": "s", "number": 1}
    async with served(project(folder, NOTING)) as site, client(site.url, era) as raw:
        for _ in range(2):
            await raw.call("order", arguments)
            record = await approval(site)
            await site.runtime.approvals.approve(record.id, BOSS)
            ran = (await raw.call("order", arguments)).result

    assert [each["text"].strip() for each in ran["content"]] == [
        "paid", "Note: an earlier call with the same idempotency key did this already.",
    ]  # fmt: skip
    assert paid(folder) == ["paid"]


@ERAS
async def test_a_client_that_never_answers_gets_the_pause_in_the_end(folder, era, monkeypatch):
    monkeypatch.setattr("toolrt.faces.mcp.asking.WAIT_S", 0.2)
    async with (
        served(project(folder, ASKING), caller=ANN) as site,
        client(site.url, era, elicitation={}) as raw,
    ):
        reply = await raw.call("pay")
        if era == "modern":
            await until(lambda: not site.endpoint.protocol.lot._parked)
            said = {"approval": {"action": "accept", "content": {"decision": "approve"}}}
            state = reply.result["requestState"]
            reply = await raw.call("pay", requestState=state, inputResponses=said)
            assert paid(folder) == ["paid"]
            return

    assert reply.result["isError"] is True
    assert "waits for a person" in reply.result["content"][0]["text"]


async def test_an_answer_to_another_process_is_as_good(folder):
    key = lambda: b"k" * 32  # noqa: E731
    said = {"approval": {"action": "accept", "content": {"decision": "approve"}}}
    async with (
        served(project(folder, ASKING), caller=ANN, key=key) as one,
        client(one.url, elicitation={}) as raw,
    ):
        state = (await raw.call("pay")).result["requestState"]
    async with (
        served(folder, caller=ANN, key=key) as other,
        client(other.url, elicitation={}) as raw,
    ):
        done = await raw.call("pay", requestState=state, inputResponses=said)
        stolen = await raw.call("order", requestState=state, inputResponses=said)

    assert done.result["content"][0]["text"].strip() == "paid"
    assert paid(folder) == ["paid"]
    assert stolen.error["code"] == -32602
