"""What the product owes of its modules (rows R and D), where no other file shows it."""

import json

import pytest
from click.testing import CliRunner

import toolrt
from toolrt.faces.cli.main import cli
from toolrt.testing import open_files, stubbed, write_files

pytestmark = pytest.mark.anyio

TOOLS = """
namespace: shop
tools:
  find@2:
    description: Find an article.
    title: Find
    tags: [look]
    parameters: {article: string}
    command: [echo, "{{ article }}"]
    effect: read
  open:
    description: Takes more than it names.
    input_schema: {type: object, properties: {a: {type: integer}}, required: [a]}
    command: {argv: [echo, "{{ a }}"]}
    effect: read
  stock: {description: What there is., parameters: {article: string}, command: [echo, "{{ article }}"], effect: read}
  buy: {description: Buy., parameters: {article: string}, command: [echo], effect: irreversible}
"""


def test_r1_a_record_of_a_tool_says_all_that_is_known_of_it(tmp_path):
    write_files(tmp_path, {"tools.d/t.yaml": TOOLS})
    shown = CliRunner().invoke(cli, ["-p", str(tmp_path), "show", "shop.find", "-o", "json"])
    record = json.loads(shown.stdout)

    known = {"name": "shop.find", "description": "Find an article.", "version": "2", "source": None,
             "tags": ["look"], "effect": "read", "file": "tools.d/t.yaml", "kind": "command"}  # fmt: skip
    assert known.items() <= {**record, "tags": record["tags"]}.items()
    assert record["input_schema"]["required"] == ["article"]


async def test_r1_who_may_call_is_a_matter_of_scopes_too():
    rules = """
    rules: [{id: s, decide: allow, tools: ["shop.*"], when: '"shop:read" in caller.scopes'}]
    """
    async with open_files({"tools.d/t.yaml": TOOLS, "policies.d/p.yaml": rules}) as runtime:
        ends = [
            await runtime.call("shop.find", {"article": "tea"}, toolrt.Caller("a", scopes=scopes))
            for scopes in ((), ("shop:read",))
        ]

    assert [each.error.code if each.error else each.data for each in ends] == [
        "unknown-tool",
        "tea\n",
    ]


async def test_r21_names_that_a_tool_does_not_know_are_refused_unless_its_schema_takes_them():
    async with open_files({"tools.d/t.yaml": TOOLS}) as runtime:
        strict = await runtime.call("shop.find", {"article": "tea", "artikel": "tea"})
        lenient = await runtime.call("shop.open", {"a": 1, "b": 2})

    assert strict.error.code == "invalid-arguments"
    assert "artikel" in strict.error.message
    assert lenient.status == "success"


@pytest.mark.parametrize("undone", [True, False])
async def test_r25_what_cannot_be_undone_asks_whatever_rules_allow(undone):
    rules = "rules: [{id: all, decide: allow, tools: ['*']}]"
    hitl = "" if undone else ", hitl: none"
    tools = TOOLS.replace("effect: irreversible", f"effect: irreversible{hitl}")
    async with open_files({"tools.d/t.yaml": tools, "policies.d/p.yaml": rules}) as runtime:
        result = await runtime.call("shop.buy", {"article": "tea"})

    assert result.status == ("paused" if undone else "success")


@pytest.mark.parametrize("dialect", ["openai", "openai_responses", "anthropic", "google"])
async def test_r35_d15_an_answer_to_each_of_several_questions_has_the_id_of_its_call(dialect):
    asked = {
        "openai": {"role": "assistant", "tool_calls": [
            {"id": "c1", "type": "function", "function": {"name": "shop_find", "arguments": '{"article": "tea"}'}},
            {"id": "c2", "type": "function", "function": {"name": "shop_stock", "arguments": '{"article": "jam"}'}},
        ]},
        "openai_responses": {"output": [
            {"type": "function_call", "call_id": "c1", "name": "shop_find", "arguments": '{"article": "tea"}'},
            {"type": "function_call", "call_id": "c2", "name": "shop_stock", "arguments": '{"article": "jam"}'},
        ]},
        "anthropic": {"role": "assistant", "content": [
            {"type": "tool_use", "id": "c1", "name": "shop_find", "input": {"article": "tea"}},
            {"type": "tool_use", "id": "c2", "name": "shop_stock", "input": {"article": "jam"}},
        ]},
        "google": {"role": "model", "parts": [
            {"functionCall": {"id": "c1", "name": "shop_find", "args": {"article": "tea"}}},
            {"functionCall": {"id": "c2", "name": "shop_stock", "args": {"article": "jam"}}},
        ]},
    }[dialect]  # fmt: skip
    async with open_files({"tools.d/t.yaml": TOOLS}) as runtime:
        turn = await runtime.turn(asked, dialect=dialect)
    written = json.dumps(turn.messages)

    assert [each.data for each in turn.results] == ["tea\n", "jam\n"]
    places = {each: written.index(each) for each in ('"c1"', "tea", '"c2"', "jam")}
    assert max(places['"c1"'], places["tea"]) < min(places['"c2"'], places["jam"])


async def test_r37_d14_a_model_is_told_what_is_wrong_and_never_a_traceback():
    code = "def fn(path: str) -> str:\n    'Read.'\n    return open(path).read()\n"
    tool = "tools: {t: {python: 'd14_kit:fn', effect: read}}"
    async with open_files({"d14_kit.py": code, "tools.d/t.yaml": tool}) as runtime:
        wrong = await runtime.call("t", {"path": 3})
        missing = await runtime.call("t", {"path": "/usr/nowhere/all.txt"})

    assert wrong.text == "`path` must be a string, not 3."
    assert "FileNotFoundError" in missing.text
    assert "Traceback" not in str(missing.document())
    assert "/usr/nowhere" not in str(missing.document())


async def test_r7_what_is_not_shown_cannot_be_called_either():
    rules = """
    default: allow
    rules: [{id: no, decide: deny, tools: [shop.stock], unless: 'caller.tenant == "acme"'}]
    """
    async with open_files({"tools.d/t.yaml": TOOLS, "policies.d/p.yaml": rules}) as runtime:
        with stubbed(runtime, {"shop.stock": lambda _: 1}):
            for tenant, is_there in (("acme", True), ("zoo", False)):
                caller = toolrt.Caller("ann", tenant=tenant)
                listed = [each.name for each in await runtime.listed(caller)]
                result = await runtime.call("shop.stock", {"article": "tea"}, caller)
                found = [
                    each.entry.name for each in await runtime.search("what there is", caller=caller)
                ]
                exported = str((await runtime.export("openai", caller)).documents)
                assert ("shop.stock" in listed) is is_there
                assert ("shop.stock" in found) is is_there
                assert ("shop_stock" in exported) is is_there
                assert (result.status == "success") is is_there
