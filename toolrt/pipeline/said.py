"""What a person says, as the store takes it: other arguments, and a yes for calls to come."""

import json

from toolrt.catalog.snapshot import ToolEntry
from toolrt.core.calls import Caller, Invocation
from toolrt.pipeline.answering import Standing
from toolrt.pipeline.asking import given, shown_to_people, subject_of
from toolrt.pipeline.gateway import Gateway
from toolrt.pipeline.stages.authorize import decider_of
from toolrt.policy.hashes import texts
from toolrt.policy.questions import Questions, arguments_of, caller_of, parted
from toolrt.policy.terms import also, reason_of
from toolrt.stores.approval_decisions import Edit, NewDecision, Reasked
from toolrt.stores.approval_votes import Answer
from toolrt.stores.approvals import Approval
from toolrt.stores.grants import NewGrant


def decision_of(
    record: Approval,
    by: Caller,
    channel: str,
    verdict: Answer,
    *,
    note: str | None,
    outcome: str | None = None,
) -> NewDecision:
    """A yes or a no to the arguments of `record`; `outcome` is the result that comes with it."""
    return NewDecision(by.principal, by.roles, channel, verdict, note, record.final_hash, outcome)


def edit_of(
    record: Approval,
    checked: Invocation,
    by: Caller,
    channel: str,
    *,
    entry: ToolEntry,
    questions: Questions,
    gateway: Gateway,
) -> Edit:
    """The checked arguments in the place of those of `record`, as `by` saw it."""
    subject, arguments = subject_of(entry), checked.arguments
    open_, sealed = parted(given(entry, arguments), subject.sensitive)
    shown = shown_to_people(entry, arguments)
    return Edit(
        by.principal,
        by.roles,
        channel,
        open_,
        questions.hash_of(subject, arguments, caller_of(record)),
        sealed,
        json.dumps(gateway.rendered(entry, shown, caller_of(record)), default=str),
        asked_of(record, entry, checked),
        record,
    )


def asked_of(record: Approval, entry: ToolEntry, checked: Invocation) -> Reasked | None:
    """What the edited call needs; None where policy asks for nothing now, and all stays."""
    new = checked.decision.terms if checked.decision else None
    if new is None:
        return None
    terms, hash_ = also(new, record.terms), decider_of(entry).policy_hash
    return Reasked(terms, checked.generation, hash_, terms.rules, reason_of(terms.asks))


def new_grant(
    record: Approval, entry: ToolEntry, by: Caller, standing: Standing, key: bytes
) -> NewGrant:
    """The standing yes to calls like the one of `record`; `key` hides what is sensitive."""
    known = texts(arguments_of(record), subject_of(entry).sensitive, key)
    return NewGrant(
        scope=standing.scope,
        tool=record.tool,
        tool_hash=record.tool_hash,
        principal=record.principal,
        tenant=record.tenant,
        session=record.session,
        pattern={name: None if name in standing.free else text for name, text in known.items()},
        granted_by=by.principal,
        approval_id=record.id,
        final_hash=record.final_hash,
        max_uses=standing.uses,
        ttl_s=standing.for_s,
    )
