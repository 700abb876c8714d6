"""Diagnostics as people read them: place, message, the line with a caret under it, what to do.

Last step of a file that is at fault. Three lines a diagnostic, so that ten of them fit on a
screen; no text of a file reaches the terminal without its control characters escaped.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from toolrt.loading.cells import Cell, cells, visible, width_of
from toolrt.loading.diagnostics import Diagnostic, in_order
from toolrt.loading.lines import Lines

_STYLES: Final = {"error": "1;31", "warning": "1;33", "help": "36", "file": "1", "rule": "2"}
_CUT: Final[Cell] = ("…", 1)
_LEAST_ROOM: Final = 20
_BEFORE: Final = 3


def render(
    diagnostics: Iterable[Diagnostic],
    sources: Mapping[str, str],
    *,
    color: bool = False,
    width: int = 100,
) -> str:
    """All diagnostics in order, an empty line between them.

    `sources` has the text of each file; one that is missing gives no excerpt. Lines longer than
    `width` columns are cut around the caret. With `color` the text has ANSI styles.
    """
    found = in_order(diagnostics)
    paint = _Paint(color)
    lines = {file: Lines(text) for file, text in sources.items()}
    gutter = max((len(str(one.line)) for one in found), default=1)
    shown = [_shown(one, lines.get(one.file), paint, gutter, width) for one in found]
    return "\n\n".join(shown) + "\n" if shown else ""


def summary(diagnostics: Iterable[Diagnostic]) -> str:
    """What it comes to: `2 errors, 1 warning in 3 files`."""
    found = in_order(diagnostics)
    if not found:
        return "nothing found"
    errors = sum(one.severity == "error" for one in found)
    counts = [_count(errors, "error"), _count(len(found) - errors, "warning")]
    files = _count(len({one.file for one in found}), "file")
    return f"{', '.join(filter(None, counts))} in {files}"


@dataclass(frozen=True, slots=True)
class _Paint:
    is_on: bool

    def __call__(self, text: str, style: str) -> str:
        return f"\x1b[{_STYLES[style]}m{text}\x1b[0m" if self.is_on else text


@dataclass(frozen=True, slots=True)
class _Excerpt:
    """A line as shown, and where its caret goes."""

    text: str
    before: int
    length: int

    @property
    def caret(self) -> str:
        return " " * self.before + "^" * self.length


def _shown(one: Diagnostic, lines: Lines | None, paint: _Paint, gutter: int, width: int) -> str:
    place = paint(f"{visible(one.file)}:{one.line}:{one.column}:", "file")
    word = paint(f"{one.severity}[{visible(one.code)}]", one.severity)
    path = f"{visible(one.path)}: " if one.path else ""
    head = f"{place} {word} {path}{visible(one.message)}"
    hint = f"help: {visible(one.hint)}" if one.hint else ""
    line = lines.line(one.line) if lines else ""
    margin = f" {'':{gutter}} {paint('|', 'rule')} "
    if not line.strip():
        return f"{head}\n{margin}{paint(hint, 'help')}" if hint else head
    room = max(width - gutter - 4, _LEAST_ROOM)
    excerpt = _excerpt(one, line, room)
    caret = paint(excerpt.caret, one.severity)
    fits = len(excerpt.caret) + 1 + len(hint) <= room
    rows = [f" {one.line:{gutter}} {paint('|', 'rule')} {excerpt.text}", f"{margin}{caret}"]
    if hint and fits:
        rows[-1] += f" {paint(hint, 'help')}"
    elif hint:
        rows.append(f"{margin}{paint(hint, 'help')}")
    return "\n".join([head, *rows])


def _excerpt(one: Diagnostic, line: str, room: int) -> _Excerpt:
    """The part of a line around its caret that fits into `room` columns."""
    column = min(one.column - 1, len(line))
    far = max(column - room, 0)
    made = cells(line[far : column + 2 * room])
    begin = column - far
    end = begin + 1 if one.end_column is None else one.end_column - 1 - far
    first, last = _window(made, begin, room - 2)
    is_cut_before, is_cut_after = far + first > 0, far + last < len(line)
    shown = [_CUT] * is_cut_before + made[first:last] + [_CUT] * is_cut_after
    return _Excerpt(
        "".join(text for text, _ in shown).rstrip(),
        is_cut_before + width_of(made[first:begin]),
        max(width_of(made[begin : min(end, last)]), 1),
    )


def _window(made: list[Cell], begin: int, room: int) -> tuple[int, int]:
    """First and last (exclusive) cell to show: all, or a third of the room before the caret."""
    if width_of(made) <= room:
        return 0, len(made)
    first, used = begin, 0
    while first > 0 and used + made[first - 1][1] <= room // _BEFORE:
        first -= 1
        used += made[first][1]
    last = begin
    while last < len(made) and used + made[last][1] <= room:
        used += made[last][1]
        last += 1
    while first > 0 and used + made[first - 1][1] <= room:
        first -= 1
        used += made[first][1]
    while first < begin and made[first][1] == 0:
        first += 1
    return first, last


def _count(number: int, word: str) -> str:
    if not number:
        return ""
    return f"{number} {word}" if number == 1 else f"{number} {word}s"
