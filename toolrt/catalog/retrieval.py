"""Which tools serve an intent: BM25 over what is written about each.

Robertson and Zaragoza, The Probabilistic Relevance Framework: BM25 and Beyond (2009), with the
weights of fields summed before they saturate (BM25F, section 3.6.1). All that does not depend on
the query is worked out when the index is made.
"""

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from heapq import heapify, heappop
from itertools import islice
from math import log
from typing import Any, Final

from toolrt.catalog.snapshot import ToolEntry
from toolrt.core.terms import terms

K: Final = 8
"""How many tools are found where nobody says."""

_K1: Final = 1.2
_B: Final = 0.75
_NAME, _TITLE, _TAG, _TEXT, _PARAMETER, _ABOUT_PARAMETER = 4.0, 3.0, 3.0, 1.0, 1.0, 0.5
_LONGEST: Final = 64
"""Terms of a query that count."""
_BEGUN: Final = 3
"""Letters of a word that nobody wrote, and that may be the beginning of one."""
_MOST_BEGUN: Final = 32
_BEGINNING_COUNTS: Final = 0.5

Weights = Mapping[str, float]


@dataclass(frozen=True, slots=True)
class Hit:
    """A tool that was found: how well it fits (higher is better; comparable within one search), and
    the terms of the query that stand in it.
    """

    name: str
    score: float
    terms: tuple[str, ...]


class Index:
    """What is written about some things, by name."""

    def __init__(self, written: Iterable[tuple[str, Weights]]) -> None:
        """Each with the weight of every term in it."""
        rows = list(written)
        self.names: Sequence[str] = [name for name, _ in rows]
        lengths = [sum(weights.values()) for _, weights in rows]
        average = sum(lengths) / len(lengths) if lengths else 1.0
        found: dict[str, list[tuple[int, float]]] = {}
        for number, (_, weights) in enumerate(rows):
            norm = _K1 * (1 - _B + _B * lengths[number] / (average or 1.0))
            for term, weight in weights.items():
                found.setdefault(term, []).append((number, weight * (_K1 + 1) / (weight + norm)))
        self._found = {term: _weighed(many, len(rows)) for term, many in found.items()}
        self._terms = sorted(self._found)

    def ranked(self, query: str) -> Iterator[Hit]:
        """Those that fit `query` at all, best first; those that fit equally well by name.

        It costs little to look at the first few alone.
        """
        scores: dict[int, float] = {}
        asked = self._asked(query)
        for _, weight, found in asked:
            for number, score in found:
                scores[number] = scores.get(number, 0.0) + weight * score
        rows = [(-score, self.names[number], number) for number, score in scores.items()]
        heapify(rows)
        while rows:
            score, name, number = heappop(rows)
            yield Hit(name, -score, _why(number, asked))

    def _asked(self, query: str) -> list[tuple[str, float, list[tuple[int, float]]]]:
        """The terms of a query that stand anywhere: each with its weight and where it stands."""
        wanted = Counter(islice(terms(query), _LONGEST))
        return [
            (term, weight * share, self._found[each])
            for term, weight in wanted.items()
            for each, share in self._known(term)
        ]

    def _known(self, term: str) -> Iterator[tuple[str, float]]:
        """The term itself, or else those that begin with it."""
        if term in self._found:
            yield term, 1.0
            return
        if term.isascii() and len(term) < _BEGUN:
            return
        at = bisect_left(self._terms, term)
        for each in self._terms[at : at + _MOST_BEGUN]:
            if not each.startswith(term):
                return
            yield each, _BEGINNING_COUNTS


def index_of(tools: Iterable[ToolEntry]) -> Index:
    """An index of tools by name."""
    return Index((tool.name, _weights(tool)) for tool in tools)


def _weighed(many: list[tuple[int, float]], of: int) -> list[tuple[int, float]]:
    """The places of a term with the weight that its rarity gives it."""
    rarity = log(1 + (of - len(many) + 0.5) / (len(many) + 0.5))
    return [(number, weight * rarity) for number, weight in many]


def _why(number: int, asked: list[tuple[str, float, list[tuple[int, float]]]]) -> tuple[str, ...]:
    """The terms of a query that a tool was found by. Places are in the order of their numbers."""
    return tuple(dict.fromkeys(term for term, _, found in asked if _stands(number, found)))


def _stands(number: int, found: list[tuple[int, float]]) -> bool:
    at = bisect_left(found, (number, float("-inf")))
    return at < len(found) and found[at][0] == number


def _weights(tool: ToolEntry) -> Weights:
    made: dict[str, float] = {}
    for text, weight in _texts(tool):
        for term in terms(text):
            made[term] = made.get(term, 0.0) + weight
    return made


def _texts(tool: ToolEntry) -> Iterator[tuple[str, float]]:
    """What is written about a tool, and how much each counts."""
    yield tool.name, _NAME
    yield tool.title or "", _TITLE
    yield " ".join(tool.tags), _TAG
    yield tool.own_description or tool.description, _TEXT
    properties: Mapping[str, Any] = tool.input_schema.get("properties", {})
    for name, schema in properties.items():
        yield name, _PARAMETER
        if isinstance(schema, Mapping):
            yield str(schema.get("description", "")), _ABOUT_PARAMETER
            yield " ".join(map(str, schema.get("enum", ()))), _ABOUT_PARAMETER
