import json

import pytest

from toolrt.faces.cli.durations import seconds


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


@pytest.mark.parametrize("verb", ["show", "run"])
@pytest.mark.parametrize("name", ["add", "ad", "other.add"])
def test_a_tool_is_found_by_the_last_part_of_its_name(invoke, verb, name):
    assert "did you mean `t.add`?" in invoke(verb, name).stderr


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


def test_resolved_tells_what_a_callable_says_itself(invoke, project):
    (project / "tools.d" / "t.yaml").write_text("tools:\n  add: {python: 'sums:add'}\n")
    (project / "sums.py").write_text('def add(a: int) -> int:\n    """Add it."""\n    return a\n')

    lines = invoke("show", "add", "--resolved").stdout.splitlines()
    document = json.loads(invoke("show", "add", "--resolved", "-o", "json").stdout)

    assert any("description: Add it. " in line and line.endswith("# signature") for line in lines)
    assert any("type: integer " in line and line.endswith("# signature") for line in lines)
    assert document["resolved"]["input_schema"]["required"] == ["a"]
    assert document["origins"]["description"] == document["origins"]["input_schema"] == "signature"


def test_resolved_keeps_what_the_manifest_says_of_a_callable(invoke):
    resolved = json.loads(invoke("show", "t.add", "--resolved", "-o", "json").stdout)

    assert "input_schema" not in resolved["resolved"]
    assert "signature" not in resolved["origins"].values()


@pytest.mark.parametrize(
    ("tool", "said"),
    [
        ("http: {target: api, url: '/a/{{ x }}', method: PUT}", "PUT https://h.example/v1/a/{{ x }}"),
        ("http: 'https://h.example/?token=hunter2-hunter2'", "GET https://h.example/?token=***"),
        ("command: [du, {-s: true, -k: false, -d: '{{ x }}', --max=: 1}, 'a b']",
         "du -s -d {{ x }} --max=1 'a b'"),
        ("shell: 'cat; ls'", "cat; ls"),
        ('shell: "cat\\nls"', "cat …"),
    ],
)  # fmt: skip
def test_the_line_of_the_kind_says_what_is_done(invoke, project, tool, said):
    (project / "tools.d" / "k.yaml").write_text(
        "targets: {api: {url: https://h.example/v1/}}\n"
        f"tools:\n  k:\n    description: K.\n    parameters: {{x: string}}\n    {tool}\n"
    )
    shown = invoke("show", "k")
    [line] = [line for line in shown.stdout.splitlines() if line.startswith("kind ")]

    assert line.split(maxsplit=2)[2] == said
    assert "hunter2" not in line


def test_the_line_of_the_kind_names_the_callable(invoke):
    assert "kind     python  sums:add\n" in invoke("show", "t.add").stdout


def test_what_is_inside_of_a_parameter_is_told_too(invoke, project):
    (project / "tools.d" / "k.yaml").write_text(
        "tools:\n  k:\n    description: K.\n    shell: 'true'\n    parameters:\n"
        "      to:\n        type: object\n        required: [zip]\n"
        "        properties: {zip: {type: integer, description: Code.}}\n"
    )

    assert "  to.zip  integer  required  Code.\n" in invoke("show", "k").stdout


def test_the_place_is_named_from_where_the_user_stands(invoke, project, monkeypatch):
    monkeypatch.chdir(project.parent)

    assert "  project/tools.d/t.yaml:3" in invoke("show", "t.add", "-p", "project").stdout


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


FULL = """
targets: {api: {url: "https://api.example.com", auth: {bearer: "${env:TOKEN}"}}}
tools:
  full:
    description: All of it.
    parameters: {q: string, day: {type: string, required: false}, file: {type: string, format: path, root: notes}}
    http: {target: api, url: /x, method: POST, query: {q: "{{ q }}", f: "{{ file }}"}, json: {day: "{{ day }}"}}
    reject: [{when: args.q == "", reason: Say what.}]
    result: {failed_when: result.ok == false, error: why, select: "items[]", text: "{{ q }}"}
"""


def test_what_is_sent_along_refused_and_shown_is_told_shortly(invoke, project, monkeypatch):
    monkeypatch.setenv("TOKEN", "hunter2hunter2")
    (project / "notes").mkdir()
    (project / "tools.d" / "f.yaml").write_text(FULL)
    shown = invoke("show", "full")
    facts = [line.split(maxsplit=1) for line in shown.stdout.splitlines() if line]

    assert "format path, below notes/" in shown.stdout
    for fact in (
        ["query", '{"q": "{{ q }}", "f": "{{ file }}"}'],
        ["json", '{"day": "{{ day }}"}'],
        ["auth", "bearer"],
        ["reject", 'args.q == "": Say what.'],
        ["failed_when", "result.ok == false"],
        ["select", "items[]"],
    ):
        assert fact in facts
    assert "hunter2" not in shown.stdout


def test_what_a_tool_does_about_failure_and_repetition_is_told(invoke, project):
    (project / "tools.d" / "r.yaml").write_text("""
tools:
  look:
    description: L.
    command: [ls]
    effect: read
    cache: 5m
    fallback: {value: {token=abcdefghi: 1}}
  bare: {description: B., command: [ls], effect: read, fallback: look}
  pay:
    description: P.
    parameters: {a: string}
    command: [echo, "{{ a }}", "{{ call.idempotency_key }}"]
    verify: {tool: bare, applied_when: "true"}
    idempotency_key: "{{ a }}"
""")

    look, bare, pay = (invoke("show", name).stdout for name in ("look", "bare", "pay"))
    document = json.loads(invoke("show", "pay", "-o", "json").stdout)

    assert "answers are kept for 5m, for each caller" in look
    assert "where the target fails: a written value" in look
    assert "where the target fails: look is called instead" in bare
    assert "bare is asked whether a lost call took effect" in pay
    assert "idempotency_key  {{ a }}" in pay
    assert document["idempotency_key"] == {"value": "{{ a }}"}
    assert document["verify"] == {"tool": "bare", "applied_when": "true"}
    assert (document["cache"], document["fallback"]) == (None, None)
