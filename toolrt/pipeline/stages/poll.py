"""poll: a tool that starts something has not answered until that is done.

Its answer is the start; then another tool is asked now and then, and what that says once `until`
holds is the answer. When time is up, or nobody can tell, what the start said is the result, as
partial: nothing is lost, and the work goes on without us.
"""

from toolrt.catalog.recovery import Probe
from toolrt.catalog.snapshot import ToolEntry
from toolrt.core.calls import Invocation
from toolrt.core.errors import CallError
from toolrt.core.results import Answer, Outcome, ReadyAnswer
from toolrt.pipeline.probing import Asking
from toolrt.pipeline.retrying import MIN_ATTEMPT_S
from toolrt.pipeline.stage import Chain, Equipment


def poll(entry: ToolEntry, equipment: Equipment, following: Chain) -> Chain:
    """Absent where the tool answers at once."""
    if entry.poll is None:
        return following
    return _Polling(entry.poll, entry, equipment, following).handle


class _Polling:
    """The waiting of one tool."""

    def __init__(
        self, probe: Probe, entry: ToolEntry, equipment: Equipment, following: Chain
    ) -> None:
        self.probe = probe
        self.asking = Asking(probe, entry, equipment)
        self.clock = equipment.clock
        self.following = following

    async def handle(self, invocation: Invocation) -> Outcome:
        outcome = await self.following(invocation)
        if not isinstance(outcome, Answer) or outcome.truncated_bytes:
            return outcome
        asked, why = 0, "time was up"
        while self.probe.every_s + MIN_ATTEMPT_S <= invocation.remaining_s():
            await self.clock.sleep(self.probe.every_s)
            asked += 1
            found = await self._look(invocation, outcome)
            if isinstance(found, Answer):
                invocation.mark(polls=asked)
                return found
            if found is not None:
                why = found
                break
        return self._unfinished(invocation, outcome, asked, why)

    async def _look(self, invocation: Invocation, started: Answer) -> Answer | str | None:
        """The answer once it is there, why nobody can tell, or None to look again."""
        tool = self.probe.tool
        try:
            said = await self.asking.ask(invocation, started.value)
        except CallError as error:
            return f"`{tool}` could not be asked ({error.code})"
        if said.error is not None and (said.error.retryable or said.error.code == "timeout"):
            return None
        is_done = self.asking.holds(invocation, said)
        if is_done is None:
            code = said.error.code if said.error else said.status
            return f"`{tool}` gave no word that could be judged ({code})"
        return Answer(said.data) if is_done else None

    def _unfinished(
        self, invocation: Invocation, started: Answer, asked: int, why: str
    ) -> ReadyAnswer:
        invocation.mark(polls=asked)
        invocation.notes += (f"it was started, and is not known to be done: {why}",)
        value = started.value
        return ReadyAnswer(value, value if isinstance(value, str) else "", truncated_bytes=1)
