"""An edit as pure text: where the old text stands, and what is closest to it where it does not."""

from typing import Final

from toolrt.core.errors import ToolError
from toolrt.packs.refusals import visible
from toolrt.packs.texts import check_characters, text_of
from toolrt.packs.versions import Sight, check_length, check_size

_MOST_LINES: Final = 5000
_LONGEST_LINE: Final = 200
"""What is looked through for something close; more would take too long."""
_LEAST_LIKENESS: Final = 0.5
"""The share of it that has to be there."""
_MOST_WANTED: Final = 100
_MOST_PLACES: Final = 10
_READ_AGAIN: Final = "read the file again, and copy the text exactly, white space included"


class Edit:
    """One edit; `count` and `line` say afterwards what it did. Raises ToolError
    (invalid-arguments) for one that means nothing.
    """

    def __init__(self, old: str, new: str, *, everywhere: bool) -> None:
        check_characters(old, "old")
        check_characters(new, "new")
        if not old:
            message = "`old` must not be empty: it says what is replaced"
            raise ToolError(message, code="invalid-arguments")
        if old == new:
            message = "`old` and `new` are the same: nothing would change"
            raise ToolError(message, code="invalid-arguments")
        self._old, self._new = old.replace("\r\n", "\n"), new
        self._everywhere = everywhere
        self.count = self.line = 0

    def made(self, sight: Sight, shown: str) -> bytes:
        """The bytes of the file as it is to be. Raises ToolError."""
        text = text_of(sight.body, shown)
        plain = text.plain
        found = places(plain, self._old, shown, everywhere=self._everywhere)
        self.count, self.line = len(found), line_of(plain, found[0])
        check_length(len(found) * len(self._new))
        spans = [(at, at + len(self._old)) for at in found]
        return check_size(text.replaced(spans, self._new).written(shown))


def places(text: str, old: str, shown: str, *, everywhere: bool) -> list[int]:
    """Where `old` stands in `text`: once, or `everywhere`. Raises ToolError."""
    found = _found(text, old)
    if not found:
        message = f"the text in `old` does not stand in `{shown}`"
        raise ToolError(message, code="not-found", hint=_nearest(text, old))
    if len(found) > 1 and not everywhere:
        lines = [line_of(text, at) for at in found[:_MOST_PLACES]]
        more = ", …" if len(found) > _MOST_PLACES else ""
        raise ToolError(
            f"the text in `old` stands {len(found)} times in `{shown}`:"
            f" lines {', '.join(map(str, lines))}{more}",
            code="ambiguous",
            hint="add lines around it until it is the only one, or send `all: true`",
        )
    return found


def line_of(text: str, at: int) -> int:
    """The number of the line that a place is in, from 1."""
    return text.count("\n", 0, at) + 1


def _found(text: str, old: str) -> list[int]:
    found: list[int] = []
    at = text.find(old)
    while at >= 0:
        found.append(at)
        at = text.find(old, at + len(old))
    return found


def _nearest(text: str, old: str) -> str:
    """What to do about an old text that is not there."""
    lines = text.split("\n")
    wanted = [_squeezed(line) for line in old.strip("\n").split("\n", _MOST_WANTED)]
    first = next((line for line in wanted if line), "")
    if not first:
        return _READ_AGAIN
    known = [_squeezed(line[:_LONGEST_LINE]) for line in lines[:_MOST_LINES]]
    for number, line in enumerate(known):
        if line == wanted[0] and known[number : number + len(wanted)] == wanted:
            return f"at line {number + 1} it stands with other white space: copy it from there"
    at = _closest(first[:_LONGEST_LINE], known)
    if at is None:
        return _READ_AGAIN
    return f"closest is line {at + 1}: {visible(lines[at].strip()[:_LONGEST_LINE])}"


def _closest(wanted: str, known: list[str]) -> int | None:
    """The line that holds most of the runs of three characters of `wanted`: in linear time."""
    runs = _runs(wanted)
    best, closest = (_LEAST_LIKENESS * len(runs), 0), None
    for number, line in enumerate(known):
        own = _runs(line)
        likeness = len(runs & own), -len(own)  # of two that hold as many the shorter one
        if likeness > best:
            best, closest = likeness, number
    return closest


def _runs(line: str) -> set[str]:
    folded = line.casefold()
    return {folded[at : at + 3] for at in range(len(folded) - 2)}


def _squeezed(line: str) -> str:
    return " ".join(line.split())
