"""How often a caller called a tool lately: the `history` root of conditions.

Counted before a call runs, by monotonic time, and only calls that were let through (P18). Kept in
memory for tools whose rules ask for it. So it is exact within one runtime; several at the same time
do not see each other's calls, but for those that the journal had when they first looked.
"""

from bisect import bisect_right
from collections import deque
from collections.abc import Iterable, Mapping

from toolrt.core.calls import Caller

Key = tuple[str, str, str | None]


class History:
    """Times of calls by tool and caller, as far back as somebody asked."""

    def __init__(self) -> None:
        self._times: dict[Key, deque[float]] = {}
        self._spans: dict[str, float] = {}
        self._known: set[Key] = set()

    def is_known(self, tool: str, caller: Caller) -> bool:
        """Whether the calls of before have been counted."""
        return _key(tool, caller) in self._known

    def keep(self, tool: str, span_s: float) -> None:
        """Remember the calls of `tool` for `span_s` seconds from now on."""
        self._spans[tool] = max(span_s, self._spans.get(tool, 0.0))

    def note(self, tool: str, caller: Caller, now: float) -> None:
        """Count a call that was let through at `now`, seconds of the monotonic clock."""
        times = self._times.setdefault(_key(tool, caller), deque())
        times.append(now)
        oldest = now - self._spans.get(tool, 0.0)
        while times and times[0] <= oldest:
            times.popleft()

    def seed(self, tool: str, caller: Caller, times: Iterable[float]) -> None:
        """Put calls of before in front of those that are counted already."""
        self._known.add(_key(tool, caller))
        known = self._times.setdefault(_key(tool, caller), deque())
        known.extendleft(sorted(times, reverse=True))

    def forget(self) -> None:
        """Begin anew, with no call counted."""
        self._times.clear()
        self._known.clear()

    def counts(
        self, tool: str, caller: Caller, windows: Mapping[str, float], now: float
    ) -> dict[str, int]:
        """For each window (its text and its seconds) how many calls it holds."""
        times = self._times.get(_key(tool, caller))
        if not times:
            return dict.fromkeys(windows, 0)
        ordered = list(times)
        return {
            text: len(ordered) - bisect_right(ordered, now - span_s)
            for text, span_s in windows.items()
        }


def _key(tool: str, caller: Caller) -> Key:
    return (tool, caller.principal, caller.tenant)
