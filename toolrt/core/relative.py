"""Paths that callers give, as texts: relative to a folder that they cannot leave (F2)."""

import re
from typing import Final

LONGEST_PART: Final = 255
LONGEST: Final = 4096
"""Bytes of one name, and characters of a whole path."""
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f]")


def parts_of(value: str) -> list[str]:
    """The names on the way; none for the folder itself. Raises ValueError that says what is wrong
    with `value`.
    """
    if not value:
        raise ValueError("must not be empty; `.` is the root folder itself")
    if _CONTROL.search(value):
        raise ValueError("must not hold control characters")
    if value.startswith("/"):
        raise ValueError("must be relative to its root folder, not absolute")
    parts = [part for part in value.split("/") if part not in {"", "."}]
    if ".." in parts:
        raise ValueError("must not hold `..`")
    _check_lengths(value, parts)
    return parts


def plain_path(value: str) -> str:
    """The one spelling of a path: `a/b` for `./a//b/`, and `.` for the folder itself.

    Raises ValueError as `parts_of` does.
    """
    return "/".join(parts_of(value)) or "."


def _check_lengths(value: str, parts: list[str]) -> None:
    try:
        sizes = [len(part.encode()) for part in parts]
    except UnicodeEncodeError:
        raise ValueError("holds half of a surrogate pair, which is no character") from None
    if max(sizes, default=0) > LONGEST_PART or len(value) > LONGEST:
        raise ValueError(f"is too long: {LONGEST_PART} bytes for a name, {LONGEST} in all")
