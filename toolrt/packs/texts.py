"""Bytes of files as text and back: encodings and line ends are found out, and kept."""

import codecs
from bisect import bisect_left
from dataclasses import dataclass
from functools import cached_property
from typing import Final, Literal

from toolrt.core.errors import ToolError
from toolrt.packs.refusals import refusal

_BOMS: Final = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),  # before UTF-16, whose mark it begins with
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
_LOOKED_AT: Final = 8192
"""Bytes in which a NUL says that a file is no text."""

LineEnds = Literal["lf", "crlf", "mixed"]


@dataclass(frozen=True, slots=True, eq=False)
class Text:
    """A text file: what it says, and how that is written down.

    `raw` has the file's own line ends. An encoding that is not known is read as Latin 1, which has
    a character for each byte and gives the same bytes again.
    """

    raw: str
    encoding: str
    mark: bytes = b""

    @property
    def told_encoding(self) -> str:
        """The encoding in the words of a person."""
        if self.encoding == "latin-1":
            return "unknown, read as latin-1"
        return f"{self.encoding} with BOM" if self.mark else self.encoding

    @property
    def line_ends(self) -> LineEnds:
        pairs = self.raw.count("\r\n")
        if not pairs:
            return "lf"
        return "crlf" if pairs == self.raw.count("\n") else "mixed"

    @property
    def plain(self) -> str:
        r"""The text with `\n` at the end of each line."""
        return self.raw.replace("\r\n", "\n")

    def replaced(self, spans: list[tuple[int, int]], by: str) -> "Text":
        """With `by` at each span of the plain text; all other lines keep their ends."""
        ends = _Ends(self.raw)
        by = by.replace("\r\n", "\n")
        if self.raw.count("\r\n") * 2 > self.raw.count("\n"):
            by = by.replace("\n", "\r\n")
        pieces, at = [], 0
        for begin, end in spans:
            pieces += [self.raw[at : ends.in_raw(begin)], by]
            at = ends.in_raw(end)
        return Text("".join((*pieces, self.raw[at:])), self.encoding, self.mark)

    def written(self, shown: str) -> bytes:
        """The bytes of the file. Raises ToolError where its encoding has no such character."""
        try:
            return self.mark + self.raw.encode(self.encoding)
        except UnicodeEncodeError as error:
            name = "no UTF-8, and read as Latin 1" if self.encoding == "latin-1" else self.encoding
            character = error.object[error.start]
            why = f"is {name}, which has no {character!a}"
            raise refusal(shown, "invalid-arguments", why, "write it with other words") from None


class _Ends:
    """Where the plain text stands in the raw one."""

    def __init__(self, raw: str) -> None:
        self._raw = raw

    def in_raw(self, at: int) -> int:
        return at + bisect_left(self._shortened, at)

    @cached_property
    def _shortened(self) -> list[int]:
        """The places in the plain text of line ends that are longer in the raw one."""
        found: list[int] = []
        at = self._raw.find("\r\n")
        while at >= 0:
            found.append(at - len(found))
            at = self._raw.find("\r\n", at + 2)
        return found


def text_of(body: bytes, shown: str) -> Text:
    """The text that a file holds. Raises ToolError (unsupported) where it holds none."""
    made = decoded(body)
    if made is None:
        why = f"is no text but binary ({len(body):,} bytes)"
        raise refusal(shown, "unsupported", why, "only text files can be shown or edited")
    return made


def decoded(body: bytes) -> Text | None:
    """The text, or None for what is binary."""
    for mark, encoding in _BOMS:
        if body.startswith(mark):
            return _marked(body, mark, encoding)
    if b"\0" in body[:_LOOKED_AT]:
        return None
    try:
        return Text(body.decode(), "utf-8")
    except UnicodeDecodeError:
        return Text(body.decode("latin-1"), "latin-1")


def _marked(body: bytes, mark: bytes, encoding: str) -> Text | None:
    try:
        return Text(body[len(mark) :].decode(encoding), encoding, mark)
    except UnicodeDecodeError:
        return None


def check_characters(text: str, parameter: str) -> None:
    """Raise ToolError (invalid-arguments) for half of a surrogate pair."""
    try:
        text.encode()
    except UnicodeEncodeError:
        message = f"`{parameter}` holds half of a surrogate pair, which is no character"
        raise ToolError(message, code="invalid-arguments") from None
