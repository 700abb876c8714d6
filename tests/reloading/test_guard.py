"""What a generation may not weaken without somebody looking twice, though no rule has vanished."""

import pytest

pytestmark = pytest.mark.anyio

PROJECT = """\
vars: {limit: 500, place: Earth, limits: {big: 5}}
identities:
- {os_user: ann, principal: ann, roles: [finance], may: [call, approve]}
- {os_user: joe, principal: joe, roles: [intern], may: [call]}
- {token_hash: secret-hash, principal: eve, roles: [finance], may: [call, approve]}
"""
TOOLS = """\
namespace: bank
tools:
  pay:
    description: Pay.
    parameters: {amount: number, note: {type: string, sensitive: true, default: ''}}
    command: [echo, "{{ amount }}", "{{ note }}"]
    tags: [money]
  look: {description: Look., command: [echo, "{{ vars.place }}"], effect: read, hitl: confirm}
  close: {description: Close., command: [echo], effect: irreversible}
"""
RULES = """\
default: deny
rules:
- {id: big, decide: ask, tools: [bank.pay], when: args.amount > vars.limit,
   approval: {count: 2, approvers: {roles: [finance], principals: [zoe]}}}
- {id: huge, decide: deny, tools: [bank.*], when: vars.limits.big < 3}
- {id: interns, decide: deny, tools: [bank.close], when: '"intern" in caller.roles'}
- {id: tagged, decide: deny, tools: ["*"], when: '"money" in tool.tags && now.getHours() > 22'}
- {id: risky, decide: ask, tools: ["*"], when: '"sensitive" in risk.classes'}
- {id: plain, decide: deny, tools: [bank.close, bank.look], when: history.calls("1h") > 9}
- {id: watched, decide: deny, mode: audit, tools: ["*"], when: vars.place == "Mars"}
- {id: rest, decide: allow, tools: ["bank.*"], when: vars.place != "Mars"}
settings:
- {tools: [bank.pay], hitl: confirm, when: '"guest" in caller.roles && vars.place != "Venus"'}
"""
FILES = {"toolrt.yaml": PROJECT, "tools.d/bank.yaml": TOOLS, "policies.d/p.yaml": RULES}


@pytest.fixture
def reloaded(edited):
    """`await reloaded((file, right, wrong), …)`: the outcome of a reload after such edits."""

    async def reload(*edits, before=FILES, accept_loss=False):
        return await edited(before, *edits, accept_loss=accept_loss)

    return reload


P, T, R = FILES
MORE = (
    "tools:\n  one: {description: O., command: [date]}\n  two: {description: T., command: [id]}\n"
)


@pytest.mark.parametrize(
    ("edits", "loss"),
    [
        ([(P, "limit: 500", "limit: 5000")], "ask rule `big` reads `vars.limit`, which changes"),
        ([(P, "big: 5", "big: 6")], "deny rule `huge` reads `vars.limits`"),
        ([(P, "big: 5", "big: 5, most: 9")], "deny rule `huge` reads `vars.limits`"),
        ([(P, "place: Earth", "place: Mars")],
         "the `hitl` that settings give `bank.pay` reads `vars.place`"),
        ([(P, "roles: [intern]", "roles: [clerk]")],
         "deny rule `interns` reads who the caller is, and `joe` of `identities` changes"),
        ([(P, "principal: joe, roles: [intern]", "principal: joey, roles: [intern]")],
         "deny rule `interns` reads who the caller is"),
        ([(P, "- {os_user: joe, principal: joe, roles: [intern], may: [call]}\n", "")],
         "deny rule `interns` reads who the caller is"),
        ([(P, "may: [call]}", "may: [call, approve]}")], "`joe` could `approve`"),
        ([(P, "may: [call]}", "may: [call, admin]}")], "`joe` could `admin`"),
        ([(P, "identities:", "identities:\n- {os_user: max, principal: max, may: [approve]}")],
         "`max` could `approve`"),
        ([(P, PROJECT[PROJECT.index("identities"):], "")],
         "without `identities` whoever is at the terminal could do everything"),
        ([(T, "    tags: [money]\n", "")],
         "deny rule `tagged` reads `tool.tags` of `bank.pay`, which changes"),
        ([(T, "sensitive: true, ", "")], "ask rule `risky` reads the risk of `bank.pay`"),
        ([(R, "tools: [bank.close, bank.look]", "tools: [bank.look]")],
         "deny rule `plain` would no longer hold for `bank.close`"),
        ([(T, "close:", "shut:")],
         "deny rules `interns`, `plain` would no longer hold for `bank.close`"),
        ([(T, "close:", "shut:"), (T, "Close.", "Shut.")],
         "deny rules `interns`, `plain` would no longer hold for `bank.close`"),
        ([(T, "tools:\n", MORE), (T, TOOLS[TOOLS.index("  close:"):], "")],
         "deny rule `interns` would hold for no tool any more"),
        ([(T, "namespace: bank", "namespace: bunk")],
         "deny rule `huge` would no longer hold for `bank.close`"),
        ([(R, "when: '\"intern\"", "unless: now.getHours() > 3, when: '\"intern\"")],
         "deny rule `interns` would hold under one more condition"),
        ([(R, "when: '\"intern\"", "unless: '\"intern\"")],
         "deny rule `interns` would hold where its condition does not"),
        ([(R, "when: args.amount > vars.limit", "unless: args.amount > vars.limit")],
         "ask rule `big` would hold where its condition does not"),
        ([(R, "count: 2", "count: 1")], "ask rule `big` would need less of an approval"),
        ([(R, "roles: [finance], ", "roles: [finance, clerk], ")], "ask rule `big` would need less"),
        ([(R, ", approvers: {roles: [finance], principals: [zoe]}", "")],
         "ask rule `big` would need less"),
        ([(R, "count: 2", "scopes: [once, session], count: 2")], "ask rule `big` would need less"),
        ([(T, ", hitl: confirm", "")], "`bank.look` would no longer ask a person by itself"),
        ([(R, "settings:", "settings:\n- {tools: [bank.close], hitl: none}")],
         "`bank.close` would no longer ask a person by itself"),
        ([(T, "effect: irreversible", "effect: write")], "`bank.close` would no longer ask"),
        ([(R, RULES[RULES.index("settings"):], "")], "`bank.pay` would no longer ask a person"),
        ([(R, "settings:", "settings:\n- {tools: [bank.close], hitl: none, when: vars.place != ''}")],
         "`bank.close` would no longer ask a person by itself"),
    ],
)  # fmt: skip
async def test_l6_what_weakens_a_rule_from_outside_waits_for_somebody_to_confirm(
    reloaded, edits, loss
):
    outcome = await reloaded(*edits)

    assert not outcome.is_accepted
    assert any(each.startswith(loss) for each in outcome.losses) or loss in outcome.why, (
        outcome.losses
    )


