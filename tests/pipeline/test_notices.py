"""`approvals.notify`: people are told of a new question by a tool of the project."""

import asyncio
import logging
import time

import pytest

import toolrt
from toolrt.core.calls import Caller
from toolrt.core.errors import ToolError
from toolrt.pipeline import notices
from toolrt.runtime import load
from toolrt.testing import open_files, stubbed, write_files

pytestmark = pytest.mark.anyio

ANN = Caller("ann", ("cook",), "acme", "s1")
TOOLS = """
tools:
  pay:
    description: Pay.
    parameters: {amount: integer}
    command: [echo, "{{ amount }}"]
    hitl: {mode: confirm, note: Is it much?}
  tell:
    description: Tell.
    parameters: {approval_id: string, tool: string, view: string, url: {type: string}}
    command: [echo, "{{ approval_id }} {{ tool }} {{ view }} {{ url }}"]
"""
PROJECT = "approvals: {notify: tell}\n"


def project(tools=TOOLS, policies="default: allow\n", written=PROJECT):
    return {"tools.d/t.yaml": tools, "policies.d/p.yaml": policies, "toolrt.yaml": written}


def faults(tmp_path, files):
    said = load(write_files(tmp_path, files)).diagnostics
    return [(one.severity, one.code, one.file, one.column, one.hint) for one in said]


async def until(holds):
    """Waits until what runs in the background has come so far."""
    async with asyncio.timeout(5):
        while not holds():  # noqa: ASYNC110 - nothing tells of it
            await asyncio.sleep(0.005)


async def test_a_new_question_is_told_with_the_arguments_that_the_tool_takes():
    async with open_files(project()) as runtime:
        with stubbed(runtime, {"tell": lambda _: None}) as calls:
            paused = await runtime.call("pay", {"amount": 5}, ANN)
            await until(lambda: calls)
            told = calls[0].arguments
            assert told.keys() == {"approval_id", "tool", "view", "url"}
            assert told["approval_id"] == paused.pause.approval_id
            assert (told["tool"], told["url"]) == ("pay", "")
            assert '"argv"' in told["view"]


async def test_a_notice_says_who_asks_why_and_until_when():
    names = "reason: string, principal: string, tenant: string, mode: string, expires_at: string"
    tools = TOOLS.replace("approval_id: string, tool: string, view: string", names).replace(
        "{{ approval_id }} {{ tool }} {{ view }}",
        "{{ reason }}{{ principal }}{{ tenant }}{{ mode }}{{ expires_at }}",
    )
    async with open_files(project(tools)) as runtime:
        with stubbed(runtime, {"tell": lambda _: None}) as calls:
            paused = await runtime.call("pay", {"amount": 5}, ANN)
            await until(lambda: calls)
            assert calls[0].arguments == {
                "reason": "Is it much?",
                "principal": "ann",
                "tenant": "acme",
                "mode": "confirm",
                "expires_at": paused.pause.document()["expires_at"],
                "url": "",
            }


async def test_a_notice_tells_every_rule_that_asks_and_whose_yes_it_needs():
    tools = TOOLS.replace(
        "tool: string, view", "rules: string, needs: string, reason: string, view"
    )
    tools = tools.replace("{{ tool }}", "{{ rules }}{{ needs }}{{ reason }}")
    rules = """
rules:
- {id: a, decide: ask, tools: [pay], reason: Look., approval: {approvers: {roles: [finance]}}}
- {id: b, decide: ask, tools: [pay], reason: Look twice., approval: {count: 2}}
default: allow
"""
    async with open_files(project(tools, rules)) as runtime:
        with stubbed(runtime, {"tell": lambda _: None}) as calls:
            await runtime.call("pay", {"amount": 5}, ANN)
            await until(lambda: calls)
            told = calls[0].arguments
    assert told["rules"] == "a, b"
    assert told["reason"].startswith("Look (rule `a`); Look twice (rule `b`); ")
    assert "a yes of role finance (not the requester), for rule `a`" in told["needs"]
    assert "2 yeses of anybody who may approve (not the requester), for rule `b`" in told["needs"]


