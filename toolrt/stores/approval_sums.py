"""What approvals add up to, over all processes that share the store: for the page of metrics."""

from collections.abc import Mapping
from dataclasses import dataclass

from toolrt.stores.base import Session


@dataclass(frozen=True, slots=True)
class Sums:
    """How many there are in each state; how often people said what, and after how many seconds all
    together; when the oldest one that is pending was asked (wall clock), if there is any.
    """

    states: Mapping[str, int]
    decisions: Mapping[str, tuple[int, float]]
    oldest: float | None


def sums(session: Session) -> Sums:
    """The sums of now."""
    states = session.rows("SELECT state, COUNT(*) FROM approvals GROUP BY state")
    decisions = session.rows(
        "SELECT d.verdict, COUNT(*), SUM(d.at - a.created_wall) FROM approval_decisions d"
        " JOIN approvals a ON a.id = d.approval_id GROUP BY d.verdict"
    )
    oldest = session.row("SELECT MIN(created_wall) FROM approvals WHERE state = 'pending'")
    return Sums(
        dict(states),
        {verdict: (count, max(0.0, waited_s)) for verdict, count, waited_s in decisions},
        oldest[0] if oldest else None,
    )
