import json
from xml.etree import ElementTree as ET

import pytest

TESTS = """\
tools:
  greet:
    description: Greet.
    parameters: {name: string}
    command: [printf, "%s", "{{ name }}"]
    tests:
      - {args: {name: ann}, mock: {stdout: hello ann}, expect: {text: hello}}
      - {args: {name: ann}, mock: {stdout: hello ann}, expect: {text: goodbye}}
      - {args: {name: ann}}
"""
RULES = """\
rules:
  - id: no-bob
    decide: deny
    tools: [greet]
    when: args.name == "bob"
    tests: [{expect: match, call: {tool: greet, args: {name: bob}}}]
  - {id: rest, decide: allow, tools: ["*"]}
  - {id: late, decide: ask, tools: [greet], when: args.name == "eve"}
"""


@pytest.fixture(autouse=True)
def tests(project):
    (project / "policies.d").mkdir()
    (project / "policies.d" / "p.yaml").write_text(RULES)
    (project / "tools.d" / "g.yaml").write_text(TESTS)


def test_each_test_has_a_line_and_a_failure_its_reason_and_place(invoke):
    done = invoke("test")

    assert done.exit_code == 1
    assert done.stdout.splitlines() == [
        "passed   tool greet #1",
        "failed   tool greet #2  (tools.d/g.yaml:8)",
        '         text: "goodbye" is not in "hello ann"',
        "skipped  tool greet #3",
        "         it may change something: give it a `mock`, or run it with --live",
        "passed   rule no-bob #1",
        "2 passed, 1 failed, 1 skipped",
        "policy coverage: 2 of 3 rules matched (66.7 %), never: late",
    ]


def test_when_all_pass_the_status_is_0(invoke):
    done = invoke("test", "-k", "NO-BOB")

    assert done.exit_code == 0
    assert done.stdout == "passed   rule no-bob #1\n1 passed\n"


def test_nothing_chosen_says_so(invoke):
    done = invoke("test", "-k", "nothing")

    assert done.exit_code == 0
    assert "no test has `nothing` in its name" in done.stderr


def test_live_runs_what_has_no_mock(invoke):
    done = invoke("test", "--live", "-k", "greet #3")

    assert (done.exit_code, done.stdout) == (0, "passed   tool greet #3\n1 passed\n")


def test_the_document(invoke):
    document = json.loads(invoke("test", "-o", "json").stdout)

    assert document["schema"] == "toolrt/v1"
    assert document["ok"] is False
    assert [document[each] for each in ("passed", "failed", "skipped")] == [2, 1, 1]
    assert document["tests"][1]["place"] == "tools.d/g.yaml:8"
    assert document["coverage"] == {
        "rules": 3, "matched": 2, "missed": ["late"], "percent": 66.7
    }  # fmt: skip


def test_as_json_lines_each_test_is_one(invoke):
    lines = invoke("test", "-o", "jsonl").stdout.splitlines()

    assert [json.loads(line)["outcome"] for line in lines] == [
        "passed", "failed", "skipped", "passed"
    ]  # fmt: skip


@pytest.fixture
def passes(project):
    """The tests without the one that fails."""
    lines = TESTS.splitlines(keepends=True)
    (project / "tools.d" / "g.yaml").write_text("".join(x for x in lines if "goodbye" not in x))


@pytest.mark.parametrize(("percent", "status"), [("66", 0), ("66.6", 0), ("67", 1), ("100", 1)])
@pytest.mark.usefixtures("passes")
def test_too_little_coverage_fails_with_the_rules_that_no_test_matches(invoke, percent, status):
    done = invoke("test", "--coverage", percent)

    assert done.exit_code == status
    assert done.stdout.endswith("(66.7 %), never: late\n")
    wanted = f"tests cover 2 of 3 rules, and --coverage wants {percent} %: late matched in no test"
    assert (wanted in done.stderr) == bool(status)


@pytest.mark.usefixtures("passes")
def test_enough_coverage_does_not_mend_a_test_that_fails(invoke, project):
    (project / "tools.d" / "g.yaml").write_text(TESTS)

    assert invoke("test", "--coverage", "10").exit_code == 1


@pytest.mark.usefixtures("passes")
def test_the_document_says_what_coverage_was_wanted(invoke):
    done = invoke("test", "--coverage", "80", "-o", "json")
    document = json.loads(done.stdout)

    assert (done.exit_code, document["ok"], document["failed"]) == (1, False, 0)
    assert document["coverage"]["required"] == 80
    assert document["coverage"]["missed"] == ["late"]


@pytest.mark.usefixtures("passes")
def test_where_there_are_no_rules_they_are_all_covered(invoke, project):
    (project / "policies.d" / "p.yaml").write_text("default: allow\n")

    assert invoke("test", "--coverage", "100").exit_code == 0


@pytest.mark.parametrize("percent", ["101", "-1", "much", "nan"])
def test_a_coverage_is_a_percentage(invoke, percent):
    assert invoke("test", "--coverage", percent).exit_code == 2


def test_coverage_is_of_all_tests(invoke):
    done = invoke("test", "--coverage", "50", "-k", "bob")

    assert done.exit_code == 2
    assert "`-k`" in done.stderr


def test_a_junit_report_is_xml_whatever_the_tests_say(invoke, project):
    odd = TESTS.replace("stdout: hello ann}, expect: {text: goodbye}", 'stdout: "<a>&\\u0001"}')
    odd = odd.replace("Greet.\n", "Greet.\n").replace(
        '{name: ann}, mock: {stdout: "<a>', '{name: ann}, expect: {data: 1}, mock: {stdout: "<a>'
    )
    (project / "tools.d" / "g.yaml").write_text(odd)

    invoke("test", "--junit", "report.xml")
    root = ET.parse(project / "report.xml").getroot()

    assert root.attrib["tests"] == "4"
    assert root.attrib["failures"] == "1"
    assert [suite.attrib["name"] for suite in root] == ["toolrt.tools", "toolrt.rules"]
    (failure,) = root.iter("failure")
    assert "<a>&" in failure.attrib["message"]


def test_a_report_that_cannot_be_written_says_so(invoke):
    done = invoke("test", "--junit", "no/such/folder.xml")

    assert done.exit_code == 1
    assert "cannot write no/such/folder.xml" in done.stderr


def test_broken_files_end_the_verb(invoke, project):
    (project / "tools.d" / "g.yaml").write_text("tools: 3\n")

    assert invoke("test").exit_code == 3
