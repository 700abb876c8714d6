"""From a character of a scalar's value to the character of the file that it came from.

Needed for faults inside a template or an expression. The value is laid beside the source, and the
two are walked together: escapes, folded lines and indentation are what they differ by.
"""

import re
from collections.abc import Callable, Mapping
from itertools import islice
from typing import Final

_BLOCKS: Final = frozenset("|>")
_SPACED_BREAKS: Final = re.compile(r"[ \t]*(?:(?:\r\n|\r|\n)[ \t]*)+")
_BREAK: Final = re.compile(r"\r\n|\r|\n")
_ESCAPED_BREAKS: Final = re.compile(r"\\(?:\r\n|\r|\n)(?:[ \t]*(?:\r\n|\r|\n))*[ \t]*")
_ESCAPE: Final = re.compile(r"\\(?:x.{2}|u.{4}|U.{8}|.)", re.DOTALL)
_BLACK: Final = re.compile(r"\S")
_HEADER: Final = re.compile(r"[|>][-+0-9]*[^\r\n]*(?:\r\n|\r|\n)?")
_LINE: Final = re.compile(r"[^\r\n]*(?:\r\n|\r|\n|$)")


def locate(source: str, value: str, offset: int, style: str) -> int:
    """The index in `source`, a scalar of `style` as written, of character `offset` of `value`.

    An offset at or past the end of the value gives the end of the source.
    """
    if style in _BLOCKS:
        return _in_block(source, value, offset)
    begin = len(style)
    end = len(source) - len(style)
    return _in_flow(source, end, offset, begin, _STEPS[style])


def _in_flow(
    source: str, end: int, offset: int, at: int, step: Callable[[str, int], tuple[int, int]]
) -> int:
    made = 0
    while at < end:
        width, characters = step(source, at)
        if made + characters > offset:
            return min(at + (offset - made if characters > 1 else 0), end)
        made += characters
        at += width
    return end


def _plain(source: str, at: int) -> tuple[int, int]:
    """How many characters of the source at `at` make how many of the value."""
    breaks = _SPACED_BREAKS.match(source, at)
    if breaks is None:
        return 1, 1
    return len(breaks[0]), max(1, len(_BREAK.findall(breaks[0])) - 1)


def _single(source: str, at: int) -> tuple[int, int]:
    return (2, 1) if source.startswith("''", at) else _plain(source, at)


def _double(source: str, at: int) -> tuple[int, int]:
    if source[at] != "\\":
        return _plain(source, at)
    breaks = _ESCAPED_BREAKS.match(source, at)
    if breaks is not None:
        return len(breaks[0]), len(_BREAK.findall(breaks[0])) - 1
    escape = _ESCAPE.match(source, at)
    return (len(escape[0]) if escape else 1), 1


def _in_block(source: str, value: str, offset: int) -> int:
    """Block scalars change white space only: the nth other character of both is the same one."""
    header = _HEADER.match(source)
    at = header.end() if header else 0
    if offset >= len(value):
        return len(source)
    upto = value[: offset + 1]
    last = len(upto.rstrip())
    if not last:
        return at
    black = len(_BLACK.findall(upto))
    found = next(islice(_BLACK.finditer(source, at), black - 1, None), None)
    return min(found.start() + len(upto) - last, len(source)) if found else len(source)


_STEPS: Final[Mapping[str, Callable[[str, int], tuple[int, int]]]] = {
    "": _plain,
    "'": _single,
    '"': _double,
}
