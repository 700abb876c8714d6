"""What a policy may lose without somebody looking twice."""

from pathlib import Path

import pytest

from toolrt.loading.loader import load_files
from toolrt.loading.stock import Stock
from toolrt.policy.compiler import compile_policy
from toolrt.policy.facts import ToolFacts
from toolrt.policy.loss import Protection, all_gone, losses

BEFORE = """\
default: deny
rules:
- {id: never, decide: deny, tools: [pay], when: args.amount > 9}
- {id: big, decide: ask, tools: [pay]}
- {id: fine, decide: allow, tools: [pay]}
- {id: look, decide: allow, tools: [look]}
"""
TOOLS = {
    name: ToolFacts(name, arguments={"amount": {"type": "number"}}) for name in ("pay", "look")
}


def protection(folder: Path, files: dict[str, str]) -> Protection:
    (folder / "policies.d").mkdir(parents=True)
    for name, text in files.items():
        (folder / "policies.d" / name).write_text(text)
    loaded = load_files(Stock(folder))
    policy = compile_policy(loaded, TOOLS)
    assert not loaded.has_errors(), loaded.diagnostics()
    return Protection.of(loaded.policies, policy.default)


@pytest.fixture
def lost(tmp_path):
    """`lost(after)`: what is lost when the file becomes `after`, or the files become those."""

    def between(after, before=BEFORE):
        sides = [
            protection(tmp_path / name, {"a.yaml": said} if isinstance(said, str) else said)
            for name, said in (("before", before), ("after", after))
        ]
        return list(losses(*sides)), all_gone(*sides)

    return between


def without(*ids, text=BEFORE):
    return "".join(
        line
        for line in text.splitlines(keepends=True)
        if not any(f"id: {id_}," in line for id_ in ids)
    )


@pytest.mark.parametrize(
    ("after", "said"),
    [
        (without("never"), "deny rule `never` would no longer hold"),
        (BEFORE.replace("id: never, decide: deny", "id: never, decide: ask"), "deny rule `never`"),
        (BEFORE.replace("id: never,", "id: never, mode: audit,"), "deny rule `never`"),
        (without("big"), "ask rule `big` would no longer hold"),
        (BEFORE.replace("decide: ask", "decide: allow"), "ask rule `big`"),
        (BEFORE.replace("default: deny", "default: allow"), "calls that no rule decides"),
        (without("fine", "look"), "policies.d/a.yaml is the beginning of what it was"),
        ({"b.yaml": BEFORE.replace("deny\n", "allow\n", 1)}, "calls that no rule decides"),
    ],
)
def test_l6_a_loss_is_told(lost, after, said):
    found, _ = lost(after)

    assert any(each.startswith(said) for each in found), found


def test_l6_most_rules_gone_is_a_loss_whatever_they_decide(lost):
    before = "default: deny\nrules:\n" + "".join(
        f"- {{id: r{n}, decide: allow, tools: [pay]}}\n" for n in range(5)
    )
    found, _ = lost(without("r0", "r1", "r2", text=before), before)

    assert found == ["of 5 rules 2 would be left"]


@pytest.mark.parametrize(
    "after",
    [
        without("fine"),
        BEFORE.replace("decide: ask", "decide: deny"),
        BEFORE + "- {id: more, decide: deny, tools: [look]}\n",
        BEFORE.replace("args.amount > 9", "args.amount > 8"),
        {"renamed.yaml": BEFORE},
        BEFORE.rstrip("\n"),
    ],
)
def test_a_change_that_loses_nothing_is_let_through(lost, after):
    assert lost(after) == ([], None)


def test_l5_no_file_at_all_is_never_the_same_as_no_rules(lost):
    assert lost({})[1] == "every policy file is gone: file `policies.d/a.yaml`"


def test_no_files_before_and_none_after_is_nothing(lost):
    assert lost({}, before={}) == ([], None)


SAYS_NOTHING = [
    "",
    "# was: rules\n",
    "rules: []\n",
    "settings:\n- {tools: [pay], timeout: 5s}\n",
    {"a.yaml": "", "b.yaml": "limits: {asks: 3}\n"},
]


@pytest.mark.parametrize("after", SAYS_NOTHING)
def test_l5_files_that_say_nothing_are_as_good_as_gone(lost, after):
    assert lost(after)[1] == (
        "every rule and every `default` is gone: file `policies.d/a.yaml` had some"
    )


@pytest.mark.parametrize(
    "before", ["default: deny\n", "default: allow\n", "rules:\n" + BEFORE[21:]]
)
def test_l5_a_default_or_rules_alone_may_not_go_either(lost, before):
    assert lost("", before)[1] is not None


@pytest.mark.parametrize("after", ["default: allow\n", "default: deny\n", BEFORE])
def test_a_default_says_that_no_rules_are_meant(lost, after):
    assert lost(after)[1] is None


@pytest.mark.parametrize("before", SAYS_NOTHING)
def test_files_that_said_nothing_before_lose_nothing(lost, before):
    assert lost("", before)[1] is None