async def test_o1_a_known_secret_in_an_argument_is_in_no_notice(monkeypatch):
    monkeypatch.setenv("PAY_KEY", "sup3rs3cret-value")
    tools = TOOLS.replace(
        "{amount: integer}", "{amount: string, pin: {type: string, sensitive: true}}"
    )
    tools = tools.replace(
        'command: [echo, "{{ amount }}"]',
        'command: {argv: [echo, "{{ amount }}{{ pin }}"], env: {K: "${env:PAY_KEY}"}}',
    )
    async with open_files(project(tools)) as runtime:
        with stubbed(runtime, {"tell": lambda _: None}) as calls:
            await runtime.call("pay", {"amount": "of sup3rs3cret-value", "pin": "1"}, ANN)
            await until(lambda: calls)
            assert "sup3rs3cret-value" not in repr(calls)
            assert "of ***" in calls[0].arguments["view"]


async def test_a_question_that_is_open_already_is_not_told_again():
    async with open_files(project()) as runtime:
        with stubbed(runtime, {"tell": lambda _: None}) as calls:
            await runtime.call("pay", {"amount": 5}, ANN)
            await runtime.call("pay", {"amount": 5}, ANN)
            await runtime.call("pay", {"amount": 6}, ANN)
            await until(lambda: len(calls) == 2)
            await asyncio.sleep(0.05)
            assert len(calls) == 2


async def test_the_asking_call_waits_for_no_notice():
    async with open_files(project()) as runtime:
        with stubbed(runtime, {"tell": lambda _: None}) as calls:
            await runtime.call("pay", {"amount": 5}, ANN)
            assert calls == []
            await until(lambda: calls)


async def test_a_sensitive_argument_is_in_no_notice():
    tools = TOOLS.replace("{amount: ", "{pin: {type: string, sensitive: true}, amount: ")
    tools = tools.replace('"{{ amount }}"', '"{{ amount }}", "--pin={{ pin }}"')
    async with open_files(project(tools)) as runtime:
        with stubbed(runtime, {"tell": lambda _: None}) as calls:
            await runtime.call("pay", {"amount": 5, "pin": "4711-geheim"}, ANN)
            await until(lambda: calls)
            assert "4711-geheim" not in repr(calls)
            assert '"amount": 5' in calls[0].arguments["view"]


async def test_what_is_long_or_invisible_is_told_as_such():
    tools = TOOLS.replace("{amount: integer}", "{amount: string}")
    async with open_files(project(tools)) as runtime:
        with stubbed(runtime, {"tell": lambda _: None}) as calls:
            await runtime.call("pay", {"amount": "5\u202e\x1b" + "x" * 9000}, ANN)
            await until(lambda: calls)
            view = calls[0].arguments["view"]
    assert "5\\u202e\\u001b" in view
    assert len(view) < 8100
    assert "characters more)" in view


async def test_a_notice_that_fails_fails_no_call_and_is_logged_once(caplog):
    def fail(_):
        raise ToolError("no mail today")

    async with open_files(project()) as runtime:
        with stubbed(runtime, {"tell": fail}) as calls, caplog.at_level(logging.WARNING, "toolrt"):
            for amount in (5, 6, 7):
                assert (await runtime.call("pay", {"amount": amount}, ANN)).status == "paused"
            await until(lambda: len(calls) == 3)
            await asyncio.sleep(0.05)
    said = [each.getMessage() for each in caplog.records if "told" in each.getMessage()]
    assert said == ["nobody is told of questions: `tell` failed with execution-failed"]


async def test_policy_decides_on_the_notice_for_a_caller_of_its_own(caplog):
    policies = """
    rules:
      - {id: all, decide: allow, tools: ['*']}
      - {id: no, decide: deny, tools: [tell], when: 'caller.principal == "toolrt"'}
    """
    async with open_files(project(policies=policies)) as runtime:
        with stubbed(runtime, {"tell": lambda _: None}) as calls:
            await runtime.call("pay", {"amount": 5}, ANN)
            await until(lambda: caplog.records)
            assert calls == []
    assert "`tell` may not be called by `toolrt`" in caplog.text


async def test_a_notice_that_asks_is_itself_told_to_nobody(caplog):
    policies = """
    default: allow
    rules: [{id: odd, decide: ask, tools: [tell], when: 'caller.principal == "toolrt"'}]
    """
    async with open_files(project(policies=policies)) as runtime:
        with stubbed(runtime, {"tell": lambda _: None}) as calls:
            await runtime.call("pay", {"amount": 5}, ANN)
            await until(lambda: caplog.records)
            await asyncio.sleep(0.05)
            tools = [record.tool for record in await runtime.approvals.listed()]
            assert (sorted(tools), calls) == (["pay", "tell"], [])
    assert "`tell` waits for a person itself" in caplog.text


