"""Patterns of paths: what they match, what is looked into for them, and that none takes long."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolrt.core.errors import ToolError
from toolrt.packs.wildcards import is_matched, may_lead_on, name_matches, parts_of_pattern

MATCHED = [
    ("*.txt", "a.txt", True),
    ("*.txt", "a/b.txt", False),
    ("**/*.txt", "a.txt", True),
    ("**/*.txt", "a/b/c.txt", True),
    ("a/**", "a/b", True),
    ("a/**", "b/b", False),
    ("a/**/b", "a/b", True),
    ("a/**/b", "a/x/y/b", True),
    ("a/**/b/**/c", "a/b/b/c", True),
    ("**", "a/b", True),
    ("**/**/a", "a", True),
    ("./a//b", "a/b", True),
    ("a?c", "abc", True),
    ("a?c", "ac", False),
    ("a*b*c", "a-b-b-c", True),
    ("a*b*c", "a-b-b-d", False),
    ("[ab]", "a", False),
    ("[ab]", "[ab]", True),
    ("a.b", "axb", False),
    ("*", ".hidden", True),
]


@pytest.mark.parametrize(("pattern", "path", "matches"), MATCHED)
def test_a_pattern_matches_whole_paths(pattern, path, matches):
    assert is_matched(path.split("/"), parts_of_pattern(pattern)) is matches


@pytest.mark.parametrize(
    "pattern", ["", ".", "./", "/etc/*", "../*", "a/../b", "a/" * 100, "x" * 2000]
)
def test_a_pattern_that_could_match_nothing_inside_is_refused(pattern):
    with pytest.raises(ToolError) as caught:
        parts_of_pattern(pattern)

    assert caught.value.code == "invalid-arguments"


NAMES = st.text(alphabet="ab", min_size=1, max_size=3)
PATHS = st.lists(NAMES, min_size=1, max_size=4)
PATTERNS = st.lists(st.text(alphabet="ab*?", min_size=1, max_size=3), min_size=1, max_size=4)


@given(PATHS, PATTERNS)
def test_every_folder_on_the_way_to_a_match_is_looked_into(path, pattern):
    if is_matched(path, pattern):
        assert all(may_lead_on(path[:end], pattern) for end in range(len(path)))


@given(st.text(alphabet="ab*?", max_size=8))
def test_a_name_without_wildcards_matches_itself_alone(name):
    assert name_matches(name, name)
    if "*" not in name and "?" not in name:
        assert not name_matches(name + "x", name)


def test_no_pattern_takes_long():
    began = time.process_time()

    assert not name_matches("a" * 255, "*a" * 200 + "*b")
    assert not is_matched(["a"] * 200, (["**", "a"] * 30) + ["b"])
    assert time.process_time() - began < 2
