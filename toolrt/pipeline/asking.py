"""What an approval is told of a compiled tool, and what its caller is told of the approval."""

import json
from collections.abc import Mapping
from typing import Any, Final

from toolrt.catalog.sensitive import sensitive_names
from toolrt.catalog.snapshot import ToolEntry
from toolrt.core.decisions import Need
from toolrt.core.redaction import MASK
from toolrt.core.results import Pause
from toolrt.observe.journal_entries import PerTool
from toolrt.policy.questions import Questions, Subject
from toolrt.policy.terms import added, reasons_of
from toolrt.stores.approval_twins import Twin
from toolrt.stores.approvals import Approval

ASK_AGAIN: Final = "the same call again, once approved, runs it"
"""How a call that was paused goes on; those who wait for it have it told in another way."""


def subject_of(entry: ToolEntry, arguments: Mapping[str, Any] | None = None) -> Subject:
    """The tool as approvals know it; with `arguments`, what a person fills in a call of these."""
    schema = None if arguments is None else entry.asked_schema(arguments)
    return Subject(entry.name, entry.definition_hash, sensitive_of(entry), schema)


def told_of(entry: ToolEntry) -> PerTool:
    """What the journal is told of the tool once, for all its calls."""
    decider = entry.decider
    if decider is None:
        return PerTool(entry.name)
    sensitive = sensitive_of(entry)
    names = frozenset(entry.parameters.schema.get("properties", ())) if sensitive else sensitive
    return PerTool(entry.name, decider.fixed, decider.policy_hash, sensitive, names)


def given(entry: ToolEntry, arguments: Mapping[str, Any]) -> Mapping[str, Any]:
    """Checked arguments as they can be checked once more: paths are relative to their roots."""
    return arguments if entry.path_rules is None else entry.path_rules.given(arguments)


def sensitive_of(entry: ToolEntry) -> frozenset[str]:
    """Names of the parameters that carry sensitive data, at whatever depth."""
    return sensitive_names(entry.parameters.schema)


def shown_to_people(entry: ToolEntry, arguments: Mapping[str, Any]) -> Mapping[str, Any]:
    """The arguments for what people see and the store keeps: the sensitive ones masked, a mark for
    each that a person has yet to fill in.
    """
    hidden = sensitive_of(entry).intersection(arguments)
    gaps = {name: f"<{name}>" for name in entry.asked if name not in arguments}
    if not hidden and not gaps:
        return arguments
    return {**arguments, **dict.fromkeys(hidden, MASK), **gaps}


async def waiting(
    record: Approval, entry: ToolEntry, questions: Questions, before: Approval | None = None
) -> Pause:
    """The pause of a call whose question is open, as the store knows it. Raises StoreError."""
    needs, twin = await questions.needs(record), await questions.twin(record)
    return pause_of(record, entry, needs, before, twin)


def pause_of(
    record: Approval,
    entry: ToolEntry,
    needs: tuple[Need, ...],
    before: Approval | None = None,
    twin: Twin | None = None,
) -> Pause:
    """The pause of a call whose question is open; again, where `before` had been approved. `twin`
    is an earlier approval of the same call.
    """
    fields = entry.asked
    if entry.form is not None and record.fields is not None:
        fields = tuple(json.loads(record.fields)["properties"])
    return Pause(
        record.id,
        record.terms.mode,
        record.expires.wall,
        _message(record, before) + same_call(twin),
        fields,
        asks=record.terms.asks,
        needs=needs,
        requester=record.principal,
        is_reopened=before is not None,
        same_call=None if twin is None else twin.document(),
    )


def _message(record: Approval, before: Approval | None) -> str:
    """For the model, too: ids and reasons of rules, and nothing of people (P20)."""
    waits, reason = "waits for a person", record.reason
    if before is not None:
        waits = "waits for a person again, since more is asked for than was approved"
        asks = added(record.terms, before.terms) or record.terms.asks
        reason = reasons_of(asks)
    because = f": {reason.rstrip('.')}" if reason else ""
    return f"`{record.tool}` {waits}{because}. Nothing ran yet. Approval {record.id}; {ASK_AGAIN}."


def same_call(twin: Twin | None) -> str:
    """What is said of an earlier approval of the same call; nothing where there is none."""
    if twin is None:
        return ""
    look = "wait for its end" if twin.state == "claimed" else "look first whether it took effect"
    return f" The very same call {twin.how} (approval {twin.id}): {look}."
