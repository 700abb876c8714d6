"""Holds the current snapshot; a swap is one assignment."""

from toolrt.catalog.snapshot import Snapshot


class Registry:
    """The current snapshot. Calls keep the one that they began with."""

    __slots__ = ("current",)

    def __init__(self, snapshot: Snapshot) -> None:
        self.current = snapshot

    def swap(self, snapshot: Snapshot) -> Snapshot:
        """Make `snapshot` the current one and give back the one before."""
        before, self.current = self.current, snapshot
        return before
