"""The nearest right name, for every 'did you mean'."""

from collections.abc import Iterable
from difflib import get_close_matches


def without_dots(name: str) -> str:
    """A name of a tool as MCP clients and vendors take it: neither dots nor an `@`."""
    return name.replace(".", "_").replace("@", "_")


def nearest(name: str, known: Iterable[str], cutoff: float = 0.7) -> str | None:
    """The known name closest to `name`, or None when none is close enough to suggest.

    One that differs only in capitals is the closest there is.
    """
    names = list(known)
    twin = next((each for each in names if each.casefold() == name.casefold()), None)
    close = get_close_matches(name, names, n=1, cutoff=cutoff) if twin is None else [twin]
    return close[0] if close else None


def did_you_mean(name: str, known: Iterable[str]) -> str | None:
    """A hint with the nearest name, or with one that is it but for what stands before a dot."""
    names = list(known)
    close = nearest(name, names) or _by_last_part(name, names)
    return f"did you mean `{close}`?" if close else None


def _by_last_part(name: str, known: Iterable[str]) -> str | None:
    """`plan.trip` for `trip`, and for `tripp`; of several the first."""
    by_last = {each.rpartition(".")[2]: each for each in sorted(known, reverse=True) if "." in each}
    close = nearest(name.rpartition(".")[2], by_last, 0.8)
    return by_last[close] if close else None
