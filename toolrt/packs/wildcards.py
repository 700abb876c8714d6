"""Patterns of paths: `*` and `?` within a name, `**` for any number of folders.

Compared without regular expressions, in time bounded by the product of the lengths, so that no
pattern can keep a call busy.
"""

from collections.abc import Callable, Sequence

from toolrt.core.errors import ToolError

_LONGEST = 1000
_MOST_PARTS = 64


def parts_of_pattern(pattern: str) -> list[str]:
    """Its names. Raises ToolError (invalid-arguments) where it could match nothing inside."""
    parts = [part for part in pattern.split("/") if part not in {"", "."}]
    why = None
    if not parts:
        why = "must name something, such as `**/*.txt`"
    elif pattern.startswith("/") or ".." in parts:
        why = "must stay inside the workspace: neither absolute nor with `..`"
    elif len(pattern) > _LONGEST or len(parts) > _MOST_PARTS:
        why = f"is too long: {_LONGEST} characters, {_MOST_PARTS} names"
    if why is not None:
        raise ToolError(f"the pattern {why}", code="invalid-arguments")
    return [part for n, part in enumerate(parts) if part != "**" or parts[n - 1 : n] != ["**"]]


def is_matched(parts: Sequence[str], pattern: Sequence[str]) -> bool:
    """Whether all of a path fits all of a pattern."""
    return _matches(parts, pattern, "**", name_matches)


def may_lead_on(parts: Sequence[str], pattern: Sequence[str]) -> bool:
    """Whether something below the folder at `parts` could fit."""
    for number, part in enumerate(pattern):
        if part == "**" or number >= len(parts):
            return True
        if not name_matches(parts[number], part):
            return False
    return False


def name_matches(name: str, pattern: str) -> bool:
    """Whether a name fits a pattern of one name."""
    return _matches(name, pattern, "*", _same)


def _same(one: str, wanted: str) -> bool:
    return wanted in {"?", one}


def _matches(
    given: Sequence[str], wanted: Sequence[str], star: str, same: Callable[[str, str], bool]
) -> bool:
    """The usual way with one place to come back to: the last star takes one more each time."""
    at = to = 0
    back, taken = -1, 0
    while at < len(given):
        if to < len(wanted) and wanted[to] == star:
            back, taken = to, at
            to += 1
        elif to < len(wanted) and same(given[at], wanted[to]):
            at, to = at + 1, to + 1
        elif back >= 0:
            taken += 1
            at, to = taken, back + 1
        else:
            return False
    return all(part == star for part in wanted[to:])
