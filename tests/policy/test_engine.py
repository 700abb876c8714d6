"""What wins over what, and what counts when a rule cannot be evaluated (P1 to P14)."""

import random
from itertools import permutations

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.policies import call, decided, loaded, policy, tool
from toolrt.core.calls import Caller
from toolrt.core.clock import ManualClock
from toolrt.core.decisions import Group, Terms
from toolrt.manifest.result import Hitl
from toolrt.policy.history import History
from toolrt.policy.terms import added, also, asked_by, strictest

ALLOW = {"id": "allow", "decide": "allow", "tools": ["*"]}
ASK = {"id": "ask", "decide": "ask", "tools": ["bank.*"]}
DENY = {"id": "deny", "decide": "deny", "tools": ["bank.pay"]}


def written(*rules, **more):
    return yaml.safe_dump({"rules": list(rules), **more})


def verdict(*rules, arguments=None, caller=None, tools=None, **more):
    return decided(written(*rules, **more), arguments, caller, tools).verdict


def test_p1_no_matching_rule_denies_once_rules_exist():
    decision = decided(written({**ALLOW, "when": "args.amount < 10"}))
    assert (decision.verdict, decision.code) == ("deny", "no-rule")


def test_p1_a_default_of_deny_alone_denies():
    assert decided("default: deny").code == "no-rule"


def test_p1_without_any_rule_the_projects_own_tools_are_allowed():
    assert decided("limits: {pending: 3}").verdict == "allow"


@pytest.mark.parametrize("order", list(permutations([ALLOW, ASK, DENY])))
def test_p2_a_deny_wins_whatever_the_order(order):
    decision = decided(written(*order))
    assert (decision.verdict, decision.rule, decision.code) == ("deny", "deny", "denied")


@pytest.mark.parametrize("order", list(permutations([ALLOW, ASK])))
def test_p3_an_ask_wins_over_an_allow(order):
    assert verdict(*order) == "ask"


@pytest.mark.parametrize("mode", ["confirm", "input", "external"])
def test_p3_no_allow_removes_what_the_tool_itself_asks(mode):
    asking = tool(hitl=Hitl(mode=mode, fields=["amount"] if mode == "input" else []))
    decision = decided(written(ALLOW), tools=[asking])
    assert (decision.verdict, decision.terms.mode) == ("ask", mode)


def test_p3_an_irreversible_tool_asks_unless_it_says_none():
    assert verdict(ALLOW, tools=[tool(effect="irreversible")]) == "ask"
    silent = tool(effect="irreversible", hitl=Hitl(mode="none"))
    assert verdict(ALLOW, tools=[silent]) == "allow"


def test_p16_a_tool_that_hands_text_to_an_interpreter_asks():
    assert verdict(ALLOW, tools=[tool(hands_text_on=True)]) == "ask"


def test_foreign_tools_ask_unless_they_only_read():
    assert verdict(ALLOW, tools=[tool(is_foreign=True)]) == "ask"
    assert verdict(ALLOW, tools=[tool(is_foreign=True, effect="read")]) == "allow"


def test_p4_an_allow_lets_through():
    decision = decided(written({**ALLOW, "reason": "fine"}))
    assert (decision.verdict, decision.rule, decision.reason) == ("allow", "allow", "fine")


@pytest.mark.parametrize(
    ("decide", "expected"), [("deny", "deny"), ("ask", "ask"), ("allow", "deny")]
)
def test_p7_a_rule_that_cannot_be_evaluated_counts_against_the_call(decide, expected):
    failing = {"id": "x", "decide": decide, "tools": ["*"], "when": "args.amount > 5"}
    assert verdict(failing, *([] if decide == "allow" else [ALLOW]), arguments={}) == expected


def test_p7_an_exception_that_cannot_be_evaluated_excuses_nobody():
    rule = {**DENY, "unless": "args.amount < 5"}
    assert verdict(rule, ALLOW, arguments={}) == "deny"
    assert verdict({**ALLOW, "unless": "args.amount < 5"}, arguments={}) == "deny"


def test_p7_the_explanation_says_that_it_could_not_be_evaluated():
    made = policy(written({**DENY, "when": "args.amount > 5"}, ALLOW))
    traces = made.tools["bank.pay"].explain(call({})).rules
    assert [(each.id, each.matched) for each in traces] == [("allow", True), ("deny", True)]
    assert "cannot be evaluated" in traces[1].because


