"""The tests of a project: each runs by itself, mocked, through the whole pipeline."""

from contextlib import asynccontextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from tests.limits import AT_ONCE_S
from toolrt.rehearsal import rehearse
from toolrt.testing import write_files

pytestmark = pytest.mark.anyio

PAY = """
namespace: bank
tools:
  pay:
    description: Pay.
    parameters: {amount: number}
    shell: 'touch paid; echo paid'
    effect: irreversible
    tests: %s
"""
RATE = """
tools:
  rate:
    description: The rate.
    http: {url: "http://127.0.0.1:9/rate", success: [200], output: json%s}
    tests: %s
"""


@asynccontextmanager
async def suite(files):
    with TemporaryDirectory() as folder:
        async with rehearse(write_files(Path(folder), files)) as made:
            made.folder = Path(folder)
            yield made


async def reports(files, **options):
    """How the tests of a project end, and its coverage."""
    async with suite(files) as made:
        ran = [await made.run(case, **options) for case in made.cases]
        assert not (made.folder / "paid").exists()
        assert not (made.folder / ".toolrt").exists()
        return ran, made.coverage


async def ending(files, **options):
    """How the one test of a project ends, and why."""
    (report,), _ = await reports(files, **options)
    return report.ending, " ".join(report.why)


def pay(test, policies=None):
    files = {"tools.d/t.yaml": PAY % f"[{test}]"}
    return files | ({"policies.d/p.yaml": policies} if policies else {})


def rate(test, more=""):
    return {"tools.d/t.yaml": RATE % (more, f"[{test}]")}


@pytest.mark.parametrize(
    "test",
    [
        "{mock: {json: {usd: 1.5, eur: 1}}, expect: {data: {usd: 1.5}}}",
        "{mock: {json: null}, expect: {status: success}}",
        "{mock: {status: 200, json: {usd: 1}}, expect: {data: {usd: 1}}}",
        "{mock: {status: 404}, expect: {code: not-found, text: answered 404}}",
        "{mock: {status: 503, text: shut}, expect: {status: error}}",
        "{mock: {status: 200, text: no json}, expect: {code: bad-response}}",
        "{mock: {error: {code: access-denied, message: go away}}, expect: {code: access-denied, text: go away}}",
        "{mock: {error: {code: timeout}}, expect: {code: timeout}}",
        "{mock: {text: hello}, expect: {text: hello, data: hello}}",
    ],
)
async def test_a_mock_answers_for_a_service(test):
    assert await ending(rate(test)) == ("passed", "")


async def test_what_a_tool_makes_of_an_answer_holds_for_a_mock():
    shaped = rate("{mock: {json: {a: {b: 7}}}, expect: {data: 7}}")
    shaped["tools.d/t.yaml"] += "    result: {select: a.b}\n"

    assert await ending(shaped) == ("passed", "")


@pytest.mark.parametrize(
    "test",
    [
        "{args: {amount: 3}, mock: {stdout: paid, approved: true}, expect: {text: paid}}",
        "{args: {amount: 3}, mock: {exit_code: 3, stderr: broke, approved: true}, expect: {status: error, text: 'exited with 3: broke'}}",
        "{args: {amount: 3}, mock: {stdout: paid}, expect: {status: paused, decision: ask}}",
        "{args: {amount: 3}, mock: {stdout: paid, approved: true}, expect: {status: success, decision: ask}}",
        "{args: {}, mock: {stdout: paid}, expect: {code: missing-arguments}}",
    ],
)
async def test_a_mock_answers_for_a_program(test):
    assert await ending(pay(test)) == ("passed", "")


async def test_a_tool_that_may_change_something_is_skipped_without_a_mock():
    assert (await ending(pay("{args: {amount: 3}}")))[0] == "skipped"


async def test_live_never_runs_what_a_person_must_approve():
    """A mock may say that somebody approved; the world may not."""
    for test in ("{args: {amount: 3}}", "{args: {amount: 3}, mock: {stdout: x, approved: true}}"):
        outcome, why = await ending(pay(test), live=True)
        assert outcome == "failed"
        assert "got paused" in why


async def test_a_tool_that_only_reads_runs_for_real():
    files = {
        "tools.d/t.yaml": """
            tools:
              hello:
                description: H.
                command: [printf, hello]
                effect: read
                tests: [{expect: {text: hello}}, {mock: {stdout: other}, expect: {text: hello}}]
            """
    }

    assert [each.ending for each in (await reports(files))[0]] == ["passed", "failed"]
    assert [each.ending for each in (await reports(files, live=True))[0]] == ["passed", "passed"]


