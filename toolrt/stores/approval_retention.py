"""Removes finished approvals, and standing yeses that are over, once they have grown old.

What was removed cannot come back: an id that is gone is not found, and the same call made anew is
asked about anew. What something still looks at stays: rows of the last day (the minute after a no,
keys of calls that are repeated), and what a standing yes in force came from.
"""

from toolrt.stores.base import Audit, Session, no_audit
from toolrt.stores.grants import in_force
from toolrt.stores.journal_retention import RETENTION, pruning
from toolrt.stores.moments import Moment, passed, settled

LEAST_S = 24 * 3600.0
"""What ended later than so long ago stays, whatever the project says."""
MOST = 500
"""Rows of each table that one pass removes."""
_OPEN = "'pending', 'approved', 'claimed', 'unknown'"
"""The states that are not final; said like this, the index of states is of no use here."""


def removed_old(
    session: Session, retention_s: float, moment: Moment, *, audit: Audit = no_audit
) -> int:
    """Remove what ended longer than `retention_s` ago, the oldest first; gives how many rows.

    As many as `MOST` mean that there may be more.
    """
    now, keep_s = settled(session, moment), max(retention_s, LEAST_S)
    over = passed("expires", now, keep_s)
    sql = f"SELECT id FROM grants WHERE {over.sql} LIMIT ?"  # noqa: S608 - words of ours
    grants = session.rows(sql, *over.parameters, MOST)
    old, parameters = old_ones(now, keep_s)
    approvals = session.rows(old, *parameters)
    if not grants and not approvals:
        return 0
    with pruning(session):
        session.many("DELETE FROM grants WHERE id = ?", grants)
        session.many("DELETE FROM approvals WHERE id = ?", approvals)
    counts = {"approvals": len(approvals), "grants": len(grants)}
    audit(session, {"kind": RETENTION, "at": moment.wall, "before": now.wall - keep_s, **counts})
    return max(counts.values())


def old_ones(now: Moment, keep_s: float) -> tuple[str, list[object]]:
    """The query for the ids of approvals that ended so long ago; `now` is settled.

    The wall clock alone finds them by an index, and is not believed alone.
    """
    old, live = passed("ended", now, keep_s), in_force(now)
    sql = (
        f"SELECT id FROM approvals WHERE ended_wall <= ? AND {old.sql} AND state NOT IN ({_OPEN})"  # noqa: S608 - words of ours
        f" AND id NOT IN (SELECT approval_id FROM grants"
        f" WHERE approval_id IS NOT NULL AND {live.sql}) ORDER BY ended_wall LIMIT ?"
    )
    return sql, [now.wall - keep_s, *old.parameters, *live.parameters, MOST]
