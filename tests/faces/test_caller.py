"""Who calls from the terminal, and what the rules let them see (P15)."""

import json

import pytest
from bank import identities, identity, write_bank

from toolrt.core.calls import INSIDE_CALL
from toolrt.faces.cli.caller import at_terminal
from toolrt.testing import open_files


@pytest.fixture(autouse=True)
def bank(project):
    write_bank(project)


WHO = """\
tools:
  who:
    description: Who calls.
    parameters: {}
    command: [echo, "{{ caller.principal }}", "{{ caller.roles | join(',') }}"]
    effect: read
"""


def test_without_identities_the_account_may_do_everything():
    assert at_terminal([]).may == {"call", "approve", "admin"}


def test_an_account_is_who_identities_say(invoke, project, as_user):
    (project / "tools.d" / "who.yaml").write_text(WHO)
    identities(project, {"os_user": "root7", "principal": "ann", "roles": ["a"], "may": ["call"]})
    as_user("root7")
    known = invoke("run", "who")
    as_user("eve")
    unknown = invoke("run", "who")

    assert known.stdout == "ann a\n"
    assert unknown.exit_code == 4
    assert "eve may make no calls here" in unknown.stderr


@pytest.mark.parametrize("verb", [["run", "who"], ["list"], ["show", "who"]])
def test_only_who_may_admin_is_somebody_else(invoke, project, as_user, verb):
    (project / "tools.d" / "who.yaml").write_text(WHO)
    identities(project, identity("ann", "call"), identity("op", "call", "admin"))
    as_user("ann")
    refused = invoke(*verb, "--as", "bob:clerk")
    as_user("op")

    assert refused.exit_code == 4
    assert "error[access-denied]: ann may not call as bob" in refused.stderr
    assert invoke(*verb, "--as", "bob:clerk").exit_code == 0


def test_a_known_one_has_their_own_roles_unless_others_are_written(invoke, project, as_user):
    (project / "tools.d" / "who.yaml").write_text(WHO)
    identities(project, identity("ann", "call", roles=["x"]), identity("op", "call", "admin"))
    as_user("op")

    assert invoke("run", "who", "--as", "ann").stdout == "ann x\n"
    assert invoke("run", "who", "--as", "ann:y,z").stdout == "ann y,z\n"
    assert invoke("run", "who", "--as", "bob").stdout == "bob \n"


def names(shown):
    return {each["name"]: each["hidden"] for each in json.loads(shown.stdout)["tools"]}


def test_p15_hidden_tools_are_marked_for_who_may_admin_and_not_there_for_others(invoke):
    mine = names(invoke("list", "bank.*", "-o", "json"))
    bobs = names(invoke("list", "bank.*", "-o", "json", "--as", "bob"))
    clerks = names(invoke("list", "bank.*", "-o", "json", "--as", "eve:clerk"))

    assert mine["bank.secret"] is True
    assert mine["bank.pay"] is False
    assert "bank.secret" not in bobs
    assert clerks["bank.secret"] is False
    assert "  [hidden] For clerks." in invoke("list", "bank.secret").stdout


def test_p15_a_hidden_tool_is_shown_like_one_that_is_not_there(invoke):
    hidden = invoke("show", "bank.secret", "--as", "bob")
    absent = invoke("show", "bank.0000", "--as", "bob")
    near = invoke("show", "bank.secrets", "--as", "bob")

    assert hidden.exit_code == absent.exit_code == 7
    assert hidden.stderr == absent.stderr.replace("bank.0000", "bank.secret")
    assert "bank.secret`" not in near.stderr
    assert "the rules hide it from you" in invoke("show", "bank.secret").stdout
    assert "hide" not in invoke("show", "bank.secret", "--as", "eve:clerk").stdout


@pytest.mark.parametrize("more", [[], ["--dry-run"]])
@pytest.mark.parametrize("token", ["flags=1", "count:=x", "count=1", "flags:={"])
def test_p15_how_arguments_are_read_does_not_tell_of_a_hidden_tool(
    invoke, project, as_user, more, token
):
    (project / "tools.d" / "vault.yaml").write_text(VAULT)
    (project / "policies.d" / "vault.yaml").write_text(
        "rules: [{id: vault, decide: deny, tools: [vault]}]\n"
    )
    identities(project, identity("ann", "call"))
    as_user("ann")
    hidden = invoke("run", "vault", token, *more)
    unknown = invoke("run", "vauxt", token, *more)

    assert hidden.exit_code == unknown.exit_code
    assert hidden.stderr == unknown.stderr.replace("vauxt", "vault")


VAULT = """\
tools:
  vault:
    description: For nobody.
    parameters: {flags: {type: object, required: false}, count: {type: integer, required: false}}
    shell: {script: "true", env: {A: "{{ flags }}", B: "{{ count }}"}}
    effect: read
"""


def test_a17_what_a_tool_has_started_decides_nothing(invoke, project, monkeypatch):
    ask = "tools: {send: {description: Send., command: [echo, sent], hitl: confirm}}\n"
    (project / "tools.d" / "send.yaml").write_text(ask)
    assert invoke("run", "send").exit_code == 6
    monkeypatch.setenv(INSIDE_CALL, "1")
    listed = json.loads(invoke("approvals", "list", "-o", "json").stdout)["approvals"]
    for verb in ("approve", "deny"):
        refused = invoke("approvals", verb, listed[0]["id"])
        assert (refused.exit_code, "may decide nothing here" in refused.stderr) == (4, True)
    assert invoke("run", "send", "--as", "boss").exit_code == 4


@pytest.mark.anyio
async def test_a17_children_of_a_call_are_marked():
    tool = "{description: D., command: [printenv, TOOLRT_INSIDE_CALL], effect: read}"
    async with open_files({"tools.d/t.yaml": f"tools: {{t: {tool}}}"}) as rt:
        assert (await rt.call("t", {})).text.strip() == "1"
