"""read, list, glob and grep: bounded, in order, harmless to look at, and honest about the rest."""

import os

import pytest

from toolrt.core.errors import ToolError
from toolrt.packs import reading, searching, versions, walking

ODD = "a\x1b[2Jb\nc\u202e"
SHOWN = r"a\x1b[2Jb\nc\u202e"


def paths(answer, key="entries"):
    return [each["path"] for each in answer[key]]


def test_a_file_is_read_whole(desk):
    desk.put("a/f", "one\ntwo\n")

    made = desk.call("read", "./a//f")

    assert made == {
        "path": "a/f", "text": "one\ntwo\n", "first": 1, "last": 2, "lines": 2,
        "encoding": "utf-8", "line_ends": "lf", "note": "",
    }  # fmt: skip


@pytest.mark.parametrize("text", ["", "\n", "one", "one\n\n", "\n\n"])
def test_what_is_read_whole_is_exactly_what_is_there(desk, text):
    desk.put("f", text)

    assert desk.call("read", "f")["text"] == text


def test_a_window_tells_how_to_go_on(desk):
    desk.put("f", "".join(f"line {n}\n" for n in range(1, 11)))

    made = desk.call("read", "f", start=3, lines=2)

    assert (made["text"], made["note"]) == (
        "line 3\nline 4", "\n[lines 3 to 4 of 10; go on with `start: 5`]",
    )  # fmt: skip
    assert desk.call("read", "f", start=9)["note"] == "\n[lines 9 to 10 of 10]"
    assert desk.refused("read", "f", start=11) == (
        "invalid-arguments", "there is no line 11: the file has 10",
    )  # fmt: skip


def test_a_window_holds_no_more_than_a_model_should_get(desk):
    desk.put("f", "\n".join(["x" * 1000] * 100))
    desk.put("g", "y" * 100_000)

    first = desk.call("read", "f")
    long = desk.call("read", "g")

    assert len(first["text"]) <= reading.MOST_CHARACTERS
    assert first["note"] == "\n[lines 1 to 39 of 100; go on with `start: 40`]"
    assert desk.call("read", "f", start=40)["text"].startswith("x")
    assert len(long["text"]) == reading.LONGEST_LINE
    assert "1 longer than 4000 characters cut off" in long["note"]


def test_a_file_that_is_too_large_is_refused(desk, monkeypatch):
    monkeypatch.setattr(versions, "MOST_BYTES", 1000)
    desk.put("f", "x" * 1001)
    desk.put("g", "x" * 1000)

    assert desk.refused("read", "f")[0] == "unsupported"
    assert desk.call("read", "g")["lines"] == 1


def test_a_file_that_never_keeps_still_is_no_version(desk, monkeypatch):
    path = desk.put("f", "x")
    real = os.pread

    def growing(*given):
        with path.open("a") as file:
            file.write("x")
        return real(*given)

    monkeypatch.setattr(os, "pread", growing)

    assert desk.refused("read", "f")[0] == "conflict"


def test_a_listing_is_in_order_and_says_what_each_is(desk):
    desk.put("b", "12")
    desk.put("a/f")
    (desk.folder / "c").symlink_to("b")
    os.mkfifo(desk.folder / "d")
    desk.put(".toolrt/key")

    made = desk.call("list")

    assert made["entries"] == [
        {"path": "a", "form": "folder"},
        {"path": "b", "form": "file", "size": 2},
        {"path": "c", "form": "link"},
        {"path": "d", "form": "other"},
    ]
    assert made["text"] == "a/\nb\nc (a link)\nd (no regular file)"
    assert desk.call("list", "a")["text"] == "f"


def test_h33_names_are_shown_harmlessly(desk):
    desk.put(ODD, "one")
    (desk.folder / os.fsdecode(b"\xff")).touch()

    listed = desk.call("list")
    found = desk.call("glob", "**")
    hits = desk.call("grep", "one")

    assert paths(listed) == paths(found) == [SHOWN, r"\udcff"]
    assert hits["text"] == rf"{SHOWN}:1: one"
    assert all(each["text"].replace("\n", "").isprintable() for each in (listed, found, hits))


def test_how_many_more_there_are_is_told(desk):
    for number in range(5):
        desk.put(f"f{number}")

    made = desk.call("list", most=3)

    assert (paths(made), made["more"]) == (["f0", "f1", "f2"], 2)
    assert made["note"] == "\n[2 more]"
    assert desk.call("glob", "**", most=1)["note"] == "\n[4 more]"
    assert desk.call("glob", "*.nothing")["note"] == "[nothing there]"


