"""Asking: a question is kept before anyone learns its id, once for each call that asks it."""

from dataclasses import dataclass, fields
from typing import Literal

from toolrt.core.decisions import Caps
from toolrt.stores.approval_lapses import sweep
from toolrt.stores.approval_sealed import sealed
from toolrt.stores.approval_seals import ApprovalSeals
from toolrt.stores.approvals import Approval, Question, found, insert, note
from toolrt.stores.base import Audit, Session, no_audit
from toolrt.stores.moments import Condition, Moment, recent, settled

_QUIET_S = 60.0
_RATE_S = 60.0


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why a question is not even asked; `message` is fit for a model.

    `earlier` is the approval that was denied or has expired just now.
    """

    why: Literal["recently-denied", "too-many-pending", "too-many-asks", "unattended"]
    message: str
    earlier: Approval | None = None


def create(
    session: Session,
    question: Question,
    moment: Moment,
    caps: Caps = Caps(),  # noqa: B008 - frozen
    *,
    seals: ApprovalSeals,
    audit: Audit = no_audit,
) -> Approval | Refusal:
    """The question as it is kept; the same one (`asked_hash`) that is still open, if there is.

    In that case the record has the id of the earlier question, not that of `question`.
    """
    now = settled(session, moment)
    sweep(session, moment, audit)
    return (
        still_open(session, question)
        or _refusal(session, question, moment, now, caps)
        or _inserted(session, question, moment, seals, audit)
    )


def still_open(session: Session, question: Question) -> Approval | None:
    """The earlier approval of the same call that waits for an answer, or for its run."""
    same = _same_call(question, "state IN ('pending', 'approved')")
    return next(iter(found(session, same)), None)


def _refusal(
    session: Session, question: Question, moment: Moment, now: Moment, caps: Caps
) -> Refusal | None:
    young = recent("ended", moment, now, _QUIET_S)
    ended = _same_call(question, f"state IN ('denied', 'expired') AND {young.sql}")
    denied = found(session, Condition(ended.sql, (*ended.parameters, *young.parameters)))
    if denied:
        how = "denied" if denied[0].state == "denied" else "left without an answer"
        message = f"the same call was {how} a moment ago: do not repeat it, do something else"
        return Refusal("recently-denied", message, denied[0])
    if _count(session, question, Condition("state = 'pending'", ())) >= caps.pending:
        message = f"{caps.pending} calls already wait for an answer: wait until some have it"
        return Refusal("too-many-pending", message)
    if _count(session, question, recent("created", moment, now, _RATE_S)) >= caps.asks:
        message = f"more than {caps.asks} questions within a minute: wait before asking again"
        return Refusal("too-many-asks", message)
    return None


def _inserted(
    session: Session, question: Question, moment: Moment, seals: ApprovalSeals, audit: Audit
) -> Approval:
    asked = {each.name: getattr(question, each.name) for each in fields(Question)}
    unsealed = Approval(
        **asked,
        state="pending",
        revision=0,
        created=moment,
        expires=moment.plus(question.terms.ttl_s),
        execute_by=None,
        lease=None,
        ended=None,
        owner=None,
        edited_by=None,
        outcome=None,
    )
    record = sealed(unsealed, seals)
    insert(session, record)
    note(audit, session, "asked", record, moment, rules=list(record.rules), reason=record.reason)
    return record


def _same_call(question: Question, condition: str) -> Condition:
    sql = f"asked_hash = ? AND principal = ? AND COALESCE(tenant, '') = ? AND {condition}"
    return Condition(sql, (question.asked_hash, question.principal, question.tenant or ""))


def _count(session: Session, question: Question, condition: Condition) -> int:
    """How many approvals of this session fulfil the condition."""
    row = session.row(
        "SELECT count(*) FROM approvals WHERE principal = ? AND COALESCE(tenant, '') = ?"  # noqa: S608 - ours
        f" AND COALESCE(session, '') = ? AND {condition.sql}",
        *(question.principal, question.tenant or "", question.session or ""),
        *condition.parameters,
    )
    return row[0] if row else 0
