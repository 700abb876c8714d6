"""Deciding: who may, what the decisions come to, edits before one, and a second look after one.

Deciding never executes anything (A19).
"""

import json
from collections.abc import Collection
from dataclasses import dataclass, field

from toolrt.core.decisions import Terms
from toolrt.stores.approval_lapses import current
from toolrt.stores.approval_votes import Answer, Vote, judge, keep, objection, votes_on
from toolrt.stores.approvals import Approval, Moved, get, move, note, terms_text
from toolrt.stores.base import Audit, Session, no_audit
from toolrt.stores.moments import Moment, ahead, settled


@dataclass(frozen=True, slots=True)
class NewDecision:
    """What an authenticated actor says, by which channel.

    `final_hash` is that of the arguments they were shown; a decision about others is refused.
    `outcome` (JSON) is what they supply for a call that nothing of ours runs.
    """

    actor: str
    roles: tuple[str, ...]
    channel: str
    verdict: Answer
    note: str | None = None
    final_hash: str | None = None
    outcome: str | None = None


@dataclass(frozen=True, slots=True)
class Reasked:
    """What policy asks for now: of an approval that was given, or of other arguments."""

    terms: Terms
    generation: int
    policy_hash: str
    rules: tuple[str, ...] = ()
    reason: str | None = None

    def sets(self) -> dict[str, object]:
        """The columns that say so."""
        return {
            "terms": terms_text(self.terms),
            "generation": self.generation,
            "policy_hash": self.policy_hash,
            "rules": json.dumps(self.rules),
            "reason": self.reason,
        }


@dataclass(frozen=True, slots=True)
class Edit:
    """Other arguments, put in the place of those asked for, by an actor who might decide.

    `asked` is what policy asks for these; None where it asks for nothing.
    """

    actor: str
    roles: tuple[str, ...]
    channel: str
    arguments: str
    final_hash: str
    sealed: str | None = field(default=None, repr=False)
    view: str | None = None
    asked: Reasked | None = None


def decide(
    session: Session,
    prefix: str,
    decision: NewDecision,
    moment: Moment,
    *,
    agents: Collection[str] = (),
    audit: Audit = no_audit,
) -> Moved:
    """Count a decision and, where the terms are met or it is a deny, move the approval on.

    The same again by the same actor is no change and no error. `agents` are principals that
    count as the requester, too. Raises as `get` does.
    """
    now = settled(session, moment)
    record = current(session, prefix, now, audit)
    requesters = {record.principal, *agents}
    refused = _refused(record, decision, requesters)
    if refused is not None:
        return refused
    votes = _votes(session, record)
    own = next((vote for vote in votes if vote.actor == decision.actor), None)
    if record.state != "pending" or own is not None:
        return _too_late(record, votes, own, decision.verdict)
    if decision.final_hash not in {None, record.final_hash}:
        return Moved(record, "approval-mismatch", "the arguments have been edited: look again")
    vote = _vote(record, decision, moment)
    sets = _consequence(record, judge(record.terms, requesters, [*votes, vote]), moment)
    if decision.outcome is not None:
        sets["outcome"] = decision.outcome
    if not move(session, record, sets, ahead("expires", now)):
        return decide(session, prefix, decision, moment, agents=agents, audit=audit)
    keep(session, record.id, record.revision + 1, vote)
    decided = get(session, record.id)
    said = {"actor": vote.actor, "verdict": vote.verdict, "channel": vote.channel}
    note(audit, session, "decided", decided, moment, **said, note=vote.note)
    return Moved(decided)


