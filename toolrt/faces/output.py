"""What a person or a script gets to see: data on stdout, talk on stderr.

A verb hands over a document and a way to say it in text; the screen shows the one that was asked
for. Text from tools is shown with every character that could act on a terminal escaped.
"""

import json
import os
import re
import sys
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import IO, Any, Literal

import click

from toolrt.faces.yaml_text import to_yaml

Format = Literal["text", "json", "jsonl", "yaml"]
When = Literal["auto", "always", "never"]

_USUAL_COLUMNS = 80
_ACTING = (
    "\x7f-\x9f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ud800-\udfff\ufeff\ufff9-\ufffb"
    "\U000e0000-\U000e007f"
)
_HIDDEN = re.compile(f"[\x00-\x08\x0b-\x1f{_ACTING}]")
_HIDDEN_IN_JSON = re.compile(f"[{_ACTING}]")


@dataclass(frozen=True, slots=True)
class Screen:
    """Where a verb shows things, and how the user wants them shown.

    `out` is the real stdout; what tools print while a verb runs goes elsewhere.
    """

    format: Format = "text"
    color: When = "auto"
    is_quiet: bool = False
    is_verbose: bool = False
    out: IO[str] = field(default_factory=lambda: sys.stdout, repr=False)

    def show(
        self,
        document: Mapping[str, Any],
        text: Callable[[], str],
        rows: Iterable[Mapping[str, Any]] | None = None,
    ) -> None:
        """The document in the wanted format, or what `text` makes of it; an empty text is nothing.

        As `jsonl` each of `rows` is a line of its own; without rows the document is one line.
        """
        if self.format == "text":
            self._data_if_any(text())
        elif self.format == "json":
            self.data(to_json(document, indent=2))
        elif self.format == "yaml":
            self.data(to_yaml(document).rstrip("\n"))
        else:
            for row in [document] if rows is None else rows:
                self.data(to_json(row))

    def data(self, text: str) -> None:
        """Lines of data, on stdout."""
        _write(self.out, text + "\n")

    def say(self, text: str) -> None:
        """Lines of talk, on stderr; not with `--quiet`."""
        if not self.is_quiet:
            self.complain(text)

    def complain(self, text: str) -> None:
        """What must be seen even with `--quiet`, on stderr."""
        _write(sys.stderr, text + "\n")

    def paint(self, text: str, *, on_stderr: bool = False, **style: Any) -> str:
        """`text` in a style of click's, when the stream takes colour."""
        return click.style(text, **style) if self.has_color(on_stderr=on_stderr) else text

    def has_color(self, *, on_stderr: bool = False) -> bool:
        """Whether colour is wanted there: by the flag, else on a terminal without NO_COLOR."""
        if self.color != "auto":
            return self.color == "always"
        if os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb":
            return False
        return (sys.stderr if on_stderr else self.out).isatty()

    @property
    def width(self) -> int:
        """Columns that a line of data may take; a pipe has no edge."""
        return columns(self.out) if self.out.isatty() else 1_000_000

    def _data_if_any(self, text: str) -> None:
        if text:
            self.data(text)


def columns(stream: IO[str]) -> int:
    """Columns of the terminal behind `stream`; `COLUMNS` says otherwise."""
    written = os.environ.get("COLUMNS", "")
    if written.isdecimal() and int(written):
        return int(written)
    try:
        return os.get_terminal_size(stream.fileno()).columns or _USUAL_COLUMNS
    except OSError:  # no terminal, or one that has gone
        return _USUAL_COLUMNS


def visible(text: str) -> str:
    """`text` with control, escape, bidirectional and zero-width characters shown as escapes."""
    return _HIDDEN.sub(_escape, text.replace("\r\n", "\n"))


def one_line(text: str) -> str:
    """The same, with every run of white space as one space."""
    return visible(" ".join(text.split()))


def to_json(value: Any, indent: int | None = None) -> str:
    """JSON that is readable, exact, and harmless to a terminal."""
    is_utf8 = (sys.stdout.encoding or "").lower().replace("-", "") == "utf8"
    made = json.dumps(value, ensure_ascii=not is_utf8, indent=indent, default=str)
    return _HIDDEN_IN_JSON.sub(_escape_in_json, made)


def _escape(match: re.Match[str]) -> str:
    return match[0].encode("unicode_escape").decode()


def _escape_in_json(match: re.Match[str]) -> str:
    return json.dumps(match[0])[1:-1]


def _write(stream: IO[str], text: str) -> None:
    stream.write(text)
    stream.flush()
