"""Approvals on the side of people: look, edit, say yes or no, and run what was approved.

Deciding never executes (A19). Each method raises RefusedError where it is refused, and StoreError
where the store cannot be used.
"""

import asyncio
import json
import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, TypeVar

from toolrt.catalog.snapshot import ToolEntry
from toolrt.core.calls import Caller
from toolrt.core.errors import RefusedError
from toolrt.core.results import ToolResult
from toolrt.pipeline.asking import given, shown_to_people, subject_of
from toolrt.pipeline.gateway import Gateway
from toolrt.policy.hashes import texts
from toolrt.policy.questions import Questions, arguments_of, caller_of, parted
from toolrt.stores.approval_claims import cancel, resolve_unknown
from toolrt.stores.approval_decisions import Edit, NewDecision, decide, edit
from toolrt.stores.approval_lapses import is_due, sweep
from toolrt.stores.approval_votes import Vote, votes_on
from toolrt.stores.approvals import Approval, Moved, State, listed
from toolrt.stores.base import Session, StoreError
from toolrt.stores.grants import Grant, NewGrant, add, revoke
from toolrt.stores.grants import listed as grants_listed
from toolrt.stores.moments import Moment

T = TypeVar("T")

log = logging.getLogger("toolrt")

_LOOK_S = 0.1
Channel = Literal["cli", "http", "console", "python"]


@dataclass(frozen=True, slots=True)
class Standing:
    """A yes for calls to come: for the session or for a pattern, so long, so many times.

    `free` are the arguments that may have any value; all others must be as they were approved.
    """

    scope: Literal["session", "pattern"]
    for_s: float
    uses: int = 100
    free: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Supplied:
    """The result of a call that a person makes: its value (JSON), or why there is none."""

    data: Any = None
    error: str | None = None

    def document(self) -> dict[str, Any]:
        return {"data": self.data} if self.error is None else {"error": self.error}


