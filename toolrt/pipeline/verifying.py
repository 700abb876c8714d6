"""Finds out whether a call took effect whose answer was lost, before anybody repeats it (E12).

A read tool is asked. Only its clear word counts: yes ends the call with what that tool says, no
lets the call be made again, and anything else leaves it open.
"""

from typing import Literal

from toolrt.catalog.snapshot import ToolEntry
from toolrt.core.calls import Invocation
from toolrt.core.errors import BindingError, CallError
from toolrt.core.results import Answer, ReadyAnswer
from toolrt.pipeline.probing import Asking
from toolrt.pipeline.stage import Equipment

Verdict = Literal["applied", "not-applied", "unknown"]

MIN_TIME_S = 0.05
"""With less time left, nobody is asked."""


class Verifying:
    """The questions about lost answers of one tool."""

    def __init__(self, asking: Asking) -> None:
        self._asking = asking

    @classmethod
    def of(cls, entry: ToolEntry, equipment: Equipment) -> "Verifying | None":
        """None for a tool without `verify`, and for one that only reads."""
        if entry.verify is None or entry.effect == "read":
            return None
        return cls(Asking(entry.verify, entry, equipment))

    @property
    def tool(self) -> str:
        """Who is asked."""
        return self._asking.probe.tool

    async def settle(self, invocation: Invocation, error: CallError) -> Answer | CallError:
        """The answer, where the call took effect; else the failure as it is known now. One of a
        call that had no effect is like one of a call that was never sent.

        Raises the failure where it stays open: then nothing may be done again.
        """
        word, answer = await self.verdict(invocation)
        told = {"tool": self.tool, "verdict": word}
        invocation.mark(verify=told)
        if answer is not None:
            invocation.notes += (
                f"the answer was lost ({error.code}); `{told['tool']}` says that it took effect",
            )
            return answer
        if word == "unknown":
            raise _known(error, word)
        return _known(error, word)

    async def verdict(self, invocation: Invocation) -> tuple[Verdict, Answer | None]:
        """`applied` with the answer, `not-applied` or `unknown`. Where the callable still runs it
        may yet take effect, so that a no is none.
        """
        if invocation.remaining_s() < MIN_TIME_S:
            return "unknown", None
        try:
            said = await self._asking.ask(invocation)
        except CallError:
            return "unknown", None
        holds = self._asking.holds(invocation, said)
        if holds:
            return "applied", ReadyAnswer(said.data, said.text)
        is_open = holds is None or invocation.is_orphaned
        return ("unknown" if is_open else "not-applied"), None


def _known(error: CallError, word: str) -> BindingError:
    """The same failure with the verdict; the error itself may be anybody's and stays as it is."""
    is_open = word == "unknown"
    made = BindingError(
        error.message,
        code=error.code,
        hint=error.hint,
        retryable=error.retryable and not is_open,
        details={**error.details, "verify": word},
        sent="maybe" if is_open else "never",
    )
    if isinstance(error, BindingError):
        made.status, made.body = error.status, error.body
        made.retry_after_s, made.target_fault = error.retry_after_s, error.target_fault
        made.is_midway = error.is_midway
    return made
