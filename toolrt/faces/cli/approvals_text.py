"""An approval in a person's words: a line of a list, and all that somebody has to know to decide.

Everything that came from a model or a tool is escaped. What is too long is cut, and says so.
"""

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from toolrt.core.decisions import Group
from toolrt.faces.approval_document import asked_fields, asker, grant_state, have
from toolrt.faces.cli.durations import ago, ahead, spoken
from toolrt.faces.cli.table import aligned
from toolrt.faces.cli.told import SHORT_ID
from toolrt.faces.output import one_line, visible
from toolrt.faces.yaml_text import to_yaml
from toolrt.stores.approval_votes import Vote
from toolrt.stores.approvals import Approval
from toolrt.stores.grants import Grant
from toolrt.stores.moments import Moment

MOST_BYTES = 64 * 1024
"""So much of what will run is shown unless all of it is asked for."""

_SAID = {"approve": "yes", "deny": "no"}


@dataclass(frozen=True, slots=True)
class Told:
    """An approval as text; `left_bytes` of what will run are not in it."""

    text: str
    left_bytes: int = 0


def row(record: Approval, now: Moment) -> list[str]:
    """A line of the list."""
    return [
        record.id[:SHORT_ID],
        record.state,
        one_line(record.tool),
        one_line(record.principal),
        when(record, now),
        one_line(record.reason or ""),
    ]


def grant_row(grant: Grant, now: Moment) -> list[str]:
    """A line of the list of standing yeses; `*` stands for any value."""
    pattern = " ".join(
        f"{name}={'*' if value is None else value}" for name, value in grant.pattern.items()
    )
    state = grant_state(grant, now)
    return [
        grant.id[:SHORT_ID],
        state if state != "live" else f"live, ends {ahead(grant.expires.remaining_s(now))}",
        grant.scope,
        one_line(f"{grant.tool} {pattern}"),
        one_line(grant.principal),
        f"{grant.uses} of {grant.max_uses} uses",
    ]


def when(record: Approval, now: Moment) -> str:
    """The moment that matters in its state."""
    if record.state == "pending":
        return f"expires {ahead(record.expires.remaining_s(now))}"
    if record.state == "approved" and record.execute_by:
        return f"run it within {spoken(record.execute_by.remaining_s(now))}"
    at = record.ended or record.created
    return ago(-at.remaining_s(now))


def told(record: Approval, votes: Sequence[Vote], now: Moment, most: int | None) -> Told:
    """All of an approval; `most` bytes of what will run, None for everything."""
    facts = aligned([[name, text] for name, text in _facts(record, votes, now) if text])
    body, left = _cut("\n".join(_body(record)), most)
    return Told("\n".join([*facts, body]), left)


def size(record: Approval) -> int:
    """Bytes of what will run, as text."""
    return len("\n".join(_body(record)).encode("utf-8", "replace"))


def _facts(record: Approval, votes: Sequence[Vote], now: Moment) -> Iterator[tuple[str, str]]:
    yield "id", record.id
    yield "state", f"{record.state}, {when(record, now)}"
    yield "tool", one_line(record.tool)
    yield "asked by", _asker(record, now)
    yield "why", one_line(record.reason or "")
    yield "rule", one_line(", ".join(record.rules))
    yield "note", one_line(record.terms.note or "")
    for each in record.terms.groups:
        yield "needs", _needs(each, record, votes)
    for vote in votes:
        yield "said", _said(vote, record, now)
    yield "asks for", one_line(", ".join(asked_fields(record)))
    yield "scopes", "" if record.terms.scopes == ("once",) else ", ".join(record.terms.scopes)
    yield "edited", f"by {one_line(record.edited_by)}" if record.edited_by else ""
    yield "outcome", _outcome(record)


def _asker(record: Approval, now: Moment) -> str:
    known = asker(record)
    roles = f" ({', '.join(known['roles'])})" if known["roles"] else ""
    more = [f"{key} {known[key]}" for key in ("tenant", "session") if known[key]]
    said = ago(-record.created.remaining_s(now))
    return one_line(", ".join([f"{known['principal']}{roles}", *more, said]))


def _needs(group: Group, record: Approval, votes: Iterable[Vote]) -> str:
    people = [f"role {each}" for each in group.roles] + list(group.principals)
    whom = " or ".join(people) or "anybody who may approve"
    is_strict = record.terms.exclude_requester or any(
        each.count > 1 for each in record.terms.groups
    )
    but = f", not {record.principal}" if is_strict else ""
    so_far = have(group, record, votes)
    return one_line(f"{max(group.count, 1)} yes from {whom}{but}; {so_far} so far")


def _said(vote: Vote, record: Approval, now: Moment) -> str:
    note = f": {vote.note}" if vote.note else ""
    earlier = "" if vote.final_hash == record.final_hash else " (before an edit: does not count)"
    return one_line(
        f"{_SAID[vote.verdict]} by {vote.actor}, {ago(now.wall - vote.at)}{earlier}{note}"
    )


def _outcome(record: Approval) -> str:
    if not record.outcome:
        return ""
    error = json.loads(record.outcome).get("error")
    return one_line(f"{error['code']}: {error['message']}") if error else ""


def _body(record: Approval) -> Iterator[str]:
    """The part that is escaped value by value: arguments, and what will run."""
    asked, final = json.loads(record.asked_arguments), json.loads(record.arguments)
    if asked != final:
        yield from _block("asked for", asked)
    yield from _block("arguments", final)
    if record.view:
        yield from _block("will run", json.loads(record.view))


def _block(title: str, value: Any) -> Iterator[str]:
    yield f"{title}:"
    yield from (f"  {visible(line)}" for line in to_yaml(value).rstrip("\n").split("\n"))


def _cut(text: str, most: int | None) -> tuple[str, int]:
    raw = text.encode("utf-8", "replace")
    if most is None or len(raw) <= most:
        return text, 0
    left = len(raw) - most
    head = raw[:most].decode("utf-8", "ignore")
    return f"{head}\n… {left} more bytes are not shown", left
