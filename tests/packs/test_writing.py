"""Files are replaced in one step or not at all, and never against what was seen (F3, F4)."""

import os
import random
import signal
import stat
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
from faults.ledger import SEED, amount
from file_desk import Desk
from packs.writer import SIZE, WRITERS

from toolrt.core.errors import ToolError
from toolrt.packs import drafts

ROOT = Path(__file__).parent.parent.parent


def writer(desk, sort, *numbers):
    """A process that writes in the same folder, once it has begun."""
    command = [
        sys.executable,
        Path(__file__).with_name("writer.py"),
        desk.project,
        *map(str, numbers),
    ]
    path = os.pathsep.join((str(ROOT), str(ROOT / "tests")))
    made = subprocess.Popen(
        command,
        env={**os.environ, "PYTHONPATH": path, "DRAFTS": sort},
        stdout=subprocess.PIPE,
        text=True,
    )
    assert made.stdout.readline() == "begun\n"
    return made


@pytest.fixture(params=["without a name", "with a name"])
def drafted(request, monkeypatch):
    """Drafts of both sorts: some file systems know none without a name."""
    if request.param == "with a name":
        monkeypatch.setattr(drafts, "_TMPFILE", 0)
    return request.param


@pytest.mark.parametrize("mode", [0o600, 0o644, 0o755, 0o464])
def test_f3_an_edit_keeps_the_mode_and_leaves_nothing_else_behind(desk, drafted, mode):
    desk.put("f", "one two").chmod(mode)

    desk.call("edit", "f", old="two", new="three")

    assert desk.body("f") == b"one three"
    assert stat.S_IMODE((desk.folder / "f").stat().st_mode) == mode
    assert desk.names() == ["f"]


def test_f3_rights_of_others_do_not_come_along(desk, drafted):
    desk.put("f", "one").chmod(0o4755)

    desk.call("write", "f", text="two")

    assert stat.S_IMODE((desk.folder / "f").stat().st_mode) == 0o755


def test_f3_a_new_file_gets_its_folders_and_the_usual_mode(desk, drafted):
    before = os.umask(0o027)
    try:
        made = desk.call("create", "a/b/f", text="hello")
    finally:
        os.umask(before)

    assert desk.body("a/b/f") == b"hello"
    assert stat.S_IMODE((desk.folder / "a/b/f").stat().st_mode) == 0o640
    assert (made["is_new"], desk.names()) == (True, ["a", "a/b", "a/b/f"])


@pytest.mark.parametrize("there", ["f", "folder", "dangling"])
def test_f3_what_is_there_is_not_made_anew(desk, drafted, there):
    desk.put("f", "mine")
    (desk.folder / "folder").mkdir()
    (desk.folder / "dangling").symlink_to("nowhere")

    assert desk.refused("create", there, text="yours")[0] == "conflict"
    assert desk.body("f") == b"mine"
    assert desk.names() == ["dangling", "f", "folder"]


def test_f3_the_file_is_on_the_disk_before_its_name_is_and_then_the_folder(desk, monkeypatch):
    desk.put("f", "one")
    seen = []
    for name in ("fsync", "rename", "write"):
        real = getattr(os, name)

        def noted(*given, _name=name, _real=real, **more):
            of = os.fstat(given[0]).st_mode if _name == "fsync" else 0
            seen.append(f"{_name} folder" if stat.S_ISDIR(of) else _name)
            return _real(*given, **more)

        monkeypatch.setattr(os, name, noted)

    desk.call("write", "f", text="two")

    assert [each for n, each in enumerate(seen) if seen[n - 1 : n] != [each]] == [
        "write", "fsync", "rename", "fsync folder",
    ]  # fmt: skip


def test_f3_readers_see_the_old_file_or_the_new_one(desk, drafted):
    texts = ["a" * 200_000, "b" * 300_000]
    desk.put("f", texts[0])
    stop, seen = threading.Event(), set()

    def look():
        while not stop.is_set():
            seen.add(desk.body("f").decode())

    thread = threading.Thread(target=look)
    thread.start()
    for number in range(40):
        desk.call("write", "f", text=texts[number % 2])
    stop.set()
    thread.join()

    assert seen <= set(texts)


