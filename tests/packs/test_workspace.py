"""Nothing but regular files below the folder is opened, whoever asks and however (F1, F2, F5)."""

import os
import socket
import time
from pathlib import Path

import pytest
from file_desk import Desk, context
from limits import AT_ONCE_S

from toolrt.core.errors import ToolError
from toolrt.packs import beneath
from toolrt.packs.files import Files


def open_descriptors():
    return sorted(each.name for each in Path("/proc/self/fd").iterdir())


CALLS = {
    "read": {},
    "list": {},
    "edit": {"old": "a", "new": "b"},
    "write": {"text": "b"},
    "create": {"text": "b"},
}
OF_FILES = {name: more for name, more in CALLS.items() if name != "list"}
INVALID = {
    "23 up": "../../etc/passwd",
    "25 up behind a name": "a/../../b",
    "25 up in the end": "a/..",
    "26 a neighbour that begins alike": "../wsX/f",
    "30 a magic link by its absolute path": "/proc/self/environ",
    "30 a descriptor": "/dev/fd/0",
    "34 a name of 300 bytes": "n" * 300,
    "34 a name of 300 bytes in other letters": "é" * 150,
    "absolute": "/etc/passwd",
    "NUL": "a\0b",
    "newline": "a\nb",
    "escape": "a\x1b[2Jb",
    "C1": "a\x9bb",
    "half a surrogate pair": "a\ud800",
    "nothing": "",
    "too long": "a/" * 3000,
}
desks = pytest.mark.parametrize("tool", CALLS)


@pytest.mark.parametrize("path", INVALID.values(), ids=INVALID)
@pytest.mark.parametrize("tool", CALLS)
def test_f2_a_path_that_may_lead_out_is_refused_before_anything_is_opened(
    desk, tool, path, monkeypatch
):
    monkeypatch.setattr(os, "open", lambda *_: pytest.fail("something was opened"))

    code, message = desk.refused(tool, path, **CALLS[tool])

    assert code == "invalid-arguments"
    assert message.isprintable()


@pytest.mark.parametrize("tool", CALLS)
def test_f1_h27_a_link_to_a_folder_outside_is_not_followed(desk, tool):
    (desk.outside / "f").write_text("a secret")
    (desk.folder / "link").symlink_to(desk.outside)

    assert desk.refused(tool, "link/f", **CALLS[tool])[0] == "blocked-target"
    assert desk.refused(tool, "link", **CALLS[tool])[0] in {"blocked-target", "conflict"}
    assert [each.name for each in desk.outside.iterdir()] == ["f"]
    assert (desk.outside / "f").read_text() == "a secret"


@pytest.mark.parametrize("tool", OF_FILES)
@pytest.mark.parametrize("aim", ["outside", "inside", "nowhere"])
def test_f1_h27_a_link_to_a_file_is_not_followed_wherever_it_leads(desk, tool, aim):
    inside = desk.put("real", "a")
    (desk.outside / "f").write_text("a")
    aims = {"outside": desk.outside / "f", "inside": inside, "nowhere": desk.outside / "new"}
    (desk.folder / "link").symlink_to(aims[aim])

    assert desk.refused(tool, "link", **OF_FILES[tool])[0] in {"blocked-target", "conflict"}
    assert (inside.read_text(), (desk.outside / "f").read_text()) == ("a", "a")
    assert not (desk.outside / "new").exists()
    assert (desk.folder / "link").is_symlink()


def test_f1_h30_a_magic_link_is_not_followed(desk):
    canary = desk.outside / "f"
    canary.write_text("a secret")
    held = os.open(canary, os.O_RDONLY)
    try:
        with pytest.raises(ToolError) as caught:
            Files("/proc/self/fd").read(context(desk.project), str(held))
    finally:
        os.close(held)

    assert caught.value.code == "blocked-target"


@pytest.mark.realtime
@pytest.mark.parametrize("tool", OF_FILES)
def test_f5_h31_a_pipe_is_no_regular_file_and_keeps_nobody_waiting(desk, tool):
    os.mkfifo(desk.folder / "pipe")
    began = time.monotonic()

    assert desk.refused(tool, "pipe", **OF_FILES[tool])[0] in {"access-denied", "conflict"}
    assert time.monotonic() - began < AT_ONCE_S


