"""Globs of conditions as regular expressions for RE2: the whole path, `*` within a segment.

`*` stands for any run of characters but `/`, newline and NUL; `**` for any run at all.
"""

import re
from functools import lru_cache

_STARS = re.compile(r"(\*\*?)")
_RUNS = {"*": r"[^/\n\x00]*", "**": r"(?s:.*)"}


@lru_cache(maxsize=256)
def expression_of(pattern: str) -> str:
    """The expression that the whole of a path must match."""
    pieces = (_RUNS.get(piece) or re.escape(piece) for piece in _STARS.split(pattern))
    return rf"\A{''.join(pieces)}\z"