@pytest.mark.parametrize("name", ["write", "fsync", "rename", "fchmod"])
def test_f3_a_write_that_fails_changes_nothing(desk, drafted, monkeypatch, name):
    desk.put("f", "one")
    monkeypatch.setattr(os, name, lambda *_, **__: (_ for _ in ()).throw(OSError(28, "full")))

    assert desk.refused("edit", "f", old="one", new="two")[0] == "unavailable"
    monkeypatch.undo()
    assert desk.body("f") == b"one"
    assert desk.names() == ["f"]


@pytest.mark.realtime
def test_f3_a_kill_leaves_the_old_file_or_the_new_one_and_no_draft(folder, drafted):
    desk, luck = Desk(folder), random.Random(SEED)
    desk.put("f", "0" * SIZE)

    for _ in range(amount(3, 1000)):
        with writer(desk, drafted) as child:
            time.sleep(luck.uniform(0, 0.01))
            child.send_signal(signal.SIGKILL)
        body = desk.body("f")
        assert len(body) == SIZE
        assert len(set(body)) == 1
        desk.call("create", "g", text="")  # whoever writes next tidies up
        assert desk.names() == ["f", "g"]
        (desk.folder / "g").unlink()


def test_h35_a_file_with_another_name_elsewhere_is_not_written(desk):
    canary = desk.outside / "f"
    canary.write_text("one")
    os.link(canary, desk.folder / "f")

    assert desk.call("read", "f")["text"] == "one"
    for tool, more in {"edit": {"old": "one", "new": "two"}, "write": {"text": "two"}}.items():
        code, message = desk.refused(tool, "f", **more)
        assert (code, "hard link" in message) == ("blocked-target", True)
    assert canary.read_text() == "one"
    assert (desk.folder / "f").read_text() == "one"


def test_f4_h37_a_file_that_has_changed_since_is_a_conflict(desk):
    desk.put("f", "one two")
    desk.call("read", "f")
    seen = desk.told
    desk.put("f", "one two three")

    code, message = desk.refused("edit", "f", old="two", new="2", expected=seen)

    assert (code, message) == ("conflict", "`f` has changed since it was read")
    assert desk.body("f") == b"one two three"


def test_f4_h38_the_same_size_and_time_do_not_hide_a_change(desk):
    path = desk.put("f", "one")
    desk.call("read", "f")
    seen, at = desk.told, path.stat()
    path.write_text("two")
    os.utime(path, ns=(at.st_atime_ns, at.st_mtime_ns))
    after = path.stat()

    assert (after.st_size, after.st_mtime_ns, after.st_ino) == (
        at.st_size,
        at.st_mtime_ns,
        at.st_ino,
    )
    assert desk.refused("write", "f", text="three", expected=seen)[0] == "conflict"
    assert desk.body("f") == b"two"


@pytest.mark.parametrize("change", ["time", "inode"])
def test_f4_the_same_bytes_in_another_file_are_another_version(desk, change):
    path = desk.put("f", "one")
    desk.call("read", "f")
    seen = desk.told
    if change == "time":
        os.utime(path, ns=(1, 1))
    else:
        at = path.stat()
        path.rename(desk.folder / "old")
        desk.put("f", "one")
        os.utime(path, ns=(at.st_atime_ns, at.st_mtime_ns))

    assert desk.refused("write", "f", text="two", expected=seen)[0] == "conflict"


@pytest.mark.parametrize(
    ("tool", "change"), [("write", {"text": "two"}), ("edit", {"old": "one", "new": "two"})]
)
def test_f4_a_file_that_is_gone_since_is_a_conflict_and_does_not_come_back(desk, tool, change):
    path = desk.put("f", "one")
    desk.call("read", "f")
    seen = desk.told
    path.unlink()

    code, message = desk.refused(tool, "f", **change, expected=seen)

    assert (code, message) == ("conflict", "`f` has been deleted since it was read")
    assert not path.exists()


def test_f4_what_a_call_has_made_is_what_its_caller_has_seen(desk):
    desk.put("f", "one")
    desk.call("create", "g", text="a")
    for number in range(3):
        desk.call("edit", "g", old="a", new="aa", all=True, expected=desk.told)
        assert desk.body("g") == b"a" * 2 ** (number + 1)
    desk.call("write", "g", text="b", expected=desk.told)
    told = desk.told
    desk.call("read", "g")

    assert desk.told == told


