"""The long lane of `tests/policy/test_engine`: the engine against its naive reference (P19)."""

import random
from collections import Counter

import pytest

from tests.faults.ledger import SEED, SHARE, amount, show
from tests.policies import call, policy, tool
from tests.policy.test_engine import reference, some_call, some_rule, written

CALLS_A_POLICY = 250


@pytest.mark.skipif(not SHARE, reason="tests/policy compares 5,000 pairs; these are the others")
def test_p19_the_engine_agrees_with_a_naive_reference_a_million_times():
    chance, seen = random.Random(SEED), Counter()
    policies = amount(20, 4000)
    for _ in range(policies):
        rules = [some_rule(chance, number) for number in range(chance.randrange(1, 12))]
        default = chance.choice(["deny", "allow", None])
        text = written(*rules, **({"default": default} if default else {}))
        decider = policy(text, [tool(), tool("other.t")]).tools["bank.pay"]
        for _ in range(CALLS_A_POLICY):
            arguments, caller = some_call(chance)
            decision = decider.decide(call(arguments, caller))
            expected = reference(rules, default or "deny", arguments, caller)
            assert (decision.verdict, decision.rule) == expected, (rules, arguments, caller)
            seen[decision.verdict] += 1
    show("engine", policies=policies, pairs=seen.total(), verdicts=dict(seen))
