"""Approvals on the side of people: look, edit, say yes or no, and run what was approved.

Deciding never executes (A19). Each method raises RefusedError where it is refused, be it for who
decides or for what they say, and StoreError where the store cannot be used. What came too late is a
`Moved` with its code.
"""

import asyncio
import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal, TypeVar

from toolrt.catalog.snapshot import ToolEntry
from toolrt.core.calls import Caller, Invocation, Reach
from toolrt.core.errors import RefusedError
from toolrt.core.results import ToolResult
from toolrt.pipeline.answering import (
    Standing,
    Supplied,
    check_bound,
    check_edits,
    check_right,
    check_run,
    check_scope,
    check_supplied,
)
from toolrt.pipeline.asking import given
from toolrt.pipeline.gateway import Gateway
from toolrt.pipeline.reasking import asked_anew, is_other_question
from toolrt.pipeline.refusing import keeping_sealed, told_safely
from toolrt.pipeline.resolving import resolved
from toolrt.pipeline.said import asked_of, decision_of, edit_of, new_grant
from toolrt.pipeline.supplying import supplied_text
from toolrt.pipeline.viewing import Viewed, looked_at, masked_grant
from toolrt.policy.callers import check_caller, check_text
from toolrt.policy.identities import as_decider, walls_of
from toolrt.policy.needs import missing
from toolrt.policy.questions import Questions, arguments_of
from toolrt.stores.approval_claims import cancel
from toolrt.stores.approval_decisions import NewDecision, decide, edit
from toolrt.stores.approval_grants import give
from toolrt.stores.approval_lapses import is_due, sweep
from toolrt.stores.approval_seals import ApprovalSeals
from toolrt.stores.approvals import Approval, Moved, State, listed
from toolrt.stores.base import Session, StoreError
from toolrt.stores.grants import Grant, check_new, revoke
from toolrt.stores.grants import get as grant_get
from toolrt.stores.grants import listed as grants_listed
from toolrt.stores.moments import Moment

T = TypeVar("T")

log = logging.getLogger("toolrt")

_LOOK_S = 0.1
Channel = Literal["cli", "http", "console", "python"]


