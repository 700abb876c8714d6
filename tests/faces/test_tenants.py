"""Tenants on a terminal's side: what is of another one is not there (A17, X7)."""

import pytest
from bank import asked, document, state, write_bank

PEOPLE = """\
identities:
- {os_user: ann-acme, principal: ann, tenant: acme, may: [call]}
- {os_user: ann-globex, principal: ann, tenant: globex, may: [call]}
- {os_user: boss-acme, principal: boss, tenant: acme, may: [call, approve]}
- {os_user: admin-globex, principal: boss, tenant: globex, may: [call, approve, admin]}
- {os_user: boss, principal: boss, may: [call, approve]}
- {os_user: admin, principal: admin, may: [call, approve, admin]}
"""
BEYOND = ("ann-globex", "admin-globex", "boss")
THERE = ("ann-acme", "boss-acme", "admin")


@pytest.fixture
def question(invoke, project, as_user):
    """A question of acme's ann, and a standing yes of hers."""
    write_bank(project)
    (project / "toolrt.yaml").write_text(PEOPLE)
    as_user("ann-acme")
    granted, waits = asked(invoke), asked(invoke, invoice="A2", amount=3000)
    as_user("boss-acme")
    assert invoke("approvals", "approve", granted, "--for", "1h", "--pattern").exit_code == 0
    return waits


@pytest.mark.parametrize("name", BEYOND)
def test_a17_a_question_of_another_tenant_is_not_there(invoke, as_user, question, name):
    as_user(name)
    for prefix in (question, question[:3]):
        for words in (["show"], ["approve"], ["deny"], ["run"], ["cancel"]):
            done = invoke("approvals", *words, prefix)
            assert done.exit_code in {4, 7}, words
            assert "bank.pay" not in done.output
    assert invoke("approvals", "list", "--state", "all").stdout == ""
    assert invoke("approvals", "grants", "--all").stdout == ""
    as_user("boss-acme")
    assert state(invoke, question) == "pending"


@pytest.mark.parametrize("name", BEYOND)
def test_the_journal_of_another_tenant_is_not_there(invoke, as_user, question, name):
    as_user(name)
    assert invoke("history", "list", "-o", "jsonl").stdout == ""
    assert invoke("history", "stats", "-o", "jsonl").stdout == ""
    assert invoke("history", "show", question).exit_code == 7
    assert question not in invoke("history", "export").stdout


@pytest.mark.parametrize("name", THERE)
def test_what_is_of_the_own_tenant_is_there_and_all_of_it_for_an_admin_of_none(
    invoke, as_user, question, name
):
    as_user(name)
    assert document(invoke("approvals", "show", question, "-o", "json"))["id"] == question
    assert question[:8] in invoke("approvals", "list").stdout
    assert question in invoke("history", "list", "-o", "jsonl").stdout


@pytest.mark.parametrize("name", ["boss-acme", "admin"])
def test_a_question_is_decided_within_the_tenant_or_by_an_admin_of_none(
    invoke, as_user, question, name
):
    as_user(name)
    assert invoke("approvals", "approve", question, "--run").exit_code == 0
