"""`call_tool` and `search_tools` come to nothing that their caller could not come to (R9, P15)."""

import pytest

from toolrt.core.calls import Caller
from toolrt.core.errors import CallError
from toolrt.core.offered import OFFERED
from toolrt.manifest.offers import Toolset
from toolrt.testing import open_files

pytestmark = pytest.mark.anyio

TOOLS = """
namespace: shop
tools:
  price: {description: The price of tea., effect: read, command: [printf, five]}
  pay: {description: Pay for tea., effect: irreversible, command: [printf, paid]}
  hidden: {description: The secret of tea., effect: read, command: [printf, hush]}
  inner: {description: The inside of tea., effect: read, expose: false, command: [printf, hush]}
  search: {description: Search for tea., provider: {vendor: anthropic, type: web_search_1}}
"""
RULES = """
rules:
  - {id: all, decide: allow, tools: ["*"]}
  - {id: no, decide: deny, tools: [shop.hidden]}
settings:
  - {tools: [shop.price], when: 'caller.principal == "ann"', hitl: confirm}
"""
FILES = {
    "tools.d/shop.yaml": TOOLS,
    "toolrt.yaml": "builtins: [search_tools, call_tool, plan_and_execute]\n",
    "policies.d/p.yaml": RULES,
}


async def test_p15_hidden_tools_are_as_unknown_as_none() -> None:
    async with open_files(FILES) as runtime:
        for name in ("shop_hidden", "shop_inner", "shop.hidden", "shop.inner", "shop_nothing"):
            result = await runtime.call("call_tool", {"name": name})
            assert result.error is not None
            assert result.error.code == "unknown-tool"
            assert result.tool == name
            assert result.error.message == f"there is no tool `{name}`"
        found = await runtime.call("search_tools", {"intent": "tea", "k": 20})
    assert sorted(each["name"] for each in found.data) == ["shop_pay", "shop_price"]


async def test_what_is_found_is_told_as_its_caller_has_it() -> None:
    async with open_files(FILES) as runtime:
        told = {
            who: (await runtime.call("search_tools", {"intent": "price"}, Caller(who))).data[0]
            for who in ("ann", "bob")
        }
    assert told["bob"]["description"] == "The price of tea."
    assert told["ann"]["description"].startswith("The price of tea.")
    assert "person" in told["ann"]["description"]


async def test_a_toolset_holds_for_what_is_named_in_arguments() -> None:
    offered = Toolset(tools=["shop.price", "call_tool", "search_tools", "plan_and_execute"])
    async with open_files(FILES) as runtime:
        OFFERED.set(offered.offers)
        found = await runtime.call("search_tools", {"intent": "tea", "k": 20})
        ends = [
            await runtime.call("call_tool", {"name": name})
            for name in ("shop_price", "shop_pay", "shop.pay", "shop_pa")
        ]
        many = await runtime.call_many([{"tool": "call_tool", "arguments": {"name": "shop_pay"}}])
        step = {"tool": "shop.pay", "parameters": {}}
        thought = {"reasoning": "", "criticism": "", "action": "execute_plan", "plan": [step]}
        planned = await runtime.call("plan_and_execute", {"thought": thought})
        OFFERED.set(None)
    assert [each["name"] for each in found.data] == ["shop_price"]
    codes = [end.error.code if end.error else end.text for end in (*ends, *many)]
    assert codes == ["five", *["unknown-tool"] * 4]
    assert planned.status == "error"
    assert "paid" not in str(planned)


async def test_what_call_tool_would_do_is_what_its_tool_would() -> None:
    async with open_files(FILES) as runtime:
        asked = {"name": "shop_price"}
        seen = await runtime.preview("call_tool", asked, Caller("ann"))
        told = [await runtime.explain("call_tool", asked, Caller(who)) for who in ("ann", "bob")]
        with pytest.raises(CallError):
            await runtime.explain("call_tool", {"name": 3}, Caller("ann"))
    assert (seen["tool"], seen["decision"]["decision"]) == ("shop.price", "ask")
    assert [(each.tool.name, each.decision.verdict) for each in told] == [
        ("shop.price", "ask"), ("shop.price", "allow"),
    ]  # fmt: skip