FILE_WIDE = {
    **FILES,
    R: "approval: {count: 2, exclude_requester: true}\n"
    + RULES.replace(
        ",\n   approval: {count: 2, approvers: {roles: [finance], principals: [zoe]}}", ""
    ),
}


@pytest.mark.parametrize(
    ("right", "wrong"), [("count: 2, exclude_requester: true", "ttl: 5m"), ("count: 2", "count: 1")]
)
async def test_l6_the_approval_of_a_file_counts_for_its_rules_and_its_tools(reloaded, right, wrong):
    outcome = await reloaded((R, right, wrong), before=FILE_WIDE)

    assert "ask rules `big`, `risky` would need less of an approval" in outcome.losses
    tools = "`bank.close`, `bank.look`, `bank.pay`"
    assert f"the approval of {tools} itself would need less" in outcome.losses


@pytest.mark.parametrize(
    "edits",
    [
        [(P, "place: Earth", "place: Earth, more: 1")],
        [(P, "may: [call, approve]}\n- {os_user: joe", "may: [call]}\n- {os_user: joe")],
        [(P, "identities:", "identities:\n- {os_user: max, principal: max, may: [call]}")],
        [(T, "[money]", "[money]\n    title: Pay"), (T, "Pay.", "Pay an invoice.")],
        [(T, TOOLS[TOOLS.index("  close:"):], "")],
        [(R, "tools: [bank.close, bank.look]", "tools: ['*']")],
        [(R, "count: 2", "count: 3")],
        [(R, "roles: [finance], principals: [zoe]", "principals: [zoe]")],
        [(R, "settings:", "settings:\n- {tools: [bank.look], timeout: 5s}")],
        [(R, "args.amount > vars.limit", "args.amount > 400.0")],
        [(R, "decide: ask, tools: [bank.pay]", "decide: deny, tools: [bank.pay]")],
        [(T, "  close:", "  more: {description: More., command: [echo]}\n  close:")],
        [(P, "limit: 500", "limit: 500.0")],
    ],
)  # fmt: skip
async def test_what_weakens_nothing_is_let_through(reloaded, edits):
    outcome = await reloaded(*edits)

    assert (outcome.is_new, outcome.losses) == (True, ()), outcome


async def test_l6_adding_identities_is_no_loss(reloaded):
    before = {**FILES, P: PROJECT[: PROJECT.index("identities")]}
    outcome = await reloaded(
        (P, "vars:", PROJECT[PROJECT.index("identities") :] + "vars:"), before=before
    )

    assert outcome.is_new


async def test_l6_a_confirmed_change_of_what_a_rule_reads_is_in_force_and_told(reloaded):
    outcome = await reloaded((P, "limit: 500", "limit: 5000"), accept_loss=True)

    assert outcome.is_new
    assert outcome.changes.text == "~ bank.look  ~ vars.limit (500 -> 5000)"


async def test_l6_what_is_refused_is_told_with_what_would_change(reloaded):
    outcome = await reloaded((P, "limit: 500", "limit: 5000"))

    assert outcome.changes.text == "~ bank.look  ~ vars.limit (500 -> 5000)"


DEEP = {
    P: "vars: {found: {level: 1, ranks: [1, 2]}, off: 0}\n",
    T: "tools:\n  pay: {description: Pay., command: [echo]}\n",
    R: "default: allow\nrules:\n- {id: d, decide: deny, tools: [pay], when: vars.found.level == 1}\n",
}


