"""Ranking (R9, R10): BM25 by the book, and what serves an intent comes first."""

import math
from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from toolrt.catalog.retrieval import Index

WORDS = st.sampled_from(["pay", "invoice", "weather", "city", "file", "list"])
TEXTS = st.lists(st.lists(WORDS, min_size=1, max_size=8), min_size=1, max_size=12)


def by_the_book(texts: list[list[str]], query: list[str]) -> dict[str, float]:
    """BM25 as Robertson and Zaragoza write it (2009, formula 3.15), with k1 = 1.2 and b = 0.75."""
    average = sum(map(len, texts)) / len(texts)
    scores: dict[str, float] = {}
    for number, text in enumerate(texts):
        counts, score = Counter(text), 0.0
        for term, times in Counter(query).items():
            many = sum(term in other for other in texts)
            rarity = math.log(1 + (len(texts) - many + 0.5) / (many + 0.5))
            norm = 1.2 * (1 - 0.75 + 0.75 * len(text) / average)
            score += times * rarity * counts[term] * 2.2 / (counts[term] + norm)
        if score:
            scores[f"t{number:02}"] = score
    return scores


@given(TEXTS, st.lists(WORDS, min_size=1, max_size=5))
def test_scores_are_those_of_the_formula(texts: list[list[str]], query: list[str]) -> None:
    index = Index((f"t{number:02}", Counter(text)) for number, text in enumerate(texts))
    found = list(index.ranked(" ".join(query)))
    expected = by_the_book(texts, query)
    assert {hit.name: round(hit.score, 9) for hit in found} == {
        name: round(score, 9) for name, score in expected.items()
    }
    assert found == sorted(found, key=lambda hit: (-hit.score, hit.name))


def test_terms_that_were_found_are_told() -> None:
    index = Index([("a", {"pay": 1.0, "invoice": 1.0}), ("b", {"pay": 1.0})])
    hits = {hit.name: hit.terms for hit in index.ranked("pay the invoice")}
    assert hits == {"a": ("pay", "invoice"), "b": ("pay",)}


def test_beginning_of_a_word_finds_it_where_nobody_wrote_it_whole() -> None:
    index = Index([("a", {"authentication": 1.0}), ("b", {"author": 1.0}), ("c", {"x": 1.0})])
    assert {hit.name for hit in index.ranked("auth")} == {"a", "b"}
    assert [hit.name for hit in index.ranked("author")] == ["b"]
    assert list(index.ranked("au")) == []


def test_an_index_of_nothing_finds_nothing() -> None:
    assert list(Index([]).ranked("pay")) == []
    assert list(Index([("a", {})]).ranked("pay")) == []
