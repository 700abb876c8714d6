"""Diagnostics: their order, their document, and how people see them."""

import re
import unicodedata
from difflib import unified_diff

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from loading.regenerate import FILES, rendering

from toolrt.core.faults import Fault
from toolrt.loading.diagnostics import Diagnostic, Span, at_span, in_order, of_fault, report
from toolrt.loading.reader import read
from toolrt.loading.snippet import render, summary


def at(line: int, column: int, code: str = "unknown-key", file: str = "f.yaml", **more):
    return Diagnostic(code, f"about {code}", file, line, column, **more)


def shown(text: str, column: int, end: int | None = None, **more) -> list[str]:
    """The line and the caret of a diagnostic on the first line of `text`."""
    one = at(1, column, end_column=end)
    rows = render([one], {"f.yaml": text}, **more).splitlines()
    return [row.split(" | ", 1)[1] for row in rows[1:3]]


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_rendering_is_as_its_golden_file_says(path) -> None:
    expected = path.with_suffix(".txt").read_text(encoding="utf-8")
    made = rendering(path)

    difference = unified_diff(
        expected.splitlines(), made.splitlines(), "golden", "now", lineterm=""
    )
    assert made == expected, "\n".join(difference)


def test_every_golden_rendering_has_its_file() -> None:
    folder = FILES[0].parent

    assert {path.stem for path in folder.glob("*.txt")} == {path.stem for path in FILES}
    assert len(FILES) >= 20


def test_diagnostics_come_by_place_and_once() -> None:
    one, two, three = at(1, 9), at(2, 1, "a"), at(2, 1, "b")
    other = at(1, 1, file="e.yaml")

    assert in_order([three, one, two, one, other, three]) == [other, one, two, three]


def test_the_report_counts_and_holds_documents() -> None:
    warning = at(3, 1, "planned-key", severity="warning", path="a.b", hint="later")

    made = report([warning, at(1, 1), at(1, 1)])

    assert {key: made[key] for key in ("schema", "ok", "errors", "warnings")} == {
        "schema": "toolrt/v1",
        "ok": False,
        "errors": 1,
        "warnings": 1,
    }
    assert made["diagnostics"][1] == {
        "code": "planned-key",
        "severity": "warning",
        "file": "f.yaml",
        "line": 3,
        "column": 1,
        "path": "a.b",
        "message": "about planned-key",
        "hint": "later",
    }
    assert report([warning])["ok"] is True


def test_a_fault_becomes_a_diagnostic_at_its_place() -> None:
    document = read(b"tools:\n  a:\n    url: /x/{{ cty }}\n    tags: [\n      b]\n", "f.yaml")

    inside = of_fault(Fault("bad", "m", ("url",), "h", offset=6), document, ("tools", "a"))
    key = of_fault(Fault("bad", "m", ("url",), on_key=True), document, ("tools", "a"))
    lines = of_fault(Fault("bad", "m", ("tags",), severity="warning"), document, ("tools", "a"))

    assert inside == Diagnostic("bad", "m", "f.yaml", 3, 16, 17, "tools.a.url", "h")
    assert (key.column, key.end_column) == (5, 8)
    assert (lines.line, lines.column, lines.end_column, lines.severity) == (4, 11, None, "warning")


def test_a_span_of_nothing_has_no_end() -> None:
    assert at_span(Fault("bad", "m"), "f", (), Span(1, 5, 1, 5)).end_column is None


def test_the_summary_counts_errors_warnings_and_files() -> None:
    warning = at(1, 1, severity="warning")

    assert summary([]) == "nothing found"
    assert summary([at(1, 1), at(1, 1)]) == "1 error in 1 file"
    assert summary([warning]) == "1 warning in 1 file"
    assert summary([at(1, 1), at(2, 1), warning, at(1, 1, file="g.yaml")]) == (
        "3 errors, 1 warning in 2 files"
    )


def test_ten_diagnostics_fit_on_a_screen_of_50_lines() -> None:
    text = "    some_key: some value of it\n" * 20
    ten = [
        at(line, 5, end_column=13, hint="did you mean `same_key`?", path="tools.a.some_key")
        for line in range(1, 11)
    ]

    made = f"{render(ten, {'f.yaml': text})}\n{summary(ten)}\n"

    assert len(made.splitlines()) <= 42
    assert max(map(len, made.splitlines())) <= 100


