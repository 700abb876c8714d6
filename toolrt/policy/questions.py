"""Approvals on the side of the call: asked, found again, claimed, run once, settled.

The other side, people who look and decide, is `policy/answers`. Everything that lasts is in the
store; a store that fails means that nothing runs (A21).
"""

import asyncio
import json
import os
import secrets
import socket
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from typing import Any, Literal

from toolrt.core.calls import Caller, Reach
from toolrt.core.decisions import Caps, Decision, Need, Terms
from toolrt.core.redaction import MASK
from toolrt.core.results import Answer, Failure
from toolrt.manifest.project import Identity
from toolrt.policy.callers import check_caller
from toolrt.policy.hashes import call_hash, texts
from toolrt.policy.identities import of_record, roles_now
from toolrt.policy.needs import is_simple, needs_of
from toolrt.schemas.phrases import visible
from toolrt.stores.approval_asks import Refusal, create, still_open
from toolrt.stores.approval_claims import claim, renew, settle
from toolrt.stores.approval_decisions import Reasked, reopen
from toolrt.stores.approval_recount import RolesNow
from toolrt.stores.approval_seals import ApprovalSeals
from toolrt.stores.approval_twins import Twin, twin_of
from toolrt.stores.approval_votes import votes_on
from toolrt.stores.approvals import Approval, Moved, Question, get
from toolrt.stores.base import Audit, Database, Session, StoreError
from toolrt.stores.grants import Grant, Use, use
from toolrt.stores.key import derived
from toolrt.stores.moments import Moment, Moments

LEASE_S = 30.0
_RENEWALS = 3
"""How often a lease is renewed within its time."""


@dataclass(frozen=True, slots=True)
class Subject:
    """The tool that is asked about; `sensitive` are the names of its sensitive parameters."""

    tool: str
    definition_hash: str
    sensitive: frozenset[str] = frozenset()
    asked_schema: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class Asked:
    """One call that policy wants a person to look at; its arguments are final so far.

    `given` are the same arguments in the form in which they can be checked once more. One that may
    not wait is refused where nobody has answered it yet.
    """

    subject: Subject
    arguments: Mapping[str, Any]
    given: Mapping[str, Any]
    caller: Caller
    decision: Decision
    view: Any
    generation: int
    policy_hash: str
    call_id: str
    may_wait: bool = True


@dataclass(frozen=True, slots=True)
class Kept:
    """A question in the store, and an earlier approval of the same call where one is still open."""

    record: Approval
    twin: Twin | None = None


Ending = Literal["succeeded", "failed", "unknown"]
_UNATTENDED = Refusal(
    "unattended", "this needs a person's yes, and nobody is there to be asked for it"
)


