"""Secrets: a value that will not show itself, and text with known secrets taken out."""

import base64
import json
from collections.abc import Iterable
from typing import Any
from urllib.parse import quote, quote_plus

MASK = "***"
_SHORTEST = 6


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

    __slots__ = ("_forms", "_seen", "is_armed")

    def __init__(self) -> None:
        self._seen: set[str] = set()
        self._forms: list[str] = []
        self.is_armed = False

    def learn(self, text: str) -> None:
        """From now on `text` is a secret."""
        if len(text) < _SHORTEST or text in self._seen:
            return
        self._seen.add(text)
        self.is_armed = True
        self._forms = sorted({*self._forms, *_forms_of(text)}, key=len, reverse=True)

    def text(self, text: str) -> str:
        """`text` with every known secret masked."""
        for form in self._forms:
            if form in text:
                text = text.replace(form, MASK)
        return text

    def value(self, value: Any) -> Any:
        """A copy of a JSON value with every known secret masked, in keys too."""
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, dict):
            return {self.value(k): self.value(v) for k, v in value.items()}
        if isinstance(value, (list, tuple)):
            return [self.value(v) for v in value]
        return value


def _forms_of(text: str) -> Iterable[str]:
    raw = text.encode("utf-8", "surrogatepass")
    yield text
    yield json.dumps(text)[1:-1]
    yield json.dumps(text, ensure_ascii=False)[1:-1]
    yield quote(text, safe="", errors="replace")
    yield quote_plus(text, errors="replace")
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
