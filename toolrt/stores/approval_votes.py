"""What people said to a question, and what comes of it all together."""

import json
from collections.abc import Collection, Iterable
from dataclasses import dataclass, replace
from typing import Literal

from toolrt.core.decisions import Group, Need, Terms
from toolrt.stores.approval_seals import ApprovalSeals
from toolrt.stores.base import Row, Session

Answer = Literal["approve", "deny"]

CHANNELS = ("cli", "http", "console", "python")
"""The ways by which people decide; the agent's own is none of them (A17)."""

_COLUMNS = "actor, roles, channel, verdict, note, at, final_hash, number, supplied, seal"


@dataclass(frozen=True, slots=True)
class Vote:
    """What one person said, in which role, when (wall clock), and about which arguments.

    `number` is the revision of the approval that it led to. `supplied` is the hash of the result
    that came with it, of a call that a person makes. The seal is made when it is kept.
    """

    actor: str
    roles: tuple[str, ...]
    channel: str
    verdict: Answer
    note: str | None
    at: float
    final_hash: str
    number: int = 0
    supplied: str | None = None
    seal: str | None = None


def judge(
    terms: Terms, requesters: Collection[str], votes: Iterable[Vote]
) -> Literal["approved", "denied", "pending"]:
    """What the votes come to: any deny ends it, and every group needs its count of people (A10).

    `requesters` are the principals that do not count where the terms exclude them.
    """
    people = list({vote.actor: vote for vote in votes}.values())
    if any(vote.verdict == "deny" for vote in people):
        return "denied"
    return "pending" if any(each.left for each in needs(terms, requesters, people)) else "approved"


def needs(terms: Terms, requesters: Collection[str], votes: Iterable[Vote]) -> tuple[Need, ...]:
    """What each group still needs, given the votes on the arguments that would run."""
    people = {vote.actor: vote for vote in votes if vote.verdict == "approve"}.values()
    counted = [vote for vote in people if not is_excluded(terms, requesters, vote.actor)]
    return tuple(_need(each, terms, counted) for each in terms.groups or (Group(),))


def is_excluded(terms: Terms, requesters: Collection[str], actor: str) -> bool:
    """Whether this actor asked, and may not answer: four eyes, or a rule that says so."""
    return _is_strict(terms) and actor in requesters


def objection(
    terms: Terms, requesters: Collection[str], actor: str, roles: tuple[str, ...], channel: str
) -> str | None:
    """Why this actor may not decide, or None when they may."""
    if channel not in CHANNELS:
        return "a decision needs a channel that is not the agent's"
    if not actor:
        return "a decision needs somebody who makes it"
    if is_excluded(terms, requesters, actor):
        return "whoever asked may not decide this"
    if not any(group.holds(actor, roles) for group in terms.groups or (Group(),)):
        return "you are not among those who may decide this"
    return None


def votes_on(session: Session, approval_id: str) -> list[Vote]:
    """What was said, in order."""
    sql = f"SELECT {_COLUMNS} FROM approval_decisions WHERE approval_id = ? ORDER BY number"  # noqa: S608 - names of our own
    return [_vote(row) for row in session.rows(sql, approval_id)]


def keep(session: Session, approval_id: str, vote: Vote, seals: ApprovalSeals) -> None:
    """Write a vote down; one about other arguments than before takes the place of that."""
    session.change(
        f"INSERT INTO approval_decisions (approval_id, {_COLUMNS})"  # noqa: S608 - names of our own
        " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (approval_id, actor) DO UPDATE SET"
        " number = excluded.number, roles = excluded.roles, channel = excluded.channel,"
        " verdict = excluded.verdict, note = excluded.note, at = excluded.at,"
        " final_hash = excluded.final_hash, supplied = excluded.supplied, seal = excluded.seal",
        *(approval_id, vote.actor, json.dumps(vote.roles), vote.channel, vote.verdict, vote.note),
        *(vote.at, vote.final_hash, vote.number, vote.supplied),
        seals.made(*_told(approval_id, vote)),
    )


def void(session: Session, approval_id: str, vote: Vote, seals: ApprovalSeals) -> None:
    """Make it a vote about nothing that is asked; that it was given stays known."""
    empty = replace(vote, final_hash="")
    session.change(
        "UPDATE approval_decisions SET final_hash = '', seal = ?"
        " WHERE approval_id = ? AND actor = ?",
        *(seals.made(*_told(approval_id, empty)), approval_id, vote.actor),
    )


def is_genuine(approval_id: str, vote: Vote, seals: ApprovalSeals) -> bool:
    """Whether the vote is as it was given, and not written into the store by somebody else."""
    return seals.is_on(vote.seal, *_told(approval_id, vote))


def _told(approval_id: str, vote: Vote) -> tuple[str, *tuple[object, ...]]:
    """What the seal of a vote is on: all of it."""
    said = (vote.actor, list(vote.roles), vote.channel, vote.verdict, vote.note, vote.at)
    known = (approval_id, *said, vote.final_hash, vote.number)
    return ("vote", *known) if vote.supplied is None else ("result", *known, vote.supplied)


def _is_strict(terms: Terms) -> bool:
    return terms.exclude_requester or any(group.count > 1 for group in terms.groups)


def _need(group: Group, terms: Terms, votes: Iterable[Vote]) -> Need:
    rules = tuple(each.rule for each in terms.asks if group in each.groups)
    said = tuple(vote.actor for vote in votes if group.holds(vote.actor, vote.roles))
    return Need(group, rules, said, _is_strict(terms))


def _vote(row: Row) -> Vote:
    actor, roles, *rest = row
    return Vote(actor, tuple(json.loads(roles)), *rest)