def test_f4_nobody_takes_a_version_of_another_for_its_own(desk, monkeypatch):
    """A writer that asks for no lock comes between the exchange and the end of the call."""
    desk.put("f", "one")
    real = os.fsync

    def meddling(number):
        real(number)
        if stat.S_ISDIR(os.fstat(number).st_mode):
            desk.put("f", "meddled")

    monkeypatch.setattr(os, "fsync", meddling)
    desk.call("write", "f", text="two")
    monkeypatch.undo()

    assert desk.refused("write", "f", text="three", expected=desk.told)[0] == "conflict"
    assert desk.body("f") == b"meddled"


@pytest.mark.parametrize("how", ["in place", "by rename", "by removal"])
def test_f4_who_writes_while_an_edit_is_made_is_noticed(desk, monkeypatch, how):
    path = desk.put("f", "one")
    from toolrt.packs import edits

    real = edits.Edit.made

    def slow(self, sight, shown):
        made = real(self, sight, shown)
        if how == "by removal":
            path.unlink()
        elif how == "by rename":
            desk.put("g", "two").rename(path)
        else:
            path.write_text("two")
        return made

    monkeypatch.setattr(edits.Edit, "made", slow)

    assert desk.refused("edit", "f", old="one", new="1")[0] in {"conflict", "not-found"}
    assert desk.names() == ([] if how == "by removal" else ["f"])
    assert how == "by removal" or desk.body("f") == b"two"


def test_edits_of_many_threads_all_count(desk, drafted):
    desk.put("f", "".join(f"<{n}>" for n in range(40)))

    def edit(numbers):
        for number in numbers:
            desk.call("edit", "f", old=f"<{number}>", new=f"({number})")

    threads = [threading.Thread(target=edit, args=(range(n, 40, 4),)) for n in range(4)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()

    assert desk.body("f").decode() == "".join(f"({n})" for n in range(40))


@pytest.mark.realtime
def test_edits_of_many_processes_all_count(folder):
    desk, count = Desk(folder), amount(40, 4000)
    desk.put("f", "".join(f"<{n}>" for n in range(count)))

    children = [writer(desk, "without a name", first, count) for first in range(WRITERS)]
    for each in children:
        each.communicate()
    assert [each.returncode for each in children] == [0] * WRITERS

    assert desk.body("f").decode() == "".join(f"({n})" for n in range(count))
    assert desk.names() == ["f"]


def test_of_many_who_have_seen_the_same_one_wins(desk):
    desk.put("f", "0")
    desk.call("read", "f")
    seen, won = desk.told, []

    def write(number):
        try:
            desk.call("write", "f", text=str(number), expected=seen)
            won.append(str(number).encode())
        except ToolError as error:
            assert error.code == "conflict"  # noqa: PT017 - in a thread

    threads = [threading.Thread(target=write, args=(n,)) for n in range(1, 9)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()

    assert won == [desk.body("f")]


def test_who_waits_for_a_folder_gives_up_in_time(desk):
    import fcntl

    desk.put("f", "one")
    held = os.open(desk.folder, os.O_RDONLY)
    fcntl.flock(held, fcntl.LOCK_EX)
    try:
        code, message = desk.refused("write", "f", text="two", within_s=0.05)
    finally:
        os.close(held)

    assert (code, message) == ("conflict", "somebody else is writing in the same folder")
    desk.call("write", "f", text="two")


def test_a_folder_that_cannot_be_locked_is_written_all_the_same(desk, monkeypatch):
    import fcntl

    desk.put("f", "one")
    monkeypatch.setattr(fcntl, "flock", lambda *_: (_ for _ in ()).throw(OSError(95, "no locks")))

    desk.call("write", "f", text="two")

    assert desk.body("f") == b"two"


def test_what_would_be_too_large_is_not_written(desk, monkeypatch):
    from toolrt.packs import versions

    monkeypatch.setattr(versions, "MOST_BYTES", 10)
    desk.put("f", "12345")

    assert desk.refused("create", "g", text="x" * 11)[0] == "invalid-arguments"
    assert desk.refused("edit", "f", old="1", new="1" * 10)[0] == "invalid-arguments"
    assert (desk.names(), desk.body("f")) == (["f"], b"12345")