class Approvals:
    """The approvals of one runtime; `channel` is the way by which people reach it."""

    def __init__(
        self,
        gateway: Gateway,
        questions: Questions,
        channel: Channel = "python",
        principal: str | None = None,
    ) -> None:
        """With `principal`, there are none but its own: those of others are `not-found`."""
        self._gateway, self._principal = gateway, principal
        self._questions = questions
        self._database = questions.database
        self._channel = channel

    def through(self, channel: Channel, principal: str | None = None) -> "Approvals":
        """The same approvals, or those of `principal` alone, reached by another way."""
        return Approvals(self._gateway, self._questions, channel, principal)

    async def listed(
        self, states: Iterable[State] = ("pending",), limit: int = 100
    ) -> list[Approval]:
        """Approvals in these states, the latest first; what has lapsed is ended before."""
        wanted, mine = tuple(states), self._principal
        await self._swept()
        return await self._database.read(lambda session: listed(session, wanted, limit, mine))

    async def get(self, prefix: str) -> Approval:
        """The approval whose id is, or alone begins with, `prefix`."""
        return await self._questions.get(prefix, self._principal)

    async def current(self, prefix: str) -> Approval:
        """The same, ended before if its time has come."""
        await self._swept()
        return await self.get(prefix)

    async def votes(self, record: Approval) -> Sequence[Vote]:
        """Who has said what about it."""
        return await self._database.read(lambda session: votes_on(session, record.id))

    async def approve(
        self,
        prefix: str,
        by: Caller,
        *,
        note: str | None = None,
        edits: Mapping[str, Any] | None = None,
        standing: Standing | None = None,
        seen: str | None = None,
        supplied: Supplied | None = None,
    ) -> Moved:
        """Say yes to what will run, with other arguments where `edits` has some.

        Edited and filled-in arguments pass schema and policy anew, and are refused like a call
        (A13). `seen` is the `final_hash` of what this person was shown: anything else is refused
        (A12). `supplied` is the result of a call in mode `external`. Runs nothing.
        """
        _check_right(by)
        record = await self.get(prefix)
        _check_supplied(record, supplied)
        _check_scope(record, standing)
        if seen not in {None, record.final_hash}:
            raise RefusedError(
                "the arguments were edited a moment ago",
                code="approval-mismatch",
                hint="look at it again, then decide",
            )
        entry = self._entry(record)
        arguments = {**arguments_of(record), **(edits or {})}
        _check_bound(entry, arguments_of(record), arguments)
        checked = await self._gateway.recheck(record, arguments)
        if given(entry, checked) != arguments_of(record):
            record = await self._edited(record, entry, checked, by)
        outcome = None if supplied is None else json.dumps(supplied.document())
        said = replace(self._said(record, by, "approve", note), outcome=outcome)
        return await self._decide(record, by, said, standing)

    async def deny(self, prefix: str, by: Caller, *, note: str | None = None) -> Moved:
        """Say no; `note` reaches the model after redaction."""
        _check_right(by)
        record = await self.get(prefix)
        return await self._decide(record, by, self._said(record, by, "deny", note))

    async def run(
        self, prefix: str, caller: Caller | None = None, *, by: Caller | None = None
    ) -> ToolResult:
        """Run an approved call here and now, once (A8).

        `by` is the person who wants that, where it is somebody else than who waits for the call:
        one's own call runs for who may call, any for who may decide. `caller` stands in for the
        one of the record where it brings credentials.
        """
        record = await self.get(prefix)
        if by is not None:
            _check_run(record, by)
        return await self._gateway.resume(record, caller)

    async def wait(self, prefix: str, timeout_s: float | None = None) -> Approval:
        """The approval once it is decided or over; as it is after `timeout_s` seconds (A19)."""
        ends = None if timeout_s is None else asyncio.get_running_loop().time() + timeout_s
        while True:
            record = await self.current(prefix)
            if record.state != "pending":
                return record
            if ends is not None and asyncio.get_running_loop().time() >= ends:
                return record
            await asyncio.sleep(_LOOK_S)

    async def cancel(self, prefix: str, by: Caller) -> Moved:
        """Call off what does not run yet (A18): one's own call, or any for who may decide."""
        record = await self.get(prefix)
        if by.principal != record.principal:
            _check_right(by)
        return await self._changing(
            lambda session, now: cancel(
                session, record.id, now, actor=by.principal, audit=self._questions.audit
            )
        )

    async def resolve(
        self, prefix: str, by: Caller, state: Literal["succeeded", "failed"]
    ) -> Moved:
        """A person's word on what came of a run with an unknown outcome (A2)."""
        _check_right(by)
        return await self._changing(
            lambda session, now: resolve_unknown(
                session, prefix, now, actor=by.principal, state=state, audit=self._questions.audit
            )
        )

    async def grants(self, limit: int = 100) -> Sequence[Grant]:
        """Standing yeses, the latest first."""
        mine = self._principal
        return await self._database.read(lambda session: grants_listed(session, limit, mine))

    async def revoke(self, prefix: str, by: Caller) -> Grant:
        """End a standing yes."""
        _check_right(by)
        return await self._changing(
            lambda session, now: revoke(
                session, prefix, now, actor=by.principal, audit=self._questions.audit
            )
        )

    async def _decide(
        self, record: Approval, by: Caller, said: NewDecision, standing: Standing | None = None
    ) -> Moved:
        granted = self._new_grant(record, by, standing) if standing else None

        def work(session: Session, now: Moment) -> Moved:
            moved = decide(session, record.id, said, now, audit=self._questions.audit)
            if moved.code is None and granted is not None and moved.record.state == "approved":
                add(session, granted, now, audit=self._questions.audit)
            return moved

        return await self._changing(work)

    def _said(
        self, record: Approval, by: Caller, verdict: Literal["approve", "deny"], note: str | None
    ) -> NewDecision:
        return NewDecision(by.principal, by.roles, self._channel, verdict, note, record.final_hash)

    def _new_grant(self, record: Approval, by: Caller, standing: Standing) -> NewGrant:
        entry = self._entry(record)
        subject = subject_of(entry)
        known = texts(arguments_of(record), subject.sensitive, self._questions.key)
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
            max_uses=standing.uses,
            ttl_s=standing.for_s,
        )

    async def _edited(
        self, record: Approval, entry: ToolEntry, arguments: Mapping[str, Any], by: Caller
    ) -> Approval:
        """The record with other arguments."""
        subject = subject_of(entry)
        open_, sealed = parted(given(entry, arguments), subject.sensitive)
        shown = shown_to_people(entry, arguments)
        change = Edit(
            by.principal,
            by.roles,
            self._channel,
            open_,
            self._questions.hash_of(subject, arguments, caller_of(record)),
            sealed,
            json.dumps(self._gateway.rendered(entry, shown, caller_of(record)), default=str),
        )
        moved = await self._changing(
            lambda session, now: edit(session, record.id, change, now, audit=self._questions.audit)
        )
        if moved.code is not None:
            raise RefusedError(moved.message or "it cannot be edited", code=moved.code)
        return moved.record

    def _entry(self, record: Approval) -> ToolEntry:
        """The tool as it is now. Raises RefusedError where it is not what was asked about (A4)."""
        entry = self._gateway.entry(record.tool)
        if entry is None or entry.definition_hash != record.tool_hash:
            raise RefusedError(
                f"`{record.tool}` is not the tool any more that this approval is about",
                code="approval-mismatch",
                hint="the call has to be made anew",
            )
        return entry

    async def _swept(self) -> None:
        """End what is due. A store that is full or locked can still be looked at."""
        moment = self._questions.moments.now()
        if not await self._database.read(lambda session: is_due(session, moment)):
            return
        try:
            await self._changing(lambda session, now: sweep(session, now, self._questions.audit))
        except StoreError as error:
            log.warning("what is due cannot be ended: %s", error.message)

    async def _changing(self, work: Callable[[Session, Moment], T]) -> T:
        moment = self._questions.moments.now()
        return await self._database.run(lambda session: work(session, moment))


