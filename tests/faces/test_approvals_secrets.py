"""A known secret on the command line, or in a name, is not printed again (O1)."""

import pytest
from bank import asked, document, write_bank

SECRET = "sup3rs3cret-value"


@pytest.fixture(autouse=True)
def bank(project, monkeypatch):
    write_bank(project)
    monkeypatch.setenv("BANK_KEY", SECRET)
    (project / "tools.d" / "key.yaml").write_text(
        "tools:\n  use: {description: U., command: {argv: [echo, x],"
        ' env: {K: "${env:BANK_KEY}"}}, effect: read}\n'
    )


@pytest.mark.parametrize(
    "words",
    [
        ("approvals", "show", SECRET),
        ("approvals", "approve", SECRET),
        ("approvals", "deny", SECRET),
        ("approvals", "run", SECRET),
        ("approvals", "cancel", SECRET),
        ("approvals", "resolve", SECRET, "failed"),
        ("approvals", "revoke", SECRET),
        ("history", "show", SECRET),
    ],
)
@pytest.mark.parametrize("form", ["text", "json"])
def test_an_id_that_is_none_is_not_repeated(invoke, words, form):
    asked(invoke)
    shown = invoke(*words, "-o", form)

    assert shown.exit_code == 7, shown.output
    assert SECRET[:8] not in shown.output + shown.stderr


@pytest.mark.parametrize(
    "more",
    [
        ("--edit", f"amount={SECRET}"),
        ("--edit", f"amount:={SECRET}"),
        ("--edit", f"{SECRET}=1"),
        ("--edit", SECRET),
        ("--for", "1h", "--any", SECRET),
    ],
)
def test_what_an_argument_cannot_be_is_not_repeated(invoke, more):
    shown = invoke("approvals", "approve", asked(invoke), *more)

    assert shown.exit_code == 2, shown.output
    assert SECRET not in shown.output + shown.stderr


def test_who_is_called_by_a_secret_is_masked_in_lists_too(invoke, as_user):
    as_user(SECRET)
    approval = asked(invoke)
    invoke("approvals", "deny", approval)
    late = invoke("approvals", "approve", approval)
    listed = invoke("approvals", "list", "--state", "all")
    whole = invoke("approvals", "show", approval, "-o", "json")

    assert late.exit_code == 1
    assert document(whole)["asked_by"]["principal"] == "***"
    for shown in (late, listed, whole):
        assert SECRET not in shown.output + shown.stderr
