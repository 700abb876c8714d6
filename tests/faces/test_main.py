import contextlib
import importlib
import json
import os
import pkgutil
import resource
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
import yaml

import toolrt.faces.cli
from toolrt.faces.cli.main import VERBS
from toolrt.faces.cli.options import Verb


def test_the_table_of_verbs_equals_the_modules_with_a_verb():
    modules = {
        f"toolrt.faces.cli.{found.name}"
        for found in pkgutil.iter_modules(toolrt.faces.cli.__path__)
        if hasattr(importlib.import_module(f"toolrt.faces.cli.{found.name}"), "verb")
    }

    assert modules == {module for module, _ in VERBS.values()}


@pytest.mark.parametrize("name", VERBS)
def test_each_verb_has_its_name_and_help_that_begins_with_examples(invoke, name):
    verb = importlib.import_module(VERBS[name][0]).verb
    shown = invoke(name, "--help")

    assert isinstance(verb, Verb)
    assert verb.name == name
    assert shown.exit_code == 0
    assert shown.output.partition("\n\n")[2].startswith("Examples:\n")
    assert f"  toolrt {name}" in shown.output or "toolrt completion" in shown.output


def test_help_names_every_verb(invoke):
    shown = invoke("--help")

    assert shown.exit_code == 0
    assert all(f"  {name} " in shown.output for name in VERBS)


def test_no_arguments_gives_help_and_wrong_usage(invoke):
    shown = invoke()

    assert shown.exit_code == 2
    assert "Verbs:" in shown.stderr


@pytest.mark.parametrize("name", ["-h", "--help"])
def test_help_of_a_verb_is_not_taken_for_an_argument(invoke, name):
    assert "Call TOOL" in invoke("run", "t.add", "a:=1", name).output


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (["lst"], "there is no verb `lst`\nhint: did you mean `list`?\ntry: toolrt --help"),
        (["rnu"], "hint: did you mean `run`?"),
        (["console"], "there is no verb `console`\ntry: toolrt --help"),
        (["list", "--tga", "x"], "'--tga'"),
        (["--colr"], "'--color'"),
        (["run"], "try: toolrt run --help"),
        (["list", "-o", "xml"], "'xml'"),
    ],
)
def test_wrong_usage_says_what_to_try(invoke, args, said):
    shown = invoke(*args)

    assert shown.exit_code == 2
    assert shown.stdout == ""
    assert said in shown.stderr
    assert shown.stderr.startswith("error[usage]: ")
    assert "try: toolrt " in shown.stderr.splitlines()[-1]


@pytest.mark.parametrize(
    "args",
    [
        ["lst", "-o", "json"],
        ["-o", "jsonl", "list", "--tga"],
        ["list", "--output=yaml", "--tga"],
        ["list", "-qojson", "--tga"],
        ["run", "-o", "text", "--output", "json"],
        ["run", "t.add", "a", "-ojson"],
    ],
)
def test_wrong_usage_is_a_document_for_programs(invoke, args):
    shown = invoke(*args)
    document = yaml.safe_load(shown.stdout)

    assert shown.exit_code == 2
    assert (document["schema"], document["error"]["code"]) == ("toolrt/v1", "usage")
    assert document["error"].keys() == {"code", "message", "hint"}
    assert f"error[usage]: {document['error']['message']}\n" in shown.stderr


@pytest.mark.parametrize(
    "args", [["lst", "-o", "xml"], ["lst", "-o"], ["-o", "json", "lst", "-otext"]]
)
def test_a_format_that_is_none_is_text(invoke, args):
    assert invoke(*args).stdout == ""


def test_version(invoke):
    assert invoke("--version").output == f"toolrt {toolrt.__version__}\n"


@pytest.mark.parametrize("place", ["before", "after", "between"])
def test_common_options_stand_anywhere(invoke, project, tmp_path, monkeypatch, place):
    monkeypatch.chdir(tmp_path)
    common = ["-p", str(project), "-o", "jsonl"]
    args = {
        "before": [*common, "list", "t.add"],
        "after": ["list", "t.add", *common],
        "between": ["list", *common, "t.add"],
    }[place]

    shown = invoke(*args)

    assert shown.exit_code == 0
    assert shown.stdout.startswith('{"schema": "toolrt/v1", "name": "t.add"')


def test_the_later_option_wins(invoke):
    assert invoke("-o", "json", "list", "-o", "text").stdout.startswith("t.add(")