@pytest.mark.parametrize(
    ("text", "column", "end", "line", "caret"),
    [
        ("key: value", 6, 11, "key: value", "     ^^^^^"),
        ("日本: x", 5, 6, "日本: x", "      ^"),
        ("日本: 東京", 5, 7, "日本: 東京", "      ^^^^"),
        ("e\u0301te\u0301: x", 8, 9, "e\u0301te\u0301: x", "     ^"),
        ("🎉: x", 4, 5, "🎉: x", "    ^"),
        ("⚠️: x", 5, 6, "⚠: x", "   ^"),
        ("👨‍👩: x", 6, 7, "👨\\u200d👩: x", "            ^"),
        ("ｆｕｌｌ: x", 7, 8, "ｆｕｌｌ: x", "          ^"),
        ("ﾊﾝ: x", 5, 6, "ﾊﾝ: x", "    ^"),
        ("\tkey: x", 2, 5, "    key: x", "    ^^^"),
        ("ab\tkey: x", 4, 7, "ab  key: x", "    ^^^"),
        ("日\tkey: x", 3, 6, "日  key: x", "    ^^^"),
        ("a: \x1b[2Jx", 8, 9, "a: \\x1b[2Jx", "          ^"),
        ("a: \u202ex", 5, 6, "a: \\u202ex", "         ^"),
        ("a: \U000e0041x", 5, 6, "a: \\U000e0041x", "             ^"),
        ("key:", 5, None, "key:", "    ^"),
        ("key: x", 99, 120, "key: x", "      ^"),
        ("key: x", 1, 99, "key: x", "^^^^^^"),
    ],
)
def test_the_caret_stays_in_place(text, column, end, line, caret) -> None:
    assert shown(text, column, end) == [line, caret]


@pytest.mark.parametrize("unit", ["a", "日", "e\u0301", "\x1b", "\t"])
@pytest.mark.parametrize("column", [1, 50, 500, 1000])
def test_a_long_line_is_cut_around_the_caret(unit, column) -> None:
    text = f"{unit * (column - 1)}X{unit * (1000 - column)}"

    line, caret = shown(text, column * len(unit) - len(unit) + 1, None, width=60)

    assert cells(line) <= 60
    assert cells(line[: line.index("X")]) == caret.index("^")
    assert line.startswith("…") == (column > 1)


def cells(text: str) -> int:
    """The columns that a terminal gives to a text."""
    return sum(
        0 if unicodedata.combining(one) else 2 if unicodedata.east_asian_width(one) in "WF" else 1
        for one in text
    )


def test_nothing_of_a_file_can_drive_the_terminal() -> None:
    evil = "\x1b]0;pwn\x07\x9b2J\u202e\u200b\r\n"
    one = Diagnostic(f"c{evil}", f"m{evil}", f"f{evil}", 1, 3, path=f"p{evil}", hint=f"h{evil}")

    made = render([one], {f"f{evil}": f"a: {evil}"})

    assert (
        re.findall(r"[^\S \n]|[\x00-\x09\x0b-\x1f\x7f-\x9f\u200b-\u200f\u202a-\u202e]", made) == []
    )
    assert len(made.splitlines()) == 3


def test_a_hint_that_is_too_wide_has_its_own_line() -> None:
    one = at(1, 1, end_column=60, hint="h" * 60)

    assert render([one], {"f.yaml": "x" * 70}).splitlines()[-1] == f"   | help: {'h' * 60}"


def test_without_its_source_a_diagnostic_still_says_all() -> None:
    assert render([at(7, 2, hint="do it", path="a.b")], {}).splitlines() == [
        "f.yaml:7:2: error[unknown-key] a.b: about unknown-key",
        "   | help: do it",
    ]
    assert render([at(7, 2)], {"f.yaml": "a\n"}).splitlines() == [
        "f.yaml:7:2: error[unknown-key] about unknown-key"
    ]
    assert render([], {}) == ""


def test_colour_changes_nothing_but_colour() -> None:
    found = [at(1, 1, hint="h"), at(2, 1, severity="warning")]
    sources = {"f.yaml": "a: b\nc: d\n"}

    made = render(found, sources, color=True)

    assert "\x1b[1;31merror[unknown-key]\x1b[0m" in made
    assert "\x1b[1;33m^\x1b[0m" in made
    assert re.sub(r"\x1b\[[0-9;]*m", "", made) == render(found, sources)


@settings(max_examples=100, deadline=None)
@given(
    text=st.text(max_size=80),
    line=st.integers(1, 3),
    column=st.integers(1, 90),
    end=st.none() | st.integers(1, 200),
    width=st.integers(10, 120),
)
def test_any_text_can_be_shown(text, line, column, end, width) -> None:
    one = at(line, column, end_column=end)

    rows = render([one], {"f.yaml": text}, width=width).split("\n")

    assert all(
        character.isprintable()
        or character in "\u3000\xa0"
        or unicodedata.category(character) in {"Zs", "Co"}
        for row in rows
        for character in row
    )
    assert len(rows) in {2, 4}
