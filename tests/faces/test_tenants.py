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


@pytest.fixture
def who(project):
    """A project with a tool that says who calls, and with namesakes."""
    (project / "tools.d" / "who.yaml").write_text(WHO)
    (project / "toolrt.yaml").write_text(PEOPLE + MORE)


MORE = """\
- {os_user: eve, principal: eve@acme.example, roles: [clerk], may: [call]}
- {os_user: tom-a, principal: tom, tenant: acme, roles: [a], may: [call]}
- {token_hash: h, principal: tom, tenant: acme, roles: [b], may: [call]}
"""
WHO = """\
tools:
  who:
    description: Who calls.
    parameters: {}
    command: [echo, "{{ caller.principal }}", "{{ caller.tenant }}", "{{ caller.roles | join(',') }}"]
    effect: read
"""
VERBS = (["run", "who"], ["explain", "who"], ["list"], ["show", "who"])


@pytest.mark.parametrize("verb", VERBS, ids=lambda verb: verb[0])
@pytest.mark.parametrize("name", ["tom", "ann@acme", "boss@", "admin", "eve@acme.example", "tom:b"])
def test_a17_an_admin_of_a_tenant_is_nobody_beyond_it_and_is_not_told_who_is_there(
    invoke, as_user, who, verb, name
):
    as_user("admin-globex")
    refused, unknown = (invoke(*verb, "--as", each) for each in (name, "nobody"))

    principal = name.partition(":")[0]
    assert "error[access-denied]: boss may not call as nobody" in unknown.stderr
    assert refused.stderr == unknown.stderr.replace("nobody", principal)
    assert (refused.exit_code, refused.stdout) == (4, "")


def test_a17_a_standing_yes_of_another_tenant_is_not_reached_by_the_name_alone(
    invoke, as_user, question
):
    as_user("admin-globex")
    assert invoke("run", "bank.pay", "invoice=A9", "amount=2000", "--as", "ann").exit_code == 6
    as_user("admin")
    done = invoke("run", "bank.pay", "invoice=A1", "amount=2000", "--as", "ann@globex")
    assert done.exit_code == 6


@pytest.mark.parametrize(
    ("name", "printed"),
    [
        ("ann", "ann globex \n"),
        ("ann@globex:x,y", "ann globex x,y\n"),
        ("boss", "boss globex \n"),
        ("boss@globex", "boss globex \n"),
    ],
)
def test_an_admin_of_a_tenant_is_those_of_it(invoke, as_user, who, name, printed):
    as_user("admin-globex")
    assert invoke("run", "who", "--as", name).stdout == printed


@pytest.mark.parametrize(
    ("name", "printed"),
    [
        ("ann@acme", "ann acme \n"),
        ("ann@globex:x", "ann globex x\n"),
        ("boss@", "boss \n"),
        ("tom", "tom acme a,b\n"),
        ("eve@acme.example", "eve@acme.example clerk\n"),
        ("eve@acme.example@", "eve@acme.example clerk\n"),
        ("stranger@acme", "stranger@acme \n"),
    ],
)
def test_an_admin_of_none_says_of_which_tenant_somebody_is(invoke, as_user, who, name, printed):
    as_user("admin")
    assert invoke("run", "who", "--as", name).stdout == printed


@pytest.mark.parametrize("verb", VERBS, ids=lambda verb: verb[0])
@pytest.mark.parametrize(
    ("name", "said", "hint"),
    [
        ("ann", "names several", "write --as ann@acme or --as ann@globex"),
        ("boss:x", "names several", "write --as boss@acme or --as boss@globex or --as boss@"),
        ("ann@acne", "names nobody", "write --as ann@acme or --as ann@globex"),
        ("ann@", "names nobody", "write --as ann@acme or --as ann@globex"),
    ],
)
def test_namesakes_are_told_to_who_looks_over_all_walls(
    invoke, as_user, who, verb, name, said, hint
):
    as_user("admin")
    refused = invoke(*verb, "--as", name)

    assert refused.exit_code == 2
    assert f"`--as {name.partition(':')[0]}` {said}" in refused.stderr
    assert hint in refused.stderr
    assert refused.stdout == ""
