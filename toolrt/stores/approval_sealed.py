"""The seal on the row of an approval: that it is as toolrt left it (A4, A12).

It is on all that people are shown and that says what runs, for whom and until when. What the row
comes to later (its state, a claim, its end, an outcome) is not under it: votes and the journal tell
that. Whoever changes what is under it looks at it before, so that no seal covers what others wrote.
"""

from collections.abc import Mapping
from dataclasses import replace

from toolrt.stores.approval_seals import ApprovalSeals
from toolrt.stores.approvals import COLUMNS, Approval, cells, spread
from toolrt.stores.moments import columns

ALTERED = "its row was changed by hand"
"""Why nobody decides, and nothing runs: what people would see is not what toolrt wrote."""

_LATER = {"state", "revision", "owner", "outcome", "sealed", "seal"}.union(
    columns("lease"), columns("ended")
)
_UNDER = tuple(name for name in COLUMNS if name not in _LATER)


def sealed(record: Approval, seals: ApprovalSeals) -> Approval:
    """A new record with its seal."""
    return replace(record, seal=_seal(cells(record), seals))


def resealed(
    record: Approval, sets: Mapping[str, object], seals: ApprovalSeals
) -> dict[str, object]:
    """A change of an untouched record, as `move` takes it, with the seal of what it leads to."""
    return {**sets, "seal": _seal(cells(record) | dict(spread(sets)), seals)}


def is_untouched(record: Approval, seals: ApprovalSeals) -> bool:
    """Whether the row is one that toolrt wrote."""
    return seals.is_on(record.seal, "approval", *_told(cells(record)))


def _seal(row: Mapping[str, object], seals: ApprovalSeals) -> str:
    return seals.made("approval", *_told(row))


def _told(row: Mapping[str, object]) -> list[object]:
    """What the seal is on; numbers as a database gives them back."""
    values = [row[name] for name in _UNDER]
    return [float(each) if isinstance(each, int) else each for each in values]