class Questions:
    """Asks people through a store, and runs what they said yes to, once."""

    def __init__(
        self, database: Database, key: Callable[[], bytes], moments: Moments, audit: Audit
    ) -> None:
        """`key` is the store's lasting key, read when first needed. `on_new` is told of each
        question that was not there before, and who asks; it must come back at once. `identities`
        gives those of the project as it is now.
        """
        self.database = database
        self.moments = moments
        self.audit = audit
        self.owner = f"{socket.gethostname()}:{os.getpid()}:{secrets.token_hex(4)}"
        self.on_new: Callable[[Approval, Caller], object] = _nothing
        self.identities: Callable[[], Sequence[Identity]] = tuple
        self._lasting_key = key
        self._key: bytes | None = None
        self._seals: ApprovalSeals | None = None

    def hash_of(self, subject: Subject, arguments: Mapping[str, Any], caller: Caller) -> str:
        """What a call with these arguments is known by. May read the key for the first time."""
        hidden = subject.sensitive
        return call_hash(subject.definition_hash, arguments, caller, hidden, self.key)

    @property
    def key(self) -> bytes:
        """What sensitive arguments are hidden with. Raises StoreError."""
        if self._key is None:
            self._key = derived(self._lasting_key(), "arguments")
        return self._key

    @property
    def seals(self) -> ApprovalSeals:
        """What votes and grants are sealed with. Raises StoreError."""
        if self._seals is None:
            self._seals = ApprovalSeals(self._lasting_key())
        return self._seals

    def may_still_call(self, record: Approval) -> bool:
        """Whether who asked is among the `identities`, where these are written, and may call."""
        return "call" in caller_of(record, self.identities()).may

    async def ask(self, asked: Asked, caps: Caps) -> Kept | Grant | Refusal:
        """A grant that answers already, the approval that holds the question, or why it is not
        even asked. Raises StoreError, and RefusedError for a caller of broken text.
        """
        check_caller(asked.caller)
        hash_ = self.hash_of(asked.subject, asked.arguments, asked.caller)
        question, moment = _question(asked, hash_), self.moments.now()
        wanted = Use(
            asked.subject.definition_hash,
            asked.caller.principal,
            asked.caller.tenant,
            asked.caller.session,
            texts(asked.arguments, asked.subject.sensitive, self.key),
            question.terms,
            self._roles_now(asked.caller.tenant),
            asked.call_id,
        )
        may_be_let_through = "call" in of_record(asked.caller, self.identities()).may

        def work(session: Session) -> Kept | Grant | Refusal:
            asked_before = still_open(session, question)
            if asked_before is None or asked_before.state != "approved":
                granted = may_be_let_through and use(
                    session, wanted, moment, seals=self.seals, audit=self.audit
                )
                if granted:
                    return granted
                if not asked.may_wait:
                    return _UNATTENDED
            made = create(session, question, moment, caps, seals=self.seals, audit=self.audit)
            return made if isinstance(made, Refusal) else Kept(made, twin_of(session, made))

        answer = await self.database.run(work)
        if isinstance(answer, Kept) and answer.record.id == question.id:
            self.on_new(answer.record, asked.caller)
        return answer

    async def get(self, prefix: str, whose: Reach | None = None) -> Approval:
        """The approval of that id, among those within reach. Raises RefusedError, StoreError."""
        return await self.database.read(lambda session: get(session, prefix, whose))

    async def needs(self, record: Approval) -> tuple[Need, ...]:
        """Whose yes the record has, and whose it still needs."""
        if is_simple(record):
            return needs_of(record, ())
        votes = await self.database.read(lambda session: votes_on(session, record.id))
        return needs_of(record, votes)

    async def twin(self, record: Approval) -> Twin | None:
        """An earlier approval of the same call that runs, or ended unknown."""
        return await self.database.read(lambda session: twin_of(session, record))

    async def note_of_denial(self, record: Approval) -> str | None:
        """What the person who said no gave as a reason, with nothing invisible in it (O3)."""
        if record.state != "denied":
            return None
        votes = await self.database.read(lambda session: votes_on(session, record.id))
        note = next((each.note for each in votes if each.verdict == "deny"), None)
        return visible(note, len(note)) if note else None

    async def reopen(
        self,
        record: Approval,
        subject: Subject,
        decision: Decision,
        policy_hash: str,
        generation: int,
    ) -> Moved:
        """The record under the terms of now: pending again where they are not met (A5)."""
        terms = decision.terms or Terms()
        fields = _json(subject.asked_schema) if subject.asked_schema else None
        asked = Reasked(terms, generation, policy_hash, terms.rules, decision.reason, fields)
        moment, seals = self.moments.now(), self.seals
        return await self.database.run(
            lambda session: reopen(session, record.id, asked, moment, seals=seals, audit=self.audit)
        )

    async def claim(self, record: Approval, final_hash: str) -> Moved:
        """Take the approved record for this process: one winner (A8)."""
        moment = self.moments.now()
        return await self.database.run(
            lambda session: claim(
                session,
                record.id,
                moment,
                owner=self.owner,
                final_hash=final_hash,
                lease_s=LEASE_S,
                seals=self.seals,
                roles_now=self._roles_now(record.tenant),
                audit=self.audit,
            )
        )

    def _roles_now(self, tenant: str | None) -> RolesNow:
        """Says which yeses about a question of that tenant count, as people are known by now."""
        known = self.identities()
        return lambda vote: roles_now(known, vote.actor, tenant, vote.roles)

    async def settle(
        self,
        record: Approval,
        state: Ending,
        outcome: Mapping[str, Any],
    ) -> Moved:
        """Say what came of a claimed record."""
        moment, text = self.moments.now(), json.dumps(outcome)
        return await self.database.run(
            lambda session: settle(
                session,
                record.id,
                moment,
                owner=self.owner,
                state=state,
                outcome=text,
                audit=self.audit,
            )
        )

    @asynccontextmanager
    async def leased(self, record: Approval) -> AsyncIterator[None]:
        """Renew the claim of `record` for as long as this lasts."""
        renewing = asyncio.create_task(self._renew(record))
        try:
            yield
        finally:
            renewing.cancel()
            with suppress(asyncio.CancelledError):
                await renewing

    async def _renew(self, record: Approval) -> None:
        while True:
            await asyncio.sleep(LEASE_S / _RENEWALS)
            with suppress(StoreError):  # the next one may do; a lost claim ends as `unknown`
                await self.database.run(self._renewal(record, self.moments.now()))

    def _renewal(self, record: Approval, moment: Moment) -> Callable[[Session], Moved]:
        return lambda session: renew(
            session, record.id, moment, owner=self.owner, lease_s=LEASE_S, audit=self.audit
        )


