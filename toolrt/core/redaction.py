"""Secrets: a value that will not show itself, and text with known secrets taken out.

Texts on their way to a caller pass a `Redactor`; those that were cut before pass `excerpt`, which
also masks what the cut left of a secret. `redacted` is for what goes to the operator: it knows the
secrets of every open project. `without_credentials` needs to know none.
"""

import re
import threading
import weakref
from collections.abc import Callable, Sequence
from typing import Any

from toolrt.core.disguises import SHORTEST, Disguises, Index, disguises, regrouped, ungrouped
from toolrt.core.escapes import Places, Span, unescaped
from toolrt.core.unseen import bare

MASK = "***"
_MOST_PASSING = 256
_DEEPEST = 3
_CUT = re.compile(r"(…|\n?\[\.\.\. \d+ bytes left out \.\.\.\]\n?)")
_AUTHORITY = re.compile(r"(?<=://)(?:[^\s'\"]|['\"](?=\w))+")
_HOST = re.compile(r"[^/?#]*")
_USERINFO = re.compile(r"(?:\A|(?<=://))[^:/@]*(?::|(?<=[^:/@])@)")
_WRITTEN_PASSWORD = re.compile(r"(?<=://)([^\s/@'\"{}:]*:)([^\s/@'\"{}]+)(?=@)")
_PASSWORD = re.compile(
    r"((?:pass(?:word|wd|phrase)?|pwd|secret|token|api_?-?key|access_?-?key)"
    r"(?:=|[\"']\s?:\s?(?=[\"'])))(?:\"[^\"]*\"?|'[^']*'?|[^\s,;&'\")]+)",
    re.IGNORECASE,
)
_ARMED: "list[weakref.ref[Redactor]]" = []


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

    __slots__ = (
        "__weakref__", "_forms", "_grouped", "_lasting", "_lock", "_numbers", "_numerals",
        "_passing", "is_armed",
    )  # fmt: skip

    def __init__(self) -> None:
        self._lasting: dict[str, Disguises] = {}
        self._passing: dict[str, Disguises] = {}
        self._forms = Index()
        self._grouped = Index()
        self._numerals: list[str] = []
        self._numbers: frozenset[float] = frozenset()
        self._lock = threading.Lock()
        self.is_armed = False

    def learn(self, text: str) -> None:
        """From now on `text` is a secret, and so is each of its longer lines."""
        if len(text) < SHORTEST or text in self._lasting:
            return
        with self._lock:
            self._lasting[text] = disguises(text)
            self._passing.pop(text, None)
            self._settle()

    def learn_in_passing(self, text: str) -> None:
        """The same for a secret of one among many callers; the last 256 of them are known."""
        if len(text) < SHORTEST or text in self._lasting:
            return
        with self._lock:
            known = self._passing.pop(text, None)
            self._passing[text] = known or disguises(text)
            if known is None:
                if len(self._passing) > _MOST_PASSING:
                    del self._passing[next(iter(self._passing))]
                self._settle()

    def text(self, text: str) -> str:
        """`text` with every known secret masked; without what nobody sees, where that kept one from
        being found: whoever removes it later would put the secret together.
        """
        while True:
            spans = self.spans(text) or self._spans_behind(text)
            if not spans:
                seen = bare(text)
                spans = [] if seen is text else self.spans(seen) or self._spans_behind(seen)
                if not spans:
                    return text
                text = seen
            text = _cut_out(text, spans)

    def excerpt(self, text: str) -> str:
        """As `text`, for one that was cut: what is left of a secret at its ends, and where a mark
        says that something is missing, is masked too.
        """
        if not self.is_armed:
            return text
        pieces = _CUT.split(self.text(text))
        pieces[::2] = [self._without_ends(piece) for piece in pieces[::2]]
        return "".join(pieces)

    def value(self, value: Any, mask: Callable[[str], str] | None = None) -> Any:
        """A copy of a JSON value with every text masked, in keys too; by `text` unless told.

        A number that is a secret, or that holds the digits of one, becomes the mask.
        """
        mask = mask or self.text
        if isinstance(value, str):
            return mask(value)
        if isinstance(value, dict):
            return {self.value(k, mask): self.value(v, mask) for k, v in value.items()}
        if isinstance(value, (list, tuple)):
            return [self.value(v, mask) for v in self._apart(value)]
        return MASK if self._numerals and self._is_secret_number(value) else value

    def _apart(self, items: Sequence[Any]) -> Sequence[Any]:
        """The items of a list; where they are texts, without the secrets that go on from one to the
        next, as in the lines of a file.
        """
        if len(items) < 2 or not all(isinstance(each, str) for each in items):  # noqa: PLR2004 - there is a next one
            return items
        for pieces in (items, list(map(bare, items))):
            whole = "".join(pieces)
            spans = self.spans(whole) or self._spans_behind(whole)
            if spans:
                return self._without(spans, pieces)
        return items

    def _without(self, spans: list[Span], items: Sequence[str]) -> list[str]:
        """The items without the spans of their texts together."""
        made, start = [], 0
        for item in items:
            end = start + len(item)
            inside = [(max(b, start) - start, min(e, end) - start) for b, e in spans]
            made.append(_cut_out(item, [span for span in inside if span[0] < span[1]]))
            start = end
        return made

    def _settle(self) -> None:
        """Put what is known into the order in which it is looked for."""
        known = [*self._lasting.values(), *self._passing.values()]
        self._forms = Index(form for each in known for form in each.whole)
        self._grouped = Index(form for each in known for form in each.grouped)
        self._numerals = sorted({form for each in known for form in each.numerals})
        self._numbers = frozenset(each.number for each in known if each.number is not None)
        if not self.is_armed:
            self.is_armed = True
            _ARMED.append(weakref.ref(self, _ARMED.remove))

    def spans(self, text: str) -> list[Span]:
        """Where secrets stand in `text` as it is."""
        found = []
        for form in self._forms.candidates(text):
            at = text.find(form)
            while at >= 0:
                found.append((at, at + len(form)))
                at = text.find(form, at + len(form))
        together = ungrouped(text)
        if len(together) < len(text):
            for form in self._grouped.candidates(together):
                if form in together:
                    found += [match.span() for match in re.finditer(regrouped(form), text)]
        return found

    def _spans_behind(self, text: str) -> list[Span]:
        """Where `text` spells secrets with escapes, or escapes of escapes."""
        layers: list[str] = []
        plain = unescaped(text)
        while plain != text and len(layers) < _DEEPEST:
            layers.append(text)
            spans = self.spans(plain)
            if spans:
                for layer in reversed(layers):
                    spans = list(map(Places(layer).span, spans))
                return spans
            text, plain = plain, unescaped(plain)
        return []

    def _is_secret_number(self, value: object) -> bool:
        if isinstance(value, bool) or not isinstance(value, int | float):
            return False
        if value in self._numbers:
            return True
        try:
            digits = repr(value)
        except ValueError:  # thousands of digits: no result may hold it anyway
            return False
        return any(form in digits for form in self._numerals)

    def _without_ends(self, text: str) -> str:
        masked, seen = self._masked_at_ends(text), bare(text)
        if masked != text or seen is text:
            return masked
        masked = self._masked_at_ends(seen)
        return text if masked == seen else masked

    def _masked_at_ends(self, text: str) -> str:
        for form in self._forms:
            begins = _overlap(form, text)
            if begins:
                text = MASK + text[begins:]
            ends = _overlap(text, form)
            if ends:
                text = text[:-ends] + MASK
        return text


