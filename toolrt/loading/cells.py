"""How text looks on a terminal: which cells a character takes, and nothing that could act on it.

For excerpts: the caret under a line stays in place with wide, combining and invisible characters.
"""

import unicodedata
from collections.abc import Iterable
from typing import Final

TAB_WIDTH: Final = 4

_UNSAFE: Final = frozenset({"Cc", "Cf", "Cs", "Cn", "Zl", "Zp"})
_EMOJI_STYLES: Final = frozenset("\ufe0e\ufe0f")

Cell = tuple[str, int]


def cells(text: str) -> list[Cell]:
    """Each character as shown and the columns it takes; a tab goes to the next fourth column."""
    made: list[Cell] = []
    column = 0
    for character in text:
        shown, width = _tab(column) if character == "\t" else _cell(character)
        made.append((shown, width))
        column += width
    return made


def visible(text: str) -> str:
    """`text` on one line, with everything that could act on a terminal shown as an escape."""
    if text.isascii() and text.isprintable():
        return text
    return "".join(_cell(character)[0] for character in text)


def width_of(made: Iterable[Cell]) -> int:
    return sum(width for _, width in made)


def _tab(column: int) -> Cell:
    width = TAB_WIDTH - column % TAB_WIDTH
    return " " * width, width


def _cell(character: str) -> Cell:
    if " " <= character <= "~":
        return character, 1
    if character in _EMOJI_STYLES:
        return "", 0
    category = unicodedata.category(character)
    if category in _UNSAFE:
        escape = character.encode("unicode_escape").decode()
        return escape, len(escape)
    if category in {"Mn", "Me"} or "\u1160" <= character <= "\u11ff":
        return character, 0
    return character, 2 if unicodedata.east_asian_width(character) in "WF" else 1
