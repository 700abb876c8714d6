"""Standing yeses: for one caller and one tool as it is now, scoped, counted and soon over.

A grant answers a question in advance; it never stands against a deny. It is bound to the hash of
the tool's definition, so a tool that changes has none (A11).
"""

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Literal

from toolrt.core.calls import Reach
from toolrt.core.decisions import Terms
from toolrt.core.errors import RefusedError
from toolrt.core.redaction import MASK
from toolrt.stores.approval_recount import RolesNow, as_said, counted_now
from toolrt.stores.approval_seals import ApprovalSeals
from toolrt.stores.approval_votes import is_genuine, judge, votes_on
from toolrt.stores.approvals import new_id, within
from toolrt.stores.asked_for import check_limit, id_of, shown
from toolrt.stores.base import Audit, Row, Session, no_audit
from toolrt.stores.moments import (
    Condition,
    Moment,
    ahead,
    columns,
    looked_at,
    moment_of,
    settled,
    values,
)

LONGEST_S = 24 * 3600.0
MOST_USES = 1_000_000

Pattern = Mapping[str, str | None]
"""Argument -> the canonical JSON of the only value that it may have; None for any value."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NewGrant:
    """What a person allows from now on, for `ttl_s` seconds (24 hours at most) and so many uses.

    A call matches when each of its arguments is in the pattern and has a value that fits, and each
    one that the pattern gives a value is there. In scope `session` only that session's calls do.
    `final_hash` is that of the arguments that were approved with it.
    """

    id: str = field(default_factory=new_id)
    scope: Literal["session", "pattern"]
    tool: str
    tool_hash: str
    principal: str
    tenant: str | None = None
    session: str | None = None
    pattern: Pattern
    granted_by: str
    approval_id: str | None = None
    final_hash: str
    max_uses: int
    ttl_s: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Grant:
    """A grant as it is kept."""

    id: str
    scope: Literal["session", "pattern"]
    tool: str
    tool_hash: str
    principal: str
    tenant: str | None
    session: str | None
    pattern: Pattern
    granted_by: str
    approval_id: str | None
    max_uses: int
    uses: int
    revoked_by: str | None
    created: Moment
    expires: Moment
    seal: str | None = None
    final_hash: str | None = None


@dataclass(frozen=True, slots=True)
class Use:
    """A call that might be let through; its arguments are canonical JSON each.

    `terms` are those on which people would be asked about it, `roles_now` says who of those that
    said yes may still do so. `call_id` is for the journal.
    """

    tool_hash: str
    principal: str
    tenant: str | None
    session: str | None
    arguments: Mapping[str, str]
    terms: Terms
    roles_now: RolesNow = as_said
    call_id: str = ""


_MOMENTS = ("created", "expires")
_PLAIN = tuple(each.name for each in fields(Grant) if each.name not in _MOMENTS)
_COLUMNS = (*_PLAIN, *(column for name in _MOMENTS for column in columns(name)))
_SELECT = f"SELECT {', '.join(_COLUMNS)} FROM grants"  # noqa: S608 - names of our own
_CHANGING = frozenset({"uses", "revoked_by", "seal"})
_HIDDEN = re.compile(r'\{"hmac":"[0-9a-f]{64}"\}')
"""How the value of a sensitive argument stands in a pattern."""
_ALIVE = "revoked_by IS NULL AND uses < max_uses"


def add(
    session: Session,
    new: NewGrant,
    moment: Moment,
    *,
    seals: ApprovalSeals,
    audit: Audit = no_audit,
) -> Grant:
    """Keep a grant. Raises `RefusedError` where it would be too broad or too long."""
    check_new(new)
    named = {each.name: getattr(new, each.name) for each in fields(new) if each.name in _PLAIN}
    expires = moment.plus(new.ttl_s)
    unsealed = Grant(**named, uses=0, revoked_by=None, created=moment, expires=expires)
    grant = replace(unsealed, seal=seals.made(*_sealed(unsealed)))
    places = ", ".join("?" * len(_COLUMNS))
    sql = f"INSERT INTO grants ({', '.join(_COLUMNS)}) VALUES ({places})"  # noqa: S608 - names of our own
    plain = {name: getattr(grant, name) for name in _PLAIN}
    plain["pattern"] = json.dumps(dict(grant.pattern), sort_keys=True)
    session.change(sql, *plain.values(), *values(grant.created), *values(grant.expires))
    _note(audit, session, "granted", grant, moment, actor=grant.granted_by, **_reach(grant))
    return grant


def use(
    session: Session,
    call: Use,
    moment: Moment,
    *,
    seals: ApprovalSeals,
    audit: Audit = no_audit,
) -> Grant | None:
    """Count one use of a grant that lets this call through; None where there is none (any more).

    One that was written into the store by hand lets nothing through, and is told to `audit`.
    """
    now = settled(session, moment)
    live = in_force(now)
    for grant in matching(session, call, moment):
        if not is_given(grant, seals):
            _note(audit, session, "mismatch", grant, moment, call_id=call.call_id)
            continue
        if not stands(session, grant, call.terms, seals, call.roles_now):
            continue
        sql = f"UPDATE grants SET uses = uses + 1 WHERE id = ? AND {live.sql}"  # noqa: S608 - names of our own
        if session.change(sql, grant.id, *live.parameters):
            used = get(session, grant.id)
            _note(audit, session, "used", used, moment, call_id=call.call_id)
            return used
    return None


def matching(session: Session, call: Use, moment: Moment) -> list[Grant]:
    """The grants that would let this call through, those first that end first; changes nothing."""
    sql = (
        f"{_SELECT} WHERE tool_hash = ? AND principal = ? AND COALESCE(tenant, '') = ?"
        f" AND (scope = 'pattern' OR session = ?) AND {_ALIVE}"
    )
    found = session.rows(sql, call.tool_hash, call.principal, call.tenant or "", call.session or "")
    fitting = [grant for grant in map(_read, found) if _fits(grant.pattern, call.arguments)]
    left_s = {grant.id: grant.expires.remaining_s(moment) for grant in fitting}
    return sorted((each for each in fitting if left_s[each.id] > 0), key=lambda g: left_s[g.id])


def is_given(grant: Grant, seals: ApprovalSeals) -> bool:
    """Whether somebody gave it like this through toolrt."""
    return seals.is_on(grant.seal, *_sealed(grant))


def stands(
    session: Session,
    grant: Grant,
    terms: Terms,
    seals: ApprovalSeals,
    roles_now: RolesNow = as_said,
) -> bool:
    """Whether what people said when they gave it would answer a question on these terms, too.

    Other rules may ask about another call that the pattern fits; rules change, and so does who may
    say yes. What they said about other arguments is no word on these.
    """
    if terms.mode != "confirm" or grant.scope not in terms.scopes:
        return False
    sql = "SELECT 1 FROM approvals WHERE id = ? AND final_hash = ?"
    if session.row(sql, grant.approval_id, grant.final_hash) is None:
        return False
    approval = grant.approval_id or ""
    votes = [each for each in votes_on(session, approval) if each.final_hash == grant.final_hash]
    counted = [vote for vote in votes if is_genuine(approval, vote, seals)]
    return judge(terms, {grant.principal}, counted_now(counted, roles_now)) == "approved"


def in_force(now: Moment) -> Condition:
    """The grants that may still let calls through; `now` is settled."""
    live = ahead("expires", now)
    return Condition(f"{_ALIVE} AND {live.sql}", live.parameters)


def revoke(
    session: Session,
    prefix: str,
    moment: Moment,
    *,
    actor: str,
    audit: Audit = no_audit,
    whose: Reach | None = None,
) -> Grant:
    """End a grant; one that has been revoked stays as it is. Raises as `get` does."""
    grant = get(session, prefix, whose)
    sql = "UPDATE grants SET revoked_by = ? WHERE id = ? AND revoked_by IS NULL"
    if session.change(sql, actor, grant.id):
        grant = get(session, grant.id)
        _note(audit, session, "revoked", grant, moment, actor=actor)
    return grant


def get(session: Session, prefix: str, whose: Reach | None = None) -> Grant:
    """The grant of this id, or the only one whose id begins so; among those within reach.

    Raises `RefusedError`.
    """
    wanted, among = id_of(prefix), within(whose)
    exact = session.row(f"{_SELECT} WHERE id = ? AND {among.sql}", wanted, *among.parameters)
    if exact is not None:
        return _read(exact)
    like = f"substr(id, 1, ?) = ? AND {among.sql} LIMIT 2"
    parameters = (len(wanted), wanted, *among.parameters)
    rows = session.rows(f"{_SELECT} WHERE {like}", *parameters) if wanted else []
    if len(rows) > 1:
        message = f"more than one grant begins with {shown(prefix)}"
        raise RefusedError(message, code="invalid-arguments", hint="give more of the id")
    if not rows:
        hint = "`toolrt approvals grants` shows all"
        raise RefusedError(f"there is no grant {shown(prefix)}", code="not-found", hint=hint)
    return _read(rows[0])


def given_with(session: Session, approval_id: str) -> list[Grant]:
    """Those that were given with this approval."""
    sql = f"{_SELECT} WHERE approval_id = ? ORDER BY created_wall, id"
    return [_read(row) for row in session.rows(sql, approval_id)]


def listed(
    session: Session, limit: int = 100, whose: Reach | None = None, now: Moment | None = None
) -> list[Grant]:
    """Grants within reach, the latest first; with `now`, those alone that are not over by then."""
    check_limit(limit)
    among, which = within(whose), Condition("TRUE", ())
    if now is not None:
        which = in_force(looked_at(session, now))
    sql = f"{_SELECT} WHERE {among.sql} AND {which.sql} ORDER BY created_wall DESC, id LIMIT ?"
    found = session.rows(sql, *among.parameters, *which.parameters, limit)
    return [_read(row) for row in found]


def shown_pattern(grant: Grant) -> dict[str, str | None]:
    """The pattern as it may be seen: the value of a sensitive argument is masked, as everywhere."""
    return {
        name: MASK if value is not None and _HIDDEN.fullmatch(value) else value
        for name, value in grant.pattern.items()
    }


def _sealed(grant: Grant) -> tuple[str, *tuple[object, ...]]:
    """What the seal of a grant is on: all that never changes."""
    plain = (getattr(grant, name) for name in _PLAIN if name not in _CHANGING)
    return "grant", *plain, values(grant.created), values(grant.expires)


def _reach(grant: Grant) -> dict[str, object]:
    """How far it reaches, for the journal."""
    ends = {"max_uses": grant.max_uses, "expires_at": grant.expires.wall}
    return {"scope": grant.scope, "pattern": shown_pattern(grant), **ends}


def each_grant(session: Session) -> Iterator[Grant]:
    """All of them, whoever they are for."""
    yield from map(_read, session.rows(f"{_SELECT} ORDER BY id"))


def check_new(new: NewGrant) -> None:
    """Raise RefusedError for a grant that would be too broad or too long."""
    why = _objection(new)
    if why is not None:
        raise RefusedError(why, code="invalid-arguments", hint="say it anew, for less")


def _objection(new: NewGrant) -> str | None:
    if not 0 < new.ttl_s <= LONGEST_S:
        return "a grant lasts 24 hours at most"
    if type(new.max_uses) is not int or not 1 <= new.max_uses <= MOST_USES:
        return f"a grant is good for 1 to {MOST_USES} uses"
    if new.scope == "session" and not new.session:
        return "a grant for a session needs one"
    return None


def _fits(pattern: Pattern, arguments: Mapping[str, str]) -> bool:
    required = {name for name, value in pattern.items() if value is not None}
    return required <= arguments.keys() <= pattern.keys() and all(
        arguments[name] == pattern[name] for name in required
    )


def _read(row: Row) -> Grant:
    cells = dict(zip(_COLUMNS, row, strict=True))
    named = {name: cells[name] for name in _PLAIN}
    named["pattern"] = json.loads(named["pattern"])
    for name in _MOMENTS:
        named[name] = moment_of(*(cells[column] for column in columns(name)))
    return Grant(**named)


def _note(
    audit: Audit, session: Session, event: str, grant: Grant, moment: Moment, **more: object
) -> None:
    audit(
        session,
        {
            "kind": "grant",
            "event": event,
            "at": moment.wall,
            "grant": grant.id,
            "tool": grant.tool,
            "principal": grant.principal,
            "tenant": grant.tenant,
            "session": grant.session,
            "approval": grant.approval_id,
            "uses": grant.uses,
            **more,
        },
    )
