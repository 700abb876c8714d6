"""`search_tools` and `call_tool` (R9): few tools are told of, and all of them can be called."""

import pytest

import toolrt
from toolrt.core.calls import Caller
from toolrt.testing import open_files, write_files

pytestmark = pytest.mark.anyio

TOOLS = """
namespace: shop
tools:
  price:
    description: The price of an article.
    effect: read
    parameters: {article: string}
    command: [printf, "%s costs 5", "{{ article }}"]
  pay:
    description: Pay an invoice.
    effect: irreversible
    parameters: {invoice: string}
    command: [printf, paid]
  secret:
    description: The price of secrets.
    effect: read
    command: [printf, hush]
"""
PROJECT = "builtins: [search_tools, call_tool]\n"
RULES = """
rules:
  - {id: all, decide: allow, tools: ["*"]}
  - {id: no, decide: deny, tools: [shop.secret]}
"""


def files(project: str = PROJECT, rules: str = RULES) -> dict[str, str]:
    return {"tools.d/shop.yaml": TOOLS, "toolrt.yaml": project, "policies.d/p.yaml": rules}


async def test_r9_what_is_found_is_called_by_its_name() -> None:
    async with open_files(files()) as runtime:
        found = await runtime.call("search_tools", {"intent": "what does an article cost"})
        name = found.data[0]["name"]
        result = await runtime.call("call_tool", {"name": name, "arguments": {"article": "tea"}})
    assert [each["name"] for each in found.data] == ["shop_price"]
    assert found.data[0]["parameters"]["required"] == ["article"]
    assert (result.tool, result.text) == ("shop.price", "tea costs 5")


async def test_r9_rules_and_people_decide_about_the_tool_that_is_meant() -> None:
    async with open_files(files()) as runtime:
        asked = {"name": "shop.pay", "arguments": {"invoice": "A1"}}
        paused = await runtime.call("call_tool", asked)
        assert paused.pause is not None
        boss = Caller("ann", may=frozenset({"call", "approve"}))
        await runtime.approvals.approve(paused.pause.approval_id, boss)
        ends = [await runtime.call("call_tool", asked) for _ in range(2)]
        hidden = await runtime.call("call_tool", {"name": "shop_secret"})
    assert [end.status for end in ends] == ["success", "paused"]
    assert paused.tool == ends[0].tool == "shop.pay"
    assert hidden.error is not None
    assert hidden.error.code == "unknown-tool"


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        ({"name": "shop_nothing"}, "unknown-tool"),
        ({"name": "call_tool", "arguments": {"name": "shop_price"}}, "unsupported"),
        ({"name": 3}, "invalid-arguments"),
        ({}, "missing-arguments"),
        ({"name": "shop_price", "also": 1}, "invalid-arguments"),
        ({"name": "shop_price", "arguments": [1]}, "invalid-arguments"),
        ({"name": "shop_price"}, "missing-arguments"),
    ],
)
async def test_what_is_wrong_with_a_call_is_told(arguments: dict, code: str) -> None:  # type: ignore[type-arg]
    async with open_files(files()) as runtime:
        result = await runtime.call("call_tool", arguments)
    assert result.error is not None
    assert result.error.code == code


async def test_a_rule_against_call_tool_closes_it() -> None:
    rules = RULES + "  - {id: closed, decide: deny, tools: [call_tool]}\n"
    async with open_files(files(rules=rules)) as runtime:
        result = await runtime.call("call_tool", {"name": "shop_price"})
    assert result.error is not None
    assert result.error.code == "unknown-tool"


async def test_r9_models_are_told_of_few_tools_where_there_are_many() -> None:
    project = PROJECT + "retrieval: {max_told: 2, always: ['shop.pay']}\n"
    async with open_files(files(project)) as runtime:
        export = await runtime.export("openai")
        result = await runtime.call("shop.price", {"article": "tea"})
    names = [each["function"]["name"] for each in export.documents]
    assert names == ["call_tool", "search_tools", "shop_pay"]
    assert result.text == "tea costs 5"


async def test_a_reload_brings_call_tool_and_takes_it(tmp_path) -> None:  # type: ignore[no-untyped-def]

    write_files(tmp_path, files(project=""))
    call = {"name": "shop_price", "arguments": {"article": "tea"}}
    async with toolrt.open(tmp_path) as runtime:
        before = await runtime.call("call_tool", call)
        write_files(tmp_path, files())
        await runtime.reload()
        there = await runtime.call("call_tool", call)
        write_files(tmp_path, files(project=""))
        await runtime.reload(accept_loss=True)
        after = await runtime.call("call_tool", call)
    assert [each.status for each in (before, there, after)] == ["error", "success", "error"]
