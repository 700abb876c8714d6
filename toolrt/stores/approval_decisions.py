"""Deciding: who may, what the decisions come to, edits before one, and a second look after one.

Deciding never executes anything (A19).
"""

import json
from collections.abc import Collection
from dataclasses import dataclass, field, replace

from toolrt.core.decisions import Terms
from toolrt.stores.approval_grants import end_standing
from toolrt.stores.approval_lapses import current
from toolrt.stores.approval_outcomes import digest_of
from toolrt.stores.approval_recount import about_now
from toolrt.stores.approval_sealed import ALTERED, is_untouched, resealed
from toolrt.stores.approval_seals import ApprovalSeals
from toolrt.stores.approval_votes import (
    Answer,
    Vote,
    is_genuine,
    judge,
    keep,
    needs,
    objection,
    void,
)
from toolrt.stores.approvals import Approval, Moved, get, move, note, terms_text
from toolrt.stores.base import Audit, Session, no_audit
from toolrt.stores.moments import Moment, ahead, settled

FORGED = "what was said about it did not come through toolrt"
"""Why nobody decides, and nothing runs: its votes were written into the store by hand."""


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
    """What policy asks for now: of an approval that was given, or of other arguments.

    `fields` (JSON) is the schema of what a person fills in.
    """

    terms: Terms
    generation: int
    policy_hash: str
    rules: tuple[str, ...] = ()
    reason: str | None = None
    fields: str | None = None

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

    `asked` is what policy asks for these; None where it asks for nothing. `seen` is the record that
    the actor looked at: where it has other arguments or terms by now, nothing is edited.
    """

    actor: str
    roles: tuple[str, ...]
    channel: str
    arguments: str
    final_hash: str
    sealed: str | None = field(default=None, repr=False)
    view: str | None = None
    asked: Reasked | None = None
    seen: Approval | None = field(default=None, repr=False)


def decide(
    session: Session,
    prefix: str,
    decision: NewDecision,
    moment: Moment,
    *,
    seals: ApprovalSeals,
    agents: Collection[str] = (),
    audit: Audit = no_audit,
) -> Moved:
    """Count a decision and, where the terms are met or it is a deny, move the approval on.

    The same again by the same actor, about the same arguments, is no change and no error. Where
    somebody has written votes into the store by hand nobody decides. `agents` are principals that
    count as the requester, too. Raises as `get` does.
    """
    now = settled(session, moment)
    record = current(session, prefix, now, audit)
    requesters = {record.principal, *agents}
    refused = _refused(record, decision, requesters)
    if refused is not None:
        return refused
    votes = about_now(session, record)
    forged = _forgery(record, votes, seals)
    if forged is not None:
        note(audit, session, "mismatch", record, moment, actor=decision.actor, reason=forged)
        return Moved(record, "approval-mismatch", forged)
    if decision.final_hash not in {None, record.final_hash}:
        return _about_others(record, votes)
    own = next((vote for vote in votes if vote.actor == decision.actor), None)
    if record.state != "pending" or own is not None:
        return _too_late(record, votes, own, decision.verdict)
    vote = _vote(record, decision, moment)
    other = _other_result(vote, votes)
    if other is not None:
        return Moved(record, "conflict", f"{other.actor} has given another result", other)
    sets = _consequence(record, judge(record.terms, requesters, [*votes, vote]), moment)
    if decision.outcome is not None:
        sets["outcome"] = decision.outcome
    if not move(session, record, resealed(record, sets, seals), ahead("expires", now)):
        return decide(session, prefix, decision, moment, seals=seals, agents=agents, audit=audit)
    keep(session, record.id, vote, seals)
    decided = get(session, record.id)
    said = {"actor": vote.actor, "verdict": vote.verdict, "channel": vote.channel}
    yeses = _yeses(record, requesters, [*votes, vote])
    note(audit, session, "decided", decided, moment, **said, note=vote.note, yeses=yeses)
    return Moved(decided)


def edit(
    session: Session,
    prefix: str,
    change: Edit,
    moment: Moment,
    *,
    seals: ApprovalSeals,
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
        return _too_late(record, about_now(session, record), None, None)
    if not is_untouched(record, seals):
        note(audit, session, "mismatch", record, moment, actor=change.actor, reason=ALTERED)
        return Moved(record, "approval-mismatch", ALTERED)
    changed = _changed(record, change.seen)
    if changed is not None:
        return Moved(record, "conflict", f"{changed}: look again")
    sets: dict[str, object] = {
        "arguments": change.arguments,
        "final_hash": change.final_hash,
        "sealed": change.sealed,
        "view": change.view,
        "edited_by": change.actor,
        "outcome": None,
    }
    if change.asked is not None:
        sets |= change.asked.sets() | _sooner(record, change.asked.terms, moment, now)
    if not move(session, record, resealed(record, sets, seals), ahead("expires", now)):
        return edit(session, prefix, change, moment, seals=seals, agents=agents, audit=audit)
    end_standing(session, record, moment, actor=change.actor, audit=audit)
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
    seals: ApprovalSeals,
    agents: Collection[str] = (),
    audit: Audit = no_audit,
) -> Moved:
    """An approved one under the terms of now: back to pending, for their whole time (A5).

    What was said still counts; where it meets the new terms as well, it stays approved. Where
    people are to do more than say yes by now (`takes_more`), what they said before counts for
    nothing, and a pending one is asked anew like that, too.
    """
    now = settled(session, moment)
    record = current(session, prefix, now, audit)
    is_other = takes_more(record, asked.terms)
    if record.state != "approved" and not (is_other and record.state == "pending"):
        return Moved(record, "conflict", f"it is {record.state}")
    votes = about_now(session, record)
    if not is_untouched(record, seals):
        note(audit, session, "mismatch", record, moment, reason=ALTERED)
        return Moved(record, "approval-mismatch", ALTERED)
    counted = [] if is_other else votes
    state = judge(asked.terms, {record.principal, *agents}, counted)
    sets = asked.sets() | ({"mode": asked.terms.mode, "fields": asked.fields} if is_other else {})
    if state != "approved":
        sets |= {"state": "pending", "expires": moment.plus(asked.terms.ttl_s), "execute_by": None}
    if not move(session, record, resealed(record, sets, seals), ahead(_ENDS_AT[record.state], now)):
        return reopen(session, prefix, asked, moment, seals=seals, agents=agents, audit=audit)
    for vote in votes if is_other else ():
        void(session, record.id, vote, seals)
    reopened = get(session, record.id)
    note(audit, session, "reopened", reopened, moment, rules=list(asked.rules), reason=asked.reason)
    return Moved(reopened)


def takes_more(record: Approval, terms: Terms) -> bool:
    """Whether people have more to do than when this was asked: to fill something in, or the whole
    call. What a person has done already is not done once more by a tool.
    """
    if terms.mode == "confirm" or record.mode == "external":
        return False
    if terms.mode != record.mode:
        return True
    before, now = set(record.terms.fields), set(terms.fields)
    return bool(before) and not (now and now <= before)


_ENDS_AT = {"pending": "expires", "approved": "execute_by"}


def _forgery(record: Approval, votes: list[Vote], seals: ApprovalSeals) -> str | None:
    """Why nobody decides about a pending one: it is not what toolrt has kept."""
    if record.state != "pending":
        return None
    if not all(is_genuine(record.id, each, seals) for each in votes):
        return FORGED
    return None if is_untouched(record, seals) else ALTERED


def _other_result(vote: Vote, votes: list[Vote]) -> Vote | None:
    """Somebody's yes with another result than this one: of several people, all say the same."""
    if vote.supplied is None:
        return None
    return next((each for each in votes if each.supplied not in {None, vote.supplied}), None)


