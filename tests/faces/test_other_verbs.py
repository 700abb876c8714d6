import json
import shutil

import pytest

from toolrt.faces.cli.names import names_of


@pytest.mark.parametrize("which", ["tools", "policies", "project"])
def test_schema_is_json_schema(invoke, which):
    document = json.loads(invoke("schema", which).stdout)

    assert "2020-12" in document["$schema"]


def test_schema_is_of_tools_when_not_said(invoke):
    assert invoke("schema").stdout == invoke("schema", "tools").stdout


def test_schema_needs_no_project(invoke, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    assert invoke("schema").exit_code == 0


def findings(shown):
    return {one["name"]: one for one in json.loads(shown.stdout)["findings"]}


def test_doctor_says_what_works(invoke):
    shown = invoke("doctor", "-o", "json")
    found = findings(shown)

    assert shown.exit_code == 0
    assert found["python"]["status"] == "ok"
    assert found["t.add"]["status"] == "ok"
    assert found["t.broken"]["status"] == "missing"
    assert "TOOLRT_TEST_NEVER_SET" in found["t.broken"]["detail"]


def test_doctor_ends_with_1_when_manifests_are_broken(invoke, project):
    (project / "tools.d" / "bad.yaml").write_text("tools: [\n")
    shown = invoke("doctor", "-o", "json")

    assert shown.exit_code == 1
    assert findings(shown)["manifests"]["status"] == "broken"


def test_doctor_works_without_a_project(invoke, tmp_path, monkeypatch):
    (tmp_path / "empty").mkdir()
    monkeypatch.chdir(tmp_path / "empty")
    shown = invoke("doctor")

    assert shown.exit_code == 0
    assert "toolrt init" in shown.stdout


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_prints_a_script(invoke, shell):
    if shell == "bash" and not shutil.which("bash"):
        pytest.skip("bash is needed to tell its version")
    shown = invoke("completion", shell)

    assert shown.exit_code == 0
    assert f"_TOOLRT_COMPLETE={shell}_complete" in shown.stdout


def completed(child, line, word):
    shown = child(
        env={"_TOOLRT_COMPLETE": "bash_complete", "COMP_WORDS": line, "COMP_CWORD": str(word)}
    )
    return [line.partition(",")[2] for line in shown.stdout.splitlines()]


def test_verbs_complete(child):
    assert completed(child, "toolrt co", 1) == ["completion"]


@pytest.mark.parametrize("verb", ["run", "show"])
def test_names_of_tools_complete(child, verb):
    assert completed(child, f"toolrt {verb} t.", 2) == [
        "t.add", "t.broken", "t.echo", "t.fails", "t.nap",
    ]  # fmt: skip


def test_names_complete_for_the_named_project(child, project, tmp_path):
    shutil.copytree(project, tmp_path / "other")
    (tmp_path / "other" / "tools.d" / "t.yaml").write_text("tools:\n  only: {shell: x}\n")

    assert completed(child, "toolrt -p ../other run o", 4) == ["only"]


def test_names_are_read_without_parsing(project):
    (project / "tools.d" / "t.yaml").write_text(
        "# comment\n"
        "tools: # all of them\n"
        "\n"
        "    first:\n"
        "        description: 'text: with colon'\n"
        "        shell: |\n"
        "          echo: no\n"
        "    # another: comment\n"
        "    second: {shell: x}\n"
        "namespace: late\n"
        "defaults:\n"
        "  timeout: 5s\n"
    )

    assert names_of(project) == ["late.first", "late.second"]
