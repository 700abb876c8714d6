import json

from toolrt.faces.cli.list import summary


def test_a_line_a_tool(invoke):
    shown = invoke("list")
    lines = {line.partition("(")[0]: line for line in shown.stdout.splitlines()}

    assert list(lines) == ["t.add", "t.broken", "t.echo", "t.fails", "t.nap"]
    assert lines["t.add"].startswith("t.add(a: integer, b?: integer=2) ")
    assert lines["t.add"].endswith("read   python   Add two numbers.")
    assert "[unavailable: " in lines["t.broken"]
    assert len({line.index(" shell ") for line in lines.values() if " shell " in line}) == 1


def names(shown):
    return [tool["name"] for tool in json.loads(shown.stdout)["tools"]]


def test_filters(invoke):
    assert names(invoke("list", "t.[ef]*", "-o", "json")) == ["t.echo", "t.fails"]
    assert names(invoke("list", "--tag", "maths", "-o", "json")) == ["t.add"]
    assert names(invoke("list", "--namespace", "x", "-o", "json")) == []


def test_nothing_found_is_said_on_stderr(invoke):
    shown = invoke("list", "absent")

    assert (shown.exit_code, shown.stdout) == (0, "")
    assert "try: toolrt list" in shown.stderr


def test_a_namespace_is_listed_by_a_pattern(invoke):
    assert "`t` is a namespace; try: toolrt list 't.*'" in invoke("list", "t").stderr


def test_json_tells_all_of_a_tool(invoke):
    document = json.loads(invoke("list", "t.broken", "-o", "json").stdout)
    [tool] = document["tools"]

    assert (document["schema"], document["generation"]) == ("toolrt/v1", 1)
    assert tool["available"] is False
    assert "TOOLRT_TEST_NEVER_SET" in tool["reason"]
    assert tool["input_schema"]["type"] == "object"


def test_jsonl_is_a_tool_a_line(invoke):
    lines = invoke("list", "-o", "jsonl").stdout.splitlines()

    assert [json.loads(line)["name"] for line in lines][:2] == ["t.add", "t.broken"]


def test_broken_manifests_end_with_3(invoke, project):
    (project / "tools.d" / "bad.yaml").write_text("tools:\n  x: {descriptoin: hello}\n")

    shown = invoke("list")

    assert shown.exit_code == 3
    assert shown.stdout == ""
    assert "tools.d/bad.yaml:2:" in shown.stderr


def test_a_summary_is_the_first_sentence():
    assert summary("One thing.\nAnother.") == "One thing."
    assert summary("Version 1.2 of it\n does.") == "Version 1.2 of it does."
    assert summary("\x1b[2J") == "\\x1b[2J"
