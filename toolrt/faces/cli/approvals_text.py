"""An approval in a person's words: a line of a list, and all that somebody has to know to decide.

Everything that came from a model or a tool is escaped. What is too long is cut, and says so.
"""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from toolrt.core.calls import Caller
from toolrt.faces.approval_document import asked_fields, asker, grant_state
from toolrt.faces.cli.durations import ago, ahead, o_clock, spoken
from toolrt.faces.cli.table import aligned
from toolrt.faces.cli.told import SHORT_ID, conditions
from toolrt.faces.output import one_line, visible
from toolrt.faces.yaml_text import to_yaml
from toolrt.pipeline.viewing import Viewed
from toolrt.policy import needs
from toolrt.stores.approval_outcomes import outcome_of
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


def row(viewed: Viewed, now: Moment) -> list[str]:
    """A line of the list."""
    record = viewed.record
    return [
        record.id[:SHORT_ID],
        f"{record.state}{_so_far(viewed)}{_beside(viewed)}",
        one_line(record.tool),
        one_line(record.principal),
        when(record, now),
        one_line(record.reason or ""),
    ]


def _so_far(viewed: Viewed) -> str:
    """How many have said yes, where one is not enough."""
    count = sum(each.count for each in viewed.needs)
    if viewed.record.state != "pending" or count == 1:
        return ""
    return f", {sum(min(len(each.said), each.count) for each in viewed.needs)} of {count} yeses"


def _beside(viewed: Viewed) -> str:
    """Whether the same call may have been made already."""
    return "" if viewed.twin is None else f", same call {viewed.twin.how}"


def grant_row(grant: Grant, now: Moment) -> list[str]:
    """A line of the list of standing yeses."""
    state = grant_state(grant, now)
    return [
        grant.id[:SHORT_ID],
        state if state != "live" else f"live, ends {ahead(grant.expires.remaining_s(now))}",
        grant.scope,
        covers(grant),
        one_line(grant.principal),
        f"{grant.uses} of {grant.max_uses} uses",
    ]


def covers(grant: Grant) -> str:
    """The calls that a standing yes is for; `*` stands for any value."""
    pattern = [f"{name}={'*' if value is None else value}" for name, value in grant.pattern.items()]
    return one_line(" ".join([grant.tool, *pattern]))


def granted(grant: Grant, now: Moment) -> str:
    """A standing yes just given: what it covers, for whom, how often and until when."""
    whose = grant.principal if grant.scope == "pattern" else f"this session of {grant.principal}"
    left = grant.max_uses - grant.uses
    ends = f"{ahead(grant.expires.remaining_s(now))}, {o_clock(grant.expires.wall)}"
    return one_line(
        f"grant {grant.id[:SHORT_ID]}: {covers(grant)}, for {whose}; "
        f"{left} of {grant.max_uses} uses left, ends {ends}"
    )


def when(record: Approval, now: Moment) -> str:
    """The moment that matters in its state."""
    if record.state == "pending":
        return f"expires {ahead(record.expires.remaining_s(now))}"
    if record.state == "approved" and record.execute_by:
        return f"run it within {spoken(record.execute_by.remaining_s(now))}"
    at = record.ended or record.created
    return ago(-at.remaining_s(now))


_OF_PLAN = (
    "a step of plan `{}`; running it once it is approved, as with --run, also makes the steps"
    " after it"
)
_ALTERED = "its row was changed by hand: nobody can say yes to it, and it runs nothing"


def told(viewed: Viewed, now: Moment, me: str, most: int | None) -> Told:
    """All of an approval for `me`; `most` bytes of what will run, None for everything."""
    facts = aligned([[name, text] for name, text in _facts(viewed, now, me) if text])
    body, left = _cut("\n".join(_body(viewed.record)), most)
    return Told("\n".join([*facts, body]), left)


def needed(viewed: Viewed, me: Caller) -> str:
    """Whose yes is missing, in one line."""
    return one_line(needs.missing(viewed.record, viewed.needs, me))


def size(record: Approval) -> int:
    """Bytes of what will run, as text."""
    return len("\n".join(_body(record)).encode("utf-8", "replace"))


