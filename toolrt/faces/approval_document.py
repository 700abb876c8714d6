"""Approvals and grants as every face shows them to a program: JSON-ready, times in UTC."""

import json
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any, Final

from toolrt.core.results import SCHEMA
from toolrt.pipeline.viewing import Viewed
from toolrt.stores.approval_outcomes import outcome_of
from toolrt.stores.approval_votes import Vote
from toolrt.stores.approvals import Approval
from toolrt.stores.grants import Grant
from toolrt.stores.moments import Moment

_OF_PEOPLE: Final = {"needs", "note", "edited_by"}
_ASKED: Final = {"groups", "asks"}


def approval_document(viewed: Viewed) -> dict[str, Any]:
    """All of one approval: what is asked, by whom, what it needs and has, what will run."""
    record, terms = viewed.record, viewed.record.terms
    return {
        **approval_summary(viewed),
        "altered": viewed.is_altered,
        "call_id": record.call_id,
        "generation": record.generation,
        "note": terms.note,
        "terms": {
            "groups": [each.document() for each in viewed.needs],
            "exclude_requester": terms.exclude_requester,
            "ttl_s": terms.ttl_s,
            "scopes": list(terms.scopes),
            "asks": [each.document() for each in terms.asks],
        },
        "votes": [_vote(each, record) for each in viewed.votes],
        "asked_arguments": json.loads(record.asked_arguments),
        "arguments": json.loads(record.arguments),
        "secrets": list(viewed.secrets),
        "will_run": json.loads(record.view) if record.view else None,
        "final_hash": record.final_hash,
        "edited_by": record.edited_by,
        "fields": json.loads(record.fields) if record.fields else None,
        "outcome": outcome_of(record.outcome),
    }


def approval_summary(viewed: Viewed) -> dict[str, Any]:
    """What a list has of one."""
    record = viewed.record
    return {
        "schema": SCHEMA,
        "id": record.id,
        "state": record.state,
        "mode": record.mode,
        "tool": record.tool,
        "plan": viewed.plan,
        "reason": record.reason,
        "rules": list(record.rules),
        "needs": [each.document() for each in viewed.needs],
        "same_call": None if viewed.twin is None else viewed.twin.document(),
        "asked_by": asker(record),
        "created_at": _time(record.created),
        "expires_at": _time(record.expires),
        "execute_by": _time(record.execute_by),
        "ended_at": _time(record.ended),
    }


def without_people(document: Mapping[str, Any]) -> dict[str, Any]:
    """A document or a summary for whoever may not approve: nobody is named who may, or who did."""
    made = {key: each for key, each in document.items() if key not in _OF_PEOPLE}
    if "votes" in made:
        kept = ("verdict", "at", "counts")
        made["votes"] = [{key: each[key] for key in kept} for each in made["votes"]]
    if "terms" in made:
        made["terms"] = {key: each for key, each in made["terms"].items() if key not in _ASKED}
    return made


def asked_fields(record: Approval) -> dict[str, Any]:
    """What a person fills in: the JSON Schema of each field by its name."""
    made: dict[str, Any] = asked_form(record).get("properties", {})
    return made


def asked_form(record: Approval) -> dict[str, Any]:
    """The JSON Schema of what a person fills in; empty where nothing is, or a row has no such."""
    form = json.loads(record.fields) if record.fields else None
    return form if isinstance(form, dict) else {}


def asker(record: Approval) -> dict[str, Any]:
    """Who made the call."""
    known = json.loads(record.caller)
    return {key: known.get(key) for key in ("principal", "roles", "tenant", "session")}


def grant_document(grant: Grant, now: Moment) -> dict[str, Any]:
    """A standing yes; an argument of `pattern` that is null may have any value."""
    return {
        "schema": SCHEMA,
        "id": grant.id,
        "state": grant_state(grant, now),
        "scope": grant.scope,
        "tool": grant.tool,
        "principal": grant.principal,
        "tenant": grant.tenant,
        "session": grant.session,
        "pattern": dict(grant.pattern),
        "granted_by": grant.granted_by,
        "approval_id": grant.approval_id,
        "uses": grant.uses,
        "max_uses": grant.max_uses,
        "revoked_by": grant.revoked_by,
        "created_at": _time(grant.created),
        "expires_at": _time(grant.expires),
    }


def grant_state(grant: Grant, now: Moment) -> str:
    """`live`, or why it answers no call any more."""
    if grant.revoked_by is not None:
        return "revoked"
    if grant.expires.remaining_s(now) <= 0:
        return "expired"
    return "live" if grant.uses < grant.max_uses else "used up"


def _vote(vote: Vote, record: Approval) -> dict[str, Any]:
    return {
        "actor": vote.actor,
        "roles": list(vote.roles),
        "channel": vote.channel,
        "verdict": vote.verdict,
        "note": vote.note,
        "at": _iso(vote.at),
        "counts": vote.final_hash == record.final_hash,
    }


def _time(moment: Moment | None) -> str | None:
    return None if moment is None else _iso(moment.wall)


def _iso(wall: float) -> str:
    at = datetime.fromtimestamp(wall, UTC).isoformat(timespec="seconds")
    return at.replace("+00:00", "Z")
