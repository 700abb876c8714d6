"""Names that the operating system is given: UTF-8 whatever the locale of this process says.

A text of ours becomes bytes here; a path that Python got from the system, where bytes may hide as
surrogates, becomes a text of which `encoded` makes the same bytes again.
"""

import os
import re

_NEVER = re.compile("[\0\ud800-\udfff]")


def is_system_text(text: str) -> bool:
    """Whether the system can be given `text`: no NUL, and no half of a surrogate pair."""
    return _NEVER.search(text) is None


def encoded(text: str) -> bytes:
    """The bytes of an argument, a variable or a path."""
    return text.encode("utf-8", "surrogateescape")


def from_system(path: str | os.PathLike[str]) -> str:
    """A path of this process as a text that can be joined with ours."""
    return as_text(os.fsencode(path))


def as_text(path: bytes) -> str:
    return path.decode("utf-8", "surrogateescape")
