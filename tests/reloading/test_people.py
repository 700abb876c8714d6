"""Who may say yes is not changed by a slip: rights are held by a proof, in a tenant, in roles (L6)."""

import pytest

pytestmark = pytest.mark.anyio

P, T, R = "toolrt.yaml", "tools.d/t.yaml", "policies.d/p.yaml"
PEOPLE = """\
identities:
- {os_user: root, principal: op, may: [call, approve, admin]}
- {os_user: ann, principal: ann, tenant: a, may: [call, approve]}
- {token_hash: h-one, principal: eve, roles: [fin], may: [call]}
- {token_hash: h-two, principal: eve, tenant: b, roles: [clerk], may: [call, approve]}
- {token_hash: h-six, principal: eve, tenant: c, may: [call]}
- {claim: {sub: kim}, principal: kim, may: [approve]}
- {claim: {sub: kim, level: 1}, principal: kim, may: [approve]}
- {token_hash: h-zoe, principal: zoe, tenant: t, may: [admin]}
- {os_user: joe, principal: joe, roles: [intern], may: [call]}
- {token_hash: h-max, principal: max, roles: [clerk], may: [call]}
"""
FILES = {
    P: PEOPLE,
    T: "tools:\n  pay: {description: Pay., command: [echo]}\n",
    R: """\
default: allow
rules:
- {id: q, decide: ask, tools: [pay], approval: {approvers: {roles: [fin]}}}
""",
}
READING = {
    **FILES,
    R: FILES[R] + "- {id: i, decide: deny, tools: [pay], when: '\"intern\" in caller.roles'}\n",
}


@pytest.mark.parametrize(
    ("right", "wrong", "loss"),
    [
        ("os_user: root", "os_user: eve", "`op` by another `os_user` could `admin`"),
        ("os_user: root", "os_user: eve", "`op` by another `os_user` could `approve`"),
        ("os_user: ann", "claim: {sub: ann}", "`ann` by another `claim` could `approve`"),
        ("{sub: kim}", "{sub: kim, iss: x}", "`kim` by another `claim` could `approve`"),
        ("{sub: kim, level: 1}", "{sub: kim, level: true}",
         "`kim` by another `claim` could `approve`"),
        ("h-two", "h-new", "`eve` by another `token_hash` could `approve`"),
        ("identities:", "identities:\n- {os_user: x, principal: op, may: [approve]}",
         "`op` by another `os_user` could `approve`"),
        ("tenant: a, ", "", "`ann` without a tenant could `approve`"),
        ("tenant: a", "tenant: b", "`ann` in tenant `b` could `approve`"),
        ("tenant: c, may: [call]", "tenant: c, may: [call, approve]",
         "`eve` in tenant `c` could `approve`"),
        ("tenant: t, ", "", "`zoe` without a tenant could `admin`"),
        ("os_user: joe, principal: joe, ", "os_user: joe, principal: ann, tenant: a, ",
         None),
        ("joe, roles: [intern], may: [call]", "ann, may: [call, approve]",
         "`ann` without a tenant could `approve`"),
        ("roles: [clerk], may: [call, approve]", "roles: [clerk, fin], may: [call, approve]",
         "`eve` in tenant `b` would have the role `fin`, which approvals ask for"),
        ("tenant: c, may: [call]", "tenant: c, roles: [fin], may: [call]",
         "`eve` in tenant `c` would have the role `fin`, which approvals ask for"),
        ("roles: [intern]", "roles: [fin]",
         "`joe` would have the role `fin`, which approvals ask for"),
        ("may: [call]}\n- {token_hash: h-max", "may: [call, approve]}\n- {token_hash: h-max",
         "`joe` could `approve`"),
    ],
)  # fmt: skip
async def test_l6_rights_that_change_hands_wait_for_somebody_to_confirm(edited, right, wrong, loss):
    outcome = await edited(FILES, (P, right, wrong))

    assert (loss in outcome.losses) if loss else not outcome.losses, outcome.losses


async def test_l6_a_role_that_the_rules_of_before_asked_for_counts_as_well(edited):
    outcome = await edited(
        FILES, (P, "[intern]", "[fin]"), (R, "approvers: {roles: [fin]}", "count: 1")
    )

    assert "`joe` would have the role `fin`, which approvals ask for" in outcome.losses


async def test_the_text_of_a_loss_has_no_token_and_no_account(edited):
    outcome = await edited(FILES, (P, "h-two", "h-new"), (P, "os_user: root", "os_user: mallory"))

    assert "h-new" not in str(outcome.losses)
    assert "h-new" not in outcome.changes.text


@pytest.mark.parametrize(
    ("right", "wrong"),
    [
        ("h-max", "h-new"),
        ("os_user: joe", "os_user: jim"),
        ("may: [approve]", "may: [call, approve]"),
        ("may: [call, approve, admin]", "may: [call, admin]"),
        ("identities:", "identities:\n- {os_user: x, principal: y, may: [call]}"),
        ("roles: [clerk], may: [call, approve]", "roles: [clerk, dev], may: [call, approve]"),
        ("- {claim: {sub: kim}, principal: kim, may: [approve]}\n", ""),
    ],
)  # fmt: skip
async def test_who_may_only_call_and_who_may_less_is_let_through(edited, right, wrong):
    outcome = await edited(FILES, (P, right, wrong))

    assert (outcome.is_new, outcome.losses) == (True, ())


JOE = "deny rule `i` reads who the caller is, and `joe` of `identities` changes"


@pytest.mark.parametrize(
    ("edits", "loss"),
    [
        ([("os_user: joe", "os_user: jim")], JOE),
        ([("identities:", "identities:\n- {os_user: jj, principal: joe, may: [call]}")], JOE),
        ([("principal: joe, roles", "principal: joe, tenant: t, roles")], JOE),
        ([("h-six", "h-xxx"), ("h-max", "h-six"), ("h-xxx", "h-max")], "`eve`, `max` of"),
    ],
)
async def test_l6_who_comes_in_as_somebody_else_counts_where_a_rule_reads_the_caller(
    edited, edits, loss
):
    outcome = await edited(READING, *((P, *each) for each in edits))

    assert any(loss in each for each in outcome.losses), outcome.losses


@pytest.mark.parametrize(
    ("right", "wrong"),
    [
        ("h-max", "h-new"),
        ("identities:", "identities:\n- {os_user: jj, principal: joe, roles: [intern], may: [call]}"),
        ("identities:", "identities:\n- {os_user: jj, principal: new, may: [call]}"),
    ],
)  # fmt: skip
async def test_another_token_or_one_more_proof_of_the_same_caller_changes_nobody(
    edited, right, wrong
):
    outcome = await edited(READING, (P, right, wrong))

    assert (outcome.is_new, outcome.losses) == (True, ())
