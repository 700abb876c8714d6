"""A question that has become another one: people have more to do by now than to say yes (A5).

The tool, or the operator for it, wants a person to fill something in or to make the whole call.
"""

from toolrt.catalog.snapshot import ToolEntry
from toolrt.core.calls import Invocation
from toolrt.core.decisions import Decision
from toolrt.pipeline.asking import subject_of
from toolrt.pipeline.stages.authorize import decider_of
from toolrt.policy.questions import Questions
from toolrt.stores.approval_decisions import takes_more
from toolrt.stores.approvals import Approval, Moved


def is_other_question(record: Approval, checked: Invocation) -> bool:
    """Whether what `checked` was decided to need is more to do than what people were asked."""
    terms = checked.decision.terms if checked.decision else None
    return terms is not None and takes_more(record, terms)


async def asked_anew(
    questions: Questions, record: Approval, entry: ToolEntry, checked: Invocation
) -> Moved:
    """The record as people are asked about it now; nothing was decided. Raises StoreError."""
    asked = await asked_as_now(
        questions, record, entry, checked, checked.decision or Decision("ask")
    )
    if asked.code is not None:
        return asked
    does = "makes this call" if asked.record.mode == "external" else "fills in more of this call"
    return Moved(asked.record, "conflict", f"a person {does} by now: look again")


async def asked_as_now(
    questions: Questions,
    record: Approval,
    entry: ToolEntry,
    checked: Invocation,
    decision: Decision,
) -> Moved:
    """The record under the terms of `decision`. Raises StoreError."""
    policy_hash = decider_of(entry).policy_hash
    subject = subject_of(entry, checked.arguments)
    return await questions.reopen(record, subject, decision, policy_hash, checked.generation)