async def test_a_mock_of_a_failure_stays_when_live():
    assert await ending(rate("{mock: {status: 404}, expect: {code: not-found}}"), live=True) == (
        "passed",
        "",
    )


@pytest.mark.realtime
async def test_retries_of_a_mock_wait_for_nobody():
    async with suite(rate("{mock: {status: 503}, expect: {status: error}}")) as made:
        report = await made.run(made.cases[0])

    assert report.ending == "passed"
    assert report.time_s < AT_ONCE_S


async def test_a_missing_secret_does_not_stop_a_mock():
    secret = rate("{mock: {json: 1}, expect: {data: 1}}", ', headers: {K: "${env:NEVER_SET_1}"}')

    assert await ending(secret) == ("passed", "")


RULES = """
rules:
  - id: big
    decide: deny
    tools: [bank.pay]
    when: args.amount > 500.0 && !("finance" in caller.roles)
    tests:
      - {expect: match, call: {tool: bank.pay, args: {amount: 900}}}
      - {expect: no-match, call: {tool: bank.pay, args: {amount: 900}, as: "ann:finance"}}
  - id: often
    decide: deny
    tools: ["*"]
    when: history.calls("10m") >= 3
    tests:
      - {expect: match, call: {tool: bank.pay, args: {amount: 1}, history: 3}}
      - {expect: no-match, call: {tool: bank.pay, args: {amount: 1}, history: 2}}
  - {id: rest, decide: allow, tools: ["*"]}
"""


async def test_rules_are_tested_and_covered():
    ran, coverage = await reports({"tools.d/t.yaml": PAY % "[]", "policies.d/p.yaml": RULES})

    assert [(each.ending, each.why) for each in ran] == [("passed", ())] * 4
    assert coverage.document() == {
        "rules": 3, "matched": 2, "missed": ["rest"], "percent": 66.7
    }  # fmt: skip


async def test_a_test_of_a_tool_covers_the_rules_that_match_its_call():
    ran, coverage = await reports(
        pay("{args: {amount: 900}, mock: {text: x}, expect: {code: denied}}", RULES)
    )

    assert [each.ending for each in ran] == ["passed"] * 5
    assert coverage.missed == []


async def test_no_test_sees_the_calls_of_another():
    one = "{args: {amount: 1}, mock: {text: x, approved: true}}"
    ran, _ = await reports(pay(", ".join([one] * 6), RULES))

    assert {each.ending for each in ran} == {"passed"}


@pytest.mark.parametrize(
    ("test", "why"),
    [
        (
            "{expect: match, call: {tool: bank.pay, args: {amount: 1}}}",
            "does not match: `when` is false",
        ),
        (
            "{expect: no-match, call: {tool: bank.pay, args: {amount: 9}}}",
            "the rule matches: `when`",
        ),
        ("{expect: match, call: {tool: bank.pay}}", "the call is refused: `amount` is missing"),
        (
            "{expect: match, call: {tool: bank.pya, args: {amount: 9}}}",
            "there is no tool `bank.pya`",
        ),
    ],
)
async def test_a_rule_that_does_otherwise_says_why(test, why):
    rules = f"rules: [{{id: r, decide: ask, tools: [bank.pay], when: args.amount > 5.0, tests: [{test}]}}]"
    outcome, told = await ending({"tools.d/t.yaml": PAY % "[]", "policies.d/p.yaml": rules})

    assert outcome == "failed"
    assert why in told


async def test_a_rule_about_other_tools_does_not_match():
    rules = """
    rules:
      - id: r
        decide: deny
        tools: [bank.fetch]
        tests: [{expect: match, call: {tool: bank.pay, args: {amount: 1}}}]
    """
    outcome, told = await ending({"tools.d/t.yaml": PAY % "[]", "policies.d/p.yaml": rules})

    assert (outcome, told) == (
        "failed", "the rule does not match: its `tools` do not name `bank.pay`"
    )  # fmt: skip


async def test_places_are_those_of_the_tests():
    async with suite(pay("{args: {amount: 1}}", RULES)) as made:
        assert [case.place() for case in made.cases][:2] == [
            "tools.d/t.yaml:9",
            "policies.d/p.yaml:8",
        ]
