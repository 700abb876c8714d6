"""Every fault of every rule in one run, whatever else is wrong with the rule."""

import pytest
from policies import loaded, tool

from toolrt.runtime import load
from toolrt.testing import write_files

RULES = """\
rules:
- id: first
  decide: denny
  tools: [bank.pya, bank.pay]
  when: args.amuont > 5.0
  unless: caller.role == "x"
  colour: red
  mode: audti
  approval: {cuont: 2, ttl: 5 min, approvers: {role: [x]}}
  tests:
  - {expect: matches, call: {tool: bank.pay}}
  - {expect: match, call: {tool: bank.pey}}
- decide: ask
  tools: bank.pay
  when: args.amount >
  approval: 3
- id: first
  decide: allow
  tools: [bank.pay, {}]
  wen: vars.limit > 3
  unless: nothing.there
- id: fourth
  when: args.amount > "5"
- id: fifth
  decide: deny
  tols: [bank.pay]
  when: args.amuont > 5.0
  reason: [x]
- 7
"""


def told(text, tools=None):
    """Line, code and path of everything that is said of one file."""
    _, found = loaded({"policies.d/p.yaml": text}, tools)
    return [(one.line, one.code, one.path) for one in found]


def test_p8_all_faults_of_all_rules_are_told_in_one_run():
    assert told(RULES) == [
        (3, "invalid-value", "rules[0].decide"),
        (4, "no-such-tool", "rules[0].tools[0]"),
        (5, "unknown-name", "rules[0].when"),
        (6, "unknown-name", "rules[0].unless"),
        (7, "unknown-key", "rules[0].colour"),
        (8, "invalid-value", "rules[0].mode"),
        (9, "unknown-key", "rules[0].approval.cuont"),
        (9, "invalid-duration", "rules[0].approval.ttl"),
        (9, "unknown-key", "rules[0].approval.approvers.role"),
        (11, "invalid-value", "rules[0].tests[0].expect"),
        (12, "no-such-tool", "rules[0].tests[1].call.tool"),
        (13, "missing-key", "rules[1]"),
        (14, "wrong-type", "rules[1].tools"),
        (15, "invalid-condition", "rules[1].when"),
        (16, "wrong-type", "rules[1].approval"),
        (17, "duplicate-rule", "rules[2].id"),
        (19, "wrong-type", "rules[2].tools[1]"),
        (20, "unknown-key", "rules[2].wen"),
        (20, "unknown-name", "rules[2].wen"),
        (21, "unknown-name", "rules[2].unless"),
        (22, "missing-key", "rules[3]"),
        (22, "missing-key", "rules[3]"),
        (26, "unknown-key", "rules[4].tols"),
        (27, "unknown-name", "rules[4].when"),
        (28, "wrong-type", "rules[4].reason"),
        (29, "wrong-type", "rules[5]"),
    ]


PIECES = {
    "decide": ("decide: ask", "decide: denny"),
    "id": ("id: one", "id: ''"),
    "when": ("when: args.amount > 5.0", "when: args.amuont > 5.0"),
    "unless": ("unless: args.amount > 9.0", "unless: args.amount >"),
    "reason": ("reason: No.", "reason: [No.]"),
    "mode": ("mode: enforce", "mode: off"),
    "approval": ("approval: {count: 1}", "approval: {count: 0}"),
    "tools": ("tools: [bank.pay]", "tools: [bank.pay, bank.pya]"),
    "tests": ("tests: []", "tests: [{expect: match, call: {tool: bank.pya}}]"),
}


@pytest.mark.parametrize("one", PIECES)
@pytest.mark.parametrize("other", PIECES)
def test_no_fault_of_a_rule_hides_another(one, other):
    wrong = {one, other}
    lines = [bad if key in wrong else good for key, (good, bad) in PIECES.items()]
    text = "rules:\n- " + "\n  ".join(lines) + "\n"

    found = told(text)

    assert {
        path.split(".", 1)[1].partition("[")[0].partition(".")[0] for _, _, path in found
    } == wrong
    assert len(found) == len(wrong)


def test_where_tools_are_wrong_names_of_arguments_are_not():
    text = "rules:\n- {id: a, decide: deny, tools: [{}], when: args.whatever > 5.0 && caller.x}\n"

    assert [code for _, code, _ in told(text)] == ["wrong-type", "unknown-name"]


