"""What has ended before its time, remembered within bounds.

For things that prove themselves until some moment and can be ended before it: whoever checks one
asks here too.
"""


class Over:
    """Names with the time (wall, seconds) until which each would have been good.

    With more than `most`, those that would end first are forgotten, half of all, and from then on
    everything that ends as early counts as over: nothing comes back, but some end early.
    """

    __slots__ = ("_ended", "_least", "_most")

    def __init__(self, most: int) -> None:
        self._most = most
        self._ended: dict[str, float] = {}
        self._least = float("-inf")

    def __len__(self) -> int:
        return len(self._ended)

    def add(self, name: str, until: float, now: float) -> None:
        """From now on this is over."""
        if len(self._ended) >= self._most:
            self._forget(now)
        self._ended[name] = until

    def has(self, name: str, until: float) -> bool:
        """Whether this is over, or may be."""
        return name in self._ended or until <= self._least

    def _forget(self, now: float) -> None:
        left = sorted(until for until in self._ended.values() if until > now)
        most_kept = self._most // 2
        if len(left) > most_kept:
            self._least = max(self._least, left[len(left) - most_kept - 1])
        least = max(self._least, now)
        self._ended = {name: until for name, until in self._ended.items() if until > least}
