import json

import pytest

from toolrt.faces.cli.show import seconds


def test_a_tool_in_full(invoke):
    shown = invoke("show", "t.add").stdout

    assert shown.startswith("t.add(a: integer, b?: integer=2)\n\n  Add two numbers. Nothing else")
    assert "  a  integer  required" in shown
    assert "  b  integer  default 2  >= 0" in shown
    assert "tools.d/t.yaml:3" in shown


def test_an_unknown_tool_is_not_found(invoke):
    shown = invoke("show", "t.ad")

    assert shown.exit_code == 7
    assert shown.stderr == (
        "error[unknown-tool]: there is no tool `t.ad`\n"
        "hint: did you mean `t.add`?\ntry: toolrt list\n"
    )


def test_resolved_names_the_origin_of_each_value(invoke, project):
    (project / "tools.d" / "d.yaml").write_text(
        "defaults: {timeout: 7s}\n"
        "tools:\n  d: {description: D., shell: {script: 'true'}, timeout: {attempt: 2s}}\n"
    )

    lines = invoke("show", "d", "--resolved").stdout.splitlines()

    assert any(
        line.startswith("    total: 7s ") and line.endswith("# tools.d/d.yaml file defaults")
        for line in lines
    )
    assert any(
        line.startswith("    attempt: 2s ") and line.endswith("# tools.d/d.yaml tool")
        for line in lines
    )
    assert any(
        line.startswith("    connect: 5s ") and line.endswith("# built-in") for line in lines
    )


def test_resolved_never_resolves_a_secret(invoke, monkeypatch):
    monkeypatch.setenv("TOOLRT_TEST_NEVER_SET", "hunter2-hunter2")

    for more in ([], ["--resolved"], ["-o", "json"], ["--resolved", "-o", "yaml"]):
        assert "hunter2" not in invoke("show", "t.broken", *more).output
    assert "${env:TOOLRT_TEST_NEVER_SET}" in invoke("show", "t.broken", "--resolved").output


def test_json_holds_schema_limits_and_place(invoke):
    document = json.loads(invoke("show", "t.nap", "-o", "json").stdout)

    assert document["input_schema"]["required"] == ["seconds"]
    assert document["timeout_s"]["total"] == 20
    assert (document["file"], document["line"]) == ("tools.d/t.yaml", 21)


@pytest.mark.parametrize(
    ("value", "text"), [(0.1, "100ms"), (5, "5s"), (90, "90s"), (300, "5m"), (7200, "2h")]
)
def test_durations_as_people_write_them(value, text):
    assert seconds(value) == text