def test_unless_excepts():
    rule = {**DENY, "unless": "args.amount < 5"}
    assert verdict(rule, ALLOW, arguments={"amount": 4}) == "allow"
    assert verdict(rule, ALLOW, arguments={"amount": 6}) == "deny"


@pytest.mark.parametrize(
    ("when", "arguments", "holds"),
    [
        ('args.x == "1"', {"x": 1}, False),
        ("args.x == true", {"x": 1}, False),
        ("args.x == 1", {"x": 1.0}, True),
        ('args.x == "a"', {"x": "A"}, False),
    ],
)
def test_p10_comparison_is_typed_and_strict(when, arguments, holds):
    anything = tool(arguments={"x": {}})
    rule = {"id": "x", "decide": "deny", "tools": ["*"], "when": when}
    expected = "deny" if holds else "allow"
    assert verdict(rule, ALLOW, arguments=arguments, tools=[anything]) == expected


def test_p11_a_glob_matches_the_whole_name():
    tools = [tool(), tool("bank.payout"), tool("other.pay")]
    made = policy(written({**DENY, "tools": ["bank.*out"]}, ALLOW), tools)
    found = {name: each.fixed.verdict for name, each in made.tools.items()}
    assert found == {"bank.pay": "allow", "bank.payout": "deny", "other.pay": "allow"}


def test_p11_a_glob_that_hits_no_tool_is_a_warning_with_the_nearest_name():
    _, found = loaded({"policies.d/p.yaml": written({**ALLOW, "tools": ["bank.pya"]})})
    assert [(one.code, one.severity, one.hint) for one in found] == [
        ("no-such-tool", "warning", "did you mean `bank.pay`?")
    ]


def test_p14_an_audit_rule_decides_nothing_and_is_told():
    text = written({**DENY, "mode": "audit"}, ALLOW)
    made, found = loaded({"policies.d/p.yaml": text})
    decision = made.tools["bank.pay"].decide(call())
    assert (decision.verdict, decision.would_be) == ("allow", ("deny",))
    assert [(one.code, one.severity) for one in found] == [("audit-rule", "warning")]


def test_p9_a_name_that_no_tool_has_is_an_error_in_its_place():
    text = "rules:\n  - {id: a, decide: deny, tools: ['*'], when: args.amuont > 5}\n"
    _, found = loaded({"policies.d/p.yaml": text})
    assert [(one.code, one.line, one.column, one.hint) for one in found] == [
        ("unknown-name", 2, 52, "did you mean `args.amount`?")
    ]


def test_p9_a_name_that_only_some_tools_have_is_a_warning():
    tools = [tool(), tool("bank.close", arguments={})]
    _, found = loaded({"policies.d/p.yaml": written({**ASK, "when": "args.amount > 5"})}, tools)
    assert [(one.code, one.severity) for one in found] == [("partly-unknown", "warning")]
    guarded = {**ASK, "when": "has(args.amount) && args.amount > 5"}
    assert loaded({"policies.d/p.yaml": written(guarded)}, tools)[1] == []


def test_p8_two_rules_of_one_id_are_an_error_with_both_places():
    files = {"policies.d/a.yaml": written(ALLOW), "policies.d/b.yaml": written(ALLOW)}
    _, found = loaded(files)
    assert [(one.file, one.code) for one in found] == [("policies.d/b.yaml", "duplicate-rule")]
    assert "policies.d/a.yaml:" in found[0].message


def test_two_defaults_that_differ_are_an_error():
    files = {"policies.d/a.yaml": "default: deny", "policies.d/b.yaml": "default: allow"}
    made, found = loaded(files)
    assert [(one.file, one.code) for one in found] == [("policies.d/b.yaml", "two-defaults")]
    assert made.tools["bank.pay"].fixed.verdict == "deny"


def test_rules_without_conditions_make_a_decision_that_is_a_constant():
    assert policy(written(ALLOW)).tools["bank.pay"].fixed.verdict == "allow"
    assert policy(written(ALLOW, ASK)).tools["bank.pay"].fixed.verdict == "ask"
    assert policy(written(ALLOW, ASK, DENY)).tools["bank.pay"].fixed.verdict == "deny"
    conditional = policy(written({**ALLOW, "when": "args.amount > 1"}))
    assert conditional.tools["bank.pay"].fixed is None


