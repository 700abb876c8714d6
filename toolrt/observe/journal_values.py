"""How the calls of a batch lie in one array, and how they are read again."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from pydantic_core import from_json

CALLS: Final = "calls"
"""Kind of a row that holds many calls; any other holds one entry."""

WIDTH: Final = 5
"""Values of a call: mark, id, when it started, how long it took, arguments. Times are seconds, and
an id is a number where it begins like those of the gateway do.

The mark is the place among what is shared, and its complement (below 0) where the answer is one of
before. So it is for calls that went well at the first try, or without one; the mark of any other
is an array: that, attempts, status, code, and more where there is more.
"""
STARTED, TIME, ARGUMENTS = 2, 3, 4


def with_used(
    values: list[Any], shared: Sequence[Mapping[str, Any]]
) -> tuple[list[Any], list[Mapping[str, Any]]]:
    """Some of the calls, with no more of what is shared than they need."""
    used: dict[int, int] = {}
    marks = []
    for mark in values[::WIDTH]:
        place, *rest = mark if isinstance(mark, tuple) else (mark,)
        number = used.setdefault(max(place, ~place), len(used))
        place = number if place >= 0 else ~number
        marks.append((place, *rest) if rest else place)
    placed = values.copy()
    placed[::WIDTH] = marks
    return placed, [shared[place] for place in used]


def entries_of(kind: str, body: bytes) -> list[dict[str, Any]]:
    """The entries in a row. Raises ValueError, TypeError or LookupError for what is not ours."""
    told = from_json(body)
    if kind != CALLS:
        return [dict(told)]
    values = iter(told["values"])
    calls = zip(*(values,) * WIDTH, strict=True)
    return [_entry(told["since"], told["ids"], told["shared"], call) for call in calls]


def _entry(
    since_s: float, ids: str, shared: Sequence[Mapping[str, Any]], call: Sequence[Any]
) -> dict[str, Any]:
    mark, number, started, time_s, arguments = call
    place, *rest = mark if isinstance(mark, list) else (mark,)
    is_cached = place < 0
    attempts, status, code, *more = rest or (not is_cached, "success", None)
    return {
        "kind": "call",
        "call_id": number if isinstance(number, str) else f"{ids}{number}",
        "at": round(since_s + started + time_s, 6),
        **shared[~place if is_cached else place],
        "arguments": arguments,
        "status": status,
        "code": code,
        "attempts": int(attempts),
        "time_ms": round(time_s * 1000, 3),
        **({"cached": True} if is_cached else {}),
        **(more[0] if more else {}),
    }
