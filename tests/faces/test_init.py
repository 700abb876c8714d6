import json
import shlex
import subprocess
import sys

import pytest


@pytest.fixture
def empty(tmp_path, monkeypatch):
    folder = tmp_path / "a folder"
    folder.mkdir()
    monkeypatch.chdir(folder)
    return folder


def test_the_commands_it_prints_work_as_they_stand(empty, invoke, monkeypatch):
    monkeypatch.chdir(empty)
    shown = invoke("init", "my demo")
    commands = [line.strip() for line in shown.stdout.splitlines() if "toolrt -p" in line]

    done = [
        subprocess.run(
            [sys.executable, "-m", *shlex.split(command)],
            cwd=empty, capture_output=True, text=True, check=False,
        )
        for command in commands
    ]  # fmt: skip

    assert [each.returncode for each in done] == [0, 0, 0, 6]
    assert done[0].stdout == "ok: 5 tools in 4 files\n"
    assert "policy coverage: 3 of 3 rules matched (100 %)" in done[1].stdout
    assert json.loads(done[2].stdout)["words"] == 4
    assert "try: toolrt -p 'my demo' approvals approve " in done[3].stderr


def test_its_first_check_and_test_have_nothing_to_complain_about(empty, invoke, monkeypatch):
    monkeypatch.chdir(empty)
    invoke("init")

    checked, tested = invoke("check", "--strict", "-q"), invoke("test")

    assert (checked.stdout, checked.stderr) == ("ok: 5 tools in 4 files\n", "")
    assert (checked.exit_code, tested.exit_code) == (0, 0)
    assert "failed" not in tested.stdout
    assert "skipped" not in tested.stdout


def test_the_tool_that_asks_writes_once_somebody_said_yes(empty, invoke, monkeypatch):
    monkeypatch.chdir(empty)
    invoke("init")
    assert invoke("run", "notes.add", "text=milk").exit_code == 6
    assert not (empty / "notes.txt").exists()

    question = invoke("approvals", "list", "--ids").stdout.strip()
    done = invoke("approvals", "approve", question, "--run")

    assert (done.exit_code, done.stdout) == (0, "milk\n")
    assert (empty / "notes.txt").read_text() == "milk\n"


def test_without_its_rules_nothing_runs(empty, invoke, monkeypatch):
    monkeypatch.chdir(empty)
    invoke("init")
    (empty / "policies.d" / "rules.yaml").unlink()

    assert "error[no-policy]" in invoke("check").stdout
    assert invoke("run", "text.count_words", "text=a").exit_code == 3


def test_there_is_a_tool_of_each_kind(empty, invoke, monkeypatch):
    monkeypatch.chdir(empty)
    invoke("init")
    tools = json.loads(invoke("list", "-o", "json").stdout)["tools"]

    assert {tool["kind"] for tool in tools} == {"python", "command", "shell", "http"}
    assert invoke("check", "--strict").exit_code == 0
    assert invoke("run", "files.size").exit_code == 0
    assert "tools.d" in invoke("run", "files.largest", "count=3").stdout


def test_the_modeline_points_to_a_schema(empty, invoke, monkeypatch):
    monkeypatch.chdir(empty)
    invoke("init")
    first = (empty / "tools.d" / "text.yaml").read_text().splitlines()[0]
    schema = (empty / "tools.d" / first.partition("$schema=")[2]).resolve()

    assert "$schema" in json.loads(schema.read_text())


def test_dry_run_writes_nothing(empty, invoke, monkeypatch):
    monkeypatch.chdir(empty)
    shown = invoke("init", "--dry-run")

    assert shown.exit_code == 0
    assert "would write tools.d/text.yaml" in shown.stdout
    assert list(empty.iterdir()) == []


@pytest.mark.parametrize(
    "name", ["tools.d/notes.txt", "policies.d/mine.yaml", "text_tools.py", "toolrt.yaml"]
)
def test_nothing_is_overwritten(empty, invoke, monkeypatch, name):
    monkeypatch.chdir(empty)
    (empty / name).parent.mkdir(exist_ok=True)
    (empty / name).write_text("# mine\n")

    shown = invoke("init")

    assert shown.exit_code == 2
    assert f"error[usage]: {name} exists already" in shown.stderr
    assert (empty / name).read_text() == "# mine\n"
    assert not (empty / "tools.d" / "service.yaml").exists()


def test_the_second_time_there_is_nothing_to_do(empty, invoke, monkeypatch):
    monkeypatch.chdir(empty)
    invoke("init")
    shown = invoke("init")

    assert shown.exit_code == 0
    assert "nothing to do" in shown.stdout


def test_a_gitignore_of_ones_own_stays(empty, invoke, monkeypatch):
    monkeypatch.chdir(empty)
    (empty / ".gitignore").write_text("*.log\n")
    shown = invoke("init")

    assert (empty / ".gitignore").read_text() == "*.log\n"
    assert "for .gitignore: `.toolrt/*` and `!.toolrt/schema/`" in shown.stderr


def test_git_keeps_the_schemas_and_nothing_else_of_what_toolrt_makes(empty, invoke, monkeypatch):
    monkeypatch.chdir(empty)
    invoke("init")
    (empty / ".toolrt" / "cache").write_text("")
    subprocess.run(["git", "init", "-q"], cwd=empty, check=True)
    subprocess.run(["git", "add", "."], cwd=empty, check=True)
    listed = subprocess.run(
        ["git", "ls-files"], cwd=empty, capture_output=True, text=True, check=True
    )
    kept = [name for name in listed.stdout.splitlines() if name.startswith(".toolrt/")]

    assert kept == [f".toolrt/schema/{which}.json" for which in ("policies", "project", "tools")]


@pytest.mark.parametrize("name", ["text.yaml", "mine.yml"])
def test_where_tools_are_only_the_schemas_are_written(empty, invoke, monkeypatch, name):
    monkeypatch.chdir(empty)
    (empty / "tools.d").mkdir()
    (empty / "tools.d" / name).write_text("# mine\n")

    shown = invoke("init")

    assert shown.exit_code == 0
    assert "tools.d has files already: no samples" in shown.stderr
    assert [path.name for path in (empty / "tools.d").iterdir()] == [name]
    assert (empty / "tools.d" / name).read_text() == "# mine\n"
    assert {path.name for path in empty.iterdir()} == {"tools.d", ".toolrt"}


def test_a_sample_that_was_deleted_stays_deleted(empty, invoke, monkeypatch):
    monkeypatch.chdir(empty)
    invoke("init")
    (empty / "tools.d" / "service.yaml").unlink()
    (empty / ".toolrt" / "schema" / "tools.json").unlink()

    document = json.loads(invoke("init", "-o", "json").stdout)

    assert document["files"] == [".toolrt/schema/tools.json"]
    assert not (empty / "tools.d" / "service.yaml").exists()


def test_a_place_that_cannot_be_written_is_an_error(empty, invoke, monkeypatch):
    monkeypatch.chdir(empty)
    (empty / "file").write_text("")
    shown = invoke("init", "file")

    assert shown.exit_code == 2
    assert "Traceback" not in shown.stderr