def _facts(viewed: Viewed, now: Moment, me: str) -> Iterator[tuple[str, str]]:
    record = viewed.record
    yield "id", record.id
    yield "state", _state(record, now)
    yield "altered", _ALTERED if viewed.is_altered else ""
    yield "before", _before(viewed, now)
    yield "tool", one_line(record.tool)
    yield "plan", one_line(_OF_PLAN.format(viewed.plan)) if viewed.plan else ""
    yield "asked by", _asker(record, now)
    yield from _reasons(record)
    yield "note", one_line(record.terms.note or "")
    yield from _needs(viewed, me)
    for vote in viewed.votes:
        yield "said", _said(vote, record, now)
    yield "asks for", one_line(", ".join(asked_fields(record)))
    yield "scopes", "" if record.terms.scopes == ("once",) else ", ".join(record.terms.scopes)
    yield "edited", f"by {one_line(record.edited_by)}" if record.edited_by else ""
    for name, is_whole in viewed.secrets.items():
        how = "equals" if is_whole else "holds"
        yield "secret", one_line(f"`{name}` {how} a known secret, which is masked here")
    yield "outcome", _outcome(record)


def _before(viewed: Viewed, now: Moment) -> str:
    """What became of an earlier approval of the same call."""
    twin = viewed.twin
    if twin is None:
        return ""
    asked = ago(-twin.asked.remaining_s(now))
    return f"the very same call, asked for {asked}, {twin.how} ({twin.id[:SHORT_ID]})"


def _state(record: Approval, now: Moment) -> str:
    """With the second at which it expires: a short question may not have minutes."""
    at = record.expires if record.state == "pending" else record.execute_by
    clock = f", {o_clock(at.wall)}" if at and record.state in {"pending", "approved"} else ""
    return f"{record.state}, {when(record, now)}{clock}"


def _reasons(record: Approval) -> Iterator[tuple[str, str]]:
    """Why, and by which rule; a line for each where several ask."""
    asks = record.terms.asks
    if len(asks) <= 1:
        yield "why", one_line(record.reason or "")
        yield "rule", one_line(", ".join(record.rules))
        return
    for each in asks:
        yield "why", one_line(f"{needs.owner(each.rule)}: {each.reason or 'says no reason'}")


def _needs(viewed: Viewed, me: str) -> Iterator[tuple[str, str]]:
    record, asks = viewed.record, viewed.record.terms.asks
    for each in viewed.needs:
        none = "" if each.said else "; none so far"
        yield "needs", one_line(needs.told(each, record.principal, me, of=asks) + none)
    if len(asks) > 1:
        yield "needs", one_line("; ".join(conditions(asks)))


def _asker(record: Approval, now: Moment) -> str:
    known = asker(record)
    roles = f" ({', '.join(known['roles'])})" if known["roles"] else ""
    more = [f"{key} {known[key]}" for key in ("tenant", "session") if known[key]]
    said = ago(-record.created.remaining_s(now))
    return one_line(", ".join([f"{known['principal']}{roles}", *more, said]))


def _said(vote: Vote, record: Approval, now: Moment) -> str:
    note = f": {vote.note}" if vote.note else ""
    said = f"{_SAID[vote.verdict]} by {vote.actor}, {ago(now.wall - vote.at)}"
    return one_line(f"{said}{_standing(vote, record)}{note}")


def _standing(vote: Vote, record: Approval) -> str:
    """Why a vote does not count."""
    if vote.final_hash == record.final_hash:
        return ""
    return (
        f" ({'before an edit' if vote.final_hash else 'may not decide this now'}: does not count)"
    )


def _outcome(record: Approval) -> str:
    """Why there is no result. One that a person gave is shown like what will run."""
    error = (outcome_of(record.outcome) or {}).get("error")
    if error is None:
        return ""
    return one_line(": ".join(filter(None, (error["code"], error["message"]))))


def _body(record: Approval) -> Iterator[str]:
    """The part that is escaped value by value: arguments, and what will run."""
    asked, final = json.loads(record.asked_arguments), json.loads(record.arguments)
    if asked != final:
        yield from _block("asked for", asked)
    yield from _block("arguments", final)
    if record.view:
        yield from _block("will run", json.loads(record.view))
    outcome = outcome_of(record.outcome) or {}
    if "data" in outcome:
        yield from _block("result", outcome["data"])


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
