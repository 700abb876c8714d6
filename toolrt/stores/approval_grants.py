"""The standing yes that is said with an approval: one, and about what was voted on (A11, A13)."""

from toolrt.stores.approval_seals import ApprovalSeals
from toolrt.stores.approvals import Approval, Moved
from toolrt.stores.base import Audit, Session
from toolrt.stores.grants import Grant, NewGrant, add, given_with, revoke
from toolrt.stores.moments import Moment

_ONE = "a standing yes was given with it already, and there is one at most"


def give(
    session: Session,
    moved: Moved,
    new: NewGrant,
    moment: Moment,
    *,
    seals: ApprovalSeals,
    audit: Audit,
) -> Moved:
    """What came of a decision that a standing yes was said with, which is kept if it counts.

    Whoever repeats what they said may add one, where there is none for these arguments. The same
    again is no second one; another, and one that was ended, is refused. Raises as `add` does.
    """
    record = moved.record
    if moved.code is not None or record.state != "approved" or new.final_hash != record.final_hash:
        return moved
    given = [each for each in given_with(session, record.id) if each.final_hash == new.final_hash]
    if not moved.is_repeat or not given:
        add(session, new, moment, seals=seals, audit=audit)
        return moved
    if any(_is_same(each, new) for each in given):
        return moved
    return Moved(record, "already-decided", _ONE, moved.earlier)


def end_standing(
    session: Session, record: Approval, moment: Moment, *, actor: str, audit: Audit
) -> None:
    """End what was said for calls to come, because `actor` edits what it was said about."""
    for grant in given_with(session, record.id):
        revoke(session, grant.id, moment, actor=actor, audit=audit)


def _is_same(grant: Grant, new: NewGrant) -> bool:
    """Whether that is what was said; one that was ended is nobody's word any more."""
    said = (new.granted_by, new.scope, new.max_uses, dict(new.pattern))
    kept = (grant.granted_by, grant.scope, grant.max_uses, dict(grant.pattern))
    is_as_long = grant.expires == grant.created.plus(new.ttl_s)
    return grant.revoked_by is None and said == kept and is_as_long
