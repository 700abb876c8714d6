"""The forms that a secret takes on its way through programs, for `redaction` to look for.

As it is, escaped for JSON, URLs and HTML, as hex and base64, line by line. Escapes in any other
mix are undone by `escapes` instead; the usual ones stand here for texts that were cut within one.
"""

import base64
import json
import re
from collections.abc import Iterable, Iterator
from math import isfinite
from typing import NamedTuple
from urllib.parse import quote, quote_plus

SHORTEST = 6
"""Characters: what is shorter is no secret, for it would be found everywhere."""

_SHORTEST_SENTENCE = 16
_SHORTEST_UNBROKEN = 12
_FEW, _MANY = 100, 800
"""Forms: a few are searched for one by one, many by their beginnings, others as is quicker."""
_BOUNDARY = re.compile(r"-----(?:BEGIN|END) [^\n]*-----")
_NUMERAL = re.compile(r"[-+.\deE]*\d[-+.\deE]*", re.ASCII)
_ATTRIBUTES = (("", ""), ("&quot;", "&#x27;"), ("&#34;", "&#39;"), ("&quot;", "&apos;"))


class Disguises(NamedTuple):
    """All that one secret may look like.

    `whole` forms stand in one piece, `grouped` ones may have white space or colons inside.
    `numerals` are those of either that a number may hold; `number` is what the secret is as one.
    """

    whole: frozenset[str]
    grouped: frozenset[str]
    numerals: frozenset[str]
    number: float | None


def disguises(text: str) -> Disguises:
    """The forms of a secret; none when it is too short to be one."""
    stripped = text.strip()
    if len(stripped) < SHORTEST:
        stripped = text
    whole = {*_escaped(text), *_escaped(stripped), *_lines(text)}
    grouped = set(_encoded(_bytes(stripped)))
    if len(stripped) >= _SHORTEST_UNBROKEN and not re.search(r"\s", stripped):
        grouped.add(stripped)
    whole = {form for form in whole | grouped if len(form) >= SHORTEST}
    numerals = {form for form in whole if _NUMERAL.fullmatch(form)}
    return Disguises(frozenset(whole), frozenset(grouped), frozenset(numerals), _number(stripped))


class Index:
    """Forms to look for, the longest first; of many, those that begin somewhere in a text."""

    __slots__ = ("_by_start", "_forms")

    def __init__(self, forms: Iterable[str] = ()) -> None:
        self._forms = sorted(set(forms), key=len, reverse=True)
        self._by_start: dict[str, list[str]] = {}
        if len(self._forms) > _FEW:
            for form in self._forms:
                self._by_start.setdefault(form[:SHORTEST], []).append(form)

    def __iter__(self) -> Iterator[str]:
        return iter(self._forms)

    def candidates(self, text: str) -> list[str]:
        """The forms that `text` may hold."""
        if not self._by_start or len(self._forms) < min(_MANY, len(text)):
            return self._forms
        known = self._by_start
        every = range(len(text) - SHORTEST + 1)
        starts = {start for at in every if (start := text[at : at + SHORTEST]) in known}
        return [form for start in starts for form in known[start]]


def ungrouped(text: str) -> str:
    """`text` without what may stand between the groups of a form."""
    for gap in ("\n", " ", "\r", "\t", ":"):
        text = text.replace(gap, "")
    return text


def regrouped(form: str) -> str:
    """A pattern for a form with gaps between its characters."""
    return r"[\s:]*".join(map(re.escape, form))


def _escaped(text: str) -> Iterator[str]:
    yield text
    for written in (json.dumps(text)[1:-1], json.dumps(text, ensure_ascii=False)[1:-1]):
        yield from (written, written.replace("/", "\\/"), _json_for_html(written))
        yield re.sub(r"(?<=\\u)[0-9a-f]{4}", lambda digits: digits[0].upper(), written)
    raw = _bytes(text)
    for written in (quote(raw, safe=""), quote(raw), quote_plus(raw)):
        yield written
        yield re.sub(r"%[0-9A-F]{2}", lambda digits: digits[0].lower(), written)
    markup = text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    for double, single in _ATTRIBUTES:
        yield markup.replace('"', double or '"').replace("'", single or "'")


def _json_for_html(text: str) -> str:
    """As the JSON writers of Go and of web frameworks do."""
    return text.replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e")


def _lines(text: str) -> Iterator[str]:
    """The lines of a longer secret, such as a key in PEM; those that give it away alone.

    A line of several words is a secret only when it is long, and a boundary is none.
    """
    for line in map(str.strip, text.splitlines()):
        shortest = _SHORTEST_SENTENCE if re.search(r"\s", line) else SHORTEST
        if len(line) >= shortest and not _BOUNDARY.fullmatch(line):
            yield line


def _encoded(raw: bytes) -> Iterable[str]:
    """Forms that tools break into lines or groups."""
    yield raw.hex()
    yield raw.hex().upper()
    # base64 of the secret inside longer text starts at one of three offsets: keep the stable middle
    for pad in range(3):
        for encode in (base64.b64encode, base64.urlsafe_b64encode):
            written = encode(b"\0" * pad + raw).decode()
            start = (0, 2, 3)[pad]
            end = len(written.rstrip("=")) - (1 if (pad + len(raw)) % 3 else 0)
            if end - start >= SHORTEST:
                yield written[start:end]


def _bytes(text: str) -> bytes:
    try:
        return text.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        return text.encode("utf-8", "surrogatepass")


def _number(text: str) -> float | None:
    """What `text` is as a JSON number of at least six digits."""
    if not text.isascii() or "_" in text:
        return None
    for read in (int, float):
        try:
            number = read(text)
        except ValueError:
            continue
        is_finite = type(number) is int or isfinite(number)  # which has to make a float of it
        return number if is_finite and len(str(number)) >= SHORTEST else None
    return None
