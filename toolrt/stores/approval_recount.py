"""A second look at who said yes: who may not decide any more does not count any more (A5).

Votes are kept with the roles of their time. Who decides today is not known here: a `RolesNow` says
it of each vote.
"""

from collections.abc import Callable, Iterable
from dataclasses import replace

from toolrt.core.decisions import Group, Terms
from toolrt.stores.approval_sealed import resealed
from toolrt.stores.approval_seals import ApprovalSeals
from toolrt.stores.approval_votes import Vote, is_genuine, judge, void, votes_on
from toolrt.stores.approvals import Approval, get, move, note
from toolrt.stores.base import Audit, Session
from toolrt.stores.moments import Moment, ahead, settled

RolesNow = Callable[[Vote], tuple[str, ...] | None]
"""Which roles of a vote its actor still has; None where their word counts no more."""

_WHY = "a yes that was given counts no more"


def as_said(vote: Vote) -> tuple[str, ...] | None:
    """Everybody still is who they were."""
    return vote.roles


def counted_now(votes: Iterable[Vote], roles_now: RolesNow) -> list[Vote]:
    """The votes that count today, in the roles of today."""
    pairs = [(vote, roles_now(vote)) for vote in votes]
    return [replace(vote, roles=roles) for vote, roles in pairs if roles is not None]


def about_now(session: Session, record: Approval) -> list[Vote]:
    """What was said about the arguments as they are now."""
    return [vote for vote in votes_on(session, record.id) if vote.final_hash == record.final_hash]


def is_backed(session: Session, record: Approval, seals: ApprovalSeals) -> bool:
    """Whether those who are said to have approved this record did so."""
    votes = about_now(session, record)
    given = [vote for vote in votes if is_genuine(record.id, vote, seals)]
    return judge(record.terms, {record.principal}, given) == "approved"


def withdrawn(
    session: Session,
    record: Approval,
    roles_now: RolesNow,
    moment: Moment,
    *,
    seals: ApprovalSeals,
    audit: Audit,
) -> bool:
    """Whether the approved record lacks a yes by now; if so it is pending again, for its whole
    time, and what counts no more is out of the way, so that these people might be asked anew.
    """
    now = settled(session, moment)
    votes = about_now(session, record)
    counted = counted_now(votes, roles_now)
    if judge(record.terms, {record.principal}, counted) == "approved":
        return False
    fallen = [vote for vote in votes if _has_fallen(vote, roles_now(vote), record.terms)]
    expires = moment.plus(record.terms.ttl_s)
    sets = {"state": "pending", "expires": expires, "execute_by": None}
    if not move(session, record, resealed(record, sets, seals), ahead("execute_by", now)):
        return False
    for vote in fallen:
        void(session, record.id, vote, seals)
    people = [vote.actor for vote in fallen]
    reopened = get(session, record.id)
    note(audit, session, "reopened", reopened, moment, reason=_WHY, withdrawn=people)
    return True


def _has_fallen(vote: Vote, roles: tuple[str, ...] | None, terms: Terms) -> bool:
    """Whether it counts for less than it did."""
    if roles is None:
        return True
    groups = terms.groups or (Group(),)
    return any(g.holds(vote.actor, vote.roles) and not g.holds(vote.actor, roles) for g in groups)
