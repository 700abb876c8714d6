"""What came of a run that nobody knows the end of: as the tool's `verify` says, else a person (A9).

`verify` is asked first. Its clear word is the answer, and a person who says otherwise is told so;
where it cannot tell, or there is none, the person's word counts.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType

from toolrt.core.calls import Caller, Invocation
from toolrt.core.errors import CallError
from toolrt.pipeline.gateway import Gateway
from toolrt.pipeline.looking import dry, unmade
from toolrt.pipeline.stage import fold
from toolrt.pipeline.stages.revalidate import revalidate
from toolrt.pipeline.verifying import Verdict, Verifying
from toolrt.policy.questions import Questions, arguments_of, caller_of
from toolrt.stores.approval_claims import Ending, resolve_unknown
from toolrt.stores.approvals import Approval, Moved

_ENDINGS: Mapping[str, Ending] = MappingProxyType({"applied": "succeeded", "not-applied": "failed"})
_SAYS = {"applied": "says that it took effect", "not-applied": "says that it had no effect"}


@dataclass(frozen=True, slots=True)
class Word:
    """What the read tool `tool` said: `applied`, `not-applied` or `unknown`."""

    tool: str
    verdict: Verdict

    @property
    def text(self) -> str:
        """The same for people."""
        return f"`{self.tool}` {_SAYS.get(self.verdict, 'cannot tell whether it took effect')}"


async def resolved(
    gateway: Gateway, questions: Questions, record: Approval, by: Caller, said: Ending | None
) -> Moved:
    """The record with its end. `said` is what the person says, who may leave it to `verify`.

    The message tells what that said. The code is `conflict` where the two do not agree, and
    `unknown-outcome` where nobody says anything. Raises StoreError.
    """
    word = await asked_verify(gateway, record) if record.state == "unknown" else None
    known = _ENDINGS.get(word.verdict) if word else None
    text = word.text if word else ""
    if known and said not in {None, known}:
        return Moved(record, "conflict", text)
    end = known or said
    if end is None and record.state == "unknown":
        return Moved(record, "unknown-outcome", text or "the tool has no `verify` to be asked")
    moment = questions.moments.now()
    moved = await questions.database.run(
        lambda session: resolve_unknown(
            session,
            record.id,
            moment,
            actor=by.principal,
            state=end or "failed",  # of one in another state there is none, and it is refused
            by_verify=word.tool if known and word else None,
            audit=questions.audit,
        )
    )
    return replace(moved, message=text) if moved.is_done else moved


async def asked_verify(gateway: Gateway, record: Approval) -> Word | None:
    """What the `verify` of the record's tool says about its run; None where there is none, or the
    tool is not the one that ran.
    """
    entry = gateway.entry(record.tool)
    if entry is None or entry.definition_hash != record.tool_hash:
        return None
    verifying = Verifying.of(entry, gateway.equipment)
    if verifying is None:
        return None
    clock, snapshot = gateway.equipment.clock, gateway.snapshot
    now = clock.monotonic()
    caller = caller_of(record, snapshot.identities)
    about = Invocation(
        gateway.new_id(), record.tool, arguments_of(record), caller, clock, now, now,
        snapshot.generation,
    )  # fmt: skip
    about.deadline = now + entry.manifest.timeout.total
    try:
        await dry(fold((revalidate,), entry, gateway.equipment, unmade)(about))
    except CallError:
        return Word(verifying.tool, "unknown")
    verdict, _ = await verifying.verdict(about)
    return Word(verifying.tool, verdict)
