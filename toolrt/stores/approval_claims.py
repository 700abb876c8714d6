"""Running what was approved: one claim, its lease, its end; and calling a question off.

What runs does so after its claim was committed. A claim that is not renewed in time becomes
`unknown`, and only its late owner, a check of the effect or a person can say what happened.
"""

import json
from typing import Literal

from toolrt.stores.approval_decisions import FORGED
from toolrt.stores.approval_lapses import current
from toolrt.stores.approval_outcomes import digest_of
from toolrt.stores.approval_recount import RolesNow, about_now, as_said, is_backed, withdrawn
from toolrt.stores.approval_sealed import ALTERED, is_untouched
from toolrt.stores.approval_seals import ApprovalSeals
from toolrt.stores.approvals import Approval, Moved, get, move, note
from toolrt.stores.base import Audit, Session, no_audit
from toolrt.stores.moments import Moment, ahead, settled

Ending = Literal["succeeded", "failed"]

_REFUSALS = {
    "pending": ("conflict", "it waits for a decision"),
    "approved": ("conflict", "it was changed at the same moment: look again"),
    "denied": ("approval-denied", "it was denied"),
    "expired": ("approval-expired", "it has expired"),
    "cancelled": ("cancelled", "it was cancelled"),
    "claimed": ("conflict", "it runs"),
    "unknown": ("unknown-outcome", "it ran, and nobody knows with what outcome"),
}
_OVER = ("conflict", "it has run")
_CLOCK_S = 60.0
"""How far a clock may have been set back between a yes and the run."""


def claim(
    session: Session,
    prefix: str,
    moment: Moment,
    *,
    owner: str,
    final_hash: str,
    lease_s: float,
    seals: ApprovalSeals,
    roles_now: RolesNow = as_said,
    audit: Audit = no_audit,
) -> Moved:
    """Take an approved one in order to run what `final_hash` stands for; one owner only (A8).

    Another hash, or a record that people did not make what it is, changes nothing and is told to
    `audit` (A4). Where too few of those who said yes may still do so, it is pending again, and the
    code is `conflict`. Raises as `get` does.
    """
    now = settled(session, moment)
    record = current(session, prefix, now, audit)
    if record.state != "approved":
        return _refused(record)
    if record.final_hash != final_hash:
        note(audit, session, "mismatch", record, moment, owner=owner, claimed_hash=final_hash)
        return Moved(record, "approval-mismatch", "other arguments were approved")
    forged = _forgery(session, record, seals)
    if forged is not None:
        note(audit, session, "mismatch", record, moment, owner=owner, reason=forged)
        return Moved(record, "approval-mismatch", forged)
    if withdrawn(session, record, roles_now, moment, seals=seals, audit=audit):
        return _refused(get(session, record.id))
    sets = {"state": "claimed", "owner": owner, "lease": moment.plus(lease_s)}
    if not move(session, record, sets, ahead("execute_by", now)):
        return _refused(get(session, record.id))
    return _told(session, record, "claimed", moment, audit, owner=owner)


def renew(
    session: Session,
    prefix: str,
    moment: Moment,
    *,
    owner: str,
    lease_s: float,
    audit: Audit = no_audit,
) -> Moved:
    """Go on holding a claim. Once its time has passed it is lost, and the outcome unknown."""
    now = settled(session, moment)
    record = current(session, prefix, now, audit)
    if record.state != "claimed" or record.owner != owner:
        return _refused(record)
    if not move(session, record, {"lease": moment.plus(lease_s)}, ahead("lease", now)):
        return _refused(get(session, record.id))
    return Moved(get(session, record.id))


