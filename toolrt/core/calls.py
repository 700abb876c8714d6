"""Who calls, and one call on its way through the pipeline."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Any, Literal

from toolrt.core.errors import Sent
from toolrt.core.redaction import Secret
from toolrt.core.results import Attempt

if TYPE_CHECKING:
    import asyncio

    from toolrt.core.clock import Clock
    from toolrt.core.decisions import Decision

Right = Literal["call", "approve", "admin"]
INSIDE_CALL = "TOOLRT_INSIDE_CALL"
"""Variable that marks the processes of calls: from there nobody decides about calls (A17)."""
MAY_CALL: frozenset[Right] = frozenset({"call"})


@dataclass(frozen=True, slots=True)
class Caller:
    """On whose behalf a call is made. All but `principal` has a default.

    `credentials` are what the caller brought for `${caller:name}`, and `may` is what the project
    lets it do; no root ever shows either.
    """

    principal: str = "anonymous"
    roles: tuple[str, ...] = ()
    tenant: str | None = None
    session: str | None = None
    scopes: tuple[str, ...] = ()
    claims: Mapping[str, Any] = field(default_factory=dict)
    credentials: Mapping[str, Secret] = field(default_factory=dict, repr=False)
    may: frozenset[Right] = MAY_CALL

    def document(self) -> dict[str, Any]:
        """The `caller` root of conditions and templates."""
        return {
            "principal": self.principal,
            "roles": list(self.roles),
            "tenant": self.tenant,
            "session": self.session,
            "scopes": list(self.scopes),
            "claims": dict(self.claims),
        }


@dataclass(frozen=True, slots=True)
class Reach:
    """Whose calls, questions and grants somebody may look at, and who is there for them.

    Those of one tenant, or of callers without any; of one principal alone where it is named.
    """

    tenant: str | None = None
    principal: str | None = None

    def holds(self, principal: object, tenant: object) -> bool:
        """Whether what this principal of this tenant asked for is among them."""
        is_same_tenant = (tenant or None) == (self.tenant or None)
        return is_same_tenant and self.principal in (None, principal)


@dataclass(slots=True)
class Sighting:
    """Versions of what a call is about: that which its caller has seen, and what the call told."""

    expected: str | None = None
    told: str | None = None


class Unusual:
    """What few calls have and no call is asked for: it is read from here until it is set. A field
    costs each call some 5 ns to set, but 15 ns less to read.

    `parent` is the call that makes this one, `depth` how many are above it. `idempotency_key` is
    what the tool's template made, and `kept` what a binding needs again to repeat an attempt
    exactly (E10). `traceparent` is what services are told of the running attempt, where it is
    traced; `sighting` are the versions of what the call is about. `run` is the kept run of a plan
    that the call goes on with.
    """

    depth: int = 0
    parent: str | None = None
    idempotency_key: str | None = None
    kept: Any = None
    traceparent: str | None = None
    sighting: Sighting | None = None
    run: Any = None


@dataclass(slots=True, eq=False)
class Invocation(Unusual):
    """One call after its tool was found; the stages fill it in on the way.

    `number` is the end of `call_id` where all calls of the runtime share the rest, else 0.
    `arguments` are the model's until the validate stage puts the checked, defaulted, canonical
    ones in their place. `deadline` and `started` are seconds of the monotonic clock. `sent` is kept
    by the binding: how far the running attempt has gone. `attempts` counts those begun, `failed`
    remembers those that were repeated, `notes` say what was changed on the way to the binding.
    `is_orphaned` says that a cancelled attempt still runs in its thread. `decision` is there once
    policy has decided, unless it decides all calls of the tool alike; `approval` is the record that
    a resumed call runs on, or the grant that lets it through. `shown_bytes` is about how much of
    the result a model gets, and `oversize` what does not fit into it, until that is kept.
    `is_cached` says that the answer is one of before. `marks` are what there is to tell in the
    context of the result and in the journal.
    The last four belong to `pipeline/deadline`: the task that waits for the running attempt, until
    when, and why not.
    """

    call_id: str
    tool: str
    arguments: Any
    caller: Caller
    clock: "Clock"
    started: float
    deadline: float
    generation: int = 0
    on_progress: Callable[[float, float | None, str], None] | None = None
    number: int = 0
    attempts: int = 0
    failed: tuple[Attempt, ...] = ()
    notes: tuple[str, ...] = ()
    sent: Sent = "maybe"
    is_orphaned: bool = False
    decision: "Decision | None" = None
    approval: Any = None
    shown_bytes: int = 0
    is_cached: bool = False
    marks: Mapping[str, Any] | None = None
    oversize: Any = None
    task: "asyncio.Task[Any] | None" = field(init=False, repr=False)
    patience_ends: float = field(init=False, repr=False)
    has_expired: bool = field(init=False, repr=False)
    cancelled_before: int = field(init=False, repr=False)

    def remaining_s(self) -> float:
        """Seconds until the deadline; negative once it has passed."""
        return self.deadline - self.clock.monotonic()

    def mark(self, **told: Any) -> None:
        """Have more to tell in the context of the result."""
        self.marks = {**self.marks, **told} if self.marks else told


class _Begun(Invocation):
    """One that is made without its constructor."""

    __slots__ = ()
    __init__ = object.__init__


def begun(  # noqa: PLR0917 - as the constructor has them
    call_id: str,
    tool: str,
    arguments: Any,
    caller: Caller,
    clock: "Clock",
    started: float,
    generation: int,
    on_progress: Callable[[float, float | None, str], None] | None,
    number: int,
) -> Invocation:
    """What the constructor makes, a third sooner: it is made for every call."""
    made: Invocation = _Begun()
    made.call_id = call_id
    made.tool = tool
    made.arguments = arguments
    made.caller = caller
    made.clock = clock
    made.started = made.deadline = started
    made.generation = generation
    made.on_progress = on_progress
    made.number = number
    made.attempts = made.shown_bytes = 0
    made.failed = made.notes = ()
    made.sent = "maybe"
    made.is_orphaned = made.is_cached = False
    made.decision = made.approval = made.marks = made.oversize = None
    return made


_GIVEN = tuple(each.name for each in fields(Invocation) if each.init)


def apart(invocation: Invocation) -> Invocation:
    """The same call for what is done beside it, without what few calls have."""
    return Invocation(**{name: getattr(invocation, name) for name in _GIVEN})
