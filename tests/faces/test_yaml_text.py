import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from toolrt.faces.yaml_text import to_yaml

TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
SCALARS = st.none() | st.booleans() | st.integers() | TEXTS
VALUES = st.recursive(
    SCALARS, lambda inner: st.lists(inner) | st.dictionaries(TEXTS, inner), max_leaves=12
)


@given(VALUES)
def test_what_is_shown_reads_back(value):
    assert yaml.safe_load(to_yaml(value)) == value


@pytest.mark.parametrize(
    "text",
    ["no", "12:30", "1.10", "- a", "a: b", "a #b", "2024-01-01", "~", "", " a", "'", "*a", "&a",
     "!x", "{{ a }}", "${secret:x}", "0x1F", "1_000", ".5", "=", "<<", "y", "a:", "@a", "%a"],
)  # fmt: skip
def test_text_that_looks_like_something_else_is_quoted(text):
    assert yaml.safe_load(to_yaml({"key": text, text: 1})) == {"key": text, text: 1}


def test_plain_words_go_without_quotes():
    assert to_yaml({"say": "Forecast for a city, today"}) == "say: Forecast for a city, today\n"


def test_nested_values_are_indented():
    value = {"a": {"b": [1, {"c": "x", "d": []}]}, "e": {}}

    assert to_yaml(value) == "a:\n  b:\n    - 1\n    - c: x\n      d: []\ne: {}\n"


def test_comments_stand_in_one_column():
    value = {"a": {"b": 1}, "long_name": [2]}

    made = to_yaml(value, lambda path: ".".join(map(str, path)))

    assert made == "a:\n  b: 1  # a.b\nlong_name:\n  - 2   # long_name.0\n"
