"""Columns and counts in text, aligned on any terminal: wide characters count as two."""

from collections.abc import Sequence
from itertools import accumulate
from unicodedata import combining, east_asian_width

_GAP = "  "


def aligned(rows: Sequence[Sequence[str]], indent: str = "") -> list[str]:
    """A line for each row, nothing cut. Columns without any text are left out."""
    kept = [at for at in range(len(rows[0]) if rows else 0) if any(row[at] for row in rows)]
    widths = [max(width_of(row[at]) for row in rows) for at in kept]
    return [
        join([padded(row[at], width) for at, width in zip(kept, widths, strict=True)], indent)
        for row in rows
    ]


def fitted(rows: Sequence[Sequence[str]], first_share: float, edge: int) -> list[list[str]]:
    """Padded cells that fit into `edge` columns: the last one is cut, and the first one too when
    it would take more than its share.
    """
    widths = [max(width_of(cell) for cell in column) for column in zip(*rows, strict=True)]
    widths[0] = min(widths[0], int(edge * first_share))
    widths[-1] = max(1, edge - sum(widths[:-1]) - len(_GAP) * (len(widths) - 1))
    return [[*map(padded, row[:-1], widths), cut(row[-1], widths[-1])] for row in rows]


def join(cells: Sequence[str], indent: str = "") -> str:
    """One line of a table."""
    return (indent + _GAP.join(cells)).rstrip()


def count(number: int, what: str) -> str:
    """`1 file`, `2 files`."""
    return f"{number} {what}" if number == 1 else f"{number} {what}s"


def padded(text: str, width: int) -> str:
    """`text` in exactly `width` columns."""
    short = cut(text, width)
    return short + " " * (width - width_of(short))


def width_of(text: str) -> int:
    """Columns that a terminal gives to `text`."""
    return len(text) if text.isascii() else sum(map(_columns, text))


def cut(text: str, most: int) -> str:
    """`text` in at most `most` columns, with `…` where it was cut."""
    if _fitting(text, most) == len(text):
        return text
    return f"{text[: _fitting(text, most - 1)]}…"


def _fitting(text: str, most: int) -> int:
    """How many characters fit into `most` columns; what comes after them is not looked at."""
    ends = accumulate(map(_columns, text))
    return next((at for at, end in enumerate(ends) if end > most), len(text))


def _columns(character: str) -> int:
    if combining(character):
        return 0
    return 2 if east_asian_width(character) in "WF" else 1
