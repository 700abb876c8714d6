"""Regular expressions that find places, in linear time."""

import time

import pytest

from toolrt.core.faults import FaultError
from toolrt.expressions.patterns import compile_pattern


@pytest.mark.parametrize(
    "text",
    ["(a+)\\1", "(?<=x)a", "a(?=b)", "(", "a{1000}{1000}", "x*", "\\b", "^", "\ud800"],
    ids=ascii,
)
def test_p11_what_is_not_linear_or_matches_nothing_is_refused(text):
    with pytest.raises(FaultError) as refused:
        compile_pattern(text)

    assert refused.value.faults[0].code == "bad-pattern"


def test_p11_a_search_that_would_take_others_forever_is_linear():
    began = time.process_time()

    assert compile_pattern("(a|aa)+$").replaced("a" * 2_000_000 + "b", "*").endswith("ab")
    assert time.process_time() - began < 1.0


def test_every_match_is_replaced_whatever_stands_around_it():
    pattern = compile_pattern("[0-9]{4}")

    assert pattern.replaced("é 1234 日本 56789", "*") == "é * 日本 *9"
    assert pattern.replaced("\ud800 1234", "*") == "*"
