"""Removes finished approvals, and standing yeses that are over, once they have grown old.

What was removed cannot come back: an id that is gone is not found, and the same call made anew is
asked about anew. What something still looks at stays: rows of the last day (the minute after a no,
keys of calls that are repeated), and what a standing yes in force came from.

A wall clock that once was wrong must not age anything. What ended in this boot of the machine is as
old as the time since then, whatever the wall says. What ended in another has to be old by the wall
of now, however late that was before, and stays for a day more that has certainly gone by since a
pass first saw that boot to be over: time between two passes of one boot that follow each other.
"""

import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field

from toolrt.stores.base import Audit, Session, no_audit
from toolrt.stores.grants import in_force
from toolrt.stores.journal_retention import RETENTION, pruning
from toolrt.stores.moments import Condition, Moment, passed, settled

LEAST_S = 24 * 3600.0
"""What ended later than so long ago stays, whatever the project says."""
MOST = 500
"""Rows of each table that one pass removes."""
_OPEN = "'pending', 'approved', 'claimed', 'unknown'"
"""The states that are not final; said like this, the index of states is of no use here."""
_OTHERS = (
    f"SELECT ended_boot FROM approvals WHERE ended_wall <= ? AND ended_boot <> ?"  # noqa: S608 - as above
    f" AND state NOT IN ({_OPEN}) UNION"
    f" SELECT expires_boot FROM grants WHERE expires_wall <= ? AND expires_boot <> ?"
)


def removed_old(
    session: Session, retention_s: float, moment: Moment, *, audit: Audit = no_audit
) -> int:
    """Remove what ended longer than `retention_s` ago, the oldest first; gives how many rows.

    As many as `MOST` mean that there may be more.
    """
    live, keep_s = in_force(settled(session, moment)), max(retention_s, LEAST_S)
    boots = _boots_lived_through(session, moment, keep_s)
    over = _old("expires", moment, keep_s, boots)
    sql = f"SELECT id FROM grants WHERE {over.sql} LIMIT ?"  # noqa: S608 - words of ours
    grants = session.rows(sql, *over.parameters, MOST)
    old = old_ones(moment, keep_s, boots, live)
    approvals = session.rows(old.sql, *old.parameters)
    if not grants and not approvals:
        return 0
    with pruning(session):
        session.many("DELETE FROM grants WHERE id = ?", grants)
        session.many("DELETE FROM approvals WHERE id = ?", approvals)
    counts = {"approvals": len(approvals), "grants": len(grants)}
    before = moment.wall - keep_s
    audit(session, {"kind": RETENTION, "at": moment.wall, "before": before, **counts})
    return max(counts.values())


def old_ones(moment: Moment, keep_s: float, boots: Iterable[str], live: Condition) -> Condition:
    """The query for the ids of approvals that ended so long ago.

    The wall clock alone finds them by an index, and is not believed alone.
    """
    old = _old("ended", moment, keep_s, boots)
    sql = (
        f"SELECT id FROM approvals WHERE ended_wall <= ? AND {old.sql} AND state NOT IN ({_OPEN})"  # noqa: S608 - words of ours
        f" AND id NOT IN (SELECT approval_id FROM grants"
        f" WHERE approval_id IS NOT NULL AND {live.sql}) ORDER BY ended_wall LIMIT ?"
    )
    return Condition(sql, (moment.wall - keep_s, *old.parameters, *live.parameters, MOST))


def _old(name: str, moment: Moment, keep_s: float, boots: Iterable[str]) -> Condition:
    """What came to its moment `name` so long ago, in this boot or one of those."""
    past, among = passed(name, moment, keep_s), (moment.boot_id, *boots)
    places = ", ".join("?" * len(among))
    return Condition(f"({past.sql} AND {name}_boot IN ({places}))", (*past.parameters, *among))


@dataclass(frozen=True, slots=True)
class _Boots:
    """What passes have seen: seconds that certainly went by between them, when and in which boot
    the latest was, and at how many of those seconds each boot was first seen to be over.
    """

    lived_s: float = 0.0
    boot_id: str = ""
    boot_s: float = 0.0
    over: Mapping[str, float] = field(default_factory=dict)

    def at(self, moment: Moment, boots: Iterable[str]) -> "_Boots":
        """The same a pass later, where only those boots still matter."""
        is_same = self.boot_id == moment.boot_id
        lived_s = self.lived_s + (max(0.0, moment.boot_s - self.boot_s) if is_same else 0.0)
        over = {boot: self.over.get(boot, lived_s) for boot in boots}
        return _Boots(lived_s, moment.boot_id, moment.boot_s, over)


def _boots_lived_through(session: Session, moment: Moment, keep_s: float) -> list[str]:
    """Boots that were over a day ago for certain, among those of rows that are old by the wall."""
    row = session.row("SELECT value FROM meta WHERE name = 'boots'")
    boots = [boot for (boot,) in session.rows(_OTHERS, *(moment.wall - keep_s, moment.boot_id) * 2)]
    if row is None and not boots:
        return []
    now = (_Boots(**json.loads(row[0])) if row else _Boots()).at(moment, boots)
    session.change("DELETE FROM meta WHERE name = 'boots'")
    if boots:
        value = json.dumps(asdict(now))
        session.change("INSERT INTO meta (name, value) VALUES ('boots', ?)", value)
    return [boot for boot, since_s in now.over.items() if now.lived_s - since_s >= LEAST_S]
