"""A window of a text: so many lines, and no more characters than a model should get at once."""

from typing import Any, Final

from toolrt.core.errors import ToolError
from toolrt.packs.texts import Text

MOST_LINES: Final = 2000
MOST_CHARACTERS: Final = 40_000
LONGEST_LINE: Final = 4000


def window(text: Text, start: int, lines: int) -> dict[str, Any]:
    """`lines` lines from line `start` on, and what there is beside them.

    `note` says what a model has to know to go on; it is empty where it has seen everything.
    Raises ToolError (invalid-arguments) for a start behind the end.
    """
    every = text.plain.split("\n")
    total = len(every) - (every[-1] == "" and len(every) > 1)
    if start > total:
        message = f"there is no line {start}: the file has {total}"
        raise ToolError(message, code="invalid-arguments", hint="start at line 1")
    last, cut = start - 1, 0
    shown: list[str] = []
    room = MOST_CHARACTERS
    for line in every[start - 1 : min(start - 1 + lines, total)]:
        room -= min(len(line), LONGEST_LINE) + 1
        if room < 0:
            break
        cut += len(line) > LONGEST_LINE
        shown.append(line[:LONGEST_LINE])
        last += 1
    is_whole = start == 1 and last == total and not cut
    return {
        "text": text.plain if is_whole else "\n".join(shown),
        "first": start,
        "last": last,
        "lines": total,
        "encoding": text.told_encoding,
        "line_ends": text.line_ends,
        "note": "" if is_whole else _note(start, last, total, cut),
    }


def _note(first: int, last: int, total: int, cut: int) -> str:
    told = [f"lines {first} to {last} of {total}"]
    if last < total:
        told.append(f"go on with `start: {last + 1}`")
    if cut:
        told.append(f"{cut} longer than {LONGEST_LINE} characters cut off")
    return f"\n[{'; '.join(told)}]"