def test_a_glob_finds_files_at_any_depth_in_order(desk):
    for name in ("z.py", "a/b.py", "a/c.txt", "a/b/d.py", ".git/x.py", ".toolrt/x.py"):
        desk.put(name)
    (desk.outside / "x.py").touch()
    (desk.folder / "link").symlink_to(desk.outside)
    (desk.folder / "y.py").symlink_to(desk.outside / "x.py")

    assert paths(desk.call("glob", "**/*.py")) == ["a/b/d.py", "a/b.py", "z.py"]
    assert paths(desk.call("glob", "*.py", "a")) == ["b.py"]
    assert paths(desk.call("glob", "**", ".git")) == ["x.py"]
    assert desk.refused("glob", "../*")[0] == "invalid-arguments"


def test_a_glob_looks_only_where_something_can_be(desk):
    desk.put("a/f")
    desk.put("b/f")
    (desk.folder / "b").chmod(0)
    seen = []
    real = walking.Walk._inside

    def noted(self, folder, at, leads_on):
        seen.append(at)
        return real(self, folder, at, leads_on)

    walking.Walk._inside = noted
    try:
        desk.call("glob", "a/*")
    finally:
        walking.Walk._inside = real
        (desk.folder / "b").chmod(0o700)

    assert seen == [("a",)]


def test_grep_tells_file_line_and_text(desk):
    desk.put("a/f.py", "import os\nx = 1\nimport sys\n")
    desk.put("g.txt", "import nothing\r\n")

    made = desk.call("grep", r"^import (\w+)$")

    assert made["hits"] == [
        {"path": "a/f.py", "line": 1, "text": "import os"},
        {"path": "a/f.py", "line": 3, "text": "import sys"},
        {"path": "g.txt", "line": 1, "text": "import nothing"},
    ]
    assert made["text"].splitlines()[0] == "a/f.py:1: import os"
    assert paths(desk.call("grep", "import", glob="**/*.txt"), "hits") == ["g.txt"]
    assert paths(desk.call("grep", "IMPORT", "a/f.py", ignore_case=True), "hits") == ["f.py"] * 2
    assert desk.call("grep", "nowhere")["note"] == "[no such line in 2 files]"


@pytest.mark.parametrize("pattern", ["(", "a(?=b)", r"(a)\1", "a*", "x" * 2000, "\ud800"])
def test_an_expression_that_cannot_be_used_is_refused(desk, pattern):
    assert desk.refused("grep", pattern)[0] == "invalid-arguments"


def test_no_expression_takes_long(desk):
    desk.put("f", "a" * 100_000)

    assert desk.call("grep", "(a+)+$b|(a|aa)+c")["hits"] == []


def test_what_was_not_looked_into_is_told(desk, monkeypatch):
    monkeypatch.setattr(searching, "MOST_BYTES", 100)
    desk.put("binary", b"\0needle")
    desk.put("large", "needle" + "x" * 200)
    desk.put("f", "needle\n" * 5)

    made = desk.call("grep", "needle", most=2)

    assert (len(made["hits"]), made["more"]) == (2, 3)
    assert made["note"] == (
        "\n[3 more lines; 1 files left out: binary; 1 files left out: too large]"
    )


def test_a_long_line_is_shown_in_part(desk):
    desk.put("f", "needle" + "x" * 10_000)

    assert len(desk.call("grep", "needle")["hits"][0]["text"]) == searching.LONGEST_LINE


def test_a_search_without_time_says_that_it_is_not_whole(desk):
    desk.put("f", "needle\n" * 10_000)

    assert "not everything was looked at" in desk.call("grep", "needle", within_s=0.0)["note"]
    assert "not everything was looked at" in desk.call("glob", "**", within_s=0.0)["note"]


def test_a_walk_is_bounded_in_names_and_depth(desk, monkeypatch):
    monkeypatch.setattr(walking, "MOST_SEEN", 5)
    for number in range(8):
        desk.put(f"f{number}")

    made = desk.call("glob", "**")

    assert len(made["entries"]) <= 5
    assert "not everything" in made["note"]
    monkeypatch.undo()
    desk.put("d/" * 70 + "f")
    assert "not everything" in desk.call("glob", "**")["note"]


def test_a_file_is_no_folder(desk):
    desk.put("f", "x")

    for tool in ("list", "glob"):
        with pytest.raises(ToolError):
            desk.call(tool, *(("**",) if tool == "glob" else ()), path="f")
