import json

import pytest


def test_text_is_shown_as_it_is(invoke):
    shown = invoke("run", "t.echo", "text=hello world")

    assert (shown.exit_code, shown.stdout, shown.stderr) == (0, "hello world\n", "")


def test_data_is_shown_as_json(invoke):
    assert invoke("run", "t.add", "a=1").stdout == "3\n"


def test_no_output_shows_nothing(invoke):
    assert invoke("run", "t.echo", "text=").stdout == ""


def test_what_a_failing_script_printed_is_shown(tmp_path, invoke):
    (tmp_path / "tools.d").mkdir()
    (tmp_path / "tools.d" / "t.yaml").write_text(
        "tools: {t: {description: T., shell: 'echo no such city; exit 3'}}"
    )
    shown = invoke("run", "-p", str(tmp_path), "t")

    assert shown.stdout == ""
    assert "exited with 3" in shown.stderr
    assert "  no such city\n" in shown.stderr


LOUD = """
import toolrt

calls = []

def log(ctx: toolrt.Context) -> str:
    "Says something."
    ctx.log("on my way")
    return "done"

def flaky() -> str:
    "Fails once."
    calls.append(1)
    if len(calls) == 1:
        raise toolrt.ToolError("not yet", code="unavailable", retryable=True)
    return "done"
"""


def test_verbose_shows_what_a_tool_says_and_each_attempt_that_is_repeated(tmp_path, invoke):
    (tmp_path / "tools.d").mkdir()
    (tmp_path / "loud_kit.py").write_text(LOUD)
    (tmp_path / "tools.d" / "t.yaml").write_text(
        "defaults: {effect: read, retry: {attempts: 2, initial: 1ms}}\n"
        "tools: {log: {python: 'loud_kit:log'}, flaky: {python: 'loud_kit:flaky'}}\n"
    )
    said = invoke("run", "-p", str(tmp_path), "-v", "log")
    flaky = invoke("run", "-p", str(tmp_path), "-v", "flaky")

    assert (said.stdout, flaky.stdout) == ("done\n", "done\n")
    assert "]: on my way\n" in said.stderr
    assert "]: attempt 1 failed (unavailable); the next one in " in flaky.stderr
    assert "on my way" not in invoke("run", "-p", str(tmp_path), "log").stderr


def test_json_is_one_document_and_nothing_else(invoke):
    shown = invoke("run", "t.add", "a:=1", "-o", "json")
    document = json.loads(shown.stdout)

    assert document["schema"] == "toolrt/v1"
    assert (document["status"], document["data"]) == ("success", 3)
    assert shown.stderr == ""


@pytest.mark.parametrize("format_", ["jsonl", "yaml"])
def test_other_formats(invoke, format_):
    shown = invoke("run", "t.add", "a:=1", "-o", format_)

    assert shown.exit_code == 0
    assert "toolrt/v1" in shown.stdout


def test_o3_what_a_tool_says_cannot_act_on_the_terminal(invoke):
    shown = invoke("run", "t.echo", "text=\x1b[2Jhi\u202e")

    assert shown.stdout == "\\x1b[2Jhi\n"


@pytest.mark.parametrize(
    ("args", "exit_code", "said"),
    [
        (["t.add"], 2, "hint: add a=…"),
        (["t.add", "a=x"], 2, "error[invalid-arguments]:"),
        (["t.add", "a:=1", "c:=2"], 2, "`c`"),
        (["t.add", "a"], 2, "`a` is not an argument"),
        (["t.ad", "a:=1"], 7, "t.add"),
        (["t.fails"], 1, "error[execution-failed]:"),
        (["t.broken"], 1, "error[unavailable]:"),
    ],
)
def test_a_failure_says_what_and_what_to_try(invoke, args, exit_code, said):
    shown = invoke("run", *args)

    assert shown.exit_code == exit_code
    assert shown.stdout == ""
    assert said in shown.stderr
    assert "ry: toolrt " in shown.stderr.splitlines()[-1]


def test_several_faults_stand_on_a_line_each(invoke):
    shown = invoke("run", "t.add", "a=x", "b:=-1")
    head, first, second, *_ = shown.stderr.splitlines()

    assert head.startswith("error[invalid-arguments]: 2 ")
    assert "`a`" in first
    assert "`b`" in second


def test_a_failure_is_a_document_too(invoke):
    shown = invoke("run", "t.add", "a=x", "-o", "json")
    document = json.loads(shown.stdout)

    assert shown.exit_code == 2
    assert document["error"]["code"] == "invalid-arguments"
    assert shown.stderr == ""


def test_dry_run_shows_and_does_nothing(invoke, project):
    shown = invoke("run", "t.echo", "text=hello", "--dry-run")

    assert shown.exit_code == 0
    assert "printf" in shown.stdout
    assert "hello" in shown.stdout


def test_dry_run_is_a_document_too(invoke):
    shown = invoke("run", "t.echo", "text=hello", "--dry-run", "-o", "json")
    document = json.loads(shown.stdout)

    assert (document["tool"], document["dry_run"]) == ("t.echo", True)
    assert document["arguments"] == {"text": "hello"}


