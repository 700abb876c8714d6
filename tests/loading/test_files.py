import os
import stat
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory, gettempdir

import pytest

from toolrt.loading import stock
from toolrt.loading.loader import load_files
from toolrt.loading.stock import Stock
from toolrt.runtime import find_project
from toolrt.testing import write_files

RULES = "rules: [{id: a, decide: deny, tools: ['*']}]\n"


@pytest.fixture
def project(tmp_path):
    for folder in ("tools.d", "policies.d"):
        (tmp_path / folder).mkdir()
    return tmp_path


def found(project):
    files = load_files(Stock(project))
    return [(each.file, each.line, each.code, each.message) for each in files.diagnostics()]


ODD = {
    "a pipe": (os.mkfifo, "it is no regular file"),
    "a folder": (os.mkdir, "it is no regular file"),
    "a device": (lambda path: path.symlink_to("/dev/zero"), "it is no regular file"),
    "a link to nowhere": (lambda path: path.symlink_to("gone"), "no such file or directory"),
    "a link to itself": (lambda path: path.symlink_to(path.name), "too many levels"),
}


@pytest.mark.parametrize("file", ["tools.d/a.yaml", "policies.d/a.yml", "toolrt.yaml"])
@pytest.mark.parametrize(("make", "why"), ODD.values(), ids=ODD)
def test_p8_what_is_named_as_a_manifest_and_cannot_be_read_is_an_error(project, file, make, why):
    make(project / file)

    [(where, line, code, message)] = found(project)

    assert (where, line, code) == (file, 1, "unreadable-file")
    assert why in message


def test_p8_a_folder_of_rules_that_is_none_is_an_error(project):
    (project / "policies.d").rmdir()
    (project / "policies.d").write_text(RULES)
    [(where, _, code, message)] = found(project)
    (project / "policies.d").unlink()
    (project / "policies.d").symlink_to("gone")

    assert (where, code) == ("policies.d", "unreadable-file")
    assert "not a directory" in message
    assert [each[2] for each in found(project)] == ["unreadable-file"]


def test_no_folder_is_no_error(tmp_path):
    assert found(tmp_path) == []


@pytest.mark.parametrize("name", [".a.yaml", "#a.yaml", "a.yaml~", "a.yaml.swp", "4913"])
def test_l4_what_editors_leave_behind_is_passed_over(project, name):
    (project / "policies.d" / name).symlink_to("gone")

    assert found(project) == []


def test_of_a_huge_file_only_the_start_is_read(project):
    with (project / "tools.d" / "a.yaml").open("wb") as file:
        file.truncate(1 << 40)

    assert [each[2] for each in found(project)] == ["too-large"]


CLOSED = """
import os, pathlib, sys
from toolrt.loading.loader import load_files
from toolrt.loading.stock import Stock
project, closed = map(pathlib.Path, sys.argv[1:])
load_files(Stock(project)).diagnostics()  # so that nothing is left to import
closed.chmod(0)
os.setuid(65534)
for each in load_files(Stock(project)).diagnostics():
    print(each.file, each.code, each.message)
"""


@pytest.fixture
def open_to_all():
    """A folder that every user can reach, unlike those that pytest gives."""
    place = Path(gettempdir())
    place = place if place.stat().st_mode & stat.S_IXOTH else place.parent
    with TemporaryDirectory(prefix="toolrt-test-", dir=place) as folder:
        Path(folder).chmod(0o755)
        yield Path(folder)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become somebody else")
@pytest.mark.parametrize("closed", ["tools.d", "tools.d/a.yaml", "policies.d", "toolrt.yaml"])
def test_p8_what_this_user_may_not_read_is_an_error(open_to_all, closed):
    project = open_to_all
    for folder in ("tools.d", "policies.d"):
        (project / folder).mkdir()
    (project / "toolrt.yaml").write_text("vars: {a: 1}\n")
    (project / "tools.d" / "a.yaml").write_text("tools: {}\n")
    for each in project.rglob("*"):
        each.chmod(0o755)

    command = [sys.executable, "-c", CLOSED, str(project), str(project / closed)]
    shown = subprocess.run(command, capture_output=True, text=True, check=False)

    assert (shown.stdout.splitlines(), shown.stderr) == (
        [f"{closed} unreadable-file {closed} cannot be read: permission denied"],
        "",
    )


