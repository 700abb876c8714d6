"""Texts without their escapes: what URLs, JSON, HTML and programs spell, and where it stood.

`redaction` looks behind the spelling of a text with it; any mix of escapes is understood.
"""

import re
from bisect import bisect_right

_HEX = "[0-9A-Fa-f]"
_RUN = re.compile(
    r"[%\\&](?:"  # one set first: the search leaps from one sign to the next
    rf"(?<=%){_HEX}{{2}}(?:%{_HEX}{{2}})*"
    rf"|(?<=\\)(?:[bfnrt]|[^\w\s]|u{_HEX}{{4}}(?:\\u{_HEX}{{4}})*|x{_HEX}{{2}}(?:\\x{_HEX}{{2}})*"
    rf"|[0-3][0-7]{{2}}(?:\\[0-3][0-7]{{2}})*|U{_HEX}{{8}}|u\{{{_HEX}{{1,6}}\}})"
    rf"|(?<=&)(?:#[0-9]{{1,7}}|#[xX]{_HEX}{{1,6}}|[A-Za-z][A-Za-z0-9]{{1,31}});"
    r")"
)
_SHORT = {"b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t"}

Span = tuple[int, int]


def unescaped(text: str) -> str:
    """`text` with one layer of escapes undone; `text` itself where there is none."""
    if "\\" not in text and "%" not in text and "&" not in text:
        return text
    return _RUN.sub(_plain, text)


class Places:
    """Where parts of `unescaped(text)` stand in `text`."""

    __slots__ = ("_is_run", "_plain", "_spelled")

    def __init__(self, text: str) -> None:
        self._plain, self._spelled, self._is_run = [0], [0], [False]
        for run in _RUN.finditer(text):
            begin = self._plain[-1] + run.start() - self._spelled[-1]
            self._begin(begin, run.start(), is_run=True)
            self._begin(begin + len(_plain(run)), run.end(), is_run=False)

    def span(self, span: Span) -> Span:
        """The part of `text` that spells a part of the plain text; a run of escapes is whole."""
        first = bisect_right(self._plain, span[0]) - 1
        last = bisect_right(self._plain, span[1] - 1) - 1
        begin = self._spelled[first] + (0 if self._is_run[first] else span[0] - self._plain[first])
        if self._is_run[last]:
            return begin, self._spelled[last + 1]
        return begin, self._spelled[last] + span[1] - self._plain[last]

    def _begin(self, plain: int, spelled: int, *, is_run: bool) -> None:
        self._plain.append(plain)
        self._spelled.append(spelled)
        self._is_run.append(is_run)


def _plain(match: re.Match[str]) -> str:
    run = match[0]
    if run[0] == "%":
        return _of_bytes(bytes.fromhex(run.replace("%", "")))
    if run[0] == "&":
        from html import unescape  # noqa: PLC0415 - its table is large, and few texts have any

        return unescape(run)
    return _behind_backslash(run)


def _behind_backslash(run: str) -> str:
    sign = run[1]
    if len(run) == 2:  # noqa: PLR2004 - the sign alone
        return _SHORT.get(sign, sign)
    if sign == "x":
        return _of_bytes(bytes.fromhex(run.replace("\\x", "")))
    if sign.isdigit():
        return _of_bytes(bytes(int(each, 8) for each in run.split("\\")[1:]))
    if sign == "U" or run[2:3] == "{":
        number = int(run[2:].strip("{}"), 16)
        return chr(number) if number <= 0x10FFFF else run  # noqa: PLR2004 - the last of Unicode
    return bytes.fromhex(run.replace("\\u", "")).decode("utf-16-be", "surrogatepass")


def _of_bytes(raw: bytes) -> str:
    """UTF-8, or else what each byte is in Latin 1."""
    try:
        return raw.decode()
    except UnicodeDecodeError:
        return raw.decode("latin-1")