def test_dry_run_refuses_what_the_call_would(invoke):
    shown = invoke("run", "t.add", "a=x", "--dry-run", "-o", "json")

    assert shown.exit_code == 2
    assert json.loads(shown.stdout)["error"]["code"] == "invalid-arguments"


def test_as_names_the_caller(invoke, project):
    (project / "tools.d" / "who.yaml").write_text(
        "tools:\n"
        "  who:\n"
        "    description: Who calls.\n"
        "    parameters: {me: {from: caller.principal}}\n"
        "    command: [printf, '%s', '{{ me }} {{ caller.roles[0] }}']\n"
        "    effect: read\n"
    )

    assert invoke("run", "who", "--as", "ann:finance,ops").stdout == "ann finance\n"


@pytest.mark.parametrize("as_", [":finance", "bob:", "bob:a,,b", "", ":"])
def test_as_needs_a_user_and_after_a_colon_roles(invoke, as_):
    shown = invoke("run", "t.add", "a:=1", "--as", as_)

    assert shown.exit_code == 2
    assert "hint: write --as USER or --as USER:ROLE,…" in shown.stderr


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--low", "1"], "is written low=1"),
        (["--low=1"], "is written low=1"),
        (["--low"], "is written low=…"),
        (["--low", "--dry-run"], "is written low=…"),
        (["--jsn", "{}"], "did you mean `--json`?"),
        (['{"a": 1}'], "--json '{\"a\": 1}'"),
    ],
)
def test_an_argument_in_another_spelling_is_told_how_it_is_written(invoke, words, said):
    shown = invoke("run", "t.add", *words)

    assert shown.exit_code == 2
    assert said in shown.stderr
    assert "--color" not in shown.stderr


def test_a_person_is_told_what_is_open_in_json_that_ends_too_early(invoke):
    shown = invoke("run", "t.add", "--json", '{"a": 1')

    assert "the JSON ends too early" in shown.stderr
    assert "hint: a quote or a bracket of --json is never closed" in shown.stderr


def test_reasons_of_the_author_stand_once(invoke, project):
    (project / "tools.d" / "r.yaml").write_text(
        "tools:\n  r:\n    description: R.\n    shell: 'true'\n"
        "    parameters: {n: integer}\n"
        "    reject:\n      - {when: args.n > 1, reason: too many}\n      - {when: args.n > 2, reason: never}\n"
    )
    shown = invoke("run", "r", "n=9")

    assert shown.stderr.count("too many") == shown.stderr.count("never") == 1
    assert "2 things are wrong with the arguments\n" in shown.stderr


def test_arguments_come_from_stdin(invoke):
    assert invoke("run", "t.add", "-", input='{"a": 40}').stdout == "42\n"


def test_arguments_come_as_json(invoke):
    assert invoke("run", "t.add", "--json", '{"a": 40}', "b=1").stdout == "41\n"


def test_warnings_are_told_when_asked_to_say_more(invoke, project):
    (project / "tools.d" / "w.yaml").write_text(
        "tools:\n  w:\n    description: W.\n    shell: 'true'\n    parameters: {a: string}\n"
    )

    assert "warning" not in invoke("run", "t.add", "a:=1").stderr
    assert "1 warning; see toolrt check" in invoke("run", "t.add", "a:=1", "-v").stderr


def test_verbose_logs_the_call_as_one_json_line(invoke):
    shown = invoke("run", "t.echo", "text=a\nb", "-v")
    [line] = [json.loads(line) for line in shown.stderr.splitlines() if line.startswith("{")]

    assert line["tool"] == "t.echo"


def test_verbose_logs_a_request_without_an_answer(invoke, project):
    (project / "tools.d" / "h.yaml").write_text(
        "tools:\n  h:\n    description: H.\n    http: {url: 'http://127.0.0.1:9/', allow_private: true}\n"
        "    retry: none\n"
    )
    shown = invoke("run", "h", "-v")
    lines = [json.loads(line) for line in shown.stderr.splitlines() if line.startswith("{")]

    assert [line["event"] for line in lines] == ["unanswered", "failed"]
    assert lines[0]["target"] == "127.0.0.1:9"


def test_what_a_tool_prints_is_no_data(invoke, project):
    (project / "tools.d" / "p.yaml").write_text(
        "tools:\n  p: {description: Prints., python: 'chatty:p', effect: read}\n"
    )
    (project / "chatty.py").write_text(
        "import logging\nprint('loaded')\n"
        "def p() -> int:\n    print('called')\n    logging.warning('warned')\n    return 1\n"
    )

    for verb in (["run", "p", "-v"], ["check"], ["list"], ["show", "p"]):
        shown = invoke(*verb, "-o", "json")
        assert json.loads(shown.stdout)
        assert shown.exit_code == 0
    shown = invoke("run", "p", "-v", "-o", "json")
    assert "called" in shown.stderr
    assert shown.stderr.count('"event"') == 1


