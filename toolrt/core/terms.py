"""Texts as the terms that search knows them by.

Words of letters and digits, without case, accents and plurals; names are split where their words
meet (`getHTTPUser_v2`). Chinese, Japanese and Korean, which set no spaces, count by pairs of
characters, as usual where no dictionary is at hand.
"""

import re
import unicodedata
from collections.abc import Iterator
from itertools import pairwise
from typing import Final

_PAIRED: Final = r"\u3040-\u30ff\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff"
_PIECES: Final = re.compile(rf"(?P<pairs>[{_PAIRED}]+)|(?P<word>[^\W_{_PAIRED}]+)")
_HUMPS: Final = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_SHORTEST: Final = 3
_IGNORED: Final = frozenset(
    """
    a an and are as at be by can do for from give how i in into is it me my of on or our please that
    the their this to up us want we what which who will with you your
    """.split()  # noqa: SIM905 - words read as words
)
_MOST: Final = 20_000


def terms(text: str) -> Iterator[str]:
    """The terms of `text`, in its order, of as much of it as a search looks at."""
    plain = unicodedata.normalize("NFKC", text[:_MOST])
    for found in _PIECES.finditer(_HUMPS.sub(" ", plain)):
        if found["pairs"]:
            yield from _pairs(found["pairs"])
            continue
        word = _plain(found["word"])
        if word not in _IGNORED:
            yield word


def _pairs(run: str) -> Iterator[str]:
    if len(run) == 1:
        yield run
    for first, second in pairwise(run):
        yield first + second


def _plain(word: str) -> str:
    """A word without case, accents and plural."""
    apart = unicodedata.normalize("NFKD", word.casefold())
    return _singular("".join(each for each in apart if not unicodedata.combining(each)))


def _singular(word: str) -> str:
    """Without a plural ending: Harman's S stemmer (How effective is suffixing?, 1991)."""
    if len(word) <= _SHORTEST or not word.isascii() or not word.endswith("s"):
        return word
    if word.endswith("ies") and not word.endswith(("eies", "aies")):
        return f"{word[:-3]}y"
    if word.endswith("es") and not word.endswith(("aes", "ees", "oes")):
        return word[:-1]
    return word if word.endswith(("us", "ss")) else word[:-1]