def edit(
    session: Session,
    prefix: str,
    change: Edit,
    moment: Moment,
    *,
    agents: Collection[str] = (),
    audit: Audit = no_audit,
) -> Moved:
    """Put other arguments in place; what was said about the earlier ones counts no more.

    The caller has checked them against schema and policy (A13). Raises as `get` does.
    """
    now = settled(session, moment)
    record = current(session, prefix, now, audit)
    refused = _refused(record, change, {record.principal, *agents})
    if refused is not None:
        return refused
    if record.state != "pending":
        return _too_late(record, _votes(session, record), None, None)
    sets: dict[str, object] = {
        "arguments": change.arguments,
        "final_hash": change.final_hash,
        "sealed": change.sealed,
        "view": change.view,
        "edited_by": change.actor,
    }
    if change.asked is not None:
        sets |= change.asked.sets() | _sooner(record, change.asked.terms, moment, now)
    if not move(session, record, sets, ahead("expires", now)):
        return edit(session, prefix, change, moment, agents=agents, audit=audit)
    edited = get(session, record.id)
    said = {"actor": change.actor, "channel": change.channel, "before": record.final_hash}
    note(audit, session, "edited", edited, moment, **said, rules=list(edited.rules))
    return Moved(edited)


def reopen(
    session: Session,
    prefix: str,
    asked: Reasked,
    moment: Moment,
    *,
    agents: Collection[str] = (),
    audit: Audit = no_audit,
) -> Moved:
    """An approved one under the terms of now: back to pending, for their whole time (A5).

    What was said still counts; where it meets the new terms as well, it stays approved.
    """
    now = settled(session, moment)
    record = current(session, prefix, now, audit)
    if record.state != "approved":
        return Moved(record, "conflict", f"it is {record.state}")
    state = judge(asked.terms, {record.principal, *agents}, _votes(session, record))
    sets = asked.sets()
    if state != "approved":
        sets |= {"state": "pending", "expires": moment.plus(asked.terms.ttl_s), "execute_by": None}
    if not move(session, record, sets, ahead("execute_by", now)):
        return reopen(session, prefix, asked, moment, agents=agents, audit=audit)
    reopened = get(session, record.id)
    note(audit, session, "reopened", reopened, moment, rules=list(asked.rules), reason=asked.reason)
    return Moved(reopened)


def _refused(
    record: Approval, said: NewDecision | Edit, requesters: Collection[str]
) -> Moved | None:
    why = objection(record.terms, requesters, said.actor, said.roles, said.channel)
    return None if why is None else Moved(record, "access-denied", why)


def _sooner(record: Approval, terms: Terms, moment: Moment, now: Moment) -> dict[str, object]:
    """The end of a question that waits for no longer than the new terms let it."""
    is_later = record.expires.remaining_s(now) > terms.ttl_s
    return {"expires": moment.plus(terms.ttl_s)} if is_later else {}


def _votes(session: Session, record: Approval) -> list[Vote]:
    """What was said about the arguments as they are now."""
    return [vote for vote in votes_on(session, record.id) if vote.final_hash == record.final_hash]


def _vote(record: Approval, decision: NewDecision, moment: Moment) -> Vote:
    return Vote(
        decision.actor,
        decision.roles,
        decision.channel,
        decision.verdict,
        decision.note,
        moment.wall,
        record.final_hash,
    )


def _consequence(record: Approval, state: str, moment: Moment) -> dict[str, object]:
    if state == "denied":
        return {"state": state, "ended": moment}
    if state == "approved":
        return {"state": state, "execute_by": moment.plus(record.terms.execute_by_s)}
    return {"state": state}


def _too_late(
    record: Approval, votes: list[Vote], own: Vote | None, verdict: Answer | None
) -> Moved:
    """Who or what came first; nothing, if it was the same actor who said the same."""
    if record.state == "expired":
        return Moved(record, "approval-expired", "it has expired")
    if record.state == "cancelled":
        return Moved(record, "cancelled", "it was cancelled")
    holds: Answer = "deny" if record.state == "denied" else "approve"
    if own is not None and own.verdict == verdict == holds:
        return Moved(record, earlier=own, is_repeat=True)
    earlier = own if record.state == "pending" else next(reversed(votes), None)
    return Moved(record, "already-decided", "it has been decided", earlier)