@pytest.mark.parametrize(
    ("right", "wrong"),
    [("level: 1", "level: true"), ("[1, 2]", "[true, 2]"), ("[1, 2]", "[1.0, '2']")],
)
async def test_p10_a_constant_deep_inside_that_only_looks_the_same_has_changed(
    reloaded, right, wrong
):
    outcome = await reloaded((P, right, wrong), before=DEEP)

    assert outcome.losses == ("deny rule `d` reads `vars.found`, which changes",)
    assert "~ vars.found." in outcome.changes.text


@pytest.mark.parametrize(
    ("right", "wrong"), [("level: 1", "level: 1.0"), ("[1, 2]", "[1, 2.0]"), ("off: 0", "off: 0.0")]
)
async def test_p10_a_number_in_another_form_is_the_same_number(reloaded, right, wrong):
    outcome = await reloaded((P, right, wrong), before=DEEP)

    assert (outcome.is_new, outcome.losses, outcome.changes.text) == (True, (), "")


BOTH = "when: vars.found.level == 1, unless: vars.off == 0"


@pytest.mark.parametrize(
    ("right", "wrong", "loss"),
    [
        (BOTH, "unless: vars.found.level == 1, when: vars.off == 0", "where its condition does not"),
        (BOTH, "unless: vars.found.level == 1", "where its condition does not"),
        ("tools: [pay]", "unless: vars.off == 1, tools: [pay]", "under one more condition"),
    ],
)  # fmt: skip
async def test_l6_a_condition_that_changes_sides_is_another_condition(reloaded, right, wrong, loss):
    before = {**DEEP, R: DEEP[R].replace("when: vars.found.level == 1", BOTH)}
    if "tools" in right:
        before = DEEP
    outcome = await reloaded((R, right, wrong), before=before)

    assert outcome.losses == (f"deny rule `d` would hold {loss}",)


@pytest.mark.parametrize("wrong", ["when: vars.found.level == 1", "unless: vars.off == 0"])
async def test_l6_a_rule_that_loses_a_condition_holds_for_more(reloaded, wrong):
    before = {**DEEP, R: DEEP[R].replace("when: vars.found.level == 1", BOTH)}
    outcome = await reloaded((R, BOTH, wrong), before=before)

    assert (outcome.is_new, outcome.losses) == (True, ())


ASKING = {
    T: """\
tools:
  wire: {description: W., parameters: {to: string}, command: [echo, "{{ to }}"], hitl: external}
  fill:
    description: F.
    parameters: {to: string, sum: number, how: {type: string, default: ''}}
    command: [echo, "{{ to }}", "{{ sum }}"]
    hitl: {mode: input, fields: [to, sum]}
  look: {description: L., command: [echo], hitl: confirm}
""",
    R: "default: allow\nrules: []\n",
}
RUNS = "`wire` would run, where a person does it now"
LESS = "a person would fill in less of `fill`"
IN_ALL = "rules: []\nsettings:\n- {tools: ['*'], hitl: confirm%s}"


@pytest.mark.parametrize(
    ("edit", "losses"),
    [
        ((T, "external", "confirm"), [RUNS]),
        ((T, "external", "{mode: input, fields: [to]}"), [RUNS]),
        ((T, "[to, sum]", "[to]"), [LESS]),
        ((T, "[to, sum]", "[to, how]"), [LESS]),
        ((T, "{mode: input, fields: [to, sum]}", "confirm"), [LESS]),
        ((T, "mode: input", "mode: external"), [LESS]),
        ((T, "hitl: external", "hitl: none"), ["`wire` would no longer ask a person by itself"]),
        ((R, "rules: []", IN_ALL % ""), [RUNS, LESS]),
        ((R, "rules: []", IN_ALL % ", when: '\"guest\" in caller.roles'"), [RUNS, LESS]),
    ],
)  # fmt: skip
async def test_l6_a_tool_of_which_people_do_less_waits_for_somebody_to_confirm(
    reloaded, edit, losses
):
    outcome = await reloaded(edit, before=ASKING)

    assert list(outcome.losses) == losses


@pytest.mark.parametrize(
    "edit",
    [
        (T, "hitl: confirm", "hitl: external"),
        (T, "hitl: external", "hitl: {mode: external, note: By hand.}"),
        (T, "[to, sum]", "[sum, to]"),
        (T, "[to, sum]", "[to, sum, how]"),
        (T, ", fields: [to, sum]", ""),
    ],
)
async def test_l6_a_tool_of_which_people_do_as_much_or_more_is_let_through(reloaded, edit):
    outcome = await reloaded(edit, before=ASKING)

    assert (outcome.is_new, outcome.losses) == (True, ())


async def test_l6_a_person_who_filled_in_everything_and_fills_in_some_of_it_does_less(reloaded):
    before = {**ASKING, T: ASKING[T].replace(", fields: [to, sum]", "")}
    outcome = await reloaded((T, "mode: input", "mode: input, fields: [to, sum]"), before=before)

    assert outcome.losses == (LESS,)
