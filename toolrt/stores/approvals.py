"""Approvals as they are kept: a question to a person, its way, and its answer.

The record, how it lies in its table, and how it is found. What may happen to it stands in
`approval_asks` (asked), `approval_decisions` (decided, edited), `approval_claims` (run, ended) and
`approval_lapses` (too late). Each change of state there is one statement that holds only where
state, revision and time are still right: of several that try at once one wins, and the others are
told who did.
"""

import base64
import json
import secrets
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields
from hashlib import sha256
from typing import Any, Literal, get_args

from toolrt.core.calls import Reach
from toolrt.core.decisions import Mode, Terms
from toolrt.core.errors import RefusedError
from toolrt.stores.approval_outcomes import without_sensitive
from toolrt.stores.approval_votes import Vote
from toolrt.stores.asked_for import check_limit, id_of, shown
from toolrt.stores.base import Audit, Row, Session
from toolrt.stores.moments import Condition, Moment, columns, moment_of, values
from toolrt.stores.tables import FINAL

State = Literal[
    "pending", "approved", "denied", "expired", "cancelled",
    "claimed", "succeeded", "failed", "unknown",
]  # fmt: skip
STATES: tuple[State, ...] = get_args(State)


def new_id() -> str:
    """128 random bits as 26 letters and digits that can be read out aloud."""
    return base64.b32encode(secrets.token_bytes(16)).decode().rstrip("=").lower()


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """What is asked, of whom it is asked, and on whose behalf.

    Texts that hold JSON: `asked_arguments` as the call came, `arguments` as they will run, `sealed`
    the sensitive ones among these (erased once the approval is finished), `caller`, `view` (what
    will run, to be shown), `fields` (a schema of what a person fills in). `asked_hash` stands for
    the call as asked, `final_hash` for what will run (A4).
    """

    id: str = field(default_factory=new_id)
    mode: Mode = "confirm"
    tool: str
    tool_hash: str
    asked_hash: str
    final_hash: str
    asked_arguments: str
    arguments: str
    sealed: str | None = field(default=None, repr=False)
    caller: str
    principal: str
    tenant: str | None = None
    session: str | None = None
    reason: str | None = None
    rules: tuple[str, ...] = ()
    terms: Terms
    view: str | None = None
    fields: str | None = None
    generation: int = 0
    policy_hash: str = ""
    call_id: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Approval(Question):
    """A question with its state.

    Until `expires` it can be answered, until `execute_by` an approved one can be claimed, until
    `lease` a claim holds unless renewed; `ended` is when it came to its final state. `revision`
    counts its changes. `outcome` (JSON) is what running it led to. The seal is made when it is kept
    (`approval_sealed`).
    """

    state: State
    revision: int
    created: Moment
    expires: Moment
    execute_by: Moment | None
    lease: Moment | None
    ended: Moment | None
    owner: str | None
    edited_by: str | None
    outcome: str | None
    seal: str | None = field(default=None, repr=False)

    @property
    def is_final(self) -> bool:
        return self.state in FINAL


@dataclass(frozen=True, slots=True)
class Moved:
    """What came of an attempt to change an approval: its record now, and why nothing was done.

    `code` is None when it was done, by this attempt or (`is_repeat`) by the same one before. The
    codes: `already-decided` (`earlier` is the decision that holds), `approval-expired`,
    `approval-denied`, `approval-mismatch` (other arguments than those decided about), `cancelled`,
    `access-denied` (this actor may not, `message` says why), `conflict` (it is in another state, or
    another's), `unknown-outcome` (a claim that was not renewed in time).
    """

    record: Approval
    code: str | None = None
    message: str = ""
    earlier: Vote | None = None
    is_repeat: bool = False

    @property
    def is_done(self) -> bool:
        return self.code is None


class UnknownApprovalError(RefusedError):
    """No approval has this id."""

    def __init__(self, prefix: str) -> None:
        hint = "`toolrt approvals list` shows those that are open"
        super().__init__(f"there is no approval {shown(prefix)}", code="not-found", hint=hint)


class AmbiguousApprovalError(RefusedError):
    """Several ids begin like this."""

    def __init__(self, prefix: str) -> None:
        super().__init__(
            f"more than one approval begins with {shown(prefix)}",
            code="invalid-arguments",
            hint="give more of the id",
        )


MOMENTS = ("created", "expires", "execute_by", "lease", "ended")
PLAIN = tuple(each.name for each in fields(Approval) if each.name not in MOMENTS)
COLUMNS = (*PLAIN, *(column for name in MOMENTS for column in columns(name)))

_SELECT = f"SELECT {', '.join(COLUMNS)} FROM approvals"  # noqa: S608 - names of our own


def within(whose: Reach | None) -> Condition:
    """Of rows with a principal and a tenant, those that are within reach; all of them for None."""
    if whose is None:
        return Condition("1 = 1", ())
    tenant = whose.tenant or ""
    if whose.principal is None:
        return Condition("COALESCE(tenant, '') = ?", (tenant,))
    return Condition("COALESCE(tenant, '') = ? AND principal = ?", (tenant, whose.principal))


