"""An edit replaces exactly what was named, or says what is closest to it."""

import time

import pytest

from toolrt.core.errors import ToolError


def failure(desk, **more):
    with pytest.raises(ToolError) as caught:
        desk.call("edit", "f", **more)
    return caught.value


def test_a_text_that_stands_once_is_replaced(desk):
    desk.put("f", "one\ntwo\nthree\n")

    made = desk.call("edit", "f", old="two", new="2")

    assert desk.body("f") == b"one\n2\nthree\n"
    assert made == {"path": "f", "replaced": 1, "line": 2, "text": "f: replaced in line 2"}


def test_a_text_that_stands_several_times_is_ambiguous(desk):
    desk.put("f", "a\nb\na\na")

    failed = failure(desk, old="a", new="c")

    assert (failed.code, failed.message) == (
        "ambiguous", "the text in `old` stands 3 times in `f`: lines 1, 3, 4",
    )  # fmt: skip
    assert "all: true" in failed.hint
    assert desk.body("f") == b"a\nb\na\na"


def test_all_of_them_are_replaced_where_that_is_asked(desk):
    desk.put("f", "a\nb\na\na")

    made = desk.call("edit", "f", old="a", new="cc", all=True)

    assert desk.body("f") == b"cc\nb\ncc\ncc"
    assert (made["replaced"], made["text"]) == (3, "f: replaced 3 times, first in line 1")


def test_places_do_not_overlap(desk):
    desk.put("f", "aaaa")

    desk.call("edit", "f", old="aa", new="b", all=True)

    assert desk.body("f") == b"bb"


@pytest.mark.parametrize(
    ("old", "hint"),
    [
        ("the quick brown fix", "closest is line 2: the quick brown fox"),
        (
            "  the  quick brown fox",
            "at line 2 it stands with other white space: copy it from there",
        ),
        (
            "the quick\tbrown fox\njumps",
            "at line 2 it stands with other white space: copy it from there",
        ),
        (
            "nothing like it at all",
            "read the file again, and copy the text exactly, white space included",
        ),
        ("\n\n\n", "read the file again, and copy the text exactly, white space included"),
    ],
)
def test_what_is_closest_to_a_text_that_is_not_there_is_told(desk, old, hint):
    desk.put("f", "0\nthe quick brown fox\njumps\n")

    failed = failure(desk, old=old, new="x")

    assert (failed.code, failed.hint) == ("not-found", hint)


def test_what_is_closest_is_shown_harmlessly(desk):
    desk.put("f", "the \x1b[2J quick \u202ebrown fox" + "x" * 1000)

    failed = failure(desk, old="the \x1b[2J quick \u202ebrown fix" + "x" * 1000, new="x")

    assert failed.hint.isprintable()
    assert len(failed.hint) < 400


@pytest.mark.parametrize(
    ("old", "new", "why"),
    [("", "a", "must not be empty"), ("a", "a", "are the same")],
)
def test_an_edit_that_means_nothing_is_refused(desk, old, new, why):
    desk.put("f", "a")

    failed = failure(desk, old=old, new=new)

    assert failed.code == "invalid-arguments"
    assert why in failed.message


def test_a_search_for_something_close_ends_soon_in_a_large_file(desk):
    desk.put("f", "\n".join("abcdefgh" * 30 + str(n) for n in range(50_000)))
    began = time.process_time()

    assert failure(desk, old="hgfedcba" * 30 + "\n" * 50_000, new="x").code == "not-found"
    assert time.process_time() - began < 4


def test_many_replacements_of_much_text_are_refused_before_they_are_made(desk):
    desk.put("f", "a" * 100_000)

    assert failure(desk, old="a", new="b" * 1000, all=True).code == "invalid-arguments"
    desk.call("edit", "f", old="a", new="b", all=True)
    assert desk.body("f") == b"b" * 100_000