def test_p8_a_file_that_vanishes_under_way_is_an_error(project, monkeypatch):
    (project / "tools.d" / "a.yaml").write_text("tools: {}\n")
    listed = stock.manifest_files

    def listed_then_gone(folder):
        files = listed(folder)
        for file in files:
            file.unlink()
        return files

    monkeypatch.setattr(stock, "manifest_files", listed_then_gone)

    assert [(where, code) for where, _, code, _ in found(project)] == [
        ("tools.d/a.yaml", "unreadable-file")
    ]


def test_p8_memory_under_the_name_of_a_manifest_is_an_error(project):
    (project / "tools.d" / "a.yaml").symlink_to("/proc/self/mem")

    assert [each[2] for each in found(project)] == ["unreadable-file"]


@pytest.mark.parametrize("name", ["a.YAML", "a.Yml", "A.yML"])
def test_p8_rules_count_however_the_ending_of_their_file_is_spelt(project, name):
    (project / "policies.d" / name).write_text(RULES)

    [written] = load_files(Stock(project)).policies

    assert [rule.id for rule in written.policies.rules] == ["a"]


def not_read(project):
    files = load_files(Stock(project))
    return [
        (each.file, each.severity, each.message, each.hint)
        for each in files.diagnostics()
        if each.code == "not-read"
    ]


def test_p8_rules_in_a_subfolder_are_an_error_and_tools_there_a_warning(project):
    rules = ("policies.d/sub/x.yaml", "policies.d/sub/deep/er/y.YML", "policies.d/sub/notes.txt")
    write_files(project, dict.fromkeys(rules, RULES) | {"tools.d/more/t.yaml": "tools: {}\n"})

    assert not_read(project) == [
        (
            "policies.d/sub",
            "error",
            "`policies.d/sub` is a folder: its 2 files are not read",
            "move them up into `policies.d`",
        ),
        (
            "tools.d/more",
            "warning",
            "`tools.d/more` is a folder: its 1 file is not read",
            "move it up into `tools.d`",
        ),
    ]
    assert load_files(Stock(project)).has_errors()


@pytest.mark.parametrize("name", ["..data/a.yaml", ".git/a.yaml", "sub/.git/a.yaml", "sub/a.json"])
def test_p8_hidden_subfolders_and_those_without_manifests_are_passed_over(project, name):
    write_files(project / "policies.d", {name: RULES})

    assert found(project) == []


def test_p8_a_linked_subfolder_is_not_looked_into(project, tmp_path_factory):
    canary = tmp_path_factory.mktemp("canary")
    write_files(canary, {"a.yaml": RULES})
    (project / "policies.d" / "linked").symlink_to(canary)
    (project / "policies.d" / "sub").mkdir()
    (project / "policies.d" / "sub" / "linked").symlink_to(canary)

    assert found(project) == []


def test_p8_a_linked_folder_of_rules_has_subfolders_like_any_other(project, tmp_path_factory):
    canary = tmp_path_factory.mktemp("canary")
    write_files(canary, {"sub/a.yaml": RULES})
    (project / "policies.d").rmdir()
    (project / "policies.d").symlink_to(canary)

    assert [each[0] for each in not_read(project)] == ["policies.d/sub"]


def test_p8_the_folder_of_rules_inside_that_of_tools_is_read(project):
    text = "tools_dir: all\npolicies_dir: all/of/rules\n"
    write_files(project, {"toolrt.yaml": text, "all/of/rules/p.yaml": RULES})

    assert found(project) == []


@pytest.mark.parametrize("key", ["tools_dir", "policies_dir"])
def test_p8_a_whole_project_has_subfolders_of_its_own(project, key):
    write_files(project, {"toolrt.yaml": f"{key}: .\n", "deploy/a.yaml": "x: 1\n"})

    assert not_read(project) == []


def test_p8_a_folder_named_as_a_manifest_is_told_once(project):
    write_files(project, {"policies.d/a.yaml/b.yaml": RULES})

    assert [each[2] for each in found(project)] == ["unreadable-file"]


