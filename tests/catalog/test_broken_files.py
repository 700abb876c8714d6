"""A file that is broken says so itself; nothing is said of others that only follows from it."""

import pytest

from toolrt.runtime import load
from toolrt.testing import write_files

HASH = "0" * 64
FILES = {
    "toolrt.yaml": f"""\
policy: required
vars: {{limit: 500}}
defaults: {{http: {{target: api}}}}
approvals: {{notify: page}}
identities:
- {{os_user: ann, principal: ann, roles: [finance], may: [call, approve]}}
- {{token_hash: '{HASH}', principal: bob, roles: [finance], may: [approve]}}
""",
    "tools.d/bank.yaml": """\
tools:
  pay:
    description: Pay.
    parameters: {amount: number}
    http: {method: POST, url: /pay, json: {amount: "{{ amount }}", most: "{{ vars.limit }}"}}
    reject: [{when: args.amount > vars.limit, reason: Too much.}]
  page: {description: Tell people., parameters: {reason: string}, command: [echo, "{{ reason }}"]}
""",
    "tools.d/targets.yaml": "targets:\n  api: {url: 'https://api.example.com'}\n",
    "policies.d/rules.yaml": """\
rules:
- id: big
  decide: ask
  tools: [pay]
  when: args.amount > vars.limit
  approval: {count: 2, approvers: {roles: [finance]}}
  tests: [{expect: match, call: {tool: pay, args: {amount: 900}}}]
- {id: odd, decide: deny, tools: ["p*y"], when: args.amount < 0.0}
""",
    "policies.d/more.yaml": """\
rules:
- {id: rest, decide: allow, tools: [pay, page]}
settings:
- {tools: [pay], timeout: 5s, when: vars.limit > 3}
""",
}
SYNTAX = "x: [\n"


def told(folder):
    """What is wrong with a project, but for what does nothing yet."""
    return [one for one in load(folder).diagnostics if one.code != "not-yet"]


def found(folder, files):
    return told(write_files(folder, files))


def test_the_files_are_good(tmp_path):
    assert found(tmp_path, FILES) == []


@pytest.mark.parametrize("file", FILES)
@pytest.mark.parametrize("broken", [SYNTAX, "- 1\n", b"\xff\xfe\x00", "a: 1\na: 2\n§"])
def test_p8_a_file_that_cannot_be_read_is_told_alone(tmp_path, file, broken):
    write_files(tmp_path, {name: text for name, text in FILES.items() if name != file})
    text = broken if isinstance(broken, bytes) else broken.replace("§", FILES[file]).encode()
    (tmp_path / file).write_bytes(text)

    diagnostics = told(tmp_path)

    assert [one for one in diagnostics if one.severity == "error"]
    assert {one.file for one in diagnostics} == {file}


@pytest.mark.parametrize(
    ("file", "right", "wrong"),
    [
        ("toolrt.yaml", "vars:", "varz:"),
        ("toolrt.yaml", "defaults:", "defautls:"),
        ("toolrt.yaml", "identities:", "identitys:"),
        ("toolrt.yaml", "os_user: ann", "os_user: 7, ox: 3"),
        ("toolrt.yaml", "policy: required", "policy: required\npolicies_dir: ''"),
        ("toolrt.yaml", "policy: required", "policy: required\ntools_dir: []"),
        ("tools.d/bank.yaml", "tools:", "toolz:"),
        ("tools.d/bank.yaml", "tools:", "namespace: 7\ntools:"),
        ("tools.d/bank.yaml", "tools:\n", "tools: 3\nx-a:\n"),
        ("tools.d/bank.yaml", "pay:\n", "pay: 3\n  x_pay:\n"),
        ("tools.d/bank.yaml", "parameters: {amount", "paramters: {amount"),
        ("tools.d/targets.yaml", "api:", "api: 4\n  other:"),
        ("tools.d/targets.yaml", "targets:", "targest:"),
        ("policies.d/rules.yaml", "rules:", "rulse:"),
        ("policies.d/more.yaml", "rules:", "rulse:"),
        ("policies.d/rules.yaml", "id: odd", "id: rest"),
        ("policies.d/more.yaml", "decide: allow", "decide: alow"),
        ("policies.d/more.yaml", "tools: [pay, page]", "tools: {pay: page}"),
        ("policies.d/more.yaml", "tools: [pay, page]", "tols: [pay, page]"),
    ],
)
def test_a_fault_in_one_file_is_told_nowhere_else(tmp_path, file, right, wrong):
    text = FILES[file].replace(right, wrong, 1)
    assert text != FILES[file]

    diagnostics = found(tmp_path, {**FILES, file: text})

    assert [one for one in diagnostics if one.severity == "error"]
    assert {one.file for one in diagnostics} == {file}


@pytest.mark.parametrize("only", ["policies.d/rules.yaml", "policies.d/more.yaml"])
def test_l5_a_policy_file_that_cannot_be_read_is_not_the_same_as_none(tmp_path, only):
    files = {name: text for name, text in FILES.items() if not name.startswith("policies.d")}

    diagnostics = found(tmp_path, {**files, only: SYNTAX})

    assert {one.code for one in diagnostics} == {"yaml-syntax"}


def test_p8_rules_that_lie_in_a_subfolder_are_not_the_same_as_none(tmp_path):
    files = {name: text for name, text in FILES.items() if not name.startswith("policies.d")}

    diagnostics = found(tmp_path, {**files, "policies.d/sub/rules.yaml": "default: deny\n"})

    assert [one.code for one in diagnostics] == ["not-read"]


def test_policy_required_is_told_beside_faults_of_tools(tmp_path):
    files = {name: text for name, text in FILES.items() if not name.startswith("policies.d")}
    files["tools.d/targets.yaml"] = "targets:\n  api: {url: 'https://api.example.com', oops: 1}\n"

    codes = {one.code for one in found(tmp_path, files)}

    assert codes == {"unknown-key", "no-policy"}


def test_a_tool_that_no_rule_lets_through_is_told_beside_faults_of_other_tools(tmp_path):
    files = {**FILES, "tools.d/free.yaml": "tools: {free: {description: F., command: [echo]}}\n"}
    files["tools.d/targets.yaml"] = "targets:\n  api: {url: 'https://api.example.com', oops: 1}\n"

    codes = {one.code for one in found(tmp_path, files)}

    assert codes == {"unknown-key", "no-rule"}