def test_the_environment_names_the_project(invoke, project, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TOOLRT_PROJECT", str(project))

    assert invoke("list").exit_code == 0


def test_no_project_is_not_found_and_says_how_to_make_one(invoke, tmp_path, monkeypatch):
    (tmp_path / "empty").mkdir()
    monkeypatch.chdir(tmp_path / "empty")

    shown = invoke("list")

    assert shown.exit_code == 7
    assert "try: toolrt init" in shown.stderr


def test_no_project_is_a_document_for_programs(invoke, tmp_path):
    shown = invoke("list", "-p", str(tmp_path / "none"), "-o", "json")

    assert shown.exit_code == 7
    assert json.loads(shown.stdout)["error"]["code"] == "project"


@pytest.mark.parametrize("verb", [["list"], ["show", "t.add"], ["run", "t.add", "a=1"]])
def test_broken_manifests_are_a_document_for_programs(invoke, project, verb):
    (project / "tools.d" / "bad.yaml").write_text("tools:\n  x: {descriptoin: hello}\n")

    shown = invoke(*verb, "-o", "json")
    document = json.loads(shown.stdout)

    assert shown.exit_code == 3
    assert document["error"]["code"] == "manifests-invalid"
    assert document["diagnostics"][0]["file"] == "tools.d/bad.yaml"
    assert shown.stderr.splitlines()[1:] == ["try: toolrt check"]


@pytest.mark.parametrize("verb", [["check"], ["list"], ["run", "t.add", "a=1"]])
def test_files_are_named_from_where_the_user_stands(invoke, project, monkeypatch, verb):
    (project / "tools.d" / "bad.yaml").write_text("tools:\n  x: {descriptoin: hello}\n")
    monkeypatch.chdir(project / "tools.d")
    inside = invoke(*verb).output
    monkeypatch.chdir(project.parent)
    outside = invoke(*verb, "-p", "project").output

    assert "\nbad.yaml:2:" in f"\n{inside}"
    assert "\nproject/tools.d/bad.yaml:2:" in f"\n{outside}"
    assert verb == ["check"] or "try: toolrt -p project check" in outside


def test_a_project_without_tools_says_what_comes_next(invoke, tmp_path):
    (tmp_path / "none" / "tools.d").mkdir(parents=True)

    for verb in ("check", "list"):
        shown = invoke(verb, "-p", str(tmp_path / "none"))
        assert shown.exit_code == 0
        assert shown.output.startswith("no tools yet: ")
        assert f"try: toolrt -p {tmp_path}/none init" in shown.output


def test_a_named_folder_must_be_the_project_itself(invoke, project):
    (project / "inner").mkdir()

    shown = invoke("-p", "inner", "list")

    assert shown.exit_code == 7
    assert "inner is not a toolrt project" in shown.stderr


def test_a_bug_writes_a_report_and_shows_no_traceback(invoke, monkeypatch, tmp_path):
    def bug(*_args, **_more):
        raise ZeroDivisionError("inside")

    monkeypatch.setattr("toolrt.runtime.load", bug)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))

    shown = invoke("list", "--tag", "x", "-q")
    [report] = tmp_path.glob("toolrt-bug-*.txt")

    assert shown.exit_code == 70
    assert "Traceback" not in shown.stderr
    assert str(report) in shown.stderr
    assert "ZeroDivisionError: inside" in report.read_text()
    assert report.stat().st_mode & 0o077 == 0


def test_a_bug_shows_its_traceback_when_asked(invoke, monkeypatch, tmp_path):
    monkeypatch.setattr("toolrt.runtime.load", None)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))

    assert "Traceback" in invoke("-v", "list").stderr


def test_a_report_keeps_values_to_itself(invoke, monkeypatch, tmp_path):
    monkeypatch.setattr("toolrt.runtime.open", None)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))

    invoke("run", "t.echo", "text=hunter2", "--json", '{"text": "hunter3"}')
    [report] = tmp_path.glob("toolrt-bug-*.txt")

    assert "run t.echo text=… --json …" in report.read_text()
    assert "hunter" not in report.read_text()


def test_start_up_takes_at_most_twice_the_import_of_click(project):
    ours, clicks = (
        min(cpu_s(sys.executable, *command) for _ in range(5))
        for command in (("-m", "toolrt", "--help"), ("-c", "import click"))
    )

    assert ours <= 2 * clicks


def cpu_s(*command):
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, check=True, capture_output=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def test_a_reader_that_goes_away_is_no_error(project):
    process = subprocess.Popen(
        [sys.executable, "-m", "toolrt", "list", "-o", "json"],
        cwd=project, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip
    process.stdout.close()

    assert process.wait(30) == 0
    assert process.stderr.read() == b""
    process.stderr.close()


def test_output_that_cannot_be_written_is_an_error(project):
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            [sys.executable, "-m", "toolrt", "list"],
            cwd=project, stdout=full, stderr=subprocess.PIPE, text=True, check=False,
        )  # fmt: skip

    assert done.returncode == 1
    assert "No space left" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("locale", ["C", "POSIX"])
def test_any_locale_shows_any_text(child, locale):
    shown = child(
        "run",
        "t.echo",
        "text=東京",
        env={"LC_ALL": locale, "PYTHONIOENCODING": "ascii"},
    )

    assert shown.returncode == 0
    assert shown.stdout == "\\u6771\\u4eac\n"


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_an_interrupted_call_ends_with_130_and_leaves_nothing_behind(project, number):
    seconds = f"3{os.getpid()}.{number:d}"
    process = subprocess.Popen(
        [sys.executable, "-m", "toolrt", "run", "t.nap", f"seconds={seconds}"],
        cwd=project, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    wait_until(lambda: is_running(seconds))
    process.send_signal(number)
    out, err = process.communicate(timeout=10)

    assert process.returncode == 130
    assert (out, err.strip()) == ("", "interrupted")
    wait_until(lambda: not is_running(seconds))


def test_a_batch_that_is_called_off_says_how_far_it_came(project):
    seconds = f"3{os.getpid()}.9"
    nap = {"tool": "t.nap", "arguments": {"seconds": float(seconds)}}
    calls = [{"tool": "t.echo", "arguments": {"text": "a"}}, nap, nap]
    (project / "calls.json").write_text(json.dumps(calls))
    process = subprocess.Popen(
        [sys.executable, "-m", "toolrt", "run", "--batch", "calls.json", "--serial"],
        cwd=project, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    wait_until(lambda: is_running(seconds))
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=10)

    assert (process.returncode, out) == (130, "")
    assert err == "1 of 3 calls were over by then: toolrt history list\ninterrupted\n"


def is_running(argument):
    return any(
        words[0].endswith(b"sleep") and argument.encode() in words for words in command_lines()
    )


def command_lines():
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        with contextlib.suppress(OSError):
            yield path.read_bytes().split(b"\0")


def wait_until(holds):
    until = time.monotonic() + 20
    while not holds():
        assert time.monotonic() < until
        time.sleep(0.02)