class Approvals:
    """The approvals of one runtime; `channel` is the way by which people reach it."""

    def __init__(
        self,
        gateway: Gateway,
        questions: Questions,
        channel: Channel = "python",
        whose: Reach | None = None,
    ) -> None:
        """With an end to the reach, there are none beyond it: they are `not-found`."""
        self._gateway, self._whose = gateway, whose
        self._questions = questions
        self._database = questions.database
        self._channel = channel

    def through(self, channel: Channel, whose: Reach | None = None) -> "Approvals":
        """The same approvals, or those within reach alone, by another way."""
        return Approvals(self._gateway, self._questions, channel, whose)

    async def listed(
        self, states: Iterable[State] = ("pending",), limit: int = 100
    ) -> list[Approval]:
        """Approvals in these states, the latest first; what has lapsed is ended before."""
        wanted, whose = tuple(states), self._whose
        await self._swept()
        return await self._database.read(lambda session: listed(session, wanted, limit, whose))

    @told_safely
    async def get(self, prefix: str, by: Caller | None = None) -> Approval:
        """The approval whose id is, or alone begins with, `prefix`; among those there are for `by`,
        who wants to do something about it.
        """
        return await self._questions.get(prefix, self._there_for(by))

    async def current(self, prefix: str) -> Approval:
        """The same, ended before if its time has come."""
        await self._swept()
        return await self.get(prefix)

    async def viewed(self, *records: Approval) -> list[Viewed]:
        """These approvals as people see them: what was said, what is needed, whether the same call
        ran before, no known secret.
        """
        seals = self._seals() if records else None
        return await looked_at(self._database, records, self._gateway.masked, seals)

    @told_safely
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
        (A13). Where they ask for more than those of before, the record has the terms of both, and
        this yes counts if it may: else `message` says why not. `seen` is the `final_hash` of what
        this person was shown: anything else is refused (A12). `supplied` is the result of a call in
        mode `external`. Runs nothing.
        """
        check_right(by)
        check_text(note, "the note")
        check_edits(edits)
        record = await self.get(prefix, by)
        by = self._decider(by, record.tenant)
        check_supplied(record, supplied)
        check_scope(record, standing)
        if seen not in {None, record.final_hash}:
            raise RefusedError(
                "the arguments were edited a moment ago",
                code="approval-mismatch",
                hint="look at it again, then decide",
            )
        entry = self._entry(record)
        arguments = {**arguments_of(record), **(edits or {})}
        check_bound(entry, arguments_of(record), arguments)
        outcome = supplied_text(entry, supplied)
        if standing is not None:
            check_new(new_grant(record, entry, by, standing, self._questions.key))
        with keeping_sealed(record):
            checked = await self._gateway.recheck(record, arguments)
        if is_other_question(record, checked):
            return await asked_anew(self._questions, record, entry, checked)
        is_edit = given(entry, checked.arguments) != arguments_of(record)
        if is_edit:
            asked = asked_of(record, entry, checked)
            check_scope(replace(record, terms=asked.terms) if asked else record, standing)
            edited = await self._edited(record, entry, checked, by)
            if edited.code is not None:
                return edited
            record = edited.record
        said = decision_of(record, by, self._channel, "approve", note=note, outcome=outcome)
        moved = await self._decide(record, by, said, standing)
        if is_edit and moved.code == "access-denied":  # the edit was made, by who might decide then
            return Moved(moved.record, message=f"your yes does not count: {moved.message}")
        return await self._counted(moved, by)

    @told_safely
    async def deny(self, prefix: str, by: Caller, *, note: str | None = None) -> Moved:
        """Say no; `note` reaches the model after redaction."""
        check_right(by)
        check_text(note, "the note")
        record = await self.get(prefix, by)
        by = self._decider(by, record.tenant)
        said = decision_of(record, by, self._channel, "deny", note=note)
        moved = await self._decide(record, by, said)
        return await self._counted(moved, by)

    @told_safely
    async def run(
        self, prefix: str, caller: Caller | None = None, *, by: Caller | None = None
    ) -> ToolResult:
        """Run an approved call here and now, once (A8); where a plan waits for it, go on with that.

        `by` is the person who wants that, where it is somebody else than who waits for the call:
        one's own call runs for who may call, any for who may decide. `caller` stands in for the
        one of the record where it brings credentials.
        """
        record = await self.get(prefix, by)
        if caller is not None:
            check_caller(caller)
        if by is not None:
            check_run(record, by)
            self._own(record, by)
        plan = await self._gateway.waiting_for(record)
        if plan is not None:
            return await self._gateway.go_on(plan, record, caller)
        return await self._gateway.resume(record, caller)

    async def wait(
        self, prefix: str, timeout_s: float | None = None, revision: int | None = None
    ) -> Approval:
        """The approval once it is decided or over; as it is after `timeout_s` seconds (A19).

        With the `revision` that is known, any change of it will do: a yes of several, an edit.
        """
        ends = None if timeout_s is None else asyncio.get_running_loop().time() + timeout_s
        while True:
            record = await self.current(prefix)
            if record.state != "pending" or revision not in {None, record.revision}:
                return record
            if ends is not None and asyncio.get_running_loop().time() >= ends:
                return record
            await asyncio.sleep(_LOOK_S)

    @told_safely
    async def cancel(self, prefix: str, by: Caller) -> Moved:
        """Call off what does not run yet (A18): one's own call, or any for who may decide."""
        record = await self.get(prefix, by)
        self._own(record, by)
        return await self._changing(
            lambda session, now: cancel(
                session, record.id, now, actor=by.principal, audit=self._questions.audit
            )
        )

    @told_safely
    async def resolve(
        self, prefix: str, by: Caller, state: Literal["succeeded", "failed"] | None = None
    ) -> Moved:
        """What came of a run with an unknown outcome (A2): the tool's `verify` is asked, and where
        that cannot tell, `state` is this person's word.
        """
        check_right(by)
        await self._swept()
        record = await self.get(prefix, by)
        by = self._decider(by, record.tenant)
        return await resolved(self._gateway, self._questions, record, by, state)

    async def grants(self, limit: int = 100, now: Moment | None = None) -> Sequence[Grant]:
        """Standing yeses, the latest first; with `now`, those alone that are not over by then."""
        whose = self._whose
        found = await self._database.read(lambda session: grants_listed(session, limit, whose, now))
        return [masked_grant(each, self._gateway.masked) for each in found]

    async def grant_of(self, record: Approval) -> Grant | None:
        """The standing yes that was given with this approval, the latest of them."""
        return next((each for each in await self.grants() if each.approval_id == record.id), None)

    @told_safely
    async def revoke(self, prefix: str, by: Caller) -> Grant:
        """End a standing yes."""
        check_right(by)
        whose, audit = self._there_for(by), self._questions.audit
        grant = await self._database.read(lambda session: grant_get(session, prefix, whose))
        by = self._decider(by, grant.tenant)
        ended = await self._changing(
            lambda session, now: revoke(
                session, grant.id, now, actor=by.principal, audit=audit, whose=whose
            )
        )
        return masked_grant(ended, self._gateway.masked)

    def _decider(self, by: Caller, tenant: str | None) -> Caller:
        """Who decides for that tenant. Raises RefusedError for who may not, or not any more."""
        check_right(by)
        return as_decider(by, tenant, self._questions.identities())

    def _own(self, record: Approval, by: Caller) -> None:
        """Raises RefusedError for somebody else than who asked, unless they may decide."""
        if by.principal != record.principal:
            self._decider(by, record.tenant)

    def _there_for(self, by: Caller | None) -> Reach | None:
        """What is there to be looked at, or for `by` to do something about.

        Raises RefusedError for somebody of broken text.
        """
        if by is not None:
            check_caller(by)
        return walls_of(by) if self._whose is None and by is not None else self._whose

    async def _decide(
        self, record: Approval, by: Caller, said: NewDecision, standing: Standing | None = None
    ) -> Moved:
        granted = None
        if standing is not None:
            entry = self._entry(record)
            granted = new_grant(record, entry, by, standing, self._questions.key)

        def work(session: Session, now: Moment) -> Moved:
            seals, audit = self._questions.seals, self._questions.audit
            moved = decide(session, record.id, said, now, seals=seals, audit=audit)
            if granted is None:
                return moved
            return give(session, moved, granted, now, seals=seals, audit=audit)

        return await self._changing(work)

    async def _counted(self, moved: Moved, by: Caller) -> Moved:
        """The same. Raises RefusedError where `by` is not among those who may decide this."""
        if moved.code != "access-denied":
            return moved
        record = moved.record
        whose = missing(record, await self._questions.needs(record), by)
        hint = f"it waits for {whose}" if whose else None
        raise RefusedError(f"`{record.tool}`: {moved.message}", code=moved.code, hint=hint)

    async def _edited(
        self, record: Approval, entry: ToolEntry, checked: Invocation, by: Caller
    ) -> Moved:
        """The record with other arguments, and with what policy asks for these."""
        questions, gateway = self._questions, self._gateway
        change = edit_of(
            record, checked, by, self._channel, entry=entry, questions=questions, gateway=gateway
        )
        moved = await self._changing(
            lambda session, now: edit(
                session, record.id, change, now, seals=questions.seals, audit=questions.audit
            )
        )
        return await self._counted(moved, by)

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

    def _seals(self) -> ApprovalSeals | None:
        """What rows are held against; None without the key: they can still be looked at."""
        try:
            return self._questions.seals
        except StoreError:
            return None

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