def settle(
    session: Session,
    prefix: str,
    moment: Moment,
    *,
    owner: str,
    state: Ending | Literal["unknown"],
    outcome: str | None = None,
    audit: Audit = no_audit,
) -> Moved:
    """The owner's word on what came of it (`outcome` is JSON); late is not too late (A2)."""
    record = get(session, prefix)
    if record.owner != owner:
        return _refused(record)
    if record.state == state:
        return Moved(record, is_repeat=True)
    if record.state not in {"claimed", "unknown"}:
        return _refused(record)
    if not move(session, record, {**_ending(state, moment), "outcome": outcome}):
        return _refused(get(session, record.id))
    return _told(session, record, state, moment, audit, owner=owner)


def resolve_unknown(
    session: Session,
    prefix: str,
    moment: Moment,
    *,
    actor: str,
    state: Ending,
    by_verify: str | None = None,
    audit: Audit = no_audit,
) -> Moved:
    """A person's word on an unknown outcome, or that of the tool `by_verify` that they asked."""
    now = settled(session, moment)
    record = current(session, prefix, now, audit)
    if record.state != "unknown":
        return _refused(record)
    if not move(session, record, _ending(state, moment)):
        return _refused(get(session, record.id))
    told = {"actor": actor} | ({"verify": by_verify} if by_verify else {})
    return _told(session, record, "resolved", moment, audit, **told)


def cancel(
    session: Session, prefix: str, moment: Moment, *, actor: str, audit: Audit = no_audit
) -> Moved:
    """Call off what does not run yet (A18)."""
    now = settled(session, moment)
    record = current(session, prefix, now, audit)
    if record.state == "cancelled":
        return Moved(record, is_repeat=True)
    if record.state not in {"pending", "approved"}:
        return _refused(record)
    if not move(session, record, _ending("cancelled", moment)):
        return _refused(get(session, record.id))
    return _told(session, record, "cancelled", moment, audit, actor=actor)


def _forgery(session: Session, record: Approval, seals: ApprovalSeals) -> str | None:
    """Why an approved record is none: its state was written into the store by hand."""
    if not is_backed(session, record, seals):
        return FORGED
    if record.execute_by is None:
        return "it does not say until when it may run, as each does that was approved"
    if not is_untouched(record, seals) or not _is_their_result(session, record):
        return ALTERED
    return _put_back(session, record)


def _is_their_result(session: Session, record: Approval) -> bool:
    """Whether the result of a call that people made is what they gave."""
    if record.mode != "external":
        return True
    result = digest_of(record.outcome)
    return all(each.supplied == result for each in about_now(session, record))


def _put_back(session: Session, record: Approval) -> str | None:
    """What the journal knows of it that came later than its row says, if there is anything."""
    since = min(vote.at for vote in about_now(session, record)) - _CLOCK_S
    sql = "SELECT body FROM journal WHERE at >= ? AND kind = 'approval'"
    told = (_later(record, bytes(body)) for (body,) in session.rows(sql, since))
    later = sorted(event for event in told if event is not None)
    if "claimed" in later:
        return "the journal knows that it has run"
    return f"the journal knows that it was {later[-1]} since" if later else None


def _later(record: Approval, body: bytes) -> str | None:
    """The event of an entry about this approval after the revision that its row has."""
    try:
        told = json.loads(body)
        is_about = told["approval"] == record.id and told["event"] != "mismatch"
        is_later = told["revision"] > record.revision or told["event"] == "claimed"
        return str(told["event"]) if is_about and is_later else None
    except (ValueError, TypeError, LookupError):  # an edited row: `verify` tells
        return None


def _ending(state: str, moment: Moment) -> dict[str, object]:
    return {"state": state} if state == "unknown" else {"state": state, "ended": moment}


def _told(
    session: Session, before: Approval, event: str, moment: Moment, audit: Audit, **more: object
) -> Moved:
    """The record after a change that `audit` has been told of."""
    record = get(session, before.id)
    note(audit, session, event, record, moment, **more)
    return Moved(record)


def _refused(record: Approval) -> Moved:
    code, message = _REFUSALS.get(record.state, _OVER)
    return Moved(record, code, message)
