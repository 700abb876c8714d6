"""Where a person at the terminal decides: the project opened, and who they are to it.

Refusals and a store that cannot be used end the verb here, with the next command to try.
"""

from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from toolrt.core.calls import Caller
from toolrt.core.errors import CallError, ProjectError
from toolrt.faces.cli import loop
from toolrt.faces.cli.caller import at_terminal, check_known, only_of
from toolrt.faces.cli.durations import ago
from toolrt.faces.cli.names import compiled
from toolrt.faces.cli.options import Settings
from toolrt.faces.cli.told import SHORT_ID
from toolrt.faces.exits import Exit, Stop, of_code

if TYPE_CHECKING:
    from toolrt.opened import Runtime
    from toolrt.pipeline.approvals import Approvals
    from toolrt.pipeline.viewing import Viewed
    from toolrt.stores.approvals import Approval, Moved
    from toolrt.stores.moments import Moment

_STATUS = {"not-found": Exit.NOT_FOUND, "access-denied": Exit.DENIED}
"""Code -> status, where an approval is not like a call."""

_NEXT = {"access-denied": "check", "invalid-arguments": "approvals list"}
_VERBS = {"approve": "approved", "deny": "denied"}


@dataclass(frozen=True, slots=True)
class Desk:
    """An open project, its approvals, and the person at the terminal."""

    settings: Settings
    opened: "Runtime"
    approvals: "Approvals"
    by: Caller

    @property
    def now(self) -> "Moment":
        from toolrt.stores.moments import SystemMoments  # noqa: PLC0415 - `--help` loads no store

        return SystemMoments().now()

    def command(self, verb: str, record: "Approval", more: str = "") -> str:
        """A command about an approval, to suggest."""
        return self.settings.command(f"approvals {verb} {record.id[:SHORT_ID]}{more}")

    async def viewed(self, record: "Approval") -> "Viewed":
        """An approval as it is shown here."""
        [viewed] = await self.approvals.viewed(record)
        return viewed

    def done(self, moved: "Moved", wanted: str = "") -> "Approval":
        """The record after a change; `wanted` is the verb. Raises Stop where it was not made."""
        if moved.code is None:
            return moved.record
        from toolrt.core.redaction import redacted  # noqa: PLC0415 - only for mistakes

        is_late = wanted == "deny" and moved.record.state == "approved"
        earlier = moved.earlier
        by = ""
        if earlier is not None:
            said = ago(self.now.wall - earlier.at)
            by = f": {_VERBS[earlier.verdict]} by {earlier.actor}, {said}"
        raise Stop(
            _status(moved.code),
            redacted(f"{moved.record.tool}: {moved.message}{by}"),
            code=moved.code,
            hint="a call that was approved, and does not run yet, is called off"
            if is_late
            else None,
            next_=self.command("cancel" if is_late else "show", moved.record),
        )

    def left_to_you(self, moved: "Moved") -> Stop:
        """The end of a verb that needs the word of a person."""
        return Stop(
            _status("unknown-outcome"),
            f"{moved.record.tool}: nobody knows how it ended: {moved.message}",
            code="unknown-outcome",
            hint="look what came of it, then say it",
            next_=self.command("resolve", moved.record, " succeeded|failed"),
        )


def at_desk(settings: Settings, work: Callable[[Desk], Coroutine[Any, Any, Exit]]) -> Exit:
    """Open the project for the person at the terminal and do `work` there."""
    return loop.run(lambda: _opened(settings, work))


async def _opened(settings: Settings, work: Callable[[Desk], Coroutine[Any, Any, Exit]]) -> Exit:
    from toolrt import runtime  # noqa: PLC0415 - `--help` loads no runtime

    try:
        async with runtime.open(settings.project()) as opened:
            by = at_terminal(opened.snapshot.identities)
            check_known(by, settings)
            whose = only_of(by, opened.snapshot.identities)
            approvals = opened.approvals.through("cli", whose)
            with refusals(settings):
                return await work(Desk(settings, opened, approvals, by))
    except ProjectError:
        compiled(settings)  # ends the verb with all that is wrong
        raise


@contextmanager
def refusals(
    settings: Settings, next_: str | None = None, denied: str | None = None
) -> Iterator[None]:
    """What is refused, and a store that fails, end the verb; `next_` is the verb to try then,
    `denied` another one for somebody who may not do this.
    """
    from toolrt.stores.base import StoreError  # noqa: PLC0415 - `--help` loads no store

    try:
        yield
    except CallError as error:
        raise Stop(
            _status(error.code),
            _message(error),
            code=error.code,
            hint=_hint(error),
            next_=settings.command(_next(error.code, next_, denied)),
        ) from error
    except StoreError as error:
        raise Stop(
            Exit.TOOL_FAILED,
            error.message,
            code="unavailable",
            hint=error.hint,
            next_=settings.command("doctor"),
        ) from error


def _next(code: str, next_: str | None, denied: str | None) -> str:
    if code == "access-denied" and denied is not None:
        return denied
    return next_ or _NEXT.get(code, "approvals list")


def _message(error: CallError) -> str:
    faults = error.details.get("faults", ())
    return "; ".join(str(fault["message"]) for fault in faults) or error.message


def _hint(error: CallError) -> str | None:
    """The hint; where arguments are at fault, in the words of who fills them in here."""
    faults = error.details.get("faults", ())
    if not faults:
        return error.hint
    if error.code != "missing-arguments":
        return None
    return "add " + " ".join(f"--edit {fault['pointer'].strip('/')}=…" for fault in faults)


def _status(code: str) -> Exit:
    return _STATUS.get(code) or of_code(code)