def get(session: Session, prefix: str, whose: Reach | None = None) -> Approval:
    """The approval of this id, or the only one whose id begins so; among those within reach.

    Raises `UnknownApprovalError` or `AmbiguousApprovalError`.
    """
    wanted, among = id_of(prefix), within(whose)
    row = session.row(f"{_SELECT} WHERE id = ? AND {among.sql}", wanted, *among.parameters)
    if row is not None:
        return read(row)
    like = f"substr(id, 1, ?) = ? AND {among.sql} ORDER BY id LIMIT 2"
    parameters = (len(wanted), wanted, *among.parameters)
    rows = session.rows(f"{_SELECT} WHERE {like}", *parameters) if wanted else []
    if len(rows) > 1:
        raise AmbiguousApprovalError(prefix)
    if not rows:
        raise UnknownApprovalError(prefix)
    return read(rows[0])


def listed(
    session: Session,
    states: Iterable[State] = (),
    limit: int = 100,
    whose: Reach | None = None,
) -> list[Approval]:
    """Approvals in any of these states (in any at all when none is named), the latest first.

    Those within reach alone, where it has an end. Raises RefusedError for a limit or a state that
    there cannot be.
    """
    wanted, among = tuple(states), within(whose)
    check_limit(limit)
    for state in set(wanted).difference(STATES):
        hint = f"there are {', '.join(STATES)}"
        raise RefusedError(f"there is no state {state!r}", code="invalid-arguments", hint=hint)
    narrowed = f" AND state IN ({', '.join('?' * len(wanted))})" if wanted else ""
    sql = f"{_SELECT} WHERE {among.sql}{narrowed} ORDER BY created_wall DESC, id LIMIT ?"
    return [read(row) for row in session.rows(sql, *among.parameters, *wanted, limit)]


def found(session: Session, condition: Condition) -> list[Approval]:
    """Those that fulfil a condition, the latest first."""
    sql = f"{_SELECT} WHERE {condition.sql} ORDER BY created_wall DESC, id"
    return [read(row) for row in session.rows(sql, *condition.parameters)]


def insert(session: Session, record: Approval) -> None:
    places = ", ".join("?" * len(COLUMNS))
    sql = f"INSERT INTO approvals ({', '.join(COLUMNS)}) VALUES ({places})"  # noqa: S608 - as above
    session.change(sql, *cells(record).values())


def move(
    session: Session,
    record: Approval,
    sets: Mapping[str, object],
    *conditions: Condition,
) -> bool:
    """Change a record in one statement, if it is still as `record` says and `conditions` hold.

    `sets` are columns, or moments by their name. What is sensitive goes with a final state.
    """
    changed: dict[str, Any] = dict(spread(sets))
    if changed.get("state") in FINAL:
        outcome = without_sensitive(changed.get("outcome", record.outcome), record.sealed)
        changed |= {"sealed": None, "outcome": outcome}
    where = Condition(
        "id = ? AND state = ? AND revision = ? AND final_hash = ?",
        (record.id, record.state, record.revision, record.final_hash),
    )
    assignments = ", ".join(f"{column} = ?" for column in changed)
    tests = " AND ".join(condition.sql for condition in (where, *conditions))
    parameters = [value for condition in (where, *conditions) for value in condition.parameters]
    sql = f"UPDATE approvals SET {assignments}, revision = revision + 1 WHERE {tests}"  # noqa: S608 - as above
    return session.change(sql, *changed.values(), *parameters) == 1


def note(
    audit: Audit, session: Session, event: str, record: Approval, now: Moment, **more: object
) -> None:
    """Tell `audit` of an event; never an argument, a hash says enough."""
    entry: dict[str, Any] = {
        "kind": "approval",
        "event": event,
        "at": now.wall,
        "approval": record.id,
        "tool": record.tool,
        "principal": record.principal,
        "tenant": record.tenant,
        "session": record.session,
        "call_id": record.call_id,
        "state": record.state,
        "revision": record.revision,
        "final_hash": record.final_hash,
        "terms_hash": terms_hash(record),
        "seal": record.seal,
        **more,
    }
    audit(session, entry)


def read(row: Row) -> Approval:
    """The record of a row."""
    cells: dict[str, Any] = dict(zip(COLUMNS, row, strict=True))
    named = {name: cells[name] for name in PLAIN}
    named["rules"] = tuple(json.loads(named["rules"]))
    named["terms"] = Terms.of(json.loads(named["terms"]))
    for name in MOMENTS:
        named[name] = moment_of(*(cells[column] for column in columns(name)))
    return Approval(**named)


def terms_text(terms: Terms) -> str:
    return json.dumps(terms.document(), sort_keys=True)


def terms_hash(record: Approval) -> str:
    """What the journal knows the terms of a record by."""
    return sha256(terms_text(record.terms).encode()).hexdigest()


def cells(record: Approval) -> dict[str, object]:
    """What the row of a record holds, in the order of `COLUMNS`."""
    plain = {name: getattr(record, name) for name in PLAIN}
    plain["rules"] = json.dumps(record.rules)
    plain["terms"] = terms_text(record.terms)
    return plain | dict(spread({name: getattr(record, name) for name in MOMENTS}))


def spread(sets: Mapping[str, object]) -> Iterable[tuple[str, object]]:
    """Columns and their values; moments, given by their name, laid out over theirs."""
    for name, value in sets.items():
        if name in MOMENTS:
            assert value is None or isinstance(value, Moment)  # noqa: S101 - told to mypy
            yield from zip(columns(name), values(value), strict=True)
        else:
            yield name, value