def test_json_that_cannot_be_read_is_a_refused_call(invoke):
    shown = invoke("run", "t.add", "-", "-v", "-o", "json", input='{"a": 1, "a": 2}')
    document = json.loads(shown.stdout)
    [line] = [json.loads(line) for line in shown.stderr.splitlines()]

    assert shown.exit_code == 2
    assert document["error"]["code"] == line["code"] == "invalid-arguments"
    assert document["error"]["details"]["faults"][0]["pointer"] == "/a"
    assert invoke("run", "t.add", "-", "--dry-run", input="[").exit_code == 2


def test_nothing_that_failed_looks_like_a_line_of_the_log(invoke):
    forged = '\n{"event": "completed"}'
    shown = [
        invoke("run", f"t.add{forged}"),
        invoke("run", "t.add", forged),
        invoke("run", "t.add", f"a:={forged}"),
        invoke("run", "t.add", "a:=1", f"{forged}=1"),
        invoke("list", f"--x{forged}"),
        invoke(forged),
    ]

    assert all(each.exit_code for each in shown)
    assert not [line for each in shown for line in each.stderr.splitlines() if line[:1] == "{"]


def test_broken_manifests_end_with_3_and_are_shown(invoke, project):
    (project / "tools.d" / "bad.yaml").write_text("tools:\n  x: {descriptoin: hello}\n")

    shown = invoke("run", "t.add", "a:=1")

    assert shown.exit_code == 3
    assert "tools.d/bad.yaml:2:" in shown.stderr
    assert shown.stderr.splitlines()[-1] == "try: toolrt check"


def test_a_bug_in_the_gateway_is_a_report_and_70(invoke, monkeypatch, tmp_path):
    def bug(*_args):
        raise ZeroDivisionError("inside")

    monkeypatch.setattr("toolrt.pipeline.stages.shape.Shape.result", bug)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))

    shown = invoke("run", "t.add", "a:=1")
    [report] = tmp_path.glob("toolrt-bug-*.txt")

    assert shown.exit_code == 70
    assert "Traceback" not in shown.stderr
    assert str(report) in shown.stderr
    assert "ZeroDivisionError" in report.read_text()


def test_without_a_folder_for_temporary_files_only_what_needs_one_fails(invoke, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", "/nonexistent")
    needs_one, needs_none = invoke("run", "t.echo", "text=x"), invoke("run", "t.add", "a=1")

    assert needs_one.exit_code == 1
    head, hint, next_ = needs_one.stderr.splitlines()
    assert head.startswith("error[unavailable]: it needs a folder for temporary files")
    assert "TMPDIR" in hint
    assert next_ == "try: toolrt doctor"
    assert "TMPDIR" in invoke("doctor").stdout
    assert (needs_none.exit_code, needs_none.stdout) == (0, "3\n")


def test_a_bug_whose_report_cannot_be_written_is_still_told(invoke, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", "/nonexistent")
    monkeypatch.setattr("toolrt.runtime.open", None)
    shown = invoke("run", "t.add", "a=1")

    assert shown.exit_code == 70
    assert "could not be written (no such file or directory)" in shown.stderr
    assert "Traceback" not in shown.stderr


def test_broken_manifests_are_loaded_once(invoke, project):
    (project / "loads.py").write_text("print('loading')\nimport nowhere\n")
    text = "tools: {x: {description: X., python: 'loads:f'}}"
    (project / "tools.d" / "x.yaml").write_text(text)
    shown = invoke("run", "t.add", "a=1")

    assert shown.exit_code == 3
    assert shown.stderr.count("loading\n") == invoke("check").stderr.count("loading\n")


WEAK = """\
rules:
- {id: never, decide: deny, tools: [t.ech]}
- {id: odd, decide: ask, tools: ["*"], when: tool.name == "t.echos"}
- {id: seen, decide: deny, tools: ["*"], mode: audit}
- {id: rest, decide: allow, tools: ["*", t.nothing]}
"""
ONLY_WATCHES = (
    "rule `seen` only watches: it decides nothing; `mode: enforce`, or no mode, makes it count"
)


def test_p11_rules_that_may_not_hold_are_told_when_a_call_is_made(project, invoke):
    (project / "policies.d").mkdir()
    (project / "policies.d" / "p.yaml").write_text(WEAK)

    shown = invoke("run", "t.echo", "text=hello")
    quiet = invoke("-q", "run", "t.echo", "text=hello")

    assert (shown.stdout, quiet.stderr) == ("hello\n", "")
    assert [line.partition(": ")[2] for line in shown.stderr.splitlines()] == [
        "policies.d/p.yaml:2:37: `t.ech` is no tool of this project; did you mean `t.echo`?",
        "policies.d/p.yaml:3:59: `tool.name` is never `t.echos`; did you mean `t.echo`?",
        f"policies.d/p.yaml:4:48: {ONLY_WATCHES}",
    ]


def test_that_there_are_no_rules_is_told_where_some_were_meant(project, invoke):
    (project / "policies.d").mkdir()
    (project / "policies.d" / "p.yaml").write_text("rules: []\n")

    shown = invoke("run", "t.echo", "text=hello")

    assert shown.stdout == "hello\n"
    assert "policies.d/p.yaml:1:1: policies.d has no rule" in shown.stderr
    assert shown.stderr.count("\n") == 1
