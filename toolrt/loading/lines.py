r"""Lines and columns of a text, as editors count them: from 1, in characters.

A line ends at `\n` or `\r\n`, and nowhere else; the reader refuses what YAML sees beyond that.
"""

from bisect import bisect_right
from itertools import accumulate


class Lines:
    """Where the lines of `text` begin; found out when first asked."""

    __slots__ = ("_starts", "text")

    def __init__(self, text: str) -> None:
        self.text = text
        self._starts: list[int] = []

    def place(self, index: int) -> tuple[int, int]:
        """Line and column of the character at `index`."""
        starts = self._lines()
        line = bisect_right(starts, index)
        return line, index - starts[line - 1] + 1

    def start(self, number: int) -> int:
        """The index of the first character of a line."""
        return self._lines()[number - 1]

    def line(self, number: int) -> str:
        """The text of a line without its end; nothing for a line that is not there."""
        starts = self._lines()
        if not 0 < number <= len(starts):
            return ""
        end = starts[number] if number < len(starts) else len(self.text)
        return self.text[starts[number - 1] : end].rstrip("\r\n")

    def _lines(self) -> list[int]:
        if not self._starts:
            widths = map(len, self.text.split("\n"))
            self._starts = list(accumulate(map((1).__add__, widths), initial=0))[:-1]
        return self._starts
