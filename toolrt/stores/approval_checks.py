"""Holds approvals, votes and standing yeses against the journal and their seals (A20).

What the journal does not know nobody did through toolrt. It knows of everything since the latest
rows that retention removed; of what is older the seals alone tell.
"""

import json
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

from toolrt.core.redaction import MASK
from toolrt.stores.approval_outcomes import digest_of
from toolrt.stores.approval_sealed import ALTERED, is_untouched
from toolrt.stores.approval_seals import ApprovalSeals
from toolrt.stores.approval_votes import Vote, is_genuine, votes_on
from toolrt.stores.approvals import Approval, found, terms_hash
from toolrt.stores.base import Session
from toolrt.stores.grants import Grant, each_grant, is_given
from toolrt.stores.journal_checks import Tampering
from toolrt.stores.journal_retention import RETENTION
from toolrt.stores.moments import Condition
from toolrt.stores.tables import FINAL

_PAGE: Final = 200
_ALL: Final = Condition("1 = 1", ())


class _Last(NamedTuple):
    """An approval as its last change left it."""

    revision: int
    state: str
    final_hash: str
    terms_hash: str
    seal: str | None = None


@dataclass(slots=True)
class _Known:
    """What the journal tells. `before` is the time before which it may not know everything."""

    last: dict[str, _Last] = field(default_factory=dict)
    votes: defaultdict[str, set[str]] = field(default_factory=lambda: defaultdict(set))
    granted: set[str] = field(default_factory=set)
    revoked: set[str] = field(default_factory=set)
    uses: Counter[str] = field(default_factory=Counter)
    removed: Counter[str] = field(default_factory=Counter)
    before: float = float("-inf")

    def add(self, entry: Mapping[str, Any]) -> None:
        """Learn from an entry. Raises LookupError, TypeError for what is not ours."""
        if entry["kind"] == "approval":
            self._approval(entry)
        elif entry["kind"] == "grant":
            self._grant(entry)
        elif "rows" in entry:
            self.before = max(self.before, entry["before"])
        else:
            self.removed.update({name: entry[name] for name in ("approvals", "grants")})

    def _approval(self, entry: Mapping[str, Any]) -> None:
        id_, before = str(entry["approval"]), self.last.get(entry["approval"])
        known = (entry["revision"], entry["state"], entry["final_hash"], entry["terms_hash"])
        told = _Last(*known, entry.get("seal"))
        is_change = entry["event"] != "mismatch"  # that tells what a row says, whoever wrote it
        if is_change and (before is None or told.revision >= before.revision):
            self.last[id_] = told
        if entry["event"] == "decided" and MASK not in entry["actor"]:
            self.votes[id_].add(entry["actor"])

    def _grant(self, entry: Mapping[str, Any]) -> None:
        id_, event = entry["grant"], entry["event"]
        self.granted.add(id_)
        self.uses[id_] += event == "used"
        if event == "revoked":
            self.revoked.add(id_)


def unknown(session: Session, seals: ApprovalSeals) -> Iterator[Tampering]:
    """What is in the tables of approvals and grants, or is not, and the journal says otherwise."""
    known = _read(session)
    approvals, grants = set(), set()
    for record in found(session, _ALL):
        approvals.add(record.id)
        yield from _approval(record, known, seals)
        yield from _votes(session, record, known, seals)
    for grant in each_grant(session):
        grants.add(grant.id)
        yield from _grant(grant, known, seals)
    yield from _gone(known, approvals, grants)


def _read(session: Session) -> _Known:
    known, at = _Known(), ("", 0)
    sql = (
        "SELECT writer, seq, body FROM journal WHERE kind IN ('approval', 'grant', ?)"
        " AND (writer, seq) > (?, ?) ORDER BY writer, seq LIMIT ?"
    )
    while rows := session.rows(sql, RETENTION, *at, _PAGE):
        for _, _, body in rows:
            _learn(known, body)
        at = rows[-1][0], rows[-1][1]
    return known


def _learn(known: _Known, body: bytes) -> None:
    try:
        known.add(json.loads(body))
    except (ValueError, TypeError, LookupError):
        return  # an edited row, found by its MAC


def _approval(record: Approval, known: _Known, seals: ApprovalSeals) -> Iterator[Tampering]:
    last, about = known.last.get(record.id), f"approval {record.id}"
    faults = list(_held_against(record, last, known.before))
    seal = record.seal if last is None else last.seal  # rows of earlier versions have none
    if (
        not faults
        and seal is not None
        and not (record.seal == seal and is_untouched(record, seals))
    ):
        faults = [ALTERED]
    for fault in faults:
        yield _found(about, fault)


def _held_against(record: Approval, last: _Last | None, before: float) -> Iterator[str]:
    """What is otherwise than the journal left it."""
    if last is None:
        if record.created.wall >= before:
            yield "the journal does not know it"
        return
    if record.state != last.state:
        yield f"it is `{record.state}`, and the journal left it `{last.state}`"
    if record.final_hash != last.final_hash:
        yield "other arguments are in it than the journal knows"
    if terms_hash(record) != last.terms_hash:
        yield "it asks for other yeses than the journal knows"


def _votes(
    session: Session, record: Approval, known: _Known, seals: ApprovalSeals
) -> Iterator[Tampering]:
    about = f"approval {record.id}"
    votes = votes_on(session, record.id)
    for vote in votes:
        if not is_genuine(record.id, vote, seals):
            yield _found(about, f"{vote.actor} did not say that through toolrt")
        if _is_open(record, vote) and vote.supplied not in {None, digest_of(record.outcome)}:
            yield _found(about, f"its result is not what {vote.actor} gave")
    said = {vote.actor for vote in votes}
    for actor in sorted(known.votes[record.id] - said):
        yield _found(about, f"what {actor} said is gone")


def _is_open(record: Approval, vote: Vote) -> bool:
    """Whether the result that came with this vote is to be handed out yet."""
    return record.state in {"pending", "approved"} and vote.final_hash == record.final_hash


def _grant(grant: Grant, known: _Known, seals: ApprovalSeals) -> Iterator[Tampering]:
    about = f"grant {grant.id}"
    if not is_given(grant, seals):
        yield _found(about, "it is not the one that was given")
    if grant.id not in known.granted and grant.created.wall >= known.before:
        yield _found(about, "the journal does not know it")
    if grant.id in known.revoked and grant.revoked_by is None:
        yield _found(about, "it was revoked, and is in force again")
    if grant.uses < known.uses[grant.id]:
        said = f"it has {grant.uses} uses, and the journal knows of {known.uses[grant.id]}"
        yield _found(about, said)


def _gone(known: _Known, approvals: set[str], grants: set[str]) -> Iterator[Tampering]:
    """What retention did not remove. It says how many went; of more than that each is named."""
    missing = {id_: last.state for id_, last in known.last.items() if id_ not in approvals}
    ended = [id_ for id_, state in missing.items() if state in FINAL]
    suspect = [id_ for id_, state in missing.items() if state not in FINAL]
    if len(ended) > known.removed["approvals"]:
        suspect += ended
    for id_ in suspect:
        yield _found(f"approval {id_}", "it is gone")
    lost = known.granted - grants
    if len(lost) > known.removed["grants"]:
        for id_ in sorted(lost):
            yield _found(f"grant {id_}", "it is gone")


def _found(about: str, reason: str) -> Tampering:
    return Tampering(None, None, reason, about)