def redacted(text: str) -> str:
    """`text` for the operator: without credentials, and without the secrets of any open project."""
    redactors = _armed()
    text = _of_all(redactors, text)
    for redactor in redactors:
        text = redactor.excerpt(text)
    return without_credentials(text)


def redacted_value(value: Any) -> Any:
    """A JSON value with every text in it `redacted`, and numbers that are secrets masked."""
    redactors = _armed()
    if len(redactors) > 1:
        value = Redactor().value(value, lambda text: _of_all(redactors, text))
    for redactor in redactors:
        value = redactor.value(value, redactor.excerpt)
    return Redactor().value(value, without_credentials)


def _armed() -> list[Redactor]:
    """The redactors of all open projects that know secrets."""
    return [redactor for known in tuple(_ARMED) if (redactor := known()) is not None]


def _of_all(redactors: Sequence[Redactor], text: str) -> str:
    """`text` without the secrets of several projects, looked for before any of them is masked: one
    that begins like another would leave its end behind.
    """
    if len(redactors) < 2:  # noqa: PLR2004 - one alone looks by itself
        return text
    spans = [span for redactor in redactors for span in redactor.spans(text)]
    return _cut_out(text, spans) if spans else text


def without_credentials(text: str) -> str:
    """`text` without the user and host of URLs that carry a password, and `password=…` alike."""
    if "://" in text:
        text = _AUTHORITY.sub(_without_userinfo, text)
    return _PASSWORD.sub(rf"\1{MASK}", text)


def blotted(text: str) -> str:
    """A file's `text` with a star for each character of a password in a URL: places stay."""
    if "://" not in text:
        return text
    return _WRITTEN_PASSWORD.sub(lambda found: found[1] + "*" * len(found[2]), text)


def _without_userinfo(match: re.Match[str]) -> str:
    """What follows `://`, up to white space or a quote; user and host end at the last `@`."""
    rest = match[0]
    last = rest.rfind("@")
    begins = _USERINFO.search(rest, 0, last + 1) if last >= 0 else None
    if begins is None:
        return rest
    return rest[: begins.start()] + MASK + _HOST.sub("", rest[last + 1 :], count=1)


def _cut_out(text: str, spans: list[Span]) -> str:
    """`text` with a mask for each span; those that overlap are one."""
    pieces, end = [], 0
    merged: list[Span] = []
    for span in sorted(spans):
        if merged and span[0] < merged[-1][1]:
            merged[-1] = (merged[-1][0], max(span[1], merged[-1][1]))
        else:
            merged.append(span)
    for begin, after in merged:
        pieces += [text[end:begin], MASK]
        end = after
    return "".join([*pieces, text[end:]])


def _overlap(first: str, second: str) -> int:
    """How many characters at the end of `first` are the start of `second`; 0 for a few."""
    window = first[-min(len(first), len(second) - 1) :]
    at = window.find(second[:SHORTEST])
    while at >= 0 and len(window) - at >= SHORTEST:
        if second.startswith(window[at:]):
            return len(window) - at
        at = window.find(second[:SHORTEST], at + 1)
    return 0