def test_what_several_rules_want_of_an_approval_holds_together():
    one = {**ASK, "id": "a", "approval": {"approvers": {"roles": ["finance"]}, "ttl": "30m"}}
    two = {**ASK, "id": "b", "approval": {"count": 2, "exclude_requester": True, "ttl": "5m"}}
    terms = decided(written(one, two)).terms
    assert terms.groups == (Group(("finance",)), Group(count=2))
    assert (terms.exclude_requester, terms.ttl_s) == (True, 300.0)


def test_every_rule_that_asks_is_told_with_its_reason_and_what_it_wants():
    one = {**ASK, "id": "a", "reason": "Look.", "approval": {"approvers": {"roles": ["finance"]}}}
    two = {**ASK, "id": "b", "approval": {"count": 2, "exclude_requester": True, "ttl": "5m"}}
    hitl = Hitl(mode="confirm", note="Mind.")
    decision = decided(written(one, two), tools=[tool("bank.pay", hitl=hitl)])
    a, b, own = decision.terms.asks
    assert decision.rule == "a"
    assert decision.reason == "Look (rule `a`); rule `b` asks; Mind (the tool itself)"
    assert (a.rule, a.groups, a.ttl_s) == ("a", (Group(("finance",)),), None)
    assert (b.rule, b.groups, b.exclude_requester, b.ttl_s) == ("b", (Group(count=2),), True, 300.0)
    assert (own.rule, own.reason) == (None, "Mind.")


def test_a_rule_that_asks_alone_is_told_by_its_reason_alone():
    assert decided(written({**ASK, "reason": "Look."})).reason == "Look."
    assert decided(written(ASK)).reason is None


def test_terms_are_the_same_whoever_asks_for_them_and_can_be_read_back():
    terms, other = (decided(written({**ASK, "id": name})).terms for name in ("a", "b"))
    assert terms == other
    assert Terms.of(terms.document()).asks == terms.asks


def test_a13_an_edited_call_needs_what_it_asks_for_and_nothing_less_than_before():
    before = strictest([asked_by(Terms((Group(("a",)),), ttl_s=60.0), "old", None)])
    new = strictest([asked_by(Terms((Group(("b",)),), ttl_s=900.0), "new", "More.")])
    both = also(new, before)
    assert both.groups == (Group(("b",)), Group(("a",)))
    assert (both.ttl_s, both.rules) == (60.0, ("new", "old"))
    assert [each.rule for each in added(both, before)] == ["new"]
    assert added(before, before) == ()


def test_p18_history_counts_calls_that_were_let_through():
    history, clock = History(), ManualClock()
    text = written({**DENY, "when": 'history.calls("1m") >= 2'}, ALLOW)
    decider = policy(text, history=history).tools["bank.pay"]

    def once(principal="ann"):
        made = call(caller=Caller(principal), clock=clock)
        decision = decider.decide(made)
        if decision.verdict == "allow":
            decider.note(made)
        return decision.verdict

    assert [once(), once(), once(), once("bob")] == ["allow", "allow", "deny", "allow"]
    clock.advance(61)
    assert once() == "allow"


@pytest.mark.parametrize(
    ("rules", "more", "is_hidden"),
    [
        ([ALLOW], {}, False),
        ([DENY, ALLOW], {}, True),
        ([{**DENY, "when": "args.amount > 5"}, ALLOW], {}, False),
        ([{**DENY, "when": 'caller.principal == "ann"'}, ALLOW], {}, True),
        ([{**DENY, "when": 'caller.principal == "bob"'}, ALLOW], {}, False),
        ([{**ALLOW, "tools": ["other.*"]}], {}, True),
        ([{**ALLOW, "when": '"finance" in caller.roles'}], {}, True),
        ([{**ALLOW, "when": 'args.amount > 5 && "finance" in caller.roles'}], {}, False),
        ([], {"default": "allow"}, False),
        ([], {"default": "deny"}, True),
    ],
)
def test_p15_a_tool_that_this_caller_can_never_call_is_hidden(rules, more, is_hidden):
    assert policy(written(*rules, **more)).tools["bank.pay"].is_hidden(call()) is is_hidden


