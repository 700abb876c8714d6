"""`toolrt instructions`: for the system prompt of a model (U25)."""

import json

import pytest

MORE = """\
namespace: mail
defaults: {instructions: Never write to strangers., effect: read}
tools:
  find: {description: Find., command: [/bin/true]}
  send: {description: Send., command: [/bin/true], instructions: "Show it first."}
  sort: {description: Sort., command: [/bin/true]}
"""
SETS = "toolsets: {mail: {tools: ['mail.*'], hide: [mail.sort], description: All about mail.}}\n"
ALL = "mail.find, mail.sort: Never write to strangers.\nmail.send: Show it first.\n"


@pytest.fixture
def mail(project):
    (project / "tools.d" / "mail.yaml").write_text(MORE)
    (project / "tools.d" / "sets.yaml").write_text(SETS)
    return project


@pytest.mark.usefixtures("mail")
def test_u25_what_is_said_of_all_tools_of_a_file_is_told_once(invoke):
    shown = invoke("instructions")

    assert (shown.exit_code, shown.stdout) == (0, ALL)


@pytest.mark.usefixtures("mail")
def test_u25_of_a_toolset_it_begins_with_its_own(invoke):
    shown = invoke("instructions", "--toolset", "mail", "-o", "json")
    document = json.loads(shown.stdout)

    assert [each["tools"] for each in document["instructions"]] == [
        [],
        ["mail.find"],
        ["mail.send"],
    ]
    assert document["text"].splitlines()[0] == "All about mail."
    assert document["toolset"] == "mail"


@pytest.mark.usefixtures("mail")
def test_a_toolset_that_is_none_ends_with_7_and_the_nearest(invoke):
    shown = invoke("instructions", "--toolset", "mial")

    assert shown.exit_code == 7
    assert "did you mean `mail`?" in shown.stderr


def test_u25_where_nobody_says_anything_that_is_said_aside(invoke):
    shown = invoke("instructions")

    assert (shown.exit_code, shown.stdout) == (0, "")
    assert "`instructions:` of a tool" in shown.stderr


def test_u25_tools_that_are_hidden_say_nothing(invoke, mail):
    rules = "rules: [{id: no, decide: deny, tools: [mail.send]}]\n"
    (mail / "policies.d").mkdir(exist_ok=True)
    (mail / "policies.d" / "more.yaml").write_text(rules)

    assert "Show it first" not in invoke("instructions", "--as", "bot").stdout