def _check_scope(record: Approval, standing: Standing | None) -> None:
    """Raise RefusedError for a yes to calls to come that nobody can give here."""
    if standing is None:
        return
    if record.mode != "confirm":
        raise RefusedError(
            "a person is needed for each such call: no yes holds for calls to come",
            code="access-denied",
            hint="say yes to this one alone",
        )
    if standing.scope not in record.terms.scopes:
        raise RefusedError(
            f"the rules let nobody say yes for a {standing.scope} here",
            code="access-denied",
            hint="`approval.scopes` of the rule says what is possible",
        )


def _check_bound(entry: ToolEntry, before: Mapping[str, Any], after: Mapping[str, Any]) -> None:
    """Raise RefusedError where an edit changes what only the caller of the tool fills in."""
    for name, source in entry.parameters.bound.items():
        if (name in before, before.get(name)) != (name in after, after.get(name)):
            raise RefusedError(
                f"`{name}` is {source}, and no edit changes that",
                code="invalid-arguments",
                hint="leave it as it is, or deny the call",
            )


def _check_run(record: Approval, by: Caller) -> None:
    """Raise RefusedError for who may not run this: one's own for who may call."""
    if by.principal != record.principal:
        _check_right(by)
    elif "call" not in by.may:
        message = f"{by.principal} may make no calls here"
        hint = "`may: [call]` of an identity in toolrt.yaml lets somebody call"
        raise RefusedError(message, code="access-denied", hint=hint)


def _check_supplied(record: Approval, supplied: Supplied | None) -> None:
    """Raise RefusedError where a result is missing, or nobody asked for one."""
    if (record.mode == "external") is (supplied is not None):
        return
    if supplied is None:
        message = "this call is made by a person: a yes brings its result along"
        raise RefusedError(message, code="missing-arguments", hint="give the result")
    message = "this call is made here: nobody but the tool gives its result"
    raise RefusedError(message, code="invalid-arguments", hint="leave the result away")


def _check_right(by: Caller) -> None:
    if "approve" not in by.may:
        raise RefusedError(
            f"{by.principal} may decide nothing here",
            code="access-denied",
            hint="`may: [approve]` of an identity in toolrt.yaml lets somebody decide",
        )
