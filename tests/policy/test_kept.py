"""What is kept of rules and deciders while the files of a project change."""

from dataclasses import fields, replace

import pytest
from policies import tool

from toolrt.loading.loader import load_files
from toolrt.loading.stock import Library, Stock
from toolrt.manifest.policy import Limits
from toolrt.manifest.result import Hitl
from toolrt.policy.compiler import compile_policy
from toolrt.policy.facts import ToolFacts
from toolrt.policy.history import History
from toolrt.policy.kept import KeptClauses
from toolrt.testing import write_files

RULES = """\
default: allow
rules:
- {id: big, decide: deny, tools: [bank.pay], when: args.amount > 900}
- {id: tagged, decide: deny, tools: ["bank.*"], when: '"wild" in tool.tags'}
"""
PAY = tool()
LIST = tool("bank.list", {})
OTHERS = {
    "root": {**LIST.root, "tags": ["wild"]},
    "effect": "read",
    "arguments": {"n": {"type": "integer"}},
    "sensitive": frozenset({"n"}),
    "vars": {"n": 1},
    "hitl": Hitl(mode="confirm"),
    "kind": "shell",
    "is_foreign": True,
    "hands_text_on": True,
    "variants": (tool("bank.list", {}, effect="read"),),
    "limits": Limits(max_calls=1),
    "is_exposed": False,
    "has_steps": True,
}


@pytest.fixture
def policy(tmp_path):
    """`policy(*tools, **files)`: compiled with what is kept of the time before."""
    library, kept, history = Library(), KeptClauses(), History()

    def compiled(*tools, rules=RULES, **files):
        texts = {f"policies.d/{name}.yaml": text for name, text in files.items()}
        write_files(tmp_path, {"policies.d/rules.yaml": rules, **texts})
        files = load_files(Stock(tmp_path, library))
        library.turn()
        facts = {each.name: each for each in tools or (PAY, LIST)}
        return compile_policy(files, facts, history, kept)

    return compiled


def same_rules(before, after):
    return {id_ for id_, each in before.clauses.items() if after.clauses.get(id_) is each}


def same_deciders(before, after):
    return {name for name, each in before.tools.items() if after.tools.get(name) is each}


def test_where_nothing_changes_every_rule_and_every_decider_is_the_same_one(policy):
    before, after = policy(), policy()

    assert same_rules(before, after) == {"big", "tagged"}
    assert same_deciders(before, after) == {"bank.pay", "bank.list"}


def test_rules_of_other_files_are_kept_and_deciders_know_the_new_hash(policy):
    before = policy()
    after = policy(more="rules: [{id: new, decide: deny, tools: [bank.list]}]\n")
    pay = after.tools["bank.pay"]

    assert same_rules(before, after) == {"big", "tagged"}
    assert pay.tool is before.tools["bank.pay"].tool
    assert (pay.policy_hash, before.tools["bank.pay"].policy_hash) == (after.hash, before.hash)
    assert after.hash != before.hash
    assert after.tools["bank.list"] is not before.tools["bank.list"]
    assert after.hits["new"] == ["bank.list"]


def test_variants_know_the_new_hash_too(policy):
    varied = replace(LIST, variants=(tool("bank.list", {}, effect="read"),))
    policy(PAY, varied)
    after = policy(PAY, varied, more="rules: [{id: new, decide: deny, tools: [bank.pay]}]\n")

    assert [each.policy_hash for each in after.tools["bank.list"].variants] == [after.hash]


@pytest.mark.parametrize("name", [each.name for each in fields(ToolFacts)[1:]])
def test_whatever_policy_knows_of_a_tool_makes_its_decider_another_one(policy, name):
    before, after = policy(PAY, LIST), policy(PAY, replace(LIST, **{name: OTHERS[name]}))

    assert "bank.list" not in same_deciders(before, after)


@pytest.mark.parametrize(
    ("amount", "is_kept"),
    [
        ({"type": "number"}, True),
        ({"type": "integer"}, False),
        ({"type": "number", "maximum": 1000}, False),
    ],
)
def test_rules_are_kept_over_parameters_that_are_written_alike(policy, amount, is_kept):
    before = policy(tool(arguments={**PAY.arguments, "amount": {"type": "number"}}), LIST)
    after = policy(tool(arguments={**PAY.arguments, "amount": amount}), LIST)

    assert ("big" in same_rules(before, after)) is is_kept


def test_true_in_the_place_of_1_is_something_else(policy):
    before = policy(tool(arguments={"amount": {"enum": [1, 1000]}}), LIST)
    after = policy(tool(arguments={"amount": {"enum": [True, 1000]}}), LIST)

    assert "big" not in same_rules(before, after)


def test_rules_that_look_at_tools_are_compiled_again_where_these_are_others(policy):
    before, after = policy(), policy(PAY, replace(LIST, root=OTHERS["root"]))

    assert same_rules(before, after) == {"big"}


def test_a_new_tool_leaves_the_rules_alone_that_do_not_hit_it(policy):
    before, after = policy(), policy(PAY, LIST, tool("bank.more", {}))

    assert same_rules(before, after) == {"big"}
    assert after.hits["tagged"] == ["bank.list", "bank.more", "bank.pay"]


def test_another_default_makes_every_decider_another_one(policy):
    before, after = policy(), policy(rules=RULES.replace("default: allow", "default: deny"))

    assert same_deciders(before, after) == set()
