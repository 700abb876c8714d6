"""Fields of JSON that stands in a text: all of it, one document a line, or inside other words.

A program prints what it has, and an answer that means failure is often told as its text; both may
be cut anywhere. So nothing is parsed: names and values are found by their quotes and brackets, and
where something was left out, what cannot be told apart from a field is masked with it.
"""

import json
import re
from collections.abc import Callable
from typing import Final

from toolrt.core.redaction import MASK
from toolrt.core.unseen import bare

Names = tuple[str, ...]
"""Those of the fields that something stands in, the nearest first, in small letters."""

IsField = Callable[[str, Names, bool], bool]
"""Whether a name is that of a field; above it stand these, and where the last is true others that
are not known.
"""

Inner = Callable[[str, Names], str]
"""A text that stands in these fields, without what is to be masked in it."""

_DEEPEST: Final = 64
_MASKED: Final = f'"{MASK}"'
_STRING: Final = r'"(?:[^"\\\n]|\\.)*+(?:"|(?=\n)|\Z)'
_TOKEN: Final = re.compile(rf'{_STRING}|[{{}}\[\]]|[^\s{{}}\[\],:"]+')
_NAME: Final = re.compile(r'"(?:[^"\\\n]|\\.){0,200}+"(?=\s*:)')
_BEGIN: Final = re.compile(rf"[{{}}\[\]]|{_NAME.pattern}")
_COLON: Final = re.compile(r"\s*:\s*")
_SCALAR: Final = re.compile(r"(?![{\[\"])[^\s,{}\[\]]*")
_LEFT_OUT: Final = re.compile(r"(\n?\[\.\.\. \d+ bytes left out \.\.\.\]\n?)")


def masked_fields(text: str, above: Names, is_field: IsField, inner: Inner) -> str:
    """`text`, which stands in the fields `above`, with the values of its own fields masked."""
    pieces = _LEFT_OUT.split(text)
    is_torn = not text.lstrip().startswith(("{", "["))
    reading = _Reading(above, is_field, inner, is_torn=is_torn)
    pieces[0] = reading.part(pieces[0])
    for at in range(2, len(pieces), 2):
        pieces[at] = reading.next_part(pieces[at])
    return "".join(pieces)


class _Reading:
    """What is known on the way: `_above` are the names of what is open, None in a list."""

    def __init__(self, around: Names, is_field: IsField, inner: Inner, *, is_torn: bool) -> None:
        self._around = around
        self._is_field = is_field
        self._inner = inner
        self._is_torn = is_torn
        self._above: list[str | None] = []
        self._is_in_field = False

    def next_part(self, text: str) -> str:
        """As `part`, behind something that was left out: a field may begin in there."""
        if self._is_in_field:
            return MASK
        start = 0
        if self._above:
            name = _NAME.search(text)
            start = name.start() if name else len(text)
        self._above, self._is_torn = [], True
        return (MASK if start else "") + self.part(text[start:])

    def part(self, text: str) -> str:
        made: list[str] = []
        end, at = 0, 0
        name: str | None = None
        while token := (_TOKEN if self._above or name is not None else _BEGIN).search(text, at):
            at = token.end()
            colon = _COLON.match(text, at) if name is None and text[at - 1] == '"' else None
            if colon is None:
                written = self._value(token[0], name)
                made += [text[end : token.start()], written]
                end, name = at, None
                continue
            at, name = colon.end(), bare(_read(token[0])).casefold()
            if self._is_field(name, self._names(), self._is_torn):
                after = self._end_of_value(text, at)
                made += [text[end:at], _MASKED if after > at else ""]
                end = at = after
                name = None
        return "".join([*made, text[end:]])

    def _value(self, said: str, name: str | None) -> str:
        """A token that is no name, as it is shown; brackets are kept in mind."""
        if said in "{[":
            self._above.append(name)
        elif said in "}]":
            self._close()
        elif said[0] == '"' and '\\"' in said:
            inner = _read(said)
            shown = self._inner(inner, self._names() if name is None else (name, *self._names()))
            return said if shown == inner else json.dumps(shown, ensure_ascii=False)
        return said

    def _close(self) -> None:
        if self._above:
            self._above.pop()
        else:
            self._is_torn = True

    def _names(self) -> Names:
        within = (name for name in reversed(self._above[-_DEEPEST:]) if name is not None)
        return (*within, *self._around)

    def _end_of_value(self, text: str, at: int) -> int:
        """Where the value ends that begins there: at the end of the text, where it was cut."""
        scalar = _SCALAR.match(text, at)
        if scalar is not None:
            return scalar.end()
        depth = 0
        for token in _TOKEN.finditer(text, at):
            depth += (token[0] in "{[") - (token[0] in "}]")
            if depth <= 0:
                return token.end()
        self._is_in_field = True
        return len(text)


def _read(string: str) -> str:
    """What a string of JSON says; what stands in it, where it is none."""
    try:
        said = json.loads(string)
    except ValueError:
        said = string.strip('"')
    return str(said)
