"""The nearest right name, for every 'did you mean'."""

from collections.abc import Iterable
from difflib import get_close_matches


def nearest(name: str, known: Iterable[str], cutoff: float = 0.7) -> str | None:
    """The known name closest to `name`, or None when none is close enough to suggest."""
    close = get_close_matches(name, list(known), n=1, cutoff=cutoff)
    return close[0] if close else None


def did_you_mean(name: str, known: Iterable[str]) -> str | None:
    """A hint with the nearest name, or None."""
    close = nearest(name, known)
    return f"did you mean `{close}`?" if close else None
