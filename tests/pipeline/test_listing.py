"""What programs list: tools that the caller may see, and that no open breaker hides."""

import pytest

from toolrt.core.calls import Caller
from toolrt.core.errors import BindingError
from toolrt.runtime import open as open_project
from toolrt.testing import ManualClock, open_files, stubbed, write_files

pytestmark = pytest.mark.anyio

TOOLS = """
defaults: {effect: read, retry: none, breaker: {failures: 1, recovery: 100s}}
tools:
  buy: {description: B., command: ["true"], breaker: {hide: true}}
  look: {description: L., command: ["true"]}
  staff: {description: S., command: ["true"]}
"""
RULES = """
rules: [{id: staff, decide: deny, tools: [staff], unless: "'staff' in caller.roles"}]
default: allow
"""
FILES = {"tools.d/t.yaml": TOOLS, "policies.d/p.yaml": RULES}
ANN, STAFF = Caller("ann"), Caller("bob", roles=("staff",))
BOSS = Caller("boss", may=frozenset({"call", "admin"}))


async def names(runtime, caller=ANN):
    return [entry.name for entry in await runtime.listed(caller)]


def down(_arguments):
    raise BindingError("down", target_fault=True)


async def test_p15_a_list_holds_what_the_rules_let_its_caller_see():
    async with open_files(FILES) as runtime:
        assert await names(runtime) == await names(runtime, None) == ["buy", "look"]
        assert await names(runtime, STAFF) == await names(runtime, BOSS) == ["buy", "look", "staff"]


async def test_b8_an_open_breaker_that_hides_leaves_its_tool_out_until_it_may_be_tried():
    clock = ManualClock()
    async with open_files(FILES, clock=clock) as runtime:
        with stubbed(runtime, {"buy": down, "look": down}):
            for tool in ("buy", "look"):
                await runtime.call(tool, {}, ANN)
        assert (await names(runtime), await names(runtime, BOSS)) == (["look"], ["look", "staff"])
        clock.advance(101.0)
        assert await names(runtime) == ["buy", "look"]


async def test_b8_what_another_process_has_found_out_counts(tmp_path):
    project = write_files(tmp_path, FILES)
    async with open_project(project) as runtime:
        with stubbed(runtime, {"buy": down}):
            await runtime.call("buy", {}, ANN)
    async with open_project(project) as runtime:
        assert await names(runtime) == ["look"]
