import pytest

from toolrt.faces.cli.table import aligned, count, cut, fitted, join, width_of


def test_columns_are_aligned_and_empty_ones_left_out():
    rows = [["a", "", "long one"], ["bbb", "", "x"]]

    assert aligned(rows, indent="  ") == ["  a    long one", "  bbb  x"]


def test_wide_characters_count_as_two():
    assert aligned([["東京", "x"], ["abcd", "y"]]) == ["東京  x", "abcd  y"]
    assert width_of("e\u0301") == 1


def test_nothing_makes_no_lines():
    assert aligned([]) == []


@pytest.mark.parametrize(
    ("text", "most", "shown"),
    [("abc", 3, "abc"), ("abcd", 3, "ab…"), ("東京都", 4, "東…"), ("", 0, "")],
)
def test_a_cut_shows(text, most, shown):
    assert cut(text, most) == shown


def test_a_text_of_any_length_is_cut_at_once():
    assert cut("東" * 1_000_000, 6) == "東東…"
    assert fitted([["n" * 1_000_000, "x" * 1_000_000]], 0.5, 12) == [["nnnnn…", "xxx…"]]


def test_what_does_not_fit_is_cut():
    rows = [["name(a: string)", "read", "A long text"]]

    assert [join(row) for row in fitted(rows, 0.45, 20)] == ["name(a: …  read  A …"]


def test_counts():
    assert [count(number, "file") for number in (0, 1, 2)] == ["0 files", "1 file", "2 files"]
