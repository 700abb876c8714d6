"""Texts as terms: words without case, accents and plurals; pairs where no spaces are set."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolrt.core.terms import terms


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("getHTTPUser_v2", ["get", "http", "user", "v2"]),
        ("billing.pay_invoice", ["billing", "pay", "invoice"]),
        ("Categories, boxes & glasses of status", ["category", "boxe", "glasse", "status"]),
        ("Überweisungen an MÜLLER", ["uberweisungen", "muller"]),
        ("天気予報", ["天気", "気予", "予報"]),
        ("日", ["日"]),
        ("invoice用の検索", ["invoice", "用の", "の検", "検索"]),
        ("ｆｕｌｌ－ｗｉｄｔｈ", ["full", "width"]),
        ("what is in the of", []),
        ("  \u202e\x00!? ", []),
        ("день недели", ["день", "недели"]),
    ],
)
def test_terms_are_what_is_searched_for(text: str, found: list[str]) -> None:
    assert list(terms(text)) == found


@given(st.text(max_size=200))
def test_case_and_width_make_no_other_terms(text: str) -> None:
    assert all(term == term.casefold() and term for term in terms(text))


def test_a_long_text_costs_no_more_than_its_beginning() -> None:
    assert len(list(terms("word " * 1_000_000))) == 4000
