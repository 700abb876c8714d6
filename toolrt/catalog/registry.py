"""Holds the current snapshot; a swap is one assignment."""

from toolrt.catalog.snapshot import Snapshot


class Registry:
    """The current snapshot. Calls keep the one that they began with."""

    __slots__ = ("_current",)

    def __init__(self, snapshot: Snapshot) -> None:
        self._current = snapshot

    def current(self) -> Snapshot:
        return self._current

    def swap(self, snapshot: Snapshot) -> Snapshot:
        """Make `snapshot` the current one and give back the one before."""
        before, self._current = self._current, snapshot
        return before
