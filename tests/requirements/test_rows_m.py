"""What the product owes of decisions, results and budgets (rows M), where no other file shows it."""

import json

import pytest
from click.testing import CliRunner

import toolrt
from toolrt.faces.cli.main import cli
from toolrt.runtime import load
from toolrt.testing import open_files, stubbed, write_files

pytestmark = pytest.mark.anyio

TOOLS = """
tools:
  read: {description: R., parameters: {path: string}, command: [echo, "{{ path }}"], effect: read}
  edit: {description: E., parameters: {path: {type: string, required: false}}, command: [echo], effect: write}
  task: {description: T., parameters: {what: string}, command: [echo, "{{ what }}"], effect: write}
  other: {description: O., command: [echo], effect: write}
"""
RULES = """
rules:
  - {id: reads, decide: allow, tools: ["*"], when: tool.effect == "read"}
  - {id: edits, decide: allow, tools: [edit], when: has(args.path)}
  - {id: tasks, decide: ask, tools: [task]}
  - {id: only-looks, decide: deny, tools: [edit, task], when: '"readonly_subagent" in caller.roles'}
"""
FILES = {"tools.d/t.yaml": TOOLS, "policies.d/p.yaml": RULES}
MAIN = toolrt.Caller("agent", roles=("main_agent",), session="s")
SUB = toolrt.Caller("agent", roles=("readonly_subagent",), session="s")
CALLS = {
    "read": {"path": "a"},
    "edit": {"path": "a"},
    "task": {"what": "x"},
    "other": {},
    "nothing": {},
}


async def ends(runtime, caller, **more):
    """What each tool comes to: its status, or the code of its failure."""
    results = [await runtime.call(name, given, caller) for name, given in (CALLS | more).items()]
    return [each.error.code if each.error else each.status for each in results]


@pytest.mark.parametrize(
    ("short", "code", "hint"),
    [("int", "unknown-type", "write `integer`"), ("str", "unknown-type", "write `string`")],
)
def test_m3_a_type_is_one_word_and_that_of_python_is_told_what_to_write(
    tmp_path, short, code, hint
):
    text = "tools: {t: {description: T., parameters: {x: TYPE}, command: [echo, '{{ x }}']}}"
    write_files(tmp_path, {"tools.d/t.yaml": text.replace("TYPE", short)})
    (fault,) = load(tmp_path).diagnostics
    write_files(tmp_path, {"tools.d/t.yaml": text.replace("TYPE", hint.split("`")[1])})
    made = load(tmp_path)

    assert (fault.code, fault.hint) == (code, hint)
    assert made.diagnostics == []
    assert made.snapshot.tools["t"].input_schema["required"] == ["x"]


async def test_m14_what_no_rule_lets_through_is_refused_and_modes_are_roles():
    async with open_files(FILES) as runtime:
        assert await ends(runtime, MAIN) == [
            "success", "success", "paused", "unknown-tool", "unknown-tool",
        ]  # fmt: skip
        assert await ends(runtime, SUB) == ["success", *["unknown-tool"] * 4]
        nowhere = await runtime.call("edit", {}, MAIN)

    assert nowhere.error.code == "no-rule"


async def test_m16_a_mode_sees_no_more_than_it_may_call():
    async with open_files(FILES) as runtime:
        shown = [{each.name for each in await runtime.listed(who)} for who in (MAIN, SUB)]

    assert shown == [{"read", "edit", "task"}, {"read"}]


async def test_m18_a_list_that_a_caller_brings_narrows_what_rules_allow_and_widens_nothing():
    rule = "  - {id: listed, decide: deny, tools: ['*'], unless: tool.name in caller.scopes}\n"
    scopes = ("read", "other")
    async with open_files(FILES | {"policies.d/p.yaml": RULES + rule}) as runtime:
        told = await ends(runtime, toolrt.Caller("agent", scopes=scopes))

    assert told == ["success", *["unknown-tool"] * 4]


async def test_m13_a_decision_says_what_who_and_why():
    async with open_files(FILES) as runtime:
        decision = (await runtime.explain("task", {"what": "x"}, MAIN)).document()
        sub = await runtime.explain("task", {"what": "x"}, SUB)

    assert (decision["decision"], decision["rule"]) == ("ask", "tasks")
    assert {"reason", "rules", "policy_hash", "arguments"} <= set(decision)
    assert (sub.decision.verdict, sub.decision.rule) == ("deny", "only-looks")


@pytest.mark.parametrize(
    ("value", "data", "text"),
    [
        (3, 3, ""),
        ("hi", "hi", "hi"),
        (None, None, "read completed with no output."),
        ({"a": 1}, {"a": 1}, ""),
    ],
)
async def test_m23_m24_whatever_a_tool_gives_is_one_shape_with_an_error_only_where_it_failed(
    value, data, text
):
    def fails(_):
        raise toolrt.ToolError("closed", code="closed")

    async with open_files(FILES) as runtime:
        with stubbed(runtime, {"read": lambda _: value, "edit": fails}):
            good = (await runtime.call("read", {"path": "a"}, MAIN)).document()
            bad = (await runtime.call("edit", {"path": "a"}, MAIN)).document()

    assert (good["status"], good["data"], good["text"]) == ("success", data, text)
    assert "error" not in good
    assert (bad["status"], bad["data"], bad["error"]["code"]) == ("error", None, "closed")
    assert bad.keys() - good.keys() == {"error"}


def test_m26_what_was_asked_decided_and_done_is_found_by_the_id_of_the_call(folder):
    write_files(folder, FILES)
    command = ["-p", str(folder), "run", "read", "path=a", "-o", "json"]
    id_ = json.loads(CliRunner().invoke(cli, command).stdout)["call_id"]
    shown = CliRunner().invoke(cli, ["-p", str(folder), "history", "show", id_, "-o", "json"])
    (entry,) = json.loads(shown.stdout)["entries"]

    assert (entry["call_id"], entry["tool"], entry["arguments"]) == (id_, "read", {"path": "a"})
    assert (entry["decision"]["rule"], entry["status"]) == ("reads", "success")


async def test_m32_a_result_that_may_be_large_is_left_whole():
    tools = TOOLS.replace("effect: read}", "effect: read, result: {max_size: 1MiB}}")
    async with open_files({"tools.d/t.yaml": tools}) as runtime:
        with stubbed(runtime, {"read": lambda _: "x" * 150_000}):
            result = await runtime.call("read", {"path": "a"})

    assert (result.status, len(result.text)) == ("success", 150_000)