def _refused(
    record: Approval, said: NewDecision | Edit, requesters: Collection[str]
) -> Moved | None:
    why = objection(record.terms, requesters, said.actor, said.roles, said.channel)
    return None if why is None else Moved(record, "access-denied", why)


def _sooner(record: Approval, terms: Terms, moment: Moment, now: Moment) -> dict[str, object]:
    """The end of a question that waits for no longer than the new terms let it."""
    is_later = record.expires.remaining_s(now) > terms.ttl_s
    return {"expires": moment.plus(terms.ttl_s)} if is_later else {}


def _yeses(record: Approval, requesters: Collection[str], votes: list[Vote]) -> dict[str, int]:
    """How many there are of how many that are needed."""
    all_ = needs(record.terms, requesters, votes)
    have = sum(min(len(each.said), each.count) for each in all_)
    return {"have": have, "of": sum(each.count for each in all_)}


def _vote(record: Approval, decision: NewDecision, moment: Moment) -> Vote:
    return Vote(
        decision.actor,
        decision.roles,
        decision.channel,
        decision.verdict,
        decision.note,
        float(moment.wall),
        record.final_hash,
        record.revision + 1,
        digest_of(decision.outcome),
    )


def _consequence(record: Approval, state: str, moment: Moment) -> dict[str, object]:
    if state == "denied":
        return {"state": state, "ended": moment}
    if state == "approved":
        return {"state": state, "execute_by": moment.plus(record.terms.execute_by_s)}
    return {"state": state}


def _changed(record: Approval, seen: Approval | None) -> str | None:
    """What is not any more as somebody saw it."""
    if seen is None:
        return None
    if record.final_hash != seen.final_hash:
        return f"{record.edited_by} has edited the arguments meanwhile"
    if record.terms != seen.terms:
        return "more is asked for by now, or other yeses"
    return None


def _about_others(record: Approval, votes: list[Vote]) -> Moved:
    """A decision about other arguments than those of now; who decided about these, if anybody."""
    if record.state == "pending":
        return Moved(record, "approval-mismatch", "the arguments have been edited: look again")
    moved = _too_late(record, votes, None, None)
    if moved.code != "already-decided":
        return moved
    return replace(moved, message=f"{moved.message}, about other arguments: look again")


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