async def test_a_caller_who_only_has_the_same_name_is_told_of_like_any_other():
    async with open_files(project()) as runtime:
        with stubbed(runtime, {"tell": lambda _: None}) as calls:
            await runtime.call("pay", {"amount": 5}, Caller("toolrt"))
            await until(lambda: calls)


async def test_a_notice_that_is_under_way_ends_before_the_runtime_does(tmp_path):
    tools = TOOLS.replace(
        'command: [echo, "{{ approval_id }} {{ tool }} {{ view }} {{ url }}"]',
        "shell: {script: 'sleep 0.2; echo $1 > told', argv: "
        '["{{ approval_id }} {{ tool }} {{ view }} {{ url }}"]}',
    )
    async with toolrt.open(write_files(tmp_path, project(tools))) as runtime:
        paused = await runtime.call("pay", {"amount": 5}, ANN)
    assert (tmp_path / "told").read_text().startswith(paused.pause.approval_id)


async def test_a_notice_that_never_ends_is_cut_off_when_the_runtime_closes(monkeypatch):
    monkeypatch.setattr(notices, "PATIENCE_S", 0.1)
    tools = TOOLS.replace(
        'command: [echo, "{{ approval_id }} {{ tool }} {{ view }} {{ url }}"]',
        "shell: {script: 'sleep 30', argv: [\"{{ approval_id }} {{ tool }} {{ view }} {{ url }}\"]}",
    )
    async with open_files(project(tools)) as runtime:
        await runtime.call("pay", {"amount": 5}, ANN)
        began = time.monotonic()
    assert time.monotonic() - began < 5


async def test_a_reload_names_another_tool():
    async with open_files(project()) as runtime:
        more = "\n  shout: {description: Shout., command: [touch, shouted]}\n"
        write_files(runtime.project, project(TOOLS + more, written="approvals: {notify: shout}\n"))
        await runtime.reload()
        await runtime.call("pay", {"amount": 5}, ANN)
        await until((runtime.project / "shouted").exists)


def test_a_tool_that_is_not_there_is_an_error_with_the_nearest_name(tmp_path):
    found = faults(tmp_path, project(written="approvals: {notify: tel}\n"))
    assert found == [("error", "no-such-tool", "toolrt.yaml", 21, "did you mean `tell`?")]


@pytest.mark.parametrize("keys", ["hitl: confirm", "effect: irreversible", "enabled: false"])
def test_a_tool_that_asks_a_person_or_is_switched_off_is_an_error(tmp_path, keys):
    tools = TOOLS.replace("description: Tell.", f"description: Tell.\n    {keys}")
    found = faults(tmp_path, project(tools))
    assert [each[:4] for each in found] == [("error", "unfit-notify", "toolrt.yaml", 21)]


def test_a_tool_that_a_rule_always_asks_about_is_an_error(tmp_path):
    policies = "default: allow\nrules: [{id: a, decide: ask, tools: [tell]}]\n"
    found = faults(tmp_path, project(policies=policies))
    assert [each[:4] for each in found] == [("error", "unfit-notify", "toolrt.yaml", 21)]


def test_a_tool_that_no_rule_lets_through_is_an_error(tmp_path):
    found = faults(tmp_path, project(policies="default: deny\n"))
    assert [each[:4] for each in found] == [
        ("error", "unfit-notify", "toolrt.yaml", 21),
        ("warning", "no-rule", "tools.d/t.yaml", 3),
    ]


def test_a_tool_that_needs_what_no_notice_has_is_an_error(tmp_path):
    tools = TOOLS.replace("url: {type: string}", "channel: string")
    ((*found, hint),) = faults(tmp_path, project(tools.replace("{{ url }}", "{{ channel }}")))
    assert found == ["error", "unfit-notify", "toolrt.yaml", 21]
    assert "`approval_id`" in hint


def test_a_tool_with_errors_is_not_reported_twice(tmp_path):
    tools = TOOLS.replace("description: Tell.", "description: Tell.\n    timeout: 5")
    assert [each[1] for each in faults(tmp_path, project(tools))] == ["invalid-duration"]
