"""Who calls, and one call on its way through the pipeline."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from toolrt.core.errors import Sent
from toolrt.core.redaction import Secret
from toolrt.core.results import Attempt

if TYPE_CHECKING:
    import asyncio

    from toolrt.core.clock import Clock


@dataclass(frozen=True, slots=True)
class Caller:
    """On whose behalf a call is made. All but `principal` has a default.

    `credentials` are what the caller brought for `${caller:name}`; no root ever shows them.
    """

    principal: str = "anonymous"
    roles: tuple[str, ...] = ()
    tenant: str | None = None
    session: str | None = None
    scopes: tuple[str, ...] = ()
    claims: Mapping[str, Any] = field(default_factory=dict)
    credentials: Mapping[str, Secret] = field(default_factory=dict, repr=False)

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


@dataclass(slots=True, eq=False)
class Invocation:
    """One call after its tool was found; the stages fill it in on the way.

    `arguments` are the model's until the validate stage puts the checked, defaulted, canonical
    ones in their place. `deadline` and `started` are seconds of the monotonic clock. `sent` is kept
    by the binding: how far the running attempt has gone. `attempts` counts those begun, `failed`
    remembers those that were repeated, `notes` say what was changed on the way to the binding.
    `is_orphaned` says that a cancelled attempt still runs in its thread. The last four belong to
    `pipeline/deadline`: the task that waits for the running attempt, until when, and why not.
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
    attempts: int = 0
    failed: tuple[Attempt, ...] = ()
    notes: tuple[str, ...] = ()
    sent: Sent = "maybe"
    is_orphaned: bool = False
    task: "asyncio.Task[Any] | None" = field(init=False)
    patience_ends: float = field(init=False)
    has_expired: bool = field(init=False)
    cancelled_before: int = field(init=False)

    def remaining_s(self) -> float:
        """Seconds until the deadline; negative once it has passed."""
        return self.deadline - self.clock.monotonic()
