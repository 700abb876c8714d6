"""Lines that a regular expression finds in the files below a folder, in time linear in them."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final

from toolrt.core.errors import ToolError
from toolrt.core.faults import FaultError
from toolrt.expressions.patterns import Pattern, compile_pattern
from toolrt.packs.refusals import visible
from toolrt.packs.texts import decoded
from toolrt.packs.versions import MOST_BYTES, seen
from toolrt.packs.walking import Found, Walk
from toolrt.packs.wildcards import is_matched
from toolrt.packs.workspace import Workspace

MOST_BYTES_IN_ALL: Final = 256 << 20
LONGEST_LINE: Final = 300
"""Characters of a line that are shown."""
_LONGEST_PATTERN: Final = 1000
_LINES_A_LOOK: Final = 2000
"""Lines between two looks at the clock."""


@dataclass(frozen=True, slots=True)
class Hit:
    """A line that was found: the file below where the search began, the line's number from 1."""

    parts: Sequence[str]
    line: int
    text: str


@dataclass(slots=True)
class Search:
    """One search. `more` counts hits beyond the most that are wanted; `skipped` the files that were
    not looked into, by the reason.
    """

    workspace: Workspace
    walk: Walk
    pattern: Pattern
    most: int
    go_on: Callable[[], bool]
    hits: list[Hit] = field(default_factory=list)
    more: int = 0
    files: int = 0
    skipped: dict[str, int] = field(default_factory=dict)
    _bytes: int = 0

    def run(self, parts: Sequence[str], glob: Sequence[str]) -> None:
        """Look through all files that fit `glob` below the folder at `parts`."""
        for found in self._files(parts, glob):
            if not self.go_on() or self._bytes > MOST_BYTES_IN_ALL:
                self.walk.is_whole = False
                return
            self.look(parts, found)

    def look(self, parts: Sequence[str], found: Found) -> None:
        """Look through one file."""
        if found.size is not None and found.size > MOST_BYTES:
            return self._skip("too large")
        body = self._body((*parts, *found.parts))
        if body is None:
            return self._skip("not readable")
        self._bytes += len(body)
        text = decoded(body)
        if text is None:
            return self._skip("binary")
        self.files += 1
        return self._lines(found.parts, text.plain)

    def _files(self, parts: Sequence[str], glob: Sequence[str]) -> Iterator[Found]:
        for found in self.walk.below(parts, lambda _: True):
            if found.form == "file" and is_matched(found.parts, glob):
                yield found

    def _body(self, parts: Sequence[str]) -> bytes | None:
        try:
            with self.workspace.file(parts) as held:
                return seen(held, parts[-1]).body
        except (OSError, ToolError):
            return None

    def _lines(self, parts: Sequence[str], text: str) -> None:
        for number, line in enumerate(text.split("\n"), 1):
            if number % _LINES_A_LOOK == 0 and not self.go_on():
                self.walk.is_whole = False
                return
            if not self.pattern.is_in(line):
                continue
            if len(self.hits) < self.most:
                self.hits.append(Hit(parts, number, visible(line[:LONGEST_LINE])))
            else:
                self.more += 1

    def _skip(self, why: str) -> None:
        self.skipped[why] = self.skipped.get(why, 0) + 1


def compiled(pattern: str, *, ignore_case: bool) -> Pattern:
    """The expression. Raises ToolError (invalid-arguments) with the reason."""
    if len(pattern) > _LONGEST_PATTERN:
        message = f"`pattern` is longer than {_LONGEST_PATTERN} characters"
        raise ToolError(message, code="invalid-arguments")
    try:
        return compile_pattern(f"(?i){pattern}" if ignore_case else pattern)
    except FaultError as error:
        fault = error.faults[0]
        message = f"`pattern`: {fault.message}"
        raise ToolError(message, code="invalid-arguments", hint=fault.hint) from None
