import json

BAD = "tools:\n  x:\n    descriptoin: hello\n    shell: 'true'\n    timeout: fast\n"


def test_a_good_project_is_counted(invoke, project):
    (project / "tools.d" / "t.yaml").write_text(
        "tools:\n  a: {description: A., shell: 'true'}\n  b: {description: B., shell: 'true'}\n"
    )

    shown = invoke("check", "--strict")

    assert (shown.exit_code, shown.stdout, shown.stderr) == (0, "ok: 2 tools in 1 file\n", "")


def test_every_fault_of_every_file_is_shown(invoke, project):
    (project / "tools.d" / "bad.yaml").write_text(BAD)
    (project / "tools.d" / "worse.yaml").write_text("tools: [\n")

    shown = invoke("check")

    assert shown.exit_code == 3
    assert "tools.d/bad.yaml:3:5" in shown.stdout
    assert "did you mean `description`?" in shown.stdout
    assert "tools.d/bad.yaml:5:" in shown.stdout
    assert "tools.d/worse.yaml" in shown.stdout
    assert shown.stdout.splitlines()[-1].endswith("in 2 files")


def test_json_is_the_report(invoke, project):
    (project / "tools.d" / "bad.yaml").write_text(BAD)

    document = json.loads(invoke("check", "-o", "json").stdout)

    assert document["schema"] == "toolrt/v1"
    assert document["ok"] is False
    assert {one["file"] for one in document["diagnostics"]} == {"tools.d/bad.yaml"}


def test_unavailable_tools_are_named_and_fail_only_strictly(invoke):
    shown = invoke("check")

    assert shown.exit_code == 0
    assert "unavailable: t.broken:" in shown.stdout
    assert "TOOLRT_TEST_NEVER_SET" in shown.stdout
    assert shown.stdout.endswith("ok: 5 tools in 1 file, 1 unavailable\n")
    strictly = invoke("check", "--strict")
    assert strictly.exit_code == 3
    assert strictly.stdout.endswith("not ok with --strict: 5 tools in 1 file, 1 unavailable\n")


SHARED = """
targets:
  api: {url: "https://api.example.com", auth: {bearer: "${env:TOOLRT_TEST_NEVER_SET}"}}
tools:
"""


def test_a_reason_that_many_tools_share_is_said_once_with_their_number(invoke, project):
    tools = "".join(
        f"  {name}: {{description: A., http: {{target: api, url: /{name}}}}}\n"
        for name in ("one", "two", "three", "four", "five")
    )
    alone = "  six: {description: A., shell: {script: 'true', env: {K: '${env:TOOLRT_TEST_NEVER_SET}'}}}\n"
    (project / "tools.d" / "t.yaml").write_text(SHARED + tools)
    (project / "tools.d" / "u.yaml").write_text("tools:\n" + alone)

    shown = invoke("check")
    document = json.loads(invoke("check", "-o", "json").stdout)

    lines = [line for line in shown.stdout.splitlines() if line.startswith("unavailable: ")]
    unset = "environment variable TOOLRT_TEST_NEVER_SET is not set"
    assert lines == [
        f"unavailable: 5 tools (five, four, one, …): {unset} (tools.d/t.yaml:3)",
        f"unavailable: six: {unset} (tools.d/u.yaml:2)",
    ]
    assert shown.stdout.endswith("ok: 6 tools in 2 files, 6 unavailable\n")
    named = [one["tool"] for one in document["unavailable"]]
    assert sorted(named) == ["five", "four", "one", "six", "three", "two"]


def test_warnings_fail_only_strictly(invoke, project):
    (project / "tools.d" / "t.yaml").write_text(
        "tools:\n  w: {description: W., shell: 'true', parameters: {a: string}}\n"
    )

    shown = invoke("check")

    assert shown.exit_code == 0
    assert shown.stdout.endswith("ok: 1 tool in 1 file, 1 warning\n")
    assert invoke("check", "--strict").exit_code == 3
    assert json.loads(invoke("check", "--strict", "-o", "json").stdout)["ok"] is False


def test_no_import_leaves_callables_alone(invoke, project):
    (project / "sums.py").write_text("open('imported', 'w').close()\n")

    invoke("check", "--no-import")

    assert not (project / "imported").exists()


def test_a_tool_that_no_rule_lets_through_is_named(invoke, project):
    tools = (
        "tools: {a: {description: A., command: [echo]}, b: {description: B., command: [echo]}}\n"
    )
    (project / "tools.d" / "t.yaml").write_text(tools)
    (project / "policies.d").mkdir(exist_ok=True)
    (project / "policies.d" / "p.yaml").write_text("rules: [{id: a, decide: allow, tools: [a]}]\n")
    shown = invoke("check", "--strict")
    assert (shown.exit_code, "warning[no-rule]" in shown.stdout) == (3, True)
    assert "no rule lets `b` through" in shown.stdout
    assert "lets `a` through" not in shown.stdout