def test_a_name_is_held_against_the_tools_that_can_be_read():
    text = "rules:\n- {id: a, decide: deny, tols: [bank.pay], when: args.amuont > 5.0}\n"

    assert [code for _, code, _ in told(text, [tool()])] == ["unknown-key", "unknown-name"]


SETTINGS = """\
settings:
- {tools: [bank.pay, bank.pya], timeot: 5s, when: caller.rolez == "x", hitl: {mode: nun}}
- {tools: 3, when: args.amount > 5.0, retry: {atempts: 2}}
- {tols: [bank.pya], when: 'caller.principal >'}
- 7
"""


def test_p8_all_faults_of_all_settings_are_told_in_one_run(tmp_path):
    tools = """
        namespace: bank
        tools: {pay: {description: Pay., command: [echo]}}
        """
    files = {"tools.d/bank.yaml": tools, "policies.d/p.yaml": SETTINGS}
    found = load(write_files(tmp_path, files)).diagnostics

    assert [(one.line, one.code, one.path) for one in found] == [
        (2, "no-such-tool", "settings[0].tools[1]"),
        (2, "unknown-key", "settings[0].timeot"),
        (2, "unknown-name", "settings[0].when"),
        (2, "invalid-value", "settings[0].hitl.mode"),
        (3, "wrong-type", "settings[1].tools"),
        (3, "unknown-name", "settings[1].when"),
        (3, "unknown-key", "settings[1].retry.atempts"),
        (4, "no-such-tool", "settings[2].tools[0]"),
        (4, "unknown-key", "settings[2].tols"),
        (4, "invalid-condition", "settings[2].when"),
        (5, "wrong-type", "settings[3]"),
    ]


NO_RULES = ["", "# later\n", "rules: []\n", "settings: []\n", "limits: {asks: 3}\n"]


@pytest.mark.parametrize("text", NO_RULES)
def test_files_without_a_rule_or_a_default_are_told(text):
    _, (one,) = loaded({"policies.d/p.yaml": text, "policies.d/q.yaml": ""})

    assert (one.severity, one.code, one.file) == ("warning", "no-rules", "policies.d/p.yaml")
    assert one.message == (
        "policies.d has no rule and no `default`: every call that can be undone is allowed"
    )
    assert "`policy: required`" in one.hint


def test_an_empty_folder_of_policies_is_told(tmp_path):
    (tmp_path / "policies.d").mkdir()
    (one,) = load(write_files(tmp_path, {"tools.d/a.yaml": "tools: {}"})).diagnostics

    assert (one.code, one.file) == ("no-rules", "policies.d")


def test_a_project_without_a_folder_of_policies_is_not_told(tmp_path):
    assert not load(write_files(tmp_path, {"tools.d/a.yaml": "tools: {}"})).diagnostics


@pytest.mark.parametrize(
    "files",
    [
        {"policies.d/p.yaml": "default: allow\n"},
        {"policies.d/p.yaml": "", "policies.d/q.yaml": "default: deny\n"},
        {"policies.d/p.yaml": "rules: [{id: a, decide: allow, tools: ['*']}]\n"},
        {"policies.d/p.yaml": "", "policies.d/q.yaml": "ruels: []\n"},
        {"policies.d/p.yaml": "", "toolrt.yaml": "policy: required\n"},
    ],
)
def test_where_something_is_said_or_wrong_no_rules_are_not_missed(files):
    assert "no-rules" not in [each.code for each in loaded(files)[1]]


@pytest.mark.parametrize(
    ("written", "code", "hint"),
    [
        ("bank.pay", "wrong-type", "write `[bank.pay]`"),
        ("[Bank.Pay]", "no-such-tool", "did you mean `bank.pay`?"),
        ("[Pay]", "no-such-tool", "did you mean `bank.pay`?"),
        ("[BANK.PAY]", "no-such-tool", "did you mean `bank.pay`?"),
    ],
)
def test_how_the_tools_of_a_rule_are_written_is_told(written, code, hint):
    text = f"default: allow\nrules: [{{id: a, decide: deny, tools: {written}}}]\n"

    (one,) = loaded({"policies.d/p.yaml": text})[1]
    assert (one.code, one.hint) == (code, hint)
