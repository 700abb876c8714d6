"""Secrets: a value that will not show itself, and text with known secrets taken out.

Texts on their way to a caller pass a `Redactor`; those that were cut before pass `excerpt`, which
also masks what the cut left of a secret. `without_credentials` needs to know none.
"""

import base64
import json
import re
from collections.abc import Callable, Iterable
from typing import Any
from urllib.parse import quote, quote_plus

MASK = "***"
_SHORTEST = 6
_SHORTEST_LINE = 16
_CUT = re.compile(r"(…|\n?\[\.\.\. \d+ bytes left out \.\.\.\]\n?)")
_USERINFO = re.compile(
    r"(?<=://)(?:[^\s:/@'\"]{0,200}:[^\s'\"]{0,200}@|[^\s:/@'\"]{1,200}@)[^\s/?#'\"]*"
)
_PASSWORD = re.compile(
    r"((?:pass(?:word|wd|phrase)?|pwd|secret|token|api_?-?key|access_?-?key)"
    r"(?:=|[\"']\s?:\s?(?=[\"'])))(?:\"[^\"]{0,500}\"|'[^']{0,500}'|[^\s,;&'\")]{1,500})",
    re.IGNORECASE,
)


class Secret:
    """A text that no repr, log, error or JSON shows; `reveal()` is the only way to it."""

    __slots__ = ("_text",)

    def __init__(self, text: str) -> None:
        self._text = text

    def reveal(self) -> str:
        return self._text

    def __repr__(self) -> str:
        return f"Secret({MASK})"

    __str__ = __repr__

    def __format__(self, spec: str) -> str:
        return MASK

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Secret) and other._text == self._text

    def __hash__(self) -> int:
        return hash(self._text)

    def __reduce__(self) -> str | tuple[Any, ...]:
        raise TypeError("a secret is not pickled")


class Redactor:
    """Takes known secrets of at least 6 characters, and their usual encodings, out of texts."""

    __slots__ = ("_encoded", "_forms", "_seen", "is_armed")

    def __init__(self) -> None:
        self._seen: set[str] = set()
        self._forms: list[str] = []
        self._encoded: set[str] = set()
        self.is_armed = False

    def learn(self, text: str) -> None:
        """From now on `text` is a secret, and so is each of its longer lines."""
        if len(text) < _SHORTEST or text in self._seen:
            return
        self._seen.add(text)
        self.is_armed = True
        encoded = set(_encoded_forms(text))
        lines = {line for line in map(str.strip, text.splitlines()) if len(line) >= _SHORTEST_LINE}
        self._encoded |= encoded
        forms = {*self._forms, *_forms_of(text), *encoded, *lines}
        self._forms = sorted(forms, key=len, reverse=True)

    def text(self, text: str) -> str:
        """`text` with every known secret masked."""
        for form in self._forms:
            if form in text:
                text = text.replace(form, MASK)
        squeezed = _squeezed(text)
        if len(squeezed) < len(text):
            for form in self._encoded:
                if form in squeezed:
                    text = re.sub(r"\s*".join(map(re.escape, form)), MASK, text)
        return text

    def excerpt(self, text: str) -> str:
        """As `text`, for one that was cut: what is left of a secret at its ends, and where a mark
        says that something is missing, is masked too.
        """
        pieces = _CUT.split(self.text(text))
        pieces[::2] = [self._without_ends(piece) for piece in pieces[::2]]
        return "".join(pieces)

    def value(self, value: Any, mask: Callable[[str], str] | None = None) -> Any:
        """A copy of a JSON value with every text masked, in keys too; by `text` unless told."""
        mask = mask or self.text
        if isinstance(value, str):
            return mask(value)
        if isinstance(value, dict):
            return {self.value(k, mask): self.value(v, mask) for k, v in value.items()}
        if isinstance(value, (list, tuple)):
            return [self.value(v, mask) for v in value]
        return value

    def _without_ends(self, text: str) -> str:
        for form in self._forms:
            begins = _overlap(form, text)
            if begins:
                text = MASK + text[begins:]
            ends = _overlap(text, form)
            if ends:
                text = text[:-ends] + MASK
        return text


def without_credentials(text: str) -> str:
    """`text` without the user and host of URLs that carry a password, and `password=…` alike."""
    return _PASSWORD.sub(rf"\1{MASK}", _USERINFO.sub(MASK, text))


def _squeezed(text: str) -> str:
    return text.replace("\n", "").replace(" ", "").replace("\r", "").replace("\t", "")


def _overlap(first: str, second: str) -> int:
    """How many characters at the end of `first` are the start of `second`; 0 for a few."""
    window = first[-min(len(first), len(second) - 1) :]
    at = window.find(second[:_SHORTEST])
    while at >= 0 and len(window) - at >= _SHORTEST:
        if second.startswith(window[at:]):
            return len(window) - at
        at = window.find(second[:_SHORTEST], at + 1)
    return 0


def _forms_of(text: str) -> Iterable[str]:
    yield text
    for escaped in (json.dumps(text)[1:-1], json.dumps(text, ensure_ascii=False)[1:-1]):
        yield from (escaped, escaped.replace("/", "\\/"), _escaped_for_html(escaped))
        yield re.sub(r"(?<=\\u)[0-9a-f]{4}", lambda digits: digits[0].upper(), escaped)
    raw = text.encode("utf-8", "surrogateescape")
    for encoded in (quote(raw, safe=""), quote(raw), quote_plus(raw)):
        yield encoded
        yield re.sub(r"%[0-9A-F]{2}", lambda digits: digits[0].lower(), encoded)


def _escaped_for_html(text: str) -> str:
    """As the JSON writers of Go and of web frameworks do."""
    return text.replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e")


def _encoded_forms(text: str) -> Iterable[str]:
    """Forms that tools break into lines or groups."""
    raw = text.encode("utf-8", "surrogateescape")
    yield raw.hex()
    yield raw.hex().upper()
    # base64 of the secret inside longer text starts at one of three offsets: keep the stable middle
    for pad in range(3):
        for encode in (base64.b64encode, base64.urlsafe_b64encode):
            whole = encode(b"\0" * pad + raw).decode()
            start = (0, 2, 3)[pad]
            end = len(whole.rstrip("=")) - (1 if (pad + len(raw)) % 3 else 0)
            if end - start >= _SHORTEST:
                yield whole[start:end]
