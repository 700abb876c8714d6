"""CSV to a list of objects, one a row, by the names in the first (RFC 4180).

Lines end in CRLF, LF or CR. Nothing is guessed: every field is a text, and a row that does not have
a field for each name is a fault that says in which line.
"""

import csv
from collections.abc import Iterator
from io import StringIO

MOST_ROWS = 200_000
MOST_FIELDS = 1_000_000
"""Of all rows: a field that is empty takes a byte on the wire, and many times that here."""


class BadTableError(ValueError):
    """What came is no table; the message goes on from 'it is not CSV: '."""


def read_csv(text: str) -> list[dict[str, str]]:
    """The rows below the header; empty lines do not count. Raises BadTableError."""
    if "\0" in text:
        line = text.count("\n", 0, text.index("\0")) + 1
        raise BadTableError(f"line {line} holds a NUL character")
    numbered = _numbered(text)
    _, names = next(numbered, (0, []))
    _check_names(names)
    made: list[dict[str, str]] = []
    for number, row in numbered:
        if len(row) != len(names):
            fields = f"{len(row)} field{'s' if len(row) > 1 else ''}"
            raise BadTableError(f"line {number} has {fields}, and the header {len(names)}")
        if len(made) == MOST_ROWS:
            raise BadTableError(f"it has more than {MOST_ROWS:,} rows")
        if len(made) * len(names) >= MOST_FIELDS:
            raise BadTableError(f"it has more than {MOST_FIELDS:,} fields")
        made.append(dict(zip(names, row, strict=True)))
    return made


def _numbered(text: str) -> Iterator[tuple[int, list[str]]]:
    """Each row with the number of its last line."""
    rows = csv.reader(StringIO(text, newline=""), strict=True)
    while True:
        try:
            row = next(rows)
        except StopIteration:
            return
        except csv.Error as error:
            raise BadTableError(f"line {rows.line_num}: {error}") from None
        if row:
            yield rows.line_num, row


def _check_names(names: list[str]) -> None:
    seen: set[str] = set()
    for name in names:
        if name in seen:
            raise BadTableError(f"two columns are named `{name[:40]}`")
        seen.add(name)