CONDITIONS = {
    None: lambda arguments, caller: True,
    "args.amount > 5": lambda arguments, caller: _number(arguments) > 5,
    '"finance" in caller.roles': lambda arguments, caller: "finance" in caller.roles,
    'caller.principal == "ann" && args.amount < 100': lambda arguments, caller: (
        caller.principal == "ann" and _number(arguments) < 100
    ),
    'args.invoice == "A1"': lambda arguments, caller: _text(arguments) == "A1",
}


def _number(arguments):
    return arguments["amount"]


def _text(arguments):
    return arguments["invoice"]


def reference(rules, default, arguments, caller):
    """Sixty lines would do, and these are fewer: the semantics, read out loud."""

    def matched(rule):
        try:
            if not CONDITIONS[rule.get("when")](arguments, caller):
                return False
            unless = rule.get("unless")
            return unless is None or not CONDITIONS[unless](arguments, caller)
        except KeyError:
            return rule["decide"] != "allow"

    hit = [rule for rule in rules if rule["mode"] == "enforce" and rule["tools"] != ["other.*"]]
    for decide in ("deny", "ask", "allow"):
        ids = sorted(rule["id"] for rule in hit if rule["decide"] == decide and matched(rule))
        if ids:
            return decide, ids[0]
    return ("allow", None) if default == "allow" else ("deny", None)


def some_rule(chance, number):
    texts = list(CONDITIONS)
    rule = {
        "id": f"r{number}",
        "decide": chance.choice(["deny", "ask", "allow", "allow"]),
        "tools": chance.choice([["*"], ["bank.*"], ["bank.pay"], ["other.*"]]),
        "mode": chance.choice(["enforce", "enforce", "enforce", "audit"]),
    }
    rule |= {key: text for key in ("when", "unless") if (text := chance.choice(texts))}
    return rule


def some_call(chance):
    arguments = {"amount": chance.choice([1, 6, 200]), "invoice": chance.choice(["A1", "B"])}
    for name in list(arguments):
        if chance.random() < 0.15:
            del arguments[name]
    roles = ("finance",) if chance.random() < 0.5 else ()
    return arguments, Caller(chance.choice(["ann", "bob"]), roles)


@pytest.mark.parametrize("seed", range(25))
def test_p19_the_engine_agrees_with_a_naive_reference(seed):
    chance = random.Random(seed)
    for _ in range(10):
        rules = [some_rule(chance, number) for number in range(chance.randrange(1, 9))]
        default = chance.choice(["deny", "allow", None])
        text = written(*rules, **({"default": default} if default else {}))
        decider = policy(text, [tool(), tool("other.t")]).tools["bank.pay"]
        for _ in range(20):
            arguments, caller = some_call(chance)
            decision = decider.decide(call(arguments, caller))
            expected = reference(rules, default or "deny", arguments, caller)
            assert (decision.verdict, decision.rule) == expected, (rules, arguments, caller)


@settings(max_examples=60, deadline=None)
@given(st.randoms(use_true_random=False))
def test_p5_order_and_files_do_not_matter(chance):
    rules = [some_rule(chance, number) for number in range(6)]
    arguments, caller = some_call(chance)
    tools = [tool(), tool("other.t")]
    one = loaded({"policies.d/a.yaml": written(*rules)}, tools)[0]
    chance.shuffle(rules)
    halves = {"policies.d/a.yaml": written(*rules[:3]), "policies.d/b.yaml": written(*rules[3:])}
    two = loaded(halves, tools)[0]
    made = call(arguments, caller)
    assert one.tools["bank.pay"].explain(made) == two.tools["bank.pay"].explain(made)


@settings(max_examples=60, deadline=None)
@given(st.randoms(use_true_random=False))
def test_p6_more_denies_and_fewer_allows_never_let_more_through(chance):
    rules = [some_rule(chance, number) for number in range(6)]
    arguments, caller = some_call(chance)
    tools = [tool(), tool("other.t")]
    before = decided(written(*rules), arguments, caller, tools).verdict
    another = {**some_rule(chance, 99), "decide": "deny"}
    fewer = [rule for rule in rules if rule["decide"] != "allow"]
    after = {
        decided(written(*rules, another), arguments, caller, tools).verdict,
        decided(written(*fewer, default="deny"), arguments, caller, tools).verdict,
    }
    assert before == "allow" or "allow" not in after