def test_f5_sockets_and_folders_are_no_regular_files(desk):
    (desk.folder / "sub").mkdir()
    here = os.open(desk.folder, os.O_RDONLY)  # a short name, whatever the folder is called
    with socket.socket(socket.AF_UNIX) as made:
        made.bind(f"/proc/self/fd/{here}/socket")
    os.close(here)

    assert desk.refused("read", "socket")[0] == "access-denied"
    assert desk.refused("read", "sub")[0] == "access-denied"
    assert desk.refused("edit", "sub", old="a", new="b")[0] == "access-denied"
    assert desk.refused("write", ".", text="")[0] == "access-denied"


def test_what_is_not_there_is_not_found(desk):
    desk.put("f", "text")

    assert desk.refused("read", "g") == ("not-found", "`g` is not there")
    assert desk.refused("read", "f/g")[0] == "not-found"
    assert desk.refused("list", "g")[0] == "not-found"
    assert desk.refused("edit", "g", old="a", new="b")[0] == "not-found"


@pytest.mark.parametrize("tool", CALLS)
def test_the_state_of_a_project_is_not_for_tools(desk, tool):
    desk.put(".toolrt/key", "a secret")

    for path in (".toolrt/key", ".toolrt", "./.TOOLRT/key", "sub/.toolrt/key"):
        assert desk.refused(tool, path, **CALLS[tool])[0] == "access-denied"


@pytest.mark.parametrize("path", ["toolrt.yaml", "tools.d/t.yaml", "a/policies.d/p.yaml", ".git/x"])
def test_manifests_and_rules_are_read_at_most(desk, path):
    desk.put(path, "a")

    assert desk.call("read", path)["text"] == "a"
    for tool in ("edit", "write", "create"):
        code, message = desk.refused(tool, path, **CALLS[tool])
        assert (code, "not written" in message) == ("access-denied", True)
    assert desk.body(path) == b"a"


@pytest.mark.parametrize("root", ["..", "a/../..", "x\0y", ""])
def test_a_root_that_is_not_written_absolute_stays_in_the_project(folder, root):
    with pytest.raises(ToolError) as caught:
        Files(root).list(context(folder))

    assert caught.value.code == "unavailable"


def test_a_root_behind_a_link_or_not_there_is_told(folder):
    (folder / "outside").mkdir()
    (folder / "link").symlink_to("outside")

    for root, why in {"link": "symbolic link", "nowhere": "no such folder"}.items():
        with pytest.raises(ToolError, match=why):
            Files(root).list(context(folder))


def test_a_root_written_absolute_may_be_anywhere(folder):
    (folder / "elsewhere").mkdir()
    (folder / "elsewhere" / "f").write_text("hello")
    (folder / "project").mkdir()

    made = Files(str(folder / "elsewhere")).read(context(folder / "project"), "f")

    assert made["text"] == "hello"


def test_the_folder_of_the_project_is_built_in(folder):
    (folder / "f").write_text("hello")

    assert Files().read(context(folder), "f")["text"] == "hello"


def test_nothing_stays_open(desk):
    desk.put("a/b/f", "text")
    desk.call("read", "a/b/f")
    before = open_descriptors()
    for _ in range(3):
        desk.call("read", "a/b/f")
        desk.call("glob", "**/f")
        desk.call("grep", "t")
        desk.call("edit", "a/b/f", old="text", new="texts")
        desk.call("edit", "a/b/f", old="texts", new="text")
        desk.refused("create", "a/b/f", text="")
        desk.refused("read", "a/b/g")
        desk.refused("read", "a/b")

    assert open_descriptors() == before


def test_f1_where_the_system_call_is_forbidden_names_are_walked_one_by_one(folder, monkeypatch):
    def missing(*_):
        raise OSError(38, "Function not implemented")

    monkeypatch.setattr(beneath, "_at_once", missing)
    beneath.has_openat2.cache_clear()
    try:
        desk = Desk(folder)
        desk.put("a/f", "text")
        assert not beneath.has_openat2()
        assert desk.call("read", "a/f")["text"] == "text"
    finally:
        beneath.has_openat2.cache_clear()