def _nothing(_record: Approval, _caller: Caller) -> None:
    """Tells nobody."""


def arguments_of(record: Approval) -> dict[str, Any]:
    """What will run: the arguments of a record, with the sensitive ones."""
    sealed = json.loads(record.sealed) if record.sealed else {}
    return {**json.loads(record.arguments), **sealed}


def external_outcome(record: Approval) -> Answer | Failure:
    """What a person supplied for a call that nothing of ours runs."""
    told = json.loads(record.outcome) if record.outcome else {}
    if "error" in told:
        return Failure("execution-failed", str(told["error"]))
    if "data" not in told:
        message = "it was approved without a result, and nothing here can make one"
        return Failure("approval-unavailable", message)
    return Answer(told["data"])


def caller_of(record: Approval, identities: Sequence[Identity] = ()) -> Caller:
    """On whose behalf the call was made; without what it brought as credentials.

    With the `identities` of the project, in the roles and rights that they have now.
    """
    known = json.loads(record.caller)
    made = Caller(
        known["principal"],
        tuple(known["roles"]),
        known["tenant"],
        known["session"],
        tuple(known["scopes"]),
        known["claims"],
    )
    return of_record(made, identities)


def parted(arguments: Mapping[str, Any], sensitive: frozenset[str]) -> tuple[str, str | None]:
    """Arguments as JSON with the sensitive ones masked, and those by themselves."""
    open_ = {name: MASK if name in sensitive else value for name, value in arguments.items()}
    hidden = {name: value for name, value in arguments.items() if name in sensitive}
    return _json(open_), _json(hidden) if hidden else None


def _question(asked: Asked, hash_: str) -> Question:
    subject, decision, caller = asked.subject, asked.decision, asked.caller
    terms = decision.terms or Terms()
    arguments, sealed = parted(asked.given, subject.sensitive)
    return Question(
        mode=terms.mode,
        tool=subject.tool,
        tool_hash=subject.definition_hash,
        asked_hash=hash_,
        final_hash=hash_,
        asked_arguments=arguments,
        arguments=arguments,
        sealed=sealed,
        caller=_json(caller.document()),
        principal=caller.principal,
        tenant=caller.tenant,
        session=caller.session,
        reason=decision.reason,
        rules=terms.rules,
        terms=terms,
        view=_json(asked.view),
        fields=_json(subject.asked_schema) if subject.asked_schema else None,
        generation=asked.generation,
        policy_hash=asked.policy_hash,
        call_id=asked.call_id,
    )


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, default=str)
