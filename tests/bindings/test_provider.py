"""Tools that a model's vendor runs (U35, U82): in its requests, and nowhere else."""

from pathlib import Path

import pytest

from toolrt.core.calls import Caller
from toolrt.runtime import load
from toolrt.testing import open_files, write_files

pytestmark = pytest.mark.anyio

TOOLS = """
namespace: web
tools:
  search: {provider: {vendor: openai, type: web_search, config: {search_context_size: low}}}
  find: {provider: {vendor: anthropic, type: web_search_20250305, config: {max_uses: 3}}}
  google: {provider: {vendor: google, type: google_search}}
  own: {description: Ours., effect: read, command: [echo, hello]}
"""
ALLOW = "rules:\n  - {id: all, decide: allow, tools: ['*']}\n"


def files(rules: str = ALLOW) -> dict[str, str]:
    return {"tools.d/w.yaml": TOOLS, "policies.d/p.yaml": rules}


async def test_u82_each_vendor_is_told_of_its_own() -> None:
    async with open_files(files()) as runtime:
        made = {
            dialect: await runtime.export(dialect)
            for dialect in ("openai", "openai_responses", "anthropic", "google", "mcp")
        }
    assert made["openai_responses"].documents[1:] == [
        {"type": "web_search", "search_context_size": "low"}
    ]
    assert made["anthropic"].documents[1:] == [
        {"type": "web_search_20250305", "name": "web_search", "max_uses": 3}
    ]
    assert made["google"].hosted == ({"google_search": {}},)
    for dialect in ("openai", "google", "mcp"):
        assert len(made[dialect].documents) == 1
    said = [each.document() for each in made["openai"].report if each.tool == "web.search"]
    assert said[0]["says"] == "the tool is left out: it runs at openai"


async def test_u82_a_call_is_refused_with_where_the_tool_runs() -> None:
    async with open_files(files()) as runtime:
        result = await runtime.call("web.search", {})
    assert result.error is not None
    assert result.error.code == "unsupported"
    assert result.error.message == "`web.search` runs at openai, and cannot be called here"


@pytest.mark.parametrize(
    "rule",
    [
        "{id: no, decide: deny, tools: [web.find]}",
        "{id: ask, decide: ask, tools: [web.find]}",
        "{id: some, decide: deny, tools: [web.find], unless: \"'boss' in caller.roles\"}",
    ],
)
async def test_u82_rules_hold_for_what_nobody_here_can_stop(rule: str) -> None:
    async with open_files(files(f"{ALLOW}  - {rule}\n")) as runtime:
        made = await runtime.export("anthropic", Caller("ann"))
    assert [each["name"] for each in made.documents] == ["web_own"]


async def test_u82_a_caller_whom_a_rule_lets_is_told() -> None:
    rule = "{id: some, decide: deny, tools: [web.find], unless: \"'boss' in caller.roles\"}"
    async with open_files(files(f"{ALLOW}  - {rule}\n")) as runtime:
        made = await runtime.export("anthropic", Caller("ann", roles=("boss",)))
    assert [each["name"] for each in made.documents] == ["web_own", "web_search"]


def test_parameters_of_a_vendors_tool_are_a_diagnostic(tmp_path: Path) -> None:
    text = "tools:\n  a:\n    parameters: {x: string}\n    provider: {vendor: google, type: b}\n"
    found = load(write_files(tmp_path, {"tools.d/t.yaml": text}), environ={}).diagnostics
    assert [(each.code, each.line) for each in found if each.severity == "error"] == [
        ("no-effect", 3)
    ]


async def test_no_two_tools_have_one_name_for_their_vendor() -> None:
    more = """
  twin: {provider: {vendor: anthropic, type: web_search_20260101}}
"""
    own = "tools:\n  web_search: {description: Ours., effect: read, command: [echo, hello]}\n"
    both = {**files(), "tools.d/w.yaml": TOOLS + more}
    async with open_files(both) as runtime:
        one = await runtime.export("anthropic")
    alone = {"tools.d/w.yaml": TOOLS.replace("  search:", "  seek:"), "tools.d/own.yaml": own}
    async with open_files({**files(), **alone}) as runtime:
        other = await runtime.export("anthropic")
    assert [each["name"] for each in one.documents] == ["web_own", "web_search"]
    assert ("web.twin", "the tool is left out: another one is `web_search` for the vendor") in [
        (each.tool, each.says) for each in one.report
    ]
    assert [each["name"] for each in other.documents] == ["web_own", "web_search"]
    assert "input_schema" in other.documents[1]


def test_the_type_of_a_vendors_tool_is_said_once(tmp_path: Path) -> None:
    text = "tools:\n  a: {provider: {vendor: google, type: b, config: {type: c}}}\n"
    found = load(write_files(tmp_path, {"tools.d/t.yaml": text}), environ={}).diagnostics
    assert [each.code for each in found if each.severity == "error"] == ["no-effect"]
