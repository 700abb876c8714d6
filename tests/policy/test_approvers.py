"""Approvals that nobody of the project could give are told when the files are checked."""

import pytest
from policies import loaded

from toolrt.loading.snippet import render

ANN = "{os_user: ann, principal: ann, roles: [finance], may: [call, approve]}"
BOB = "{os_user: bob, principal: bob, roles: [finance], may: [call, approve]}"
EVE = "{token_hash: e, principal: eve, roles: [finance], may: [approve]}"
JOE = "{token_hash: j, principal: joe, roles: [clerk], may: [call, approve]}"
BOT = "{os_user: bot, principal: bot, may: [call]}"
FINANCE = "approvers: {roles: [finance]}"


def told(approval, *identities, decide="ask"):
    """Messages of the warnings about one rule with that approval."""
    files = {
        "toolrt.yaml": "identities:\n" + "".join(f"- {each}\n" for each in identities),
        "policies.d/p.yaml": "default: allow\nrules:\n"
        f"- {{id: a, decide: {decide}, tools: [bank.pay], approval: {{{approval}}}}}\n",
    }
    if not identities:
        del files["toolrt.yaml"]
    _, found = loaded(files)
    return [one.message for one in found if one.code == "too-few-approvers"]


@pytest.mark.parametrize(
    ("approval", "identities", "message"),
    [
        ("count: 2", [], "only the person at the terminal decides"),
        (FINANCE, [], "who has no roles"),
        (FINANCE, [BOT], "nobody could say it"),
        (FINANCE, [JOE], "nobody could say it"),
        ("count: 2", [ANN], "only `ann` could say it"),
        (f"count: 2, {FINANCE}", [ANN, JOE], "only `ann` could say it"),
        ("count: 2", [ANN, BOB], "the accounts of one machine count as one"),
        (f"count: 3, {FINANCE}", [ANN, BOB, EVE], "the accounts of one machine count as one"),
        ("approvers: {principals: [zoe]}", [ANN, EVE], "nobody could say it"),
        ("exclude_requester: true", [ANN], "`ann`, who alone may approve, alone may call"),
    ],
)
def test_a10_an_approval_that_nobody_could_give_is_a_warning(approval, identities, message):
    (found,) = told(approval, *identities)

    assert message in found


@pytest.mark.parametrize(
    ("approval", "identities"),
    [
        ("count: 1", []),
        ("exclude_requester: true", []),
        ("approvers: {principals: [ann]}", []),
        (FINANCE, [ANN, BOT]),
        ("exclude_requester: true", [ANN, BOT]),
        (f"count: 2, {FINANCE}", [ANN, EVE]),
        ("count: 2", [EVE, JOE]),
        ("count: 2", [ANN, BOB, EVE]),
    ],
)
def test_a10_people_who_come_in_by_a_token_could_give_it(approval, identities):
    assert told(approval, *identities) == []


@pytest.mark.parametrize("decide", ["deny", "allow"])
def test_only_rules_that_ask_need_people(decide):
    assert told("count: 2", decide=decide) == []


def test_the_approval_of_a_file_is_told_once_where_it_stands():
    text = (
        "approval: {count: 2}\n"
        "rules: [{id: a, decide: ask, tools: [bank.pay]}, {id: b, decide: ask, tools: ['*']}]\n"
    )
    _, found = loaded({"policies.d/p.yaml": text})

    assert [(one.code, one.severity, one.path) for one in found] == [
        ("too-few-approvers", "warning", "approval")
    ]


def test_identities_that_cannot_be_read_may_be_enough():
    files = {
        "toolrt.yaml": "identities: [{os_user: 1, oops: 2}]\n",
        "policies.d/p.yaml": "approval: {count: 2}\n",
    }
    _, found = loaded(files)

    assert "too-few-approvers" not in {one.code for one in found}


def test_it_is_shown_with_what_to_do():
    text = "rules:\n- {id: a, decide: ask, tools: [bank.pay], approval: {count: 2}}\n"
    _, found = loaded({"policies.d/p.yaml": text})

    assert render(found, {"policies.d/p.yaml": text}) == (
        "policies.d/p.yaml:2:53: warning[too-few-approvers] rules[0].approval: this needs a yes of 2"
        " people, and without `identities` only the person at the terminal decides\n"
        " 2 | - {id: a, decide: ask, tools: [bank.pay], approval: {count: 2}}\n"
        "   |                                                     ^^^^^^^^^^\n"
        "   | help: a program can decide in other names (`rt.approvals`); `identities` with a token"
        " decide through `toolrt serve`\n"
    )
