"""Paths as callers give them: one spelling each, and none that leads out (F2)."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolrt.core.relative import LONGEST, LONGEST_PART, parts_of, plain_path


@pytest.mark.parametrize(
    ("given", "plain"),
    [("a", "a"), ("./a", "a"), ("a//b/", "a/b"), (".", "."), ("./.", "."), ("a/./b", "a/b"),
     ("...", "..."), ("-rf", "-rf"), (".a", ".a"), ("é" * 127, "é" * 127), ("a b", "a b")],
)  # fmt: skip
def test_a_path_has_one_spelling(given, plain):
    assert plain_path(given) == plain


@pytest.mark.parametrize(
    ("given", "why"),
    [("", "empty"), ("/a", "absolute"), ("..", "`..`"), ("a/../b", "`..`"), ("a\0", "control"),
     ("a\n", "control"), ("\x9b", "control"), ("n" * 256, "too long"), ("é" * 128, "too long"),
     ("a/" * 2049, "too long"), ("\ud800", "surrogate")],
)  # fmt: skip
def test_f2_what_could_lead_out_or_be_no_name_is_refused(given, why):
    with pytest.raises(ValueError, match=why):
        parts_of(given)


@given(st.text(max_size=20))
def test_what_is_let_through_is_names_alone(text):
    try:
        parts = parts_of(text)
    except ValueError:
        return
    assert all(0 < len(part.encode()) <= LONGEST_PART for part in parts)
    assert not any(part in {".", ".."} or "/" in part or "\0" in part for part in parts)
    assert len(text) <= LONGEST
    assert parts_of("/".join(parts) or ".") == parts