def test_p8_of_a_great_many_files_not_all_are_counted(project):
    write_files(project, {f"policies.d/sub/{number}.yaml": "" for number in range(1001)})

    [(_, _, message, _)] = not_read(project)

    assert message == "`policies.d/sub` is a folder: its 1000 files or more are not read"


MISNAMED = ["toolrt.yml", "toolrt.YAML", "Toolrt.yaml", "TOOLRT.YML", "toolrt.json", "toolrt.toml"]


@pytest.mark.parametrize("name", MISNAMED)
def test_p8_a_misnamed_project_file_is_an_error_that_says_its_name(project, name):
    write_files(project, {name: "policy: required\n"})

    files = load_files(Stock(project))

    [one] = files.diagnostics()
    assert (one.file, one.severity, one.code) == (name, "error", "not-read")
    assert one.hint == "rename it to `toolrt.yaml`"
    assert files.has_errors()


def test_p8_a_misnamed_project_file_beside_the_right_one_is_an_error(project):
    write_files(project, {"toolrt.yaml": "{}\n", "toolrt.yml": "policy: required\n"})

    assert [each[0] for each in not_read(project)] == ["toolrt.yml"]
    assert "into `toolrt.yaml`" in not_read(project)[0][3]


@pytest.mark.parametrize("name", ["toolrt.yaml.bak", "toolrt.yaml.example", "toolrt.txt", "a.yml"])
def test_p8_what_only_resembles_the_project_file_is_left_alone(project, name):
    write_files(project, {name: "policy: required\n"})

    assert found(project) == []


def test_p8_a_misnamed_project_file_marks_its_project(tmp_path):
    write_files(tmp_path, {"tools.d/a.yaml": "", "inner/toolrt.yml": "policy: required\n"})

    assert find_project(tmp_path / "inner") == tmp_path / "inner"


STRAYS = ["deny.json", "deny", "deny.yaml.txt", "x.yaml.disabled", "deny.yaml_", "deny.toml"]


@pytest.mark.parametrize("folder", ["tools.d", "policies.d"])
@pytest.mark.parametrize("name", STRAYS)
def test_p8_a_file_beside_the_manifests_that_is_none_is_a_warning(project, folder, name):
    write_files(project, {f"{folder}/{name}": RULES})

    [(file, severity, message, hint)] = not_read(project)

    assert (file, severity) == (f"{folder}/{name}", "warning")
    assert ".yaml or .yml" in message
    assert hint == f"rename it, or move it out of `{folder}`"


@pytest.mark.parametrize(
    "name", [".gitkeep", "README", "readme.txt", "notes.md", "a.yaml~", "a.yaml.swp", "#a#", "4913"]
)
def test_p8_what_nobody_takes_for_a_manifest_is_passed_over(project, name):
    write_files(project, {f"policies.d/{name}": "", f"tools.d/{name}": ""})

    assert found(project) == []


def test_p8_a_file_that_a_tool_names_or_that_is_no_manifest_is_in_its_place(project):
    text = "tools: {a: {description: A., params_schema: s.json, python: prices.look}}\n"
    files = dict.fromkeys(("s.json", "prices.py", "other.json"), '{"tools": {}}')
    files |= {"schema.json": '{"type": "object"}', "Makefile": "all:\n"}
    write_files(project / "tools.d", {"a.yaml": text, **files})

    assert [each[0] for each in not_read(project)] == ["tools.d/other.json"]


@pytest.mark.parametrize(
    ("name", "right"),
    [("policy.d", "policies.d"), ("policies", "policies.d"), ("Policies.d", "policies.d"),
     ("tool.d", "tools.d"), ("tools", "tools.d")],
)  # fmt: skip
def test_p8_a_folder_named_almost_as_one_that_is_missing_is_a_warning(project, name, right):
    (project / right).rmdir()
    write_files(project, {f"{name}/a.yaml": "{}\n"})

    assert not_read(project) == [
        (
            name,
            "warning",
            f"`{name}` is not read: there is no folder `{right}`",
            f"rename it to `{right}`",
        )
    ]


@pytest.mark.parametrize("text", ["{}\n", "policies_dir: policy.d\n"])
def test_p8_a_folder_that_is_named_or_not_missed_is_left_alone(project, text):
    write_files(project, {"toolrt.yaml": text, "policy.d/a.yaml": "{}\n"})

    assert found(project) == []
