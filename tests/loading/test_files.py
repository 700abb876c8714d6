import os

import pytest

from toolrt.loading.loader import load_files

RULES = "rules: [{id: a, decide: deny, tools: ['*']}]\n"


@pytest.fixture
def project(tmp_path):
    for folder in ("tools.d", "policies.d"):
        (tmp_path / folder).mkdir()
    return tmp_path


def found(project):
    files = load_files(project)
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
